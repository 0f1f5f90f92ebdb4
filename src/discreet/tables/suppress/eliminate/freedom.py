"""How watched cells can still move together, given what is published: the same as the reference ``Freedom``, compiled.

Vectors are rows of residues in one array, lines are found by hashing.  Whatever needs more room than is left is not
begun: the caller makes room and calls again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.contributions import Integers
from discreet.model.table import Bools
from discreet.tables.suppress.eliminate.publishing import Residues
from discreet.tables.suppress.eliminate.residues import added, compiled, inverse, negative, sum_of, times

__all__ = ["CHAINED", "LINES", "NAMES", "NOBODY", "OWNER", "USED", "Freedom", "Steps", "advance", "settle_all"]

NOBODY, OWNER = -1, -2
"""In ``who``: nobody knows it; only its own contributor does, and nothing else."""

USED, CHAINED, LINES, NAMES, TURN = 0, 1, 2, 3, 4
"""In ``tally``: entries, links and lines in use, names watched, and the number of the last publication tried."""

_NONE = np.uint64(0)
_MIX, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class Steps(NamedTuple):
    """What to do with each place, in order: combine the vectors of watched places and watch the outcome or offer it.

    Step ``i`` combines ``place[start[i]:start[i + 1]]``; it stands for the place ``own``, or for a known sum (-1), whose
    vector is a parameter of its own if ``free``; if ``offered`` it is published where that gives nothing away.
    """

    start: Integers
    place: Integers
    factor: Residues
    own: Integers
    free: Bools
    offered: Bools
    who: Integers


class Freedom(NamedTuple):
    """Arrays by name (watched vectors in order of arrival), by parameter, by entry and by line.

    ``size`` entries from ``start`` on in ``place``/``value``; ``one``/``two`` the two projections, ``line`` their ratio;
    ``after``/``before`` the neighbours on a line, which begins at ``first``; ``head`` and ``link`` chain up who holds a
    parameter (some do no more), ``holders`` how many do; ``name_of`` a place; ``people`` knows ``knows``.
    """

    tally: Integers
    start: Integers
    size: Integers
    one: Residues
    two: Residues
    line: Residues
    after: Integers
    before: Integers
    who: Integers
    cell: Bools
    secret: Bools
    seen: Integers
    place: Integers
    value: Residues
    head: Integers
    holders: Integers
    holder: Integers
    link: Integers
    coin: Residues
    key: Residues
    first: Integers
    name_of: Integers
    secrets: Bools
    people: Integers
    knows: Integers


@compiled
def _slot(state: Freedom, line: np.uint64) -> np.int64:
    """Where a line stands in the hash table, or would."""
    mask = len(state.key) - 1
    at = np.int64((line * _MIX) >> _SHIFT) & mask
    while state.key[at] != _NONE and state.key[at] != line:
        at = (at + 1) & mask
    return at


@compiled
def _settle(state: Freedom, name: int, line: np.uint64) -> None:
    """Put a name on a line."""
    state.line[name], state.before[name], state.after[name] = line, -1, -1
    if line == _NONE:
        return
    at = _slot(state, line)
    if state.key[at] == _NONE:
        state.key[at] = line
        state.tally[LINES] += 1
    following = state.first[at]
    state.after[name] = following
    if following >= 0:
        state.before[following] = name
    state.first[at] = name


@compiled
def _leave(state: Freedom, name: int) -> None:
    """Take a name off its line."""
    if state.line[name] == _NONE:
        return
    before, following = state.before[name], state.after[name]
    if before >= 0:
        state.after[before] = following
    else:
        state.first[_slot(state, state.line[name])] = following
    if following >= 0:
        state.before[following] = before


@compiled
def _line_of(one: np.uint64, two: np.uint64) -> np.uint64:
    """A number that is the same for the projections of multiples of a vector; 0 for those of the zero vector."""
    return times(two, inverse(one))


@compiled
def _projected(state: Freedom, place: Integers, value: Residues) -> tuple[np.uint64, np.uint64]:
    one, two = _NONE, _NONE
    for entry in range(len(place)):
        one = sum_of(one, times(value[entry], state.coin[0, place[entry]]))
        two = sum_of(two, times(value[entry], state.coin[1, place[entry]]))
    return one, two


@compiled
def _combined(state: Freedom, steps: Steps, step: int, place: Integers, value: Residues, dense: Residues) -> int:
    """The vector of a step into ``place`` and ``value``, with the help of an array of zeros; how many entries it has."""
    if steps.free[step]:
        place[0], value[0] = steps.own[step], np.uint64(1)
        return 1
    touched = 0
    for part in range(steps.start[step], steps.start[step + 1]):
        name = state.name_of[steps.place[part]]
        for entry in range(state.start[name], state.start[name] + state.size[name] if name >= 0 else 0):
            q, old = state.place[entry], dense[state.place[entry]]
            dense[q] = sum_of(old, times(steps.factor[part], state.value[entry]))
            if old == _NONE:
                place[touched] = q
                touched += 1
    place[:touched].sort()
    entries = 0
    for at in range(touched):
        q = place[at]
        if dense[q] != _NONE:
            place[entries], value[entries], dense[q] = q, dense[q], _NONE
            entries += 1
    return entries


@compiled
def _hold(state: Freedom, name: int, parameter: int) -> None:
    """Note that a name has come to hold a parameter."""
    at = state.tally[CHAINED]
    state.holder[at], state.link[at] = name, state.head[parameter]
    state.head[parameter], state.tally[CHAINED] = at, at + 1
    state.holders[parameter] += 1


@compiled
def _watch(state: Freedom, own: int, who: int, place: Integers, value: Residues) -> bool:
    """Watch a vector; False, and nothing done, where there is no room."""
    name, used, size = state.tally[NAMES], state.tally[USED], len(place)
    if (
        used + size > len(state.place)
        or state.tally[CHAINED] + size > len(state.link)
        or 2 * state.tally[LINES] > len(state.key)
    ):
        return False
    state.place[used : used + size], state.value[used : used + size] = place, value
    state.start[name], state.size[name], state.who[name] = used, size, who
    state.cell[name] = own >= 0
    if own >= 0:
        state.name_of[own], state.secret[name] = name, state.secrets[own]
    state.tally[USED], state.tally[NAMES] = used + size, name + 1
    for parameter in place:
        _hold(state, name, parameter)
    state.one[name], state.two[name] = _projected(state, place, value)
    _settle(state, name, _line_of(state.one[name], state.two[name]))
    return True


@compiled
def _determines(state: Freedom, line: np.uint64) -> bool:
    """Whether a watched cell lies on this line."""
    name = state.first[_slot(state, line)]
    while name >= 0:
        if state.cell[name]:
            return True
        name = state.after[name]
    return False


@compiled
def _entry(state: Freedom, name: int, parameter: int) -> int:
    """Where a name holds a parameter, or -1."""
    low, high = state.start[name], state.start[name] + state.size[name]
    at = low + np.searchsorted(state.place[low:high], parameter)
    return at if at < high and state.place[at] == parameter else -1


@compiled
def _gathered(state: Freedom, parameter: int, names: Integers, factor: Residues) -> int:
    """Everything that holds a parameter, and how much of it; how many they are."""
    state.tally[TURN] += 1
    found, at = 0, state.head[parameter]
    while at >= 0:
        name, at = state.holder[at], state.link[at]
        if state.seen[name] == state.tally[TURN]:
            continue
        entry = _entry(state, name, parameter)
        if entry >= 0:
            state.seen[name] = state.tally[TURN]
            names[found], factor[found] = name, state.value[entry]
            found += 1
    return found


@compiled
def _tells(state: Freedom, owner: int, other: int) -> bool:
    """Whether who knows ``owner`` must not learn ``other``."""
    who = state.who[owner]
    if who == NOBODY or not state.secret[other]:
        return False
    if who == OWNER:
        return owner != other
    low, high = state.people[who], state.people[who + 1]
    at = low + np.searchsorted(state.knows[low:high], other)
    return bool(at == high or state.knows[at] != other)


@compiled
def _betrayed(state: Freedom, names: Integers, lines: Residues) -> bool:
    """Whether a secret comes to lie on one line with something that another owner knows."""
    order = np.argsort(lines)
    begin = 0
    for end in range(1, len(order) + 1):
        if end < len(order) and lines[order[end]] == lines[order[begin]]:
            continue
        if lines[order[begin]] != _NONE:
            for i in range(begin, end):
                one = names[order[i]]
                for j in range(begin, i):
                    other = names[order[j]]
                    if state.line[one] != state.line[other] and (_tells(state, one, other) or _tells(state, other, one)):
                        return True
                other = state.first[_slot(state, lines[order[begin]])]
                while other >= 0:
                    here = state.seen[other] != state.tally[TURN] and state.line[one] != state.line[other]
                    if here and (_tells(state, one, other) or _tells(state, other, one)):
                        return True
                    other = state.after[other]
        begin = end
    return False


@compiled
def _change(state: Freedom, name: int, parameter: int, factor: np.uint64, place: Integers, value: Residues) -> None:
    """Put ``factor`` times a step in the place of a parameter in the vector of a name."""
    low, used = state.start[name], state.tally[USED]
    hit, high = _entry(state, name, parameter), low + state.size[name] - 1
    for entry in range(hit, high):
        state.place[entry], state.value[entry] = state.place[entry + 1], state.value[entry + 1]
    out, sums = state.place[used:], state.value[used:]
    size = added(state.place[low:high], state.value[low:high], factor, place, value, out, sums)
    old, new = low, 0
    while old < high or new < size:
        if new == size or (old < high and state.place[old] < out[new]):
            state.holders[state.place[old]] -= 1
            old += 1
        elif old == high or out[new] < state.place[old]:
            _hold(state, name, out[new])
            new += 1
        else:
            old, new = old + 1, new + 1
    if size <= state.size[name]:
        state.place[low : low + size], state.value[low : low + size] = out[:size], sums[:size]
    else:
        state.start[name], state.tally[USED] = used, used + size
    state.size[name] = size


@compiled
def _publish(state: Freedom, place: Integers, value: Residues, names: Integers, factor: Residues, lines: Residues) -> int:
    """Make a combination known: 1; 0 where that must not be, -1 where there is no room, and then nothing is done."""
    chosen = 0
    for entry in range(len(place)):
        if state.holders[place[entry]] < state.holders[place[chosen]]:
            chosen = entry
    parameter, scale = place[chosen], inverse(negative(value[chosen]))
    found = _gathered(state, parameter, names, factor)
    more = found * len(place)
    if state.tally[USED] + more + state.size[names[:found]].sum() > len(state.place):
        return -1
    if state.tally[CHAINED] + more > len(state.link) or 2 * (state.tally[LINES] + found) > len(state.key):
        return -1
    step, worth = np.concatenate((place[:chosen], place[chosen + 1 :])), np.empty(len(place) - 1, np.uint64)
    for entry in range(len(step)):
        worth[entry] = times(value[entry if entry < chosen else entry + 1], scale)
    one, two = _projected(state, step, worth)
    one = sum_of(one, negative(state.coin[0, parameter]))
    two = sum_of(two, negative(state.coin[1, parameter]))
    for at in range(found):
        first = sum_of(state.one[names[at]], times(factor[at], one))
        lines[at] = _line_of(first, sum_of(state.two[names[at]], times(factor[at], two)))
    if _betrayed(state, names[:found], lines[:found]):
        return 0
    for at in range(found):
        name = names[at]
        state.one[name] = sum_of(state.one[name], times(factor[at], one))
        state.two[name] = sum_of(state.two[name], times(factor[at], two))
        _leave(state, name)
        _settle(state, name, lines[at])
        _change(state, name, parameter, factor[at], step, worth)
    state.head[parameter], state.holders[parameter] = -1, 0
    return 1


@compiled
def settle_all(state: Freedom) -> None:
    """Put every name on its line again, in an empty hash table."""
    state.tally[LINES] = 0
    for name in range(state.tally[NAMES]):
        _settle(state, name, state.line[name])


@compiled
def advance(state: Freedom, steps: Steps, begin: int, end: int) -> int:
    """Take the steps from ``begin`` on; where it stopped: ``end``, or a step for which there is no room."""
    columns, watched = len(state.head), len(state.start)
    place, value, dense = np.empty(columns, np.int64), np.empty(columns, np.uint64), np.zeros(columns, np.uint64)
    names, factor, lines = np.empty(watched, np.int64), np.empty(watched, np.uint64), np.empty(watched, np.uint64)
    for step in range(begin, end):
        size = _combined(state, steps, step, place, value, dense)
        if steps.offered[step]:
            if not size:
                continue
            one, two = _projected(state, place[:size], value[:size])
            if not _determines(state, _line_of(one, two)):
                done = _publish(state, place[:size], value[:size], names, factor, lines)
                if done < 0:
                    return step
                if done:
                    continue
        if not _watch(state, steps.own[step], steps.who[step], place[:size], value[:size]):
            return step
    return end
