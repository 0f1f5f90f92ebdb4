"""What an intruder learns of single contributions from a method that adds noise, for the report.

All of it is about cells made up for the purpose, :data:`discreet.audit.profiles.PROFILES`: what the attacks would tell of real
cells would be confidential itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from discreet.audit.attacks import Attacked, Learnt, Shifts, attack_report
from discreet.audit.profiles import Perturbing

__all__ = ["attack_chart", "attack_facts"]

WHAT = {
    "averaging": "ask for a cell with and without the unit and take the difference; repeat it with cells in which only a small "
    "unit is another one, and take the mean",
    "rank change": "the same, and again without the largest other unit of the cell, so that all units below it move up a rank",
    "same hash": "have a unit with the same record key, learn its noise from its own cells, and take it off",
}


def attack_facts(method: Perturbing) -> dict[str, Any] | None:
    """The attacks on a method as JSON, or None where none applies: it adds no noise, or none in proportion to contributions.

    ``method``; ``within`` the per cent that count as near; ``closest`` the estimate with the least error, and ``largest`` the
    same for the three largest contributions (null for counts); ``what`` each attack does; ``profiles``, each with ``name``,
    ``what``, ``kind`` and ``contributions``, and

    - ``attacks``: attack, ``repeated``, the ``numbers`` that takes, and ``rows`` with rank, contribution, ``errors`` and
      ``near`` by number of repetitions, and the ``floor`` of the error (null where not measured);
    - ``subsets``: the ``error`` of one difference, by rank;
    - ``exact``: rank (0 for the sum), the share of replicates that are ``exact``, and the ``least`` error;
    - ``shifts``: null, or rank and ``keys`` (key, error, ratio).

    Errors are root mean squares in % of the contribution.
    """
    done = attack_report(method)
    if not done:
        return None
    return {
        "method": str(getattr(method, "NAME", type(method).__name__)),
        "within": round(done[0].subsets.within, 2),
        "closest": _closest(done),
        "largest": _closest([attacked for attacked in done if attacked.profile.kind == "magnitude"], last=3),
        "what": {learnt.attack: WHAT[learnt.attack] for attacked in done for learnt in attacked.learnt},
        "profiles": [_profile(attacked) for attacked in done],
    }


def _profile(attacked: Attacked) -> dict[str, Any]:
    profile, exactness, subsets = attacked.profile, attacked.exactness, attacked.subsets
    return {
        "name": profile.name,
        "what": profile.what,
        "kind": profile.kind,
        "contributions": list(profile.contributions),
        "attacks": [_attack(learnt, profile.contributions) for learnt in attacked.learnt],
        "subsets": [
            {"rank": rank, "contribution": profile.contributions[rank - 1], "error": _told(error)}
            for rank, error in zip(subsets.rank.tolist(), subsets.error, strict=True)
        ],
        "exact": [
            {"rank": rank, "exact": round(100 * float(exact), 2), "least": _told(least)}
            for rank, exact, least in zip(exactness.rank.tolist(), exactness.exact, exactness.least, strict=True)
        ],
        "shifts": None if attacked.shifts is None else _shifts(attacked.shifts),
    }


def _attack(learnt: Learnt, contributions: Sequence[float]) -> dict[str, Any]:
    repeated = list(dict.fromkeys(learnt.repeated.tolist()))
    rows = []
    for start in range(0, len(learnt.rank), len(repeated)):
        own = slice(start, start + len(repeated))
        rows.append(
            {
                "rank": int(learnt.rank[start]),
                "contribution": contributions[learnt.rank[start] - 1],
                "errors": [_told(error) for error in learnt.error[own]],
                "near": [round(100 * share) for share in learnt.near[own].tolist()],
                "floor": None if math.isnan(learnt.floor[start]) else _told(learnt.floor[start]),
            }
        )
    numbers = learnt.numbers[: len(repeated)].tolist()
    return {"attack": learnt.attack, "repeated": repeated, "numbers": numbers, "rows": rows}


def _shifts(shifts: Shifts) -> dict[str, Any]:
    columns = zip(shifts.key.tolist(), shifts.error, shifts.ratio, strict=True)
    keys = [{"key": key, "error": _told(error), "ratio": round(float(ratio), 3)} for key, error, ratio in columns]
    return {"rank": shifts.rank, "keys": keys}


def _closest(done: Sequence[Attacked], last: int | None = None) -> dict[str, Any] | None:
    """The estimate with the least error of all attacks, on ranks up to ``last``, and what it takes."""
    every = [
        (float(learnt.error[row]), int(learnt.numbers[row]), int(learnt.rank[row]), learnt.attack, attacked.profile.name)
        for attacked in done
        for learnt in attacked.learnt
        for row in range(len(learnt.error))
        if last is None or learnt.rank[row] <= last
    ]
    if not every:
        return None
    error, numbers, rank, attack, profile = min(every)
    return {"error": _told(error), "numbers": numbers, "rank": rank, "attack": attack, "profile": profile}


def _told(percent: float) -> float:
    """Two decimals, or two digits where that is less."""
    size = abs(float(percent))
    return round(float(percent), 2 if size >= 0.1 or size == 0 else 1 - math.floor(math.log10(size)))


# -------------------------------------------------------------------- the chart

_HIGH, _WIDE, _LEFT, _TOP, _GAP = 130, 190, 40, 34, 24
_COLOUR = {"averaging": "secondary", "rank change": "primary", "same hash": "unlisted"}


def attack_chart(profile: Mapping[str, Any], within: float) -> str:
    """The error of the estimates by number of repetitions: a panel a contribution, a line an attack."""
    ranks = [row["rank"] for row in profile["attacks"][0]["rows"]]
    most = max(error for attack in profile["attacks"] for row in attack["rows"] for error in row["errors"])
    top = _round_up(max(most, within))
    panels = "".join(_panel(profile, rank, place, top, within) for place, rank in enumerate(ranks))
    width, height = _LEFT + len(ranks) * (_WIDE + _GAP), _TOP + _HIGH + 42
    title = f"Error of the estimates of a contribution, in % of it, by number of repetitions: {profile['name']} cell"
    return (
        f'<svg class="histogram" role="img" aria-label="{escape(title)}" viewBox="0 0 {width} {height}" '
        f'style="max-width:{width}px"><title>{escape(title)}</title>{panels}'
        f'<text class="axis" x="{_LEFT}" y="{height - 4}">how often the attack is repeated</text></svg>'
    )


def _panel(profile: Mapping[str, Any], rank: int, place: int, top: float, within: float) -> str:
    left, bottom = _LEFT + place * (_WIDE + _GAP), _TOP + _HIGH

    def height(error: float) -> float:
        return bottom - _HIGH * error / top

    name = "any unit" if profile["kind"] == "frequency" else f"{_ordinal(rank)} largest unit"
    out = [
        f'<text class="axis" x="{left}" y="14">{name}</text>',
        f'<path class="border" d="M{left} {_TOP}V{bottom}h{_WIDE}"/>',
        f'<path class="border" stroke-dasharray="3 3" d="M{left} {height(within):.1f}h{_WIDE}"/>',
    ]
    out += [
        f'<text x="{left - 5}" y="{height(mark) + 4:.1f}" text-anchor="end">{mark:g} %</text>' for mark in (0, top) if not place
    ]
    repeated = profile["attacks"][0]["repeated"]
    step = _WIDE / max(len(repeated), 2)
    spots = [left + step * (at + 0.5) for at in range(len(repeated))]
    out += [
        f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{times}×</text>'
        for x, times in zip(spots, repeated, strict=True)
    ]
    for attack in profile["attacks"]:
        for row in (row for row in attack["rows"] if row["rank"] == rank):
            out.append(_line(spots, [height(error) for error in row["errors"]], row["errors"], _COLOUR[attack["attack"]]))
    return "".join(out)


def _line(across: Sequence[float], down: Sequence[float], errors: Sequence[float], colour: str) -> str:
    points = list(zip(across, down, strict=True))
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dots = "".join(
        f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{error:g} %</title></circle>'
        for (x, y), error in zip(points, errors, strict=True)
    )
    return f'<path class="border" d="{path}"/>{dots}'


def _round_up(number: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 …"""
    power = 10.0 ** math.floor(math.log10(number))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= number)


def _ordinal(rank: int) -> str:
    if rank == 1:
        return "the"
    ending = "th" if 10 < rank % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"
