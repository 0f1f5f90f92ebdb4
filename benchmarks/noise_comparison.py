"""LPM, EZS and TCM at equal σ²: what each costs in accuracy, and how well it hides each contribution.

Run as: python benchmarks/noise_comparison.py, which writes docs/noise_comparison.md and .svg.  Exact formulas only, no chance.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import platform
from html import escape
from pathlib import Path

import numpy as np

from discreet.model.noise import Noise
from discreet.tables.perturb.moments import (
    EzsScheme,
    LpmScheme,
    Scheme,
    TcmScheme,
    contribution_variances,
    protection,
    total_variance,
)

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOISE = Noise(shape="split-triangular", low=0.02, high=0.04)
LARGER = (3.0, 2.0, 1.5)


@dataclasses.dataclass(frozen=True)
class Series:
    """One scheme, and how it is drawn."""

    name: str
    scheme: Scheme
    colour: str
    dashes: str = ""


SERIES = (
    Series("EZS", EzsScheme(noise=NOISE), "#4b5563"),
    Series("TCM 1, 1, 1, 1", TcmScheme(noise=NOISE), "#c2410c"),
    Series("TCM 3, 2, 1.5, 1", TcmScheme(noise=NOISE, magnitudes=(*LARGER, 1.0)), "#c2410c", "6 4"),
    Series("LPM 1, 1, 1", LpmScheme(noise=NOISE), "#1d4ed8"),
    Series("LPM 3, 2, 1.5", LpmScheme(noise=NOISE, factors=LARGER), "#1d4ed8", "6 4"),
)

CELLS: dict[str, tuple[float, ...]] = {
    "graded": (100, 60, 40, 20, 18, 16, 15, 14, 13, 12, 10, 5),
    "dominated": (1000, 60, 40, 20, 18, 16, 15, 14, 13, 12, 10, 5),
    "even": (100, 98, 96, 94, 92, 90, 88, 86, 84, 82, 80, 78),
    "five large": (100, 60, 40, 20, 18, 1, 1, 1, 1, 1, 1),
    "few": (100, 60, 40, 20),
}

# -------------------------------------------------------------------- the page

HEAD = """# LPM, EZS and TCM compared

Three ways to add noise to a sum, with the same noise: split-triangular between {low:.0f} % and {high:.0f} %, σ = {sigma:.2f} %,
as in section 3.3 of Tambay (2017).  **Z** is what it costs: the standard error of the published sum, in % of the sum.  **x̂ᵢ**
is what it protects: an intruder who sees the cell with and without the unit of rank i estimates its contribution by
x̂ᵢ = Z − Z₋ᵢ, with this standard deviation, in % of xᵢ.  The larger, the safer.  The numbers are exact
(`discreet.tables.perturb.moments`); the tests hold them against a simulation that ranks and perturbs the smaller cell anew.

![Protection of each rank in five cells](noise_comparison.svg)

EZS gives every unit the noise that it has everywhere.  TCM gives noise to the four largest contributions, times the
magnitudes named here: they keep their direction, and draw the size anew in each cell.  LPM lets ranks 1 to 4 keep their noise,
that of the first three times the factors named here, with a sign that alternates by rank; ranks 5 to 9 mix such noise with
fresh noise of the cell.
"""

TAIL = """## What it says

- EZS protects each unit by the same {sigma:.2f} %, whoever else is in the cell.
- LPM protects at least as well as EZS at every rank of these cells but one: {below}.
  The sign of a unit's noise goes with its rank, so taking out a unit turns the noise of all that follow it, and intruders
  cannot tell this from the contribution.  Ranks from the tenth on carry no noise of their own; the fresh noise of ranks 5 to
  9 hides them.
- TCM with equal magnitudes protects the largest contribution little better than EZS where others are smaller: their
  directions stay, so that their noise all but cancels out.  With magnitudes 3, 2, 1.5, 1 it protects it better, and LPM with
  the same factors {gain:.2f} times as well as that in the graded cell.  Where all contributions are alike, TCM with equal
  magnitudes protects the ranks without one worse than EZS: {alike:.2f} % at rank 5.
