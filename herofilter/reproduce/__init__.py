"""Reproductions of the paper's tables and figures, one file each."""
