"""From a confidential survey to a file that analysts may have: PRAM, its design, its risk, and its release.

Run it from anywhere: python docs/tutorials/pram_owner.py [DIR], to keep the released file, its document and the owner's report.
"""

# %% [markdown]
# Where analysts need records and not tables, a file can be released in which some variables are *randomised*: with known
# probabilities a record's code is replaced by another one.  Nobody can then be sure of what is seen, and yet counts, means and
# models of the true file can be estimated without bias, because the probabilities are released with the file.  This is PRAM,
# the post randomisation method.
#
# The survey of this page is made up.  It holds 3,221 persons of 1,800 households, some of whom would be found out by their
# occupation, and what they would not like to be told.

# %%
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import discreet as dc
from discreet.errors import ParameterError
from discreet.io.pram import write_pram
from discreet.microdata.protect.pram import KAry
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.microdata.protect.pram.target import Target
from discreet.microdata.risk.named import named_records
from discreet.microdata.risk.pram_file import pram_risk
from discreet.report.pram import pram_report

survey = Path(__file__).resolve().parents[2] / "examples" / "survey" / "survey.parquet"
records = dc.read_microdata(survey, unit="person", weight="weight")

# %% [markdown]
# All draws are made from a secret and the record's id.  The same record is changed in the same way whenever the file is made
# again, so that nobody can compare two versions.  Keep the secret in the house, in a file (`Secret.from_file`) or in the
# environment.  Here it stands in the open, so that this page says the same each time.

# %%
file = start_pram(records, dc.Secret("a made-up secret of a tutorial"))

# %% [markdown]
# ## Smoking: one number for what may be learnt
#
# Of the many ways to choose the probabilities, *k-ary randomised response* takes one number, ε.  Whatever somebody knows
# beforehand, the odds that a person smokes change by a factor of e^ε at most once the file is seen; here 7.4.  With two codes,
# each then stays as it is with probability 0.88.  78 persons did not answer: empty stays empty, unless `missing = "category"`.

# %%
file = Pram(columns=("smoker",), design=KAry(epsilon=2)).apply(file)
matrix = file.variables[0].matrices[()]
print(matrix.labels, matrix.matrix.round(3).tolist(), f"ε = {matrix.epsilon:g}")

# %% [markdown]
# ## Health: a design by targets
#
# 14 persons have HIV, 21 epilepsy.  They need more than others, and the healthy many can give it: if some of them are
# released as ill, an ill person can always say so.  A *target* is what the matrix has to reach, and a linear program finds the
# one that does so with the fewest changes:
#
# - `ratio`: of those released with a rare condition at most one is true for each one that is not (the *expectation ratio*);
# - `most`: no condition is kept with more than this probability, so that nothing is certain;
# - `least`: none is kept with less, so that the file stays useful;
# - `spread`: moves go to all conditions, and not to one that then gives the true one away.
#
# Targets that contradict each other are refused, with what would have to give way.

# %%
rare = {"hiv": 1.0, "epilepsy": 1.0}
try:
    Pram(columns=("health",), design=Target(invariant=False, ratio=rare, least=0.9999)).apply(file)
except ParameterError as error:
    print(error)

health = Target(invariant=False, ratio=rare, most=0.92, least=0.7, spread=0.8)
file = Pram(columns=("health",), design=health).apply(file)

# %% [markdown]
# The other way is an *invariant* matrix (`invariant = True`): then the counts of the variable itself stay right on average
# without any correction.  It has a price.  As a rule only the true counts are left as they are by it, so whoever has the
# matrix has the counts; discreet refuses to release it unless you say that these counts are public anyway.
#
# ## Occupation: nobody becomes what cannot be
#
# With `within = ("age",)` each age group has a matrix of its own, on the occupations that occur in it.  Otherwise some
# sixteen-year-olds would be released as judges, whom everybody knows to be false.

