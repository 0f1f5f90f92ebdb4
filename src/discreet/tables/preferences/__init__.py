"""What secondary suppression shall rather hide: costs, and the pattern of an earlier release; one file a method."""

from typing import Any

from discreet.tables.preferences.avoid_totals import AvoidTotals
from discreet.tables.preferences.cost import Cost
from discreet.tables.preferences.keep_pattern import KeepPattern

__all__ = ["METHODS", "AvoidTotals", "Cost", "KeepPattern"]

METHODS: tuple[type[Any], ...] = (Cost, AvoidTotals, KeepPattern)
"""Every preference, for the catalog."""
