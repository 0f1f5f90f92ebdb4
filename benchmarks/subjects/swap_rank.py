"""Rank swapping and random swapping of many records, and what they cost."""

from __future__ import annotations

import discreet as dc
from benchmarks.records import records_of
from benchmarks.registry import Stage, subject
from discreet.loss.swapping import swap_loss
from discreet.microdata.protect.swap.chance import RandomSwap
from discreet.microdata.protect.swap.rank import RankSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.risk.uniques import key_counts

__all__ = ["rank"]

MILLION = 1_000_000
SECRET = "a secret of a benchmark, for nothing else"


@subject("swap-rank", "rank swapping of a column of 1,000,000 numbers, random swapping, counts of keys and the loss")
def rank(stage: Stage) -> None:
    """With a reach of 5 per cent, and in strata; half a per cent leaves more values without a partner."""
    file = start_swap(dc.read_microdata(records_of(stage, MILLION), unit="id"), dc.Secret(SECRET))
    for p, within in ((5.0, ()), (0.5, ()), (5.0, ("size", "area"))):
        with stage.timed(f"rank swapping, {p:g} %{', in strata' if within else ''}") as facts:
            swapped = RankSwap(columns=("turnover",), p=p, within=within).apply(file)
        facts |= swapped.steps[0].facts
    with stage.timed("random swapping in strata") as facts:
        swapped = RandomSwap(columns=("area", "work"), within=("region",)).apply(swapped)
    facts |= swapped.steps[1].facts
    with stage.timed("counts of 6 keys and all subsets") as facts:
        counts = key_counts(swapped, ("size", "sex", "age", "work", "area", "region"), subsets=6)
        facts["uniques"] = counts.uniques
    with stage.timed("loss in 3 margins and a column of numbers") as facts:
        loss = swap_loss(swapped, [("area", "work"), ("area", "sex"), ("work", "age")], numbers=["turnover"], by=["size"])
        facts["largest change"] = max(margin.largest for margin in loss.margins)
