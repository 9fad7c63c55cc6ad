"""Per-request metrics of TensorRT-LLM servers."""
