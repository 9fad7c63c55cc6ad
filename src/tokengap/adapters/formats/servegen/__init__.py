"""ServeGen's client files: what a generator draws requests from."""
