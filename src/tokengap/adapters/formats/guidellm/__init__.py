"""GuideLLM's `benchmarks.json`: two schemas that give the same keys other meanings."""
