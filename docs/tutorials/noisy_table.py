"""From a confidential register to a table of sums with noise, its standard errors, and what an intruder could learn.

Run it from anywhere: python docs/tutorials/noisy_table.py [FILE.svg], to keep the picture at the end.
"""

# %% [markdown]
# Where too much of a table would have to be hidden, it can be published with noise instead: each number is a little wrong, by
# chance, and nobody can tell by how much.
#
# The noise is made from *record keys*, one for each enterprise, and the keys from a secret.  So the same contributors carry
# the same noise in every table of this register: who asks again gets the same number again and cannot average the noise
# away.  Make the secret once and keep it in the house; whoever has it can take the noise off.  (Here it is made anew for each
# run, so the numbers below are others each time.)

# %%
import secrets
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import discreet as dc
from discreet.audit import audit
from discreet.audit.attacks import attack_report
from discreet.audit.profiles import PROFILES
from discreet.loss import perturbation_loss
from discreet.model.keys import Secret
from discreet.tables.perturb import EvansZayatzSlanta, LayeredPerturbation

register = Path(__file__).resolve().parents[2] / "examples" / "register"
with TemporaryDirectory() as folder:
    kept = Path(folder) / "secret.txt"
    kept.touch(mode=0o600)
    kept.write_text(secrets.token_hex(), encoding="utf-8")
    secret = Secret.from_file(kept)

# %% [markdown]
# We count turnover by activity and region, as in the first tutorial, with two additions: the secret, and the ten largest
# contributions of each cell (`ranks`), which the method below looks at.  A rule then finds the sensitive cells.

# %%
records = dc.read_microdata(register / "register.parquet", unit="enterprise", holding="group")
nace = dc.read_hierarchy(register / "nace.hrc", lead="@").to_level(1)
spanning = {"nace": nace, "region": ["region1", "region2"]}
table = dc.tabulate(records, spanning=spanning, response="turnover", ranks=10, secret=secret)
table = dc.PPercent(p=10).apply(table)
print(table)

# %% [markdown]
# The *Layered Perturbation Method* puts noise on the nine largest contributions of a cell.  On the four largest it is noise
# that the contributor carries everywhere.  On the next five it is a mixture of this and of noise that belongs to the cell, and
# is another one as soon as somebody comes or goes.
#
# Each contributor's noise is between `low` = 10 % and `high` = 20 % of its contribution, up or down.  An intruder could still
# subtract two cells that differ by one contributor.  `target` = 20 makes the noise of the three largest stronger in each cell,
# so that such a difference misses their contributions by 1/√20 = 22 % or more (the standard error).  There is a limit to this,
# and the history counts the cells that miss the target because of it: here none.
#
# Sensitive cells and those with fewer than ten contributors stay hidden.

# %%
method = LayeredPerturbation(low=0.1, high=0.2, target=20)
noisy = method.apply(table)
print(noisy)
print(f"  {noisy.history[-1].method}: {dict(noisy.history[-1].counts)}")

# %% [markdown]
# No other cell has to be hidden to protect the hidden ones, since their neighbours are not exact any more.  The audit does not
# take this for granted.  It asks what follows from the release for certain, and how closely a hidden sensitive cell can be
# estimated from the numbers around it: the total with noise less the other parts with noise.

# %%
proof = audit(noisy)
print(proof)
release = dc.publish(noisy, audit=proof)

# %% [markdown]
# Readers get a standard error beside each number: about two in three numbers are closer to the truth than that, and nearly
# all within twice as much.  The exact error would tell how large the largest contributions are, so it is rounded up to one of
# a few grades: 0.5 %, 1 %, 2 %, 5 % … of the number.

# %%
columns = release.to_columns()
print(*columns, sep="  ")
for nace_code, region, turnover, status, error in list(zip(*columns.values(), strict=True))[:4]:
    print(f"{nace_code}  {region}  {turnover:,.2f}  {status}  {error:,.0f}")

# %% [markdown]
# What does the noise cost?  The figures of `perturbation_loss` are for the house; the report of a run tells readers as much
# of them as it safely can.

