"""Methods that protect a file of records."""
