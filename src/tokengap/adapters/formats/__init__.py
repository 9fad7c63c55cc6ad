"""One module, or one package, per log format; none knows of another."""
