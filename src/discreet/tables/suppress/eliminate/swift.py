"""The elimination in machine code: the same cells are hidden as by the reference in plain Python, much sooner."""

from __future__ import annotations

import numpy as np

from discreet.model.contributions import Integers
from discreet.tables.suppress.eliminate.freedom import CHAINED, NAMES, NOBODY, OWNER, USED, Freedom, Steps, advance, settle_all
from discreet.tables.suppress.eliminate.publishing import PRIME, Publishing
from discreet.tables.suppress.eliminate.residues import ABSENT, solved_rows

__all__ = ["partners"]

_ROOM = 16
"""Entries to leave free when vectors are packed, for each parameter."""


def partners(task: Publishing) -> tuple[list[int], list[int]]:
    """The places of the targets that are lost whatever is hidden and, if there are none, of the cells to hide."""
    steps = _steps(task)
    known = task.targets + len(task.known)
    state = _taken(_empty(task, len(steps.own)), steps, 0, known)
    lost = np.flatnonzero(state.size[state.name_of[task.first_target :]] == 0) + task.first_target
    if lost.size:
        return lost.tolist(), []
    state = _taken(state, steps, known, len(steps.own))
    offered = steps.own[known:]
    return [], offered[state.name_of[offered] >= 0].tolist()


def _steps(task: Publishing) -> Steps:
    """Watch the targets, the last one first, and the known sums; then offer the pivots among the candidates."""
    at, size, place, value = solved_rows(task.rows.start, task.rows.entry, task.factor.copy(), len(task.order))
    columns, first = len(task.order), task.first_target
    targets = np.arange(columns - 1, first - 1, -1)
    offered = np.arange(first - 1, first - 1 - task.offered, -1)
    offered = offered[size[offered] != ABSENT]
    sums = len(task.known)
    begin = np.concatenate([at[targets], task.known.start[:-1] + len(place), at[offered]])
    length = np.concatenate([np.maximum(size[targets], 0), np.diff(task.known.start), size[offered]])
    start = np.concatenate([[0], np.cumsum(length)])
    entry = np.arange(start[-1]) + np.repeat(begin - start[:-1], length)
    nothing = np.full(sums, -1)
    return Steps(
        start=start.astype(np.int64),
        place=np.concatenate([place, task.known.entry])[entry],
        factor=np.concatenate([value, np.ones(len(task.known.entry), np.uint64)])[entry],
        own=np.concatenate([targets, nothing, offered]),
        free=np.concatenate([size[targets] == ABSENT, np.zeros(sums + len(offered), bool)]),
        offered=np.arange(len(begin)) >= len(targets) + sums,
        who=np.concatenate([task.alone[::-1], task.knower, np.where(task.owned[offered], OWNER, NOBODY)]),
    )


def _empty(task: Publishing, names: int) -> Freedom:
    """Nothing watched yet, with room for so many names."""
    columns, last = len(task.order), len(task.order) - 1
    lines = 1 << (4 * names + 4).bit_length()

    def whole(size: int, number: int = 0) -> Integers:
        return np.full(size, number, np.int64)

    # the targets are watched in descending order of place, so what a person knows is turned round as well
    person = np.repeat(np.arange(len(task.knows)), np.diff(task.knows.start))
    name = last - task.knows.entry
    return Freedom(
        tally=whole(5),
        start=whole(names),
        size=whole(names),
        one=np.zeros(names, np.uint64),
        two=np.zeros(names, np.uint64),
        line=np.zeros(names, np.uint64),
        after=whole(names, -1),
        before=whole(names, -1),
        who=whole(names, NOBODY),
        cell=np.zeros(names, bool),
        secret=np.zeros(names, bool),
        seen=whole(names),
        place=whole(0),
        value=np.zeros(0, np.uint64),
        head=whole(columns, -1),
        holders=whole(columns),
        holder=whole(0),
        link=whole(0),
        coin=np.random.default_rng(1).integers(1, PRIME, (2, columns)).astype(np.uint64),
        key=np.zeros(lines, np.uint64),
        first=whole(lines, -1),
        name_of=whole(columns, -1),
        secrets=np.asarray(task.secret),
        people=task.knows.start,
        knows=name[np.lexsort((name, person))],
    )


def _taken(state: Freedom, steps: Steps, begin: int, end: int) -> Freedom:
    """The state after some steps; room is made where it runs out."""
    room, at = _ROOM * len(state.head), begin
    while at < end:
        stopped = advance(state, steps, at, end)
        if stopped < end:
            room = 2 * room + 1 if stopped == at else room
            state = _roomier(state, room)
        at = stopped
    return state


def _roomier(state: Freedom, room: int) -> Freedom:
    """The same state with vectors, links and lines packed anew, and room for so many more entries."""
    names = int(state.tally[NAMES])
    size = state.size[:names]
    start = np.cumsum(size) - size
    entry = np.arange(size.sum()) + np.repeat(state.start[:names] - start, size)
    used = len(entry)
    more = max(room, used)
    place, value = np.zeros(used + more, np.int64), np.zeros(used + more, np.uint64)
    place[:used], value[:used] = state.place[entry], state.value[entry]
    by_place = np.argsort(place[:used], kind="stable")
    sorted_place = place[:used][by_place]
    holder, link = np.zeros(used + more, np.int64), np.full(used + more, -1)
    holder[:used] = np.repeat(np.arange(names), size)[by_place]
    same = np.flatnonzero(sorted_place[1:] == sorted_place[:-1])
    link[same] = same + 1
    head = np.full(len(state.head), -1)
    held, beginning = np.unique(sorted_place, return_index=True)
    head[held] = beginning
    state.start[:names] = start
    state.tally[[USED, CHAINED]] = used
    state.key[:], state.first[:] = 0, -1
    settle_all(state)
    return state._replace(place=place, value=value, holder=holder, link=link, head=head)
