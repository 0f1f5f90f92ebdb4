"""How fast discreet is, and how it compares: run by hand, no part of the package."""
