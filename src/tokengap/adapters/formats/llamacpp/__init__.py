"""Answers of llama.cpp's server."""
