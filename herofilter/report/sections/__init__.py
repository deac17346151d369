"""The sections of a report: each answers one question."""
