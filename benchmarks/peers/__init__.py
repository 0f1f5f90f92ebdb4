"""The same table given to other tools, each in its own environment; their patterns are audited by discreet."""
