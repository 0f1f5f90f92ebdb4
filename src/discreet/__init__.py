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
    from discreet.io.microdata import read_microdata
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
    from discreet.tables.suppress import ExactSuppression, GaussSuppression, repair

__all__ = [
    "PQ",
    "APriori",
    "AdditivityError",
    "Audit",
    "Calibration",
    "CellKey",
    "CellKeyMagnitude",
    "ControlledAdjustment",
    "ControlledRounding",
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
    "InnerCellRounding",
    "InputError",
    "Intruder",
    "InvariantCyclic",
    "KAry",
    "KDisclosure",
    "KeyCounts",
    "LayeredPerturbation",
    "LpmScheme",
    "MarginSwap",
    "Margins",
    "Microdata",
    "MinimumFrequency",
    "Missing",
    "Mixture",
    "Move",
    "Noise",
    "NotProtectedError",
    "Occurrence",
    "OwnMatrix",
    "PPercent",
    "PTable",
    "ParameterError",
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
    "Secret",
    "Sinkhorn",
    "SmallCountAdjustment",
    "SolverError",
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
    "protection",
    "publish",
    "published_rounding_audit",
    "read_given",
    "read_hierarchy",
    "read_microdata",
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
    "write_pram",
    "write_ptable",
    "write_published",
    "write_swapped",
    "write_swaps",
]

__version__ = "0.1.0"

_HOME = {
    "discreet.audit": "Audit publish",
    "discreet.audit.attacks": "attack_report",
    "discreet.audit.profiles": "Profile",
    "discreet.audit.rounding": "RoundingAudit published_rounding_audit rounding_audit",
    "discreet.errors": (
        "AdditivityError HierarchyError InputError NotProtectedError ParameterError PlanError SdcError SolverError"
    ),
    "discreet.inference.counts": "estimate_counts",
    "discreet.inference.estimates": "Estimates",
    "discreet.inference.extra_keys": "matched_counts",
    "discreet.inference.fit": "Fit",
    "discreet.inference.independence": "independence_test",
    "discreet.inference.invariant": "invariant_counts",
    "discreet.inference.linear": "linear_regression",
    "discreet.inference.logistic": "logistic_regression",
    "discreet.inference.loglinear": "loglinear",
    "discreet.inference.nonnegative": "Calibration em_counts truncated",
    "discreet.inference.sums": "estimate_means estimate_proportions estimate_ratios estimate_totals",
    "discreet.io.given": "read_given",
    "discreet.io.hierarchies": "read_hierarchy",
    "discreet.io.microdata": "read_microdata",
    "discreet.io.pram": "document_of read_pram write_pram",
    "discreet.io.ptables": "read_ptable write_ptable",
    "discreet.io.published": "write_published",
    "discreet.io.swap": "write_swapped write_swaps",
    "discreet.loss": "perturbation_loss suppression_loss",
    "discreet.loss.swapping": "SwapLoss swap_loss",
    "discreet.microdata.protect.pram": (
        "CyclicTypeOne DistanceDecay InvariantCyclic KAry Mixture Occurrence OwnMatrix RankOne Sinkhorn Target "
        "TwoStage TypeOne achieved"
    ),
    "discreet.microdata.protect.pram.apply": "Pram start_pram",
    "discreet.microdata.protect.swap": "MarginSwap RandomSwap RankSwap TargetedSwap",
    "discreet.microdata.protect.swap.moves": "Move smallest_move",
    "discreet.microdata.protect.swap.partners": "swap_partners swappable",
    "discreet.microdata.protect.swap.start": "start_swap",
    "discreet.microdata.risk.given_away": "GivenAway given_away",
    "discreet.microdata.risk.named": "named_records named_units",
    "discreet.microdata.risk.pram": "expectation_ratios joint_odds match_probability odds_bound posterior_odds",
    "discreet.microdata.risk.pram_file": "pram_risk",
    "discreet.microdata.risk.swap_risk": "swap_risk",
    "discreet.microdata.risk.undone": "undoing_columns",
    "discreet.microdata.risk.uniques": "KeyCounts key_counts",
    "discreet.model.hierarchy": "Hierarchy",
    "discreet.model.intruder": "Intruder",
    "discreet.model.keys": "Secret",
    "discreet.model.knowledge": "header_total percentages",
    "discreet.model.link": "link",
    "discreet.model.margins": "Margins",
    "discreet.model.microdata": "Microdata Missing",
    "discreet.model.noise": "Noise UnitNoise",
    "discreet.model.pram_file": "PramFile",
    "discreet.model.ptable": "PTable",
    "discreet.model.published": "Exemption PublishedTable",
    "discreet.model.randomised": "PramDocument Randomised",
    "discreet.model.released": "ReleasedFile",
    "discreet.model.swap_file": "SwapFile",
    "discreet.model.table": "Table",
    "discreet.model.tabulate": "tabulate",
    "discreet.model.transition": "TransitionMatrix",
    "discreet.model.unlisted": "unlist",
    "discreet.plan.pram": "run_pram",
    "discreet.plan.protect": "protect",
    "discreet.plan.read": "read_plan",
    "discreet.plan.run": "run_plan",
    "discreet.plan.swap": "foresee_swap run_swap",
    "discreet.report.pram": "pram_report",
    "discreet.report.swap": "swap_report",
    "discreet.tables.perturb": "CellKey CellKeyMagnitude EvansZayatzSlanta LayeredPerturbation TopContributors",
    "discreet.tables.perturb.moments": (
        "EzsScheme LpmScheme TcmScheme contribution_variances protection simulated total_variance"
    ),
    "discreet.tables.perturb.ptable_design": "design_counts design_magnitudes",
    "discreet.tables.rounding": (
        "ControlledAdjustment ControlledRounding InnerCellRounding RoundConventional RoundGraduated RoundMidpoint "
        "RoundRandom RoundSignificant SmallCountAdjustment narrow_outputs true_range"
    ),
    "discreet.tables.rules": "APriori Dominance KDisclosure MinimumFrequency PPercent PQ Request ZeroUnsafe",
    "discreet.tables.suppress": "ExactSuppression GaussSuppression repair",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
