"""What protects a file of records, and what it risks."""
