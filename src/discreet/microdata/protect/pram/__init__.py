"""PRAM, the post randomisation method: designs of transition matrices, one file a design, and what applies them."""

from __future__ import annotations

from discreet.microdata.protect.pram.cyclic import CyclicTypeOne
from discreet.microdata.protect.pram.distance import DistanceDecay
from discreet.microdata.protect.pram.full import TypeOne
from discreet.microdata.protect.pram.invariant_cyclic import InvariantCyclic
from discreet.microdata.protect.pram.k_ary import KAry
from discreet.microdata.protect.pram.mixture import Mixture
from discreet.microdata.protect.pram.occurrence import Design, Occurrence
from discreet.microdata.protect.pram.own import OwnMatrix
from discreet.microdata.protect.pram.rank_one import RankOne
from discreet.microdata.protect.pram.sinkhorn import Sinkhorn
from discreet.microdata.protect.pram.target import Target
from discreet.microdata.protect.pram.target_achieved import Achieved, achieved
from discreet.microdata.protect.pram.two_stage import TwoStage

__all__ = [
    "DESIGNS",
    "Achieved",
    "CyclicTypeOne",
    "Design",
    "DistanceDecay",
    "InvariantCyclic",
    "KAry",
    "Mixture",
    "Occurrence",
    "OwnMatrix",
    "RankOne",
    "Sinkhorn",
    "Target",
    "TwoStage",
    "TypeOne",
    "achieved",
]

DESIGNS = (
    TypeOne,
    CyclicTypeOne,
    DistanceDecay,
    OwnMatrix,
    RankOne,
    KAry,
    InvariantCyclic,
    TwoStage,
    Sinkhorn,
    Mixture,
    Target,
)
"""Every design of a transition matrix."""
