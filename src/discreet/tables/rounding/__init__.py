"""Rounded tables, one file a method."""

__all__ = ["METHODS"]

METHODS: tuple[type, ...] = ()
