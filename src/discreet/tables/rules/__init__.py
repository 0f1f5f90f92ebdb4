"""Sensitivity rules, one file each."""

from typing import Any

from discreet.tables.rules.a_priori import APriori
from discreet.tables.rules.dominance import Dominance
from discreet.tables.rules.k_disclosure import KDisclosure
from discreet.tables.rules.minimum_frequency import MinimumFrequency
from discreet.tables.rules.p_percent import PPercent
from discreet.tables.rules.pq import PQ
from discreet.tables.rules.request import Request
from discreet.tables.rules.zero_unsafe import ZeroUnsafe

__all__ = ["METHODS", "PQ", "APriori", "Dominance", "KDisclosure", "MinimumFrequency", "PPercent", "Request", "ZeroUnsafe"]

METHODS: tuple[type[Any], ...] = (MinimumFrequency, Dominance, PPercent, PQ, Request, ZeroUnsafe, APriori, KDisclosure)
"""Every sensitivity rule, for the catalog."""
