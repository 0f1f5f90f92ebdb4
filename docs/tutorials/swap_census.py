"""From a census to a file whose published margins are exact and whose rare persons are not where they seem: swapping.

Run it from anywhere: python docs/tutorials/swap_census.py [DIR], to keep the released file and the owner's report.
"""

# %% [markdown]
# A census publishes some tables exactly, come what may.  The records behind them can still be protected: two records exchange
# some of their values, such that every one of these tables stays as it is, to the last count.  This page does that to a made-up
# census of 5,507 persons, twice: person by person, and household by household.  At its end it asks the opposite question: what
# do the exact tables themselves give away?

# %%
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import discreet as dc
from discreet.io.swap import write_swapped
from discreet.loss.swapping import swap_loss
from discreet.microdata.protect.swap import MarginSwap, RandomSwap, TargetedSwap
from discreet.microdata.protect.swap.partners import swap_partners, swappable
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.risk.given_away import given_away
from discreet.microdata.risk.swap_risk import swap_risk
from discreet.microdata.risk.uniques import key_counts
from discreet.model.margins import Margins
from discreet.report.swap import swap_report

census = Path(__file__).resolve().parents[2] / "examples" / "census" / "census.parquet"
records = dc.read_microdata(census, unit="person")
file = start_swap(records, dc.Secret("a made-up secret of a tutorial"))

# %% [markdown]
# The secret decides between swaps that are equally good.  Keep it in the house; here it stands in the open, so that this page
# says the same each time.
#
# ## Who stands out?
#
# A neighbour knows a person's district, age, sex, marital status, birthplace and work.  679 persons are the only ones with
# theirs.

# %%
keys = ["district", "age", "sex", "marital", "birthplace", "work"]
risk = key_counts(file, keys, subsets=3)
print(f"{risk.uniques} of {len(file.key)} persons are alone with their {len(keys)} keys")
worst = max(risk.subsets, key=lambda one: one.uniques if len(one.keys) == 3 else -1)
print(f"of three keys, {', '.join(worst.keys)} tell most: {worst.uniques} persons are alone with them")

# %% [markdown]
# ## Which swaps leave the published tables as they are?
#
# Five tables are published exactly.  Draw a line between any two columns that stand in one table.  Two persons can be swapped
# if the columns in which they differ fall into parts with no line between them: then one part can change places and the other
# stay.  Persons who agree on a *separator*, such as age here, and differ on both sides of it, can always be swapped.

# %%
variables = ["district", "age", "sex", "marital", "birthplace", "work", "tenure"]
tables = [
    ["district", "age", "sex"],
    ["age", "sex", "marital"],
    ["age", "work"],
    ["district", "birthplace"],
    ["district", "tenure"],
]
margins = Margins.of(variables, tables)
print("decomposable:", margins.decomposable)
for separator in margins.separators:
    print(f"  {', '.join(separator.variables)} separates {' | '.join(', '.join(part) for part in separator.components)}")
flags = swappable(file.combinations(variables), margins)
first = swap_partners(file, margins, {"person": "P00000"})
print(f"{flags.share:.1%} of the persons have a partner; the first has {first.records}")

# %% [markdown]
# ## Swap those who stand out
#
# All 679 are given partners at once, so that as many as possible change, with few changes each.  No child may get work, and
# nobody becomes a married child: `forbid` names what no record may get.  Income follows the work that it comes from, all other
# columns stay with the person.

# %%
method = MarginSwap(
    variables=variables,
    margins=tables,
    keys=keys,
    travel={"income": "work"},
    forbid=[
        {"age": "0-15", "work": ["farm", "industry", "trade", "office", "care", "school"]},
        {"age": "0-15", "marital": "married"},
    ],
)
swapped = method.apply(file)
for name, number in swapped.steps[0].facts.items():
    print(f"  {name}: {number}")
