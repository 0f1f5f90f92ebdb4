"""What a swap with fixed margins foresees is what it then does."""

import numpy as np
import pandas as pd
import pytest

from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.margin import MarginSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.swap_file import SwapFile

SECRET = Secret("a secret of a test, for nothing else")
NAMES = ("a", "b", "c", "d")


def started(n: int, seed: int = 1) -> SwapFile:
    chance = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": range(n)} | {name: chance.choice(list("xyz"), n, p=[0.7, 0.2, 0.1]) for name in NAMES})
    return start_swap(read_microdata(frame, unit="id"), SECRET)


@pytest.mark.parametrize("margins", [(("a", "b"), ("b", "c"), ("c", "d")), (("a", "b", "c"), ("d",)), (NAMES,), (("a",),)])
@pytest.mark.parametrize("at_most", [1, 3])
def test_those_foreseen_as_fixed_do_not_change(margins: tuple[tuple[str, ...], ...], at_most: int) -> None:
    file = started(150)
    method = MarginSwap(variables=NAMES, margins=margins, keys=NAMES, at_most=at_most, effect="any", candidates=1000)
    foreseen = method.foreseen(file)
    counts = file.combinations(NAMES)
    facts = method.apply(file).steps[-1].facts
    assert foreseen.records == 150
    assert foreseen.risky == counts.counts[counts.counts <= at_most].sum() == facts["risky records"]
    assert facts["risky records changed"] <= foreseen.risky - foreseen.fixed
    assert (foreseen.fixed == foreseen.risky) == (margins == (NAMES,))


def test_variables_that_stay_stay_together() -> None:
    file = started(80)
    free, bound = (
        MarginSwap(variables=NAMES, margins=(("a", "b"), ("b", "c")), keys=NAMES, stay=stay).foreseen(file).fixed
        for stay in ((), ("a", "c", "d"))
    )
    assert free < bound


def test_in_words() -> None:
    file = started(150)
    told = str(MarginSwap(variables=NAMES, margins=(NAMES,), keys=("a", "b"), rate=0.1).foreseen(file))
    assert told.endswith("the rate asks for 15 records")
    told = str(MarginSwap(variables=NAMES, margins=(NAMES,), keys=NAMES).foreseen(file))
    assert "of 150 records are risky: no other record has their 'a', 'b', 'c', 'd'; at least" in told
    told = str(MarginSwap(variables=NAMES, margins=(("a",),), rate=0.1, effect="any").foreseen(file))
    assert told == "the rate asks for 15 records"
