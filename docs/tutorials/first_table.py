"""From a confidential register to a published table, step by step.

Run it from anywhere: python docs/tutorials/first_table.py
"""

# %% [markdown]
# The register of the demonstration holds 100,000 synthetic enterprises.  A unit is an enterprise; enterprises of one
# group act together, so the group is the *holding*, and contributions are counted by holding.

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

import discreet as dc
from discreet.audit import audit

register = Path(__file__).resolve().parents[2] / "examples" / "register"
records = dc.read_microdata(register / "register.parquet", unit="enterprise", holding="group")
print(records)

# %% [markdown]
# Two spanning variables: activity, a tree read from a file and cut at the second level, and region, whose levels are columns
# of the register.  The table holds all cells, margins included, and the equations between them.

# %%
nace = dc.read_hierarchy(register / "nace.hrc", lead="@").to_level(2)
table = dc.tabulate(records, spanning={"nace": nace, "region": ["region1", "region2"]}, response="turnover")
print(table)

# %% [markdown]
# Which cells are sensitive?  Those with fewer than three holdings, and those in which the second largest holding could
# estimate the largest to within 10 %.

# %%
table = dc.MinimumFrequency(n=3, count="holdings").apply(table)
table = dc.PPercent(p=10).apply(table)
print(table)

# %% [markdown]
# Hiding only these is not enough: most follow from the margins by subtraction.  The audit says so, and a release is refused.

# %%
print(audit(table))
try:
    dc.publish(table)
except dc.NotProtectedError as refused:
    print(str(refused).splitlines()[0][:100], "…")

# %% [markdown]
# `protect` hides further cells, then lets the audit judge, and repairs what it finds until everything is proved.
# Giving it only the suppression method is enough here, since the rules have been applied.

# %%
table = dc.protect(table, [dc.GaussSuppression()])
proof = audit(table)
print(proof)
for step in table.history:
    print(f"  {step.method}: {step.what} {dict(step.counts)}")

# %% [markdown]
# What does it cost the reader of the table?

# %%
loss = dc.suppression_loss(table, proof)
print(
    f"hidden: {loss.total.share_of_cells:.0%} of all cells; of the turnover in the finest cells {loss.inner.share_of_value:.0%}"
)

# %% [markdown]
# The release holds no true value of a hidden cell, and does not tell sensitive cells from those hidden to protect them.

# %%
release = dc.publish(table, audit=proof)
with TemporaryDirectory() as folder:
    written = dc.write_published(release, folder)
    print(*written[0].read_text(encoding="utf-8").splitlines()[:4], sep="\n")
