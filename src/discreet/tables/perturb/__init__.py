"""Tables with noise, one file a method: the same contributors carry the same noise wherever they are counted."""

__all__ = ["METHODS"]

METHODS: tuple[type, ...] = ()
