"""The facts of a run, as JSON and as one HTML file for the data steward."""

from discreet.report.facts import facts
from discreet.report.render import picture, render

__all__ = ["facts", "picture", "render"]
