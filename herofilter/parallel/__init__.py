"""Threads and processes: how work is shared out on one machine."""
