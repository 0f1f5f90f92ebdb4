"""Rounded tables, one file a method."""

from discreet.tables.rounding.adjustment import ControlledAdjustment
from discreet.tables.rounding.controlled import ControlledRounding
from discreet.tables.rounding.conventional import RoundConventional
from discreet.tables.rounding.graduated import RoundGraduated
from discreet.tables.rounding.inner_cells import InnerCellRounding
from discreet.tables.rounding.midpoint import RoundMidpoint
from discreet.tables.rounding.random import RoundRandom
from discreet.tables.rounding.significant import RoundSignificant
from discreet.tables.rounding.small_counts import SmallCountAdjustment
from discreet.tables.rounding.true_range import narrow_outputs, true_range

__all__ = [
    "METHODS",
    "ControlledAdjustment",
    "ControlledRounding",
    "InnerCellRounding",
    "RoundConventional",
    "RoundGraduated",
    "RoundMidpoint",
    "RoundRandom",
    "RoundSignificant",
    "SmallCountAdjustment",
    "narrow_outputs",
    "true_range",
]

METHODS = (
    RoundConventional,
    RoundRandom,
    SmallCountAdjustment,
    RoundGraduated,
    RoundMidpoint,
    RoundSignificant,
    ControlledRounding,
    InnerCellRounding,
    ControlledAdjustment,
)
