"""Swapping: methods by which records exchange values while margins stay, one file a method."""

from __future__ import annotations

from discreet.microdata.protect.swap.chance import RandomSwap
from discreet.microdata.protect.swap.margin import MarginSwap
from discreet.microdata.protect.swap.rank import RankSwap
from discreet.microdata.protect.swap.targeted import TargetedSwap

__all__ = ["SWAPS", "MarginSwap", "RandomSwap", "RankSwap", "TargetedSwap"]

SWAPS = (MarginSwap, TargetedSwap, RankSwap, RandomSwap)
"""Every method of swapping."""
