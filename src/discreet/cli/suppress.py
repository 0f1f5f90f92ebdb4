"""The command for tables in JJ files: ``discreet suppress``."""

from __future__ import annotations

import argparse
import time
import tomllib
from pathlib import Path
from typing import Any

from discreet.cli.options import print_verdict, progress, seconds
from discreet.errors import InputError, ParameterError

__all__ = ["add_suppress"]

NOT_PROTECTED = 3
DEFAULT = "suppression"


def add_suppress(commands: Any) -> None:
    """Adds the command and its options."""
    about = "hide further cells of a table in a JJ file until its audit proves it"
    suppress = commands.add_parser("suppress", help=about)
    suppress.add_argument("source", help="the table, a JJ file (with its file .frq beside it, where there is one)")
    suppress.add_argument("--method", default=DEFAULT, metavar="NAME", help=f"the suppression method (default: {DEFAULT})")
    text = "a parameter of the method, such as singletons=false; see: discreet methods NAME"
    suppress.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=text)
    text = "the JJ file with the pattern, as confidential as the table (default: the table's name and -suppressed)"
    suppress.add_argument("--out", metavar="FILE", help=text)
    suppress.add_argument("--time-limit", type=seconds, metavar="SECONDS", help="seconds for method, audit and repair")
    suppress.set_defaults(command=_suppress)


def _suppress(given: argparse.Namespace) -> int:
    from discreet.io.jj import read_jj, write_jj
    from discreet.io.staging import gathered
    from discreet.plan.protect import secure

    source = Path(given.source)
    target = Path(given.out) if given.out else source.with_name(f"{source.stem}-suppressed{source.suffix}")
    if target.resolve() == source.resolve():
        raise InputError(target.name, "is the table itself, and the pattern would replace it", "choose another file: --out")
    method = _method(given)
    table = read_jj(source)
    notes = table.history[-1].counts
    began, watched = time.monotonic(), progress() or _silent
    watched(method.NAME)
    try:
        applied = method.apply(table)
    except InputError:  # the method works by subtables
        table = read_jj(source, spanning=True)
        applied = method.apply(table)
    left = None if given.time_limit is None else max(0.0, given.time_limit - (time.monotonic() - began))
    done, proof = secure(applied, [method], time_limit=left, progress=watched)
    with gathered(target.parent, stale=[f"{target.name}.frq"]) as folder:
        write_jj(done, folder / target.name)
    print_verdict(source.name, done, proof)
    for step in applied.history[len(table.history) : -1]:
        print(f"{step.method}: {step.what}")
    print(_outcome(applied, done))
    for what in ("relations given up", "bounds that the values contradict, left out"):
        if what in notes:
            print(f"note: {what}: {notes[what]}")
    print(f"written to {target}, which holds all true values")
    return 0 if proof.safe else NOT_PROTECTED


def _method(given: argparse.Namespace) -> Any:
    """The suppression method with its parameters; the time limit is the method's own too, where it has one."""
    from discreet.method import parameters
    from discreet.plan.catalog import FAMILIES, SUPPRESSION, find, from_settings

    known = {method.NAME: method for family in FAMILIES.values() for method in family if method.NAME in SUPPRESSION}
    method = find(given.method, known)
    settings: dict[str, Any] = {"method": given.method}
    if given.time_limit is not None and "time_limit" in [one.name for one in parameters(method)]:
        settings["time_limit"] = given.time_limit
    for text in given.set:
        name, sign, value = text.partition("=")
        try:
            settings |= {name.strip().replace("-", "_"): tomllib.loads(f"value = {value}")["value"]} if sign else {}
        except tomllib.TOMLDecodeError:
            sign = ""
        if not sign:
            raise ParameterError("suppress", f"--set {text} sets nothing", "--set singletons=false, --set gap=0.01")
    return from_settings(settings)


def _outcome(applied: Any, done: Any) -> str:
    """The cost of the pattern, and what the method and the repair say of it."""
    step = applied.history[-1]
    said = [str(step.counts["outcome"])] if "outcome" in step.counts else []
    said += [f"gap {100 * step.counts['gap']:.2f} %"] if "gap" in step.counts else []
    repaired = int(done.secondary.sum() - applied.secondary.sum())
    said += [f"{repaired} more cells hidden by the repair after its audit"] if repaired else []
    return f"cost {float(done.cost[done.secondary].sum()):.12g} by {step.method}{': ' if said else ''}{', '.join(said)}"


def _silent(_: str) -> None:
    return None
