"""Secondary suppression, one file a method; the repair that follows an audit; and what they share."""

from discreet.tables.suppress.anytime import SearchSuppression
from discreet.tables.suppress.choose import Suppression
from discreet.tables.suppress.exact import ExactSuppression
from discreet.tables.suppress.gauss import GaussSuppression
from discreet.tables.suppress.hypercube import HypercubeSuppression
from discreet.tables.suppress.modular import ModularSuppression
from discreet.tables.suppress.network import NetworkSuppression
from discreet.tables.suppress.repair import repair

__all__ = [
    "METHODS",
    "ExactSuppression",
    "GaussSuppression",
    "HypercubeSuppression",
    "ModularSuppression",
    "NetworkSuppression",
    "SearchSuppression",
    "Suppression",
    "repair",
]

METHODS: tuple[type, ...] = (
    Suppression,
    GaussSuppression,
    ExactSuppression,
    SearchSuppression,
    HypercubeSuppression,
    NetworkSuppression,
    ModularSuppression,
)
