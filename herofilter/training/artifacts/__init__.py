"""What training leaves on disk: runs, models, checkpoints."""
