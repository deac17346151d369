"""Trainings and searches told to an experiment tracker: MLflow, TensorBoard."""
