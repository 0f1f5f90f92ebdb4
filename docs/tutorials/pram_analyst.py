"""Unbiased answers from a randomised file: counts, shares, means and models, each with its standard error.

Run it from anywhere: python docs/tutorials/pram_analyst.py [FILE.svg], to keep the picture at the end.
"""

# %% [markdown]
# You got two files from a statistical office: `persons.csv`, in which some variables were randomised (PRAM), and
# `persons.pram.json`, which tells with which probabilities.  You need nothing else.
#
# So that there is something to work with, the office's command is run here; its plan is that of the tutorial
# `pram_owner.py`.  The secret stays with the office.

# %%
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.sax.saxutils import escape

import discreet as dc
from discreet.inference.counts import estimate_counts
from discreet.inference.estimates import Estimates
from discreet.inference.linear import linear_regression
from discreet.inference.logistic import logistic_regression
from discreet.inference.nonnegative import em_counts
from discreet.inference.sums import estimate_means, estimate_proportions
from discreet.io.pram import read_pram
from discreet.model.randomised import PramDocument
from discreet.model.released import ReleasedFile

survey = Path(__file__).resolve().parents[2] / "examples" / "survey"
release = TemporaryDirectory()
command = [sys.executable, "-m", "discreet", "pram", str(survey / "pram.toml"), "--out", release.name]
secret = {"DISCREET_SECRET": "a made-up secret of a tutorial"}
subprocess.run(command, check=True, capture_output=True, env=os.environ | secret)  # noqa: S603 - our own command

# %% [markdown]
# The file is checked against its document: columns, codes, and how often each was released.  Another file, or one that was
# changed since, is refused.

# %%
file = read_pram(Path(release.name) / "persons.pram.json")
print(file)
for variable in file.document.variables:
    matrices = [matrix for matrix in variable.matrices.values() if len(matrix.categories) > 1]
    stay = [probability for matrix in matrices for probability in matrix.diagonal]
    print(f"{variable.name}: a code stays as it is with probability {min(stay):.2f} to {max(stay):.2f}")

# %% [markdown]
# ## Counts
#
# The last column counts the codes as they were released.  There are far too many persons with rare conditions, because some
# of the many healthy were moved there.  The estimate undoes this on average, with the inverse of the matrix, and its standard
# error says how well it can.

# %%
conditions = estimate_counts(file, ["health"])
print(conditions)

# %% [markdown]
# ## A survey's tables
#
# With weights, clusters and strata of the sample, errors are those of sample and randomisation together.  Variables that were
# randomised and others can be crossed as you like; here are shares of smokers by age.  Persons who did not answer are a code
# of their own.

# %%
design = {"weight": "weight", "cluster": "psu", "design_strata": ["stratum"]}
shares = estimate_proportions(file, ["smoker"], ["age"], **design)
print(shares)
print(estimate_means(file, "income", ["smoker", "sex"], **design))

# %% [markdown]
# ## Small numbers
#
# An unbiased estimate of a small number may fall below 0.  Leave it so in sums and means, where such errors cancel out.  Where
# a table must not look absurd, there is the most likely table without negative counts; it is biased a little, and its
# intervals come from a bootstrap.

# %%
crossed = estimate_counts(file, ["health", "age"])
likely = em_counts(file, ["health", "age"], replicates=200, seed=1)
for plain, best in zip(crossed.rows(), likely.rows(), strict=True):
    if plain["health"] == "hiv":
        told = f"unbiased {plain['estimate']:.1f} (standard error {plain['error']:.1f})"
        print(f"hiv at {plain['age']}: {told}; most likely {best['estimate']:.1f}, {best['low']:.1f} to {best['high']:.1f}")

# %% [markdown]
# ## Models
#
# Taking released codes at their word makes the effect of a randomised variable too small: among those who seem to smoke some
# do not.  The column `naive` shows it for the effect of smoking on income.  Standard errors hold the noise of randomising, too.

# %%
incomes = linear_regression(
    file, "income", ["hours", "age", "sex", "smoker"], numeric=["hours"], weight="weight", cluster="psu", on_missing="drop"
)
print(incomes.summary())

# %% [markdown]
# A randomised response needs another correction, by its likelihood.

# %%
smoking = logistic_regression(file, "smoker", ["age", "sex"], category="yes", reference={"age": "75+"}, on_missing="drop")
print(smoking.summary())

# %% [markdown]
# ## How close is it?
#
# You could not know; here we can, because the survey is made up and lies beside the plan.  A file in which nothing was
# randomised gives the same answers as the office would get.

