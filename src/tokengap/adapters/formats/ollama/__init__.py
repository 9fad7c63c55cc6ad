"""Answers of Ollama's API."""
