"""AIPerf's per-request metrics."""
