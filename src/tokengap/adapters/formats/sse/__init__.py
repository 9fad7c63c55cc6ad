"""Captured server-sent events, as the client received them."""