left = swap_risk(swapped, keys)
print(f"who finds a person that stands out in the new file is right in {left.right_share:.0%} of the cases")

# %% [markdown]
# The tables are the true ones; discreet counts all of them again after every step, and refuses a step that changed one.
# Others have changed.  As a baseline, the random swapping of Dalenius and Reiss: as many persons exchange their work, whoever
# they are.

# %%
rate = swapped.steps[0].facts["records changed"] / len(file.key)
baseline = RandomSwap(columns=["work"], rate=rate, within=["age"]).apply(file)
free = [["birthplace", "work"], ["marital", "work"], ["district", "work"]]
for name, one in (("by margins", swapped), ("at random", baseline)):
    utility = ", ".join(f"{' × '.join(loss.variables)} {loss.hellinger_utility:.4f}" for loss in swap_loss(one, free).margins)
    print(f"{name}: {swap_risk(one, keys).broken} of 679 are broken up; Hellinger utility of {utility}")

# %% [markdown]
# ## Whole households
#
# Census offices swap whole households between places instead.  A household must move if one of its members is like fewer than k
# persons in its town, district or region; it changes places with one of equal size and tenure.  How many that forces is told
# beforehand, and may be far from the rate that one had in mind.

# %%
place = ("region", "district", "town")
for k, variables_at_risk in ((3, ["age", "sex", "birthplace"]), (3, ["age", "sex"]), (2, ["age", "birthplace"])):
    asked = TargetedSwap(
        household="household", geography=place, risk=variables_at_risk, k=k, profiles=[["tenure"], []], rate=0.1
    )
    print(asked.foreseen(file))

# %%
moved = asked.apply(file)
facts = moved.steps[0].facts
print(f"{facts['households swapped']} of {facts['households']} households changed places, {facts['persons swapped']} persons")

# %% [markdown]
# Every table without a place is exact, and so is every table of places by size of household.
#
# ## The release
#
# The ids of persons and households stay in the house, and the lines stand in a new order.  The owner's report tells what was
# done, and to whom how often; it is as confidential as the file.

# %%
columns = ["district", "tenure", "age", "sex", "marital", "birthplace", "work", "income"]
with TemporaryDirectory() as temporary:
    kept = __name__ == "__main__" and len(sys.argv) == 2
    folder = Path(sys.argv[1] if kept else temporary)
    released = write_swapped(swapped, folder, name="persons.csv", columns=columns)
    print(f"{released.name}: {released.stat().st_size / 1000:.0f} kB")
    print(released.read_text(encoding="utf-8").splitlines()[1])
    report = swap_report(swapped, title="Census of persons", keys=keys, proof=given_away(file, margins))
    if kept:
        (folder / "owner-report.html").write_text(report, encoding="utf-8")
    print(f"report: {len(report) / 1000:.0f} kB")

# %% [markdown]
# ## What do exact tables give away?
#
# A record that no swap can change is one that the tables prove: every file with these tables holds it.  So the search for
# swaps is an audit of tables.  The five tables above prove nobody.  Three others look as harmless: by town and birthplace, each
# with one more column.  Together they prove 36 persons, 30 of them alone with what they are: place, birthplace, age, work and
# sex, though no table has more than three of these.

# %%
print("the five tables:", given_away(file, margins))
others = [["town", "birthplace", "age"], ["town", "birthplace", "work"], ["town", "birthplace", "sex"]]
audit = given_away(file, Margins.of(["town", "birthplace", "age", "work", "sex"], others))
print("three tables by town and birthplace:", audit)
for name, number in audit.shown().items():
    if name.endswith("given away"):
        print(f"  {name}: {number}")

# %% [markdown]
# `audit.rows()` lists them for the owner.  Coarser tables, or noise on their counts, are the remedies: swapping cannot help
# those whom the tables themselves prove.
#
# The same as a plan stands in `examples/census/swap.toml`: `discreet swap swap.toml --out DIR`.
