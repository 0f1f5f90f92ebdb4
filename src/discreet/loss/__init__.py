"""What protection costs the reader of a release."""

from discreet.loss.number_changes import Correlation, GroupMeans, NumberLoss
from discreet.loss.perturbation import Deviation, PerturbationLoss, perturbation_loss
from discreet.loss.relations import Additivity, Association, Order
from discreet.loss.spread import Spread
from discreet.loss.suppression import Hidden, SuppressionLoss, suppression_loss
from discreet.loss.swapping import ColumnLoss, MarginLoss, SwapLoss, swap_loss

__all__ = [
    "Additivity",
    "Association",
    "ColumnLoss",
    "Correlation",
    "Deviation",
    "GroupMeans",
    "Hidden",
    "MarginLoss",
    "NumberLoss",
    "Order",
    "PerturbationLoss",
    "Spread",
    "SuppressionLoss",
    "SwapLoss",
    "perturbation_loss",
    "suppression_loss",
    "swap_loss",
]
