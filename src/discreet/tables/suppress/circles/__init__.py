"""Tables that are networks: their arcs, cheapest circles through them, and circles exchanged for cheaper ones."""
