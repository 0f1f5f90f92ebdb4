"""What protection costs the reader of a release."""

from discreet.loss.suppression import Hidden, SuppressionLoss, suppression_loss

__all__ = ["Hidden", "SuppressionLoss", "suppression_loss"]
