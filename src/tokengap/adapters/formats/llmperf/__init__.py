"""LLMPerf's results per request."""
