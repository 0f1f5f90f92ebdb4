"""Secondary suppression, one file a method; the repair that follows an audit; and what they share."""

from discreet.tables.suppress.exact import ExactSuppression
from discreet.tables.suppress.gauss import GaussSuppression
from discreet.tables.suppress.repair import repair

__all__ = ["METHODS", "ExactSuppression", "GaussSuppression", "repair"]

METHODS: tuple[type, ...] = (GaussSuppression, ExactSuppression)
