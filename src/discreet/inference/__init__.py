"""What the analyst does with a released file and its document."""
