"""tokengap's own JSONL: what others write when nothing else fits."""
