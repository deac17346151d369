"""The search for hyperparameters: spaces, studies, tuning, the portfolio of auto, presets."""
