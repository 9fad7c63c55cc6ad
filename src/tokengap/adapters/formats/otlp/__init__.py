"""Spans of OpenTelemetry in OTLP/JSON: one reader, one module per library that writes them."""
