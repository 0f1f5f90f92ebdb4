"""How hidden cells can move without a published one noticing, and what must stay unknown to whom."""
