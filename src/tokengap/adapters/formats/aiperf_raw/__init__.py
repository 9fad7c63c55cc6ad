"""AIPerf's raw export: every event of every request."""
