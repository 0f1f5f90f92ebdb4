"""The only door for files and frames."""
