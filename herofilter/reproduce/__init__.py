"""The paper's tables and figures anew, one file each."""
