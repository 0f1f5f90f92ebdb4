"""Statistical disclosure control: from confidential microdata to tables that are proved safe to publish.

    import discreet as dc

    records = dc.read_microdata("enterprises.parquet", unit="enterprise", holding="group")
    table = dc.tabulate(records, spanning={"nace": dc.read_hierarchy("nace.hrc"), "size": None}, response="turnover")
    table = dc.protect(table, [dc.MinimumFrequency(n=3), dc.PPercent(p=10), dc.GaussSuppression()])
    published = dc.publish(table)

The audit by itself is :func:`discreet.audit.audit`.  Names are imported when they are first used, so that importing the
package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.names import MODULE

if TYPE_CHECKING:
    from discreet.audit import Audit, publish
    from discreet.audit.attacks import attack_report
    from discreet.audit.profiles import Profile
    from discreet.audit.rounding import RoundingAudit, published_rounding_audit, rounding_audit
    from discreet.errors import (
        AdditivityError,
        HierarchyError,
        InputError,
        NotProtectedError,
        ParameterError,
        PlanError,
        SdcError,
        SolverError,
    )
    from discreet.inference.counts import estimate_counts
    from discreet.inference.estimates import Estimates
    from discreet.inference.extra_keys import matched_counts
    from discreet.inference.fit import Fit
    from discreet.inference.independence import independence_test
    from discreet.inference.invariant import invariant_counts
    from discreet.inference.linear import linear_regression
    from discreet.inference.logistic import logistic_regression
    from discreet.inference.loglinear import loglinear
    from discreet.inference.nonnegative import Calibration, em_counts, truncated
    from discreet.inference.sums import estimate_means, estimate_proportions, estimate_ratios, estimate_totals
    from discreet.io.given import read_given
    from discreet.io.hierarchies import read_hierarchy
    from discreet.io.jj import read_jj, write_jj
    from discreet.io.microdata import read_microdata
    from discreet.io.patterns import read_pattern
    from discreet.io.pram import document_of, read_pram, write_pram
    from discreet.io.ptables import read_ptable, write_ptable
    from discreet.io.published import write_published
    from discreet.io.swap import write_swapped, write_swaps
    from discreet.loss import perturbation_loss, suppression_loss
    from discreet.loss.swapping import SwapLoss, swap_loss
    from discreet.microdata.protect.pram import (
        CyclicTypeOne,
        DistanceDecay,
        InvariantCyclic,
        KAry,
        Mixture,
        Occurrence,
        OwnMatrix,
        RankOne,
        Sinkhorn,
        Target,
        TwoStage,
        TypeOne,
        achieved,
    )
    from discreet.microdata.protect.pram.apply import Pram, start_pram
    from discreet.microdata.protect.swap import MarginSwap, RandomSwap, RankSwap, TargetedSwap
    from discreet.microdata.protect.swap.moves import Move, smallest_move
    from discreet.microdata.protect.swap.partners import swap_partners, swappable
    from discreet.microdata.protect.swap.start import start_swap
    from discreet.microdata.risk.given_away import GivenAway, given_away
    from discreet.microdata.risk.named import named_records, named_units
    from discreet.microdata.risk.pram import expectation_ratios, joint_odds, match_probability, odds_bound, posterior_odds
    from discreet.microdata.risk.pram_file import pram_risk
    from discreet.microdata.risk.swap_risk import swap_risk
    from discreet.microdata.risk.undone import undoing_columns
    from discreet.microdata.risk.uniques import KeyCounts, key_counts
    from discreet.model.hierarchy import Hierarchy
    from discreet.model.intruder import Intruder
    from discreet.model.keys import Secret
    from discreet.model.knowledge import header_total, percentages
    from discreet.model.link import link
    from discreet.model.margins import Margins
    from discreet.model.microdata import Microdata, Missing
    from discreet.model.noise import Noise, UnitNoise
    from discreet.model.pattern import Pattern
    from discreet.model.pram_file import PramFile
    from discreet.model.ptable import PTable
    from discreet.model.published import Exemption, PublishedTable
    from discreet.model.randomised import PramDocument, Randomised
    from discreet.model.released import ReleasedFile
    from discreet.model.swap_file import SwapFile
    from discreet.model.table import Table
    from discreet.model.tabulate import tabulate
    from discreet.model.transition import TransitionMatrix
    from discreet.model.unlisted import unlist
    from discreet.plan.pram import run_pram
    from discreet.plan.protect import protect
    from discreet.plan.read import read_plan
    from discreet.plan.run import run_plan
    from discreet.plan.shared import protect_shared
    from discreet.plan.swap import foresee_swap, run_swap
    from discreet.report.pram import pram_report
    from discreet.report.swap import swap_report
    from discreet.tables.perturb import CellKey, CellKeyMagnitude, EvansZayatzSlanta, LayeredPerturbation, TopContributors
    from discreet.tables.perturb.moments import (
        EzsScheme,
        LpmScheme,
        TcmScheme,
        contribution_variances,
        protection,
        simulated,
        total_variance,
    )
    from discreet.tables.perturb.ptable_design import design_counts, design_magnitudes
    from discreet.tables.preferences import AvoidTotals, Cost, KeepPattern
    from discreet.tables.preferences.keep_pattern import PatternChanges
    from discreet.tables.rounding import (
        ControlledAdjustment,
        ControlledRounding,
        InnerCellRounding,
        RoundConventional,
        RoundGraduated,
        RoundMidpoint,
        RoundRandom,
        RoundSignificant,
        SmallCountAdjustment,
        narrow_outputs,
        true_range,
    )
    from discreet.tables.rules import PQ, APriori, Dominance, KDisclosure, MinimumFrequency, PPercent, Request, ZeroUnsafe
    from discreet.tables.suppress import (
        ExactSuppression,
        GaussSuppression,
        HypercubeSuppression,
        ModularSuppression,
        NetworkSuppression,
        SearchSuppression,
        Suppression,
        repair,
    )

__all__ = [
    "PQ",
    "APriori",
    "AdditivityError",
    "Audit",
    "AvoidTotals",
    "Calibration",
    "CellKey",
    "CellKeyMagnitude",
    "ControlledAdjustment",
    "ControlledRounding",
    "Cost",
    "CyclicTypeOne",
    "DistanceDecay",
    "Dominance",
    "Estimates",
    "EvansZayatzSlanta",
    "ExactSuppression",
    "Exemption",
    "EzsScheme",
    "Fit",
    "GaussSuppression",
    "GivenAway",
    "Hierarchy",
    "HierarchyError",
    "HypercubeSuppression",
    "InnerCellRounding",
    "InputError",
    "Intruder",
    "InvariantCyclic",
    "KAry",
    "KDisclosure",
    "KeepPattern",
    "KeyCounts",
    "LayeredPerturbation",
    "LpmScheme",
    "MarginSwap",
    "Margins",
    "Microdata",
    "MinimumFrequency",
    "Missing",
    "Mixture",
    "ModularSuppression",
    "Move",
    "NetworkSuppression",
    "Noise",
    "NotProtectedError",
    "Occurrence",
    "OwnMatrix",
    "PPercent",
    "PTable",
    "ParameterError",
    "Pattern",
    "PatternChanges",
    "PlanError",
    "Pram",
    "PramDocument",
    "PramFile",
    "Profile",
    "PublishedTable",
    "RandomSwap",
    "Randomised",
    "RankOne",
    "RankSwap",
    "ReleasedFile",
    "Request",
    "RoundConventional",
    "RoundGraduated",
    "RoundMidpoint",
    "RoundRandom",
    "RoundSignificant",
    "RoundingAudit",
    "SdcError",
    "SearchSuppression",
    "Secret",
    "Sinkhorn",
    "SmallCountAdjustment",
    "SolverError",
    "Suppression",
    "SwapFile",
    "SwapLoss",
    "Table",
    "Target",
    "TargetedSwap",
    "TcmScheme",
    "TopContributors",
    "TransitionMatrix",
    "TwoStage",
    "TypeOne",
    "UnitNoise",
    "ZeroUnsafe",
    "achieved",
    "attack_report",
    "contribution_variances",
    "design_counts",
    "design_magnitudes",
    "document_of",
    "em_counts",
    "estimate_counts",
    "estimate_means",
    "estimate_proportions",
    "estimate_ratios",
    "estimate_totals",
    "expectation_ratios",
    "foresee_swap",
    "given_away",
    "header_total",
    "independence_test",
    "invariant_counts",
    "joint_odds",
    "key_counts",
    "linear_regression",
    "link",
    "logistic_regression",
    "loglinear",
    "match_probability",
    "matched_counts",
    "named_records",
    "named_units",
    "narrow_outputs",
    "odds_bound",
    "percentages",
    "perturbation_loss",
    "posterior_odds",
    "pram_report",
    "pram_risk",
    "protect",
    "protect_shared",
    "protection",
    "publish",
    "published_rounding_audit",
    "read_given",
    "read_hierarchy",
    "read_jj",
    "read_microdata",
    "read_pattern",
    "read_plan",
    "read_pram",
    "read_ptable",
    "repair",
    "rounding_audit",
    "run_plan",
    "run_pram",
    "run_swap",
    "simulated",
    "smallest_move",
    "start_pram",
    "start_swap",
    "suppression_loss",
    "swap_loss",
    "swap_partners",
    "swap_report",
    "swap_risk",
    "swappable",
    "tabulate",
    "total_variance",
    "true_range",
    "truncated",
    "undoing_columns",
    "unlist",
    "write_jj",
    "write_pram",
    "write_ptable",
    "write_published",
    "write_swapped",
    "write_swaps",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in MODULE:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
