"""An audit for readers: as text, as JSON under contract, as a self-contained page."""
