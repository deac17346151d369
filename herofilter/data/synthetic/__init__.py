"""Graphs drawn at random: block models and power laws."""
