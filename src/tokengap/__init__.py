"""tokengap: every inter-token gap of an LLM serving log, judged."""

__all__ = ["__version__"]

__version__ = "0.1.0"
