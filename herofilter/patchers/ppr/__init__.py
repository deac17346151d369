"""Personalised PageRank by local push, and the exact series that it approximates."""
