"""The handoff budget as text, JSON, CSV, charts and pages."""