# %%
occupation = Target(invariant=False, ratio={"surgeon": 1.0, "judge": 1.0}, most=0.92, least=0.7, spread=0.8)
file = Pram(columns=("occupation",), within=("age",), design=occupation).apply(file)
for variable in file.variables:
    worst = max(matrix.condition for matrix in variable.matrices.values())
    print(
        f"{variable.name}: {len(variable.matrices)} matrices, ε = {variable.epsilon:.1f}, condition number at most {worst:.2f}"
    )

# %% [markdown]
# The *condition number* says how strongly correcting blows errors up: 1 is not at all; from 100,000,000 on discreet refuses.
# Where a person is concerned, the ε of all variables add up.
#
# ## What risk is left
#
# The expectation ratio of each rare category, how much was really changed, and what to be warned of.  All this is confidential.
# The warnings find what no target named: in the oldest group there is one occupation only, which the age gives away, and some
# categories are rare in their age group though common elsewhere.  Whoever must not be found there needs a `ratio`, or coarser
# age groups.

# %%
risk = pram_risk(file)
for row in risk.rows():
    if row["category"] in ("hiv", "epilepsy", "surgeon"):
        place = f" at {row['stratum']}" if row["stratum"] else ""
        told = f"{row['true']} true, {row['released']} released, expectation ratio {row['expectation_ratio']:.2f}"
        print(f"{row['category']}{place}: {told}")
for each in risk.variables:
    print(f"{each.variable.name}: {each.expected_share:.1%} changed on average, {each.changed_share:.1%} in this file")
for warning in risk.warnings:
    print("warning:", warning)

# %% [markdown]
# There is one woman among the surgeons.  A neighbour knows that she is in the survey, and her age.  Without PRAM he would find
# her record.  What does he learn from a woman of that age who is released as a surgeon?  Odds are those of the population, by
# weight: they rise, but a false surgeon remains the likelier one.

# %%
(woman,) = named_records(file, [{"sex": "woman", "age": "55-64", "occupation": "surgeon"}])
print(f"odds before: 1 to {1 / woman.prior:.0f}; after: 1 to {1 / woman.posterior:.1f}; probability {woman.probability:.0%}")

# %% [markdown]
# The weak place of such a release is elsewhere: in what stays as it is.  Income is not randomised here, and only surgeons and
# judges earn 5,000 in this country; who sees such an income needs no occupation.  Top-code or round such columns, or leave
# them out.  (We keep them, because the next tutorial fits models to them.)
#
# ## The release
#
# Two files leave the house: the records, in an order that tells nothing, and a document for analysts with the matrices, the
# strata, ε and the released counts.  Neither holds a true count.  Ids of persons and households stay here.
#
# Matrices that were made for a ratio were made from the true counts, and whoever knows what was asked for can work these out.
# So the release is refused until we say that the counts by health, and by occupation and age, are known anyway: this survey
# publishes them in its tables.  Where they are not, `public=False` keeps the matrices in the house.

# %%
columns = ["region", "age", "sex", "occupation", "health", "smoker", "hours", "income", "weight", "psu", "stratum"]
with TemporaryDirectory() as temporary:
    kept = __name__ == "__main__" and len(sys.argv) == 2
    folder = Path(sys.argv[1] if kept else temporary)
    document = write_pram(file, folder, name="persons.csv", columns=columns, counts_known=True)
    print(document)
    for path in sorted(folder.iterdir()):
        print(f"  {path.name}: {path.stat().st_size / 1000:.0f} kB")
    print((folder / "persons.csv").read_text(encoding="utf-8").splitlines()[1])

# %% [markdown]
# The owner's report shows the matrices, the risk, and how far an analyst's estimates are from the truth.  It holds true
# counts, and stays in the house.

# %%
report = pram_report(file, document, title="Survey of persons", risk=risk)
if kept:
    (folder / "owner-report.html").write_text(report, encoding="utf-8")
print(f"report: {len(report) / 1000:.0f} kB")

# %% [markdown]
# The same as a plan stands in `examples/survey/pram.toml`: `discreet pram pram.toml --out DIR`.  What analysts do with the two
# files is the subject of the next tutorial, `pram_analyst.py`.
