"""What protection costs the reader of a release."""

from discreet.loss.perturbation import Deviation, PerturbationLoss, perturbation_loss
from discreet.loss.relations import Additivity, Association, Order
from discreet.loss.spread import Spread
from discreet.loss.suppression import Hidden, SuppressionLoss, suppression_loss

__all__ = [
    "Additivity",
    "Association",
    "Deviation",
    "Hidden",
    "Order",
    "PerturbationLoss",
    "Spread",
    "SuppressionLoss",
    "perturbation_loss",
    "suppression_loss",
]
