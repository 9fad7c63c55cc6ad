"""Replays as text, JSON, CSV, charts and pages."""