# %%
loss = perturbation_loss(noisy)
print(f"half of the {loss.total.cells} numbers are within {loss.total.relative.quantile(0.5):.1%}", end=", ")
print(f"95 in 100 within {loss.total.relative.quantile(0.95):.1%}")
print(f"all deviations together are {loss.total.share:.1%} of all that is shown")
print(f"{loss.additivity.broken} of {loss.additivity.equations} totals differ from the sum of their parts")

# %% [markdown]
# What can an intruder learn who may ask for many tables?  The attack report tries the known attacks on made-up cells, so
# nothing confidential enters; the report of a plan holds it for each method with noise.  Here is one kind of cell, with
# twelve contributors.  Each attack estimates one contribution:
#
# - *subset query*: two numbers, with and without the contributor, are subtracted;
# - *averaging*: many such pairs, each with other small contributors beside, and the mean of the differences;
# - *rank change*: the same again without the largest contributor, so that all below it move up by one rank.

# %%
profile, queries = PROFILES[0], (1, 2, 5, 10, 20, 50, 100)
print(f"a {profile.name} cell: {profile.what}; the intruder's error in % of the contribution:")
(attacked,) = attack_report(method, [profile], queries=queries, replicates=100)
for learnt in (attacked.subsets, *attacked.learnt):
    for rank in (1, 5, 11):
        seen = list(zip(learnt.numbers[learnt.rank == rank], learnt.error[learnt.rank == rank], strict=True))
        told = ", ".join(f"{error:.0f} from {numbers} numbers" for numbers, error in seen[::3])
        print(f"  {learnt.attack:12}  contributor {rank:2}: {told}")

# %% [markdown]
# Read it like this: an error of 27 means that the intruder misses the contribution by about 27 % of it.
#
# The noise of the cell averages out, and that of the contributors stays: the largest contributor is protected however often
# somebody asks.  Rank changes come closer, because noise changes its sign with the rank; closest of all to contributors in
# the middle.  Those of rank ten and below have no noise of their own, and are found out in the end.  Where users may ask for
# as many tables as they like, look at this before you choose a method.
#
# For comparison, the method of Evans, Zayatz and Slanta puts noise on every contributor, and all of it stays.  With noise of
# the same size it protects the largest contributors less, and the small ones for ever.

# %%
(other,) = attack_report(EvansZayatzSlanta(low=0.1, high=0.2), [profile], queries=queries, replicates=100)
averaged = attacked.learnt[0]
lines = {f"layered, contributor {rank}": averaged.error[averaged.rank == rank] for rank in (1, 5, 11)}
lines["Evans, Zayatz, Slanta"] = other.learnt[0].error[other.learnt[0].rank == 1]

# %% [markdown]
# As a picture: what averaging over more and more pairs leaves of the intruder's error.

# %%
left, top, width, height, most = 48, 40, 420, 300, max(max(errors) for errors in lines.values()) * 1.1
colours = ("#1f6f5c", "#5b9bd0", "#c4511f", "#8a7a9b")
shapes = [f'<text x="{left}" y="22" font-weight="600">Error of the intruder\'s estimate, % of the contribution</text>']
for error in range(0, int(most) + 1, 5):
    y = top + height * (1 - error / most)
    shapes.append(f'<path d="M{left} {y:.1f}h{width}" stroke="#d9dde0"/>')
    shapes.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{error}</text>')
across = [left + 12 + (width - 24) * place / (len(queries) - 1) for place in range(len(queries))]
for x, pairs in zip(across, queries, strict=True):
    shapes.append(f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">{pairs}</text>')
shapes.append(f'<text x="{left + width / 2}" y="{top + height + 36}" text-anchor="middle">pairs of numbers asked for</text>')
for colour, (name, errors) in zip(colours, lines.items(), strict=True):
    points = [(x, top + height * (1 - error / most)) for x, error in zip(across, errors, strict=True)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    shapes.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    shapes.append(f'<text x="{left + width + 6}" y="{points[-1][1] + 4:.1f}" fill="{colour}">{name}</text>')
picture = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 {top + height + 48}" font-family="sans-serif" font-size="12">'
    f'<rect width="660" height="{top + height + 48}" fill="#fff"/>{"".join(shapes)}</svg>\n'
)
if __name__ == "__main__" and len(sys.argv) == 2:
    Path(sys.argv[1]).write_text(picture, encoding="utf-8")
    print(f"wrote {sys.argv[1]}")