# %%
records = dc.read_microdata(survey / "survey.parquet")
office = ReleasedFile(microdata=records, document=PramDocument(file="survey", records=records.rows, variables=(), released=()))
true_conditions = estimate_counts(office, ["health"])
true_shares = estimate_proportions(office, ["smoker"], ["age"], **design)
true_incomes = linear_regression(
    office, "income", ["hours", "age", "sex", "smoker"], numeric=["hours"], weight="weight", cluster="psu", on_missing="drop"
)
true_smoking = logistic_regression(
    office, "smoker", ["age", "sex"], category="yes", reference={"age": "75+"}, on_missing="drop"
)
for name, fit, truth in (("income of smokers", incomes, true_incomes), ("odds of smoking, women", smoking, true_smoking)):
    at = fit.names.index("smoker[yes]" if "income" in name else "sex[woman]")
    low, high = fit.conf_int()[at]
    print(f"{name}: without PRAM {truth.params[at]:.2f}, naive {fit.naive[at]:.2f}", end=", ")
    print(f"corrected {fit.params[at]:.2f} ({low:.2f} to {high:.2f})")

# %% [markdown]
# As a picture.  The intervals of the shares hold the error of the sample, which the office has, too; so they are wide.  About
# one interval in twenty misses the truth, as it should be; released codes at their word are too high nearly everywhere.


# %%
def beside(found: Estimates, truth: Estimates) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each estimate with the one from the true file, matched by their codes."""
    return [(row, truth.rows()[truth.position({name: str(row[name]) for name in found.by})]) for row in found.rows()]


ages = [pair for pair in beside(shares, true_shares) if pair[0]["smoker"] == "yes"]
ill = [pair for pair in beside(conditions, true_conditions) if pair[0]["health"] != "none"]
panels = (
    ("Persons by condition", "health", ill, 320.0, 50, 1.0, ""),
    ("Share of smokers by age", "age", ages, 0.40, 10, 100.0, " %"),
)
shapes = []
for column, (title, key, rows, most, step, times, unit) in enumerate(panels):
    left, top, width, high = 90 + 460 * column, 62, 330, 34
    shapes.append(f'<text x="{left}" y="40" font-weight="600">{title}</text>')
    for mark in range(0, int(most * times) + 1, step):
        x = left + width * mark / (most * times)
        shapes.append(f'<path d="M{x:.1f} {top - 10}v{high * len(rows)}" stroke="#e3e6e8"/>')
        shapes.append(f'<text x="{x:.1f}" y="{top + high * len(rows) + 8}" text-anchor="middle">{mark}{unit}</text>')
    for place, (row, truth) in enumerate(rows):
        y = top + high * place + 4
        low, end, dot, plain, true = (
            left + width * min(max(value, 0.0), most) / most
            for value in (row["low"], row["high"], row["estimate"], row["naive"], truth["estimate"])
        )
        shapes.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(str(row[key]))}</text>')
        shapes.append(f'<path d="M{low:.1f} {y}H{end:.1f}" stroke="#1f6f5c" stroke-width="2"/>')
        shapes.append(f'<circle cx="{dot:.1f}" cy="{y}" r="5" fill="#1f6f5c"/>')
        shapes.append(f'<circle cx="{plain:.1f}" cy="{y}" r="4.5" fill="#fff" stroke="#c4511f" stroke-width="2"/>')
        shapes.append(f'<path d="M{true:.1f} {y - 11}v22" stroke="#22282c" stroke-width="2"/>')
foot = 62 + 34 * 7 + 40
for x, mark, text in (
    (90, '<path d="M0 -9v18" stroke="#22282c" stroke-width="2"/>', "without PRAM"),
    (220, '<circle r="4.5" fill="#fff" stroke="#c4511f" stroke-width="2"/>', "naive: released codes at their word"),
    (480, '<path d="M-14 0h28" stroke="#1f6f5c" stroke-width="2"/><circle r="5" fill="#1f6f5c"/>', "corrected, 95 % interval"),
):
    shapes.append(f'<g transform="translate({x} {foot})">{mark}<text x="20" y="4">{text}</text></g>')
picture = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 910 {foot + 24}" font-family="sans-serif" font-size="12">'
    f'<rect width="910" height="{foot + 24}" fill="#fff"/>{"".join(shapes)}</svg>\n'
)
if __name__ == "__main__" and len(sys.argv) == 2:
    Path(sys.argv[1]).write_text(picture, encoding="utf-8")
    print(f"wrote {sys.argv[1]}")
release.cleanup()
