"""A baseline for people and for programs."""
