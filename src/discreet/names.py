"""Where each public name lives: looked up when it is first used."""

from __future__ import annotations

__all__ = ["HOME", "MODULE"]

HOME = {
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
    "discreet.io.jj": "read_jj write_jj",
    "discreet.io.microdata": "read_microdata",
    "discreet.io.patterns": "read_pattern",
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
    "discreet.model.pattern": "Pattern",
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
    "discreet.plan.shared": "protect_shared",
    "discreet.plan.swap": "foresee_swap run_swap",
    "discreet.report.pram": "pram_report",
    "discreet.report.swap": "swap_report",
    "discreet.tables.perturb": "CellKey CellKeyMagnitude EvansZayatzSlanta LayeredPerturbation TopContributors",
    "discreet.tables.perturb.moments": (
        "EzsScheme LpmScheme TcmScheme contribution_variances protection simulated total_variance"
    ),
    "discreet.tables.perturb.ptable_design": "design_counts design_magnitudes",
    "discreet.tables.preferences": "AvoidTotals Cost KeepPattern",
    "discreet.tables.preferences.keep_pattern": "PatternChanges",
    "discreet.tables.rounding": (
        "ControlledAdjustment ControlledRounding InnerCellRounding RoundConventional RoundGraduated RoundMidpoint "
        "RoundRandom RoundSignificant SmallCountAdjustment narrow_outputs true_range"
    ),
    "discreet.tables.rules": "APriori Dominance KDisclosure MinimumFrequency PPercent PQ Request ZeroUnsafe",
    "discreet.tables.suppress": (
        "ExactSuppression GaussSuppression HypercubeSuppression ModularSuppression NetworkSuppression "
        "SearchSuppression Suppression repair"
    ),
}
"""The public names of each module."""

MODULE = {name: module for module, names in HOME.items() for name in names.split()}
"""The module of each public name."""
