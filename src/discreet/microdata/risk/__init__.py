"""What an intruder may learn from a file of records."""
