"""PRAM, the post randomisation method: designs of transition matrices, and what applies them."""

from __future__ import annotations

from typing import Any

__all__ = ["DESIGNS"]

DESIGNS: tuple[type[Any], ...] = ()
"""Every design of a transition matrix."""
