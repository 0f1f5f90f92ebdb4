"""From a confidential register to a table of sums with noise, its standard errors, and what an intruder could learn.

Run it from anywhere: python docs/tutorials/noisy_table.py [FILE.svg], to keep the picture at the end.
"""

# %% [markdown]
# A table for which much would have to be suppressed can be published with noise instead.  All noise is made from *record
# keys*, and these from a secret, so that the same contributors carry the same noise in every table that is made from the
# register: an intruder who asks again gets the same number again.  The secret is made once and kept in the house; whoever has
# it can take the noise off.

# %%
import secrets
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import discreet as dc
from discreet.audit import audit
from discreet.audit.attacks import attack_report
from discreet.audit.cells import PROFILES
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
# Layered perturbation puts noise on the nine largest contributions of each cell: noise that belongs to the contributor on the
# largest four, a mixture of this and of noise that belongs to the cell on the next five.  It wants the ten largest of each
# cell.

# %%
records = dc.read_microdata(register / "register.parquet", unit="enterprise", holding="group")
nace = dc.read_hierarchy(register / "nace.hrc", lead="@").to_level(1)
spanning = {"nace": nace, "region": ["region1", "region2"]}
table = dc.tabulate(records, spanning=spanning, response="turnover", ranks=10, secret=secret)
table = dc.PPercent(p=10).apply(table)
print(table)

# %% [markdown]
# The noise of one contributor is between 10 and 20 % of its contribution, up or down.  `target` = 20 multiplies it in each
# cell so that the difference between two cells estimates none of the three largest contributions with a standard error
# below 1/√20 = 22 % of it, as far as the factors of the second and the third may go (at most 1.9).
# Sensitive cells and those with fewer than ten contributors stay hidden.

# %%
method = LayeredPerturbation(low=0.1, high=0.2, target=20)
noisy = method.apply(table)
print(noisy)
print(f"  {noisy.history[-1].method}: {dict(noisy.history[-1].counts)}")

# %% [markdown]
# No other cell has to be hidden to protect the hidden ones: their neighbours are not exact any more.  The audit does not take
# this for granted.  It asks what follows from the release for certain, and how closely the numbers estimate a sensitive
# cell that is missing among them.

# %%
proof = audit(noisy)
print(proof)
release = dc.publish(noisy, audit=proof)

# %% [markdown]
# Readers get a standard error beside each number.  The exact one would tell how large the largest contributions are, so it is
# rounded up to a few grades.

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
# What can an intruder learn?  The attack report tries all known attacks on made-up cells, so nothing confidential enters; a
# plan's report holds it for each method with noise.  Here is one kind of cell, with twelve contributors.
#
# *Subset query*: two numbers, with and without a contributor, subtracted.  *Averaging*: many such pairs, each with another
# small contributor beside.  *Rank change*: the same again without the largest, so that all below it move up.

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
# The noise of the cell averages out and that of the contributors stays: the largest is protected however often somebody
# asks.  Rank changes come closer, as noise changes its sign with the rank, and closest to those in the middle.  Contributors
# without noise of their own, rank ten and below, are found out in the end.  Where users may ask for as many tables as they
# like, this is what to look at before choosing a method.  Evans, Zayatz and Slanta's has noise on every contributor, all of
# which stays; with the same distribution it is less noise for the largest.

# %%
(other,) = attack_report(EvansZayatzSlanta(low=0.1, high=0.2), [profile], queries=queries, replicates=100)
averaged = attacked.learnt[0]
lines = {f"layered, contributor {rank}": averaged.error[averaged.rank == rank] for rank in (1, 5, 11)}
lines["Evans, Zayatz, Slanta"] = other.learnt[0].error[other.learnt[0].rank == 1]

# %% [markdown]
# As a picture: the error after averaging over pairs.

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
