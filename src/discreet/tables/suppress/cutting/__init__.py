"""Patterns found by capacity cuts: of the whole table at once, or of one part after the other."""