- In the dominated cell only its own noise protects the largest contribution, whatever the method.  Suppress such cells first.
- Small contributions beside large ones are hidden by the noise of the large ones, in LPM and TCM.
- Larger factors cost accuracy: read Z beside them.  The last column, protection of the largest contribution per unit of
  cost, hardly changes with the factors; it is the method that changes it.

The variance of TCM has a term that the source leaves out, μ²·{{(K − L)²x₂² + (L − M)²x₃² + (M − 1)²x₄²}} with μ = E s, for an
intruder who does not know the directions: V(x̂₁) is {corrected:.2f} and not {printed:.2f} in the graded cell with 3, 2, 1.5, 1.
To an intruder who knows them it is a bias, which can be computed and subtracted.

Averages over many pairs of cells are another matter: fresh noise averages out, permanent noise does not.

Computed with discreet {discreet}, numpy {numpy}, Python {python}.
"""


def page() -> str:
    """The page, all its numbers computed."""
    graded = np.array(CELLS["graded"], float)
    lpm, tcm = (contribution_variances(_scheme(name), graded)[0] for name in ("LPM 3, 2, 1.5", "TCM 3, 2, 1.5, 1"))
    sigma = 100 * np.sqrt(NOISE.variance)
    tail = TAIL.format(
        sigma=sigma,
        below=_where_ezs_is_better(),
        gain=np.sqrt(lpm / tcm),
        alike=protection(_scheme("TCM 1, 1, 1, 1"), CELLS["even"])[4],
        printed=tcm - _missing_term(graded),
        corrected=tcm,
        discreet=importlib.metadata.version("discreet"),
        numpy=np.__version__,
        python=platform.python_version(),
    )
    head = HEAD.format(low=100 * NOISE.low, high=100 * NOISE.high, sigma=sigma)
    return "\n".join([head, *(line for name in CELLS for line in _table(name)), tail])


def _scheme(name: str) -> Scheme:
    return next(one.scheme for one in SERIES if one.name == name)


def _table(name: str) -> list[str]:
    """Cost and protection of one cell under each scheme."""
    x = np.array(CELLS[name], float)
    ranks = [rank for rank in (1, 2, 3, 4, 5, 6, 9, 10, 12) if rank <= len(x)]
    titles = ["noise", "Z", *(f"x̂{rank}" for rank in ranks), "x̂1 / Z"]
    lines = [f"## {name.capitalize()}: {', '.join(f'{number:g}' for number in x)}", "", "| " + " | ".join(titles) + " |"]
    lines.append("|---|" + "---:|" * (len(titles) - 1))
    for one in SERIES:
        cost = 100 * float(np.sqrt(total_variance(one.scheme, x))) / x.sum()
        shares = protection(one.scheme, x)
        numbers = [f"{cost:.2f}", *(_percent(shares[rank - 1]) for rank in ranks), f"{shares[0] / cost:.1f}"]
        lines.append(f"| {one.name} | " + " | ".join(numbers) + " |")
    return [*lines, ""]


def _percent(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:.1f}" if number < 100 else f"{number:.0f}"


def _where_ezs_is_better() -> str:
    """The ranks at which LPM with factors 1 protects less than EZS."""
    found = []
    for name, cell in CELLS.items():
        share = protection(_scheme("LPM 1, 1, 1"), cell) / protection(_scheme("EZS"), cell)
        found += [f"rank {rank + 1} of *{name}*, {share[rank]:.2f} times as well" for rank in np.flatnonzero(share < 1 - 1e-9)]
    return ", ".join(found)


def _missing_term(x: np.ndarray) -> float:
    steps = np.diff([*LARGER, 1.0])
    return float(NOISE.mean_size**2 * (steps**2 @ x[1:4] ** 2))


# -------------------------------------------------------------------- the picture

PANEL_WIDTH, PANEL_HEIGHT, GAP_X, GAP_Y, LEFT, TOP = 300, 200, 64, 74, 58, 64
LOWEST, HIGHEST = 1.0, 1000.0
MARKS = {"EZS": "circle", "TCM": "square", "LPM": "triangle"}


def picture() -> str:
    """Protection by rank, a panel a cell, on a logarithmic axis."""
    panels = [_panel(name, i % 3, i // 3) for i, name in enumerate(CELLS)]
    width, height = LEFT + 3 * PANEL_WIDTH + 2 * GAP_X + 20, TOP + 2 * PANEL_HEIGHT + GAP_Y + 56
    title = "Protection of each contribution: standard deviation of x̂ᵢ in % of xᵢ, by rank i (at equal σ²)"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">\n'
        "<style>text{font:12px system-ui,sans-serif;fill:#1f2937}.title{font-size:15px;font-weight:600}"
        ".name{font-weight:600}.grid{stroke:#e5e7eb;fill:none}.axis{stroke:#6b7280;fill:none}</style>\n"
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n<text class="title" x="20" y="26">{escape(title)}</text>\n'
        + "\n".join(panels)
        + "\n"
        + _legend()
        + "\n</svg>\n"
    )


def _panel(name: str, column: int, row: int) -> str:
    left, top = LEFT + column * (PANEL_WIDTH + GAP_X), TOP + row * (PANEL_HEIGHT + GAP_Y)
    out = [f'<g transform="translate({left} {top})">', f'<text class="name" x="0" y="-10">{escape(name)}</text>']
    for power in range(4):
        y = _height(10.0**power)
        out.append(f'<path class="grid" d="M0 {y:.1f}H{PANEL_WIDTH}"/>')
        out.append(f'<text x="-8" y="{y + 4:.1f}" text-anchor="end">{10**power} %</text>')
    out.append(f'<path class="axis" d="M0 0V{PANEL_HEIGHT}H{PANEL_WIDTH}"/>')
    ranks = [(rank, _across(rank)) for rank in range(1, 13)]
    out += [f'<text x="{x:.1f}" y="{PANEL_HEIGHT + 17}" text-anchor="middle">{rank}</text>' for rank, x in ranks]
    for one in SERIES:
        points = [(_across(rank), _height(share)) for rank, share in enumerate(protection(one.scheme, CELLS[name]), 1)]
        out.append(_line(one, points))
    return "\n".join([*out, "</g>"])


def _across(rank: float) -> float:
    return 14 + (rank - 1) * (PANEL_WIDTH - 28) / 11


def _height(share: float) -> float:
    return PANEL_HEIGHT * (1 - np.log10(share / LOWEST) / np.log10(HIGHEST / LOWEST))


def _line(one: Series, points: list[tuple[float, float]]) -> str:
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{one.dashes}"' if one.dashes else ""
    marks = "".join(_mark(one, x, y) for x, y in points)
    return f'<path d="{path}" fill="none" stroke="{one.colour}" stroke-width="2"{dashes}/>{marks}'


def _mark(one: Series, x: float, y: float) -> str:
    fill = "#ffffff" if one.dashes else one.colour
    style = f'fill="{fill}" stroke="{one.colour}" stroke-width="1.5"'
    shape = MARKS[one.name[:3]]
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" {style}/>'
    if shape == "square":
        return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" {style}/>'
    return f'<path d="M{x:.1f} {y - 4:.1f}l4 7h-8z" {style}/>'


def _legend() -> str:
    """In the place of a sixth panel."""
    left, top = LEFT + 2 * (PANEL_WIDTH + GAP_X), TOP + PANEL_HEIGHT + GAP_Y
    out = [f'<g transform="translate({left} {top})">']
    for i, one in enumerate(SERIES):
        y = 16 + 28 * i
        out.append(_line(one, [(0, y), (24, y), (48, y)]))
        out.append(f'<text x="62" y="{y + 4}">{escape(one.name)}</text>')
    out.append('<text x="0" y="176">numbers: factors of the largest contributions</text>')
    return "\n".join([*out, "</g>"])


def pages() -> dict[str, str]:
    """What is written, by file name."""
    return {"noise_comparison.md": page(), "noise_comparison.svg": picture()}


if __name__ == "__main__":
    for file, text in pages().items():
        (DOCS / file).write_text(text, encoding="utf-8")
