"""The command line: ``discreet run | audit | suppress | pram | swap | estimate | methods | demo``.

Exit codes: 0 done; 2 the input, the plan or the command is wrong; 3 a table is not protected; 4 the solver failed.
"""

from __future__ import annotations

import argparse
import inspect
import io
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.cli.options import common, counted, print_verdict, progress, seconds
from discreet.cli.records import add_records
from discreet.cli.suppress import add_suppress
from discreet.errors import InputError, NotProtectedError, ParameterError, SdcError, SolverError, near, some

__all__ = ["command_parser", "main"]

WRONG, NOT_PROTECTED, NO_SOLVER, BROKEN = 2, 3, 4, 1
DEMO_PLAN = "turnover.toml"
AUDIT_COLUMNS = {
    "value": "the values ('value' by default)",
    "n": "the number of contributors; without it the values are counts of units",
    "status": "S open, U primary, M secondary, P must be published, E empty",
    "lower-protection": "lower protection levels",
    "upper-protection": "upper protection levels",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _stop)  # as for Ctrl-C: nothing may stay in temporary folders
    if isinstance(sys.stdout, io.TextIOWrapper):  # codes may have letters that the terminal does not know
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        given = command_parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        return int(given.command(given))
    except SdcError as error:
        print(f"discreet: {error}", file=sys.stderr)
        return NOT_PROTECTED if isinstance(error, NotProtectedError) else NO_SOLVER if isinstance(error, SolverError) else WRONG
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on, as in `discreet methods | head`
        return 0
    except OSError as error:
        print(f"discreet: {Path(str(error.filename or 'a file')).name}: {error.strerror}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("discreet: stopped; nothing was written", file=sys.stderr)
        return 130
    except Exception as error:
        print(f"discreet: {_broken(error)}", file=sys.stderr)
        return BROKEN


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def command_parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    about = "From confidential microdata to tables that are proved safe to publish."
    parser = argparse.ArgumentParser(prog="discreet", description=about)
    parser.add_argument("--version", action="version", version=f"discreet {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run a plan: protect, audit, publish, report")
    run.add_argument("plan", help="the plan, a TOML file")
    common(run)
    run.set_defaults(command=_run)

    audit = commands.add_parser("audit", help="audit tables as they stand, hiding nothing more")
    text = "a plan (its suppression methods are left out), a csv file with one line a cell, or a JJ file"
    audit.add_argument("source", help=text)
    audit.add_argument("--spanning", nargs="+", default=[], metavar="COLUMN", help="the spanning variables of the csv file")
    audit.add_argument("--hierarchy", action="append", default=[], metavar="COLUMN=FILE", help="the code tree of a column")
    audit.add_argument("--total", metavar="CODE", help="the code of the totals ('Total' by default)")
    for role, text in AUDIT_COLUMNS.items():
        audit.add_argument(f"--{role}", metavar="COLUMN", help=f"the column of the csv file with {text}")
    audit.add_argument("--time-limit", type=seconds, metavar="SECONDS", help="seconds a table; the rest counts as not safe")
    audit.set_defaults(command=_audit)

    add_suppress(commands)
    add_records(commands)

    methods = commands.add_parser("methods", help="list the methods, PRAM and its designs, those for swapping, or explain one")
    methods.add_argument("name", nargs="?", help="the method or design to explain")
    methods.set_defaults(command=_methods)

    demo = commands.add_parser("demo", help="run the demonstration: turnover of 100,000 synthetic enterprises")
    common(demo, out="demo-output")
    demo.set_defaults(command=_demo)
    return parser


# -------------------------------------------------------------------- run


def _run(given: argparse.Namespace) -> int:
    return _execute(Path(given.plan), given.out, given.time_limit)


def _demo(given: argparse.Namespace) -> int:
    package = Path(__file__).parents[1]
    places = (package / "_demo", package.parents[1] / "examples" / "register")
    plan = next((place / DEMO_PLAN for place in places if (place / DEMO_PLAN).is_file()), places[0] / DEMO_PLAN)
    return _execute(plan, given.out, given.time_limit)


def _execute(plan: Path, out: str | None, time_limit: float | None) -> int:
    from discreet.io.staging import gathered
    from discreet.plan.read import read_plan
    from discreet.plan.run import check_out, run_plan, write_release

    target = Path(out or f"{plan.stem}-output")
    checked = read_plan(plan)
    check_out(checked, target)
    run = run_plan(checked, time_limit=time_limit, progress=progress())
    with gathered(target, stale=[*run.file_names, "report.html", "report.json"]) as folder:
        write_release(run, folder)
        _write_report(run, folder)
        written = sorted(file.name for file in folder.iterdir())
    for one in run.tables:
        print(_summary(one))
    print(f"written to {target}: {', '.join(written)}")
    if checked.pram is not None:
        print(f"note: the records of [pram] are randomised by: discreet pram {checked.path.name}")
    if checked.swap is not None:
        print(f"note: the records of [swap] are swapped by: discreet swap {checked.path.name}")
    for one in run.refused:
        print(f"discreet: {one.name} is refused: {one.refusal}", file=sys.stderr)
    return NOT_PROTECTED if run.refused else 0


def _write_report(run: Any, folder: Path) -> None:
    from discreet.report import facts, render

    content = facts(run)
    (folder / "report.json").write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8")
    try:
        (folder / "report.html").write_text(render(content), "utf-8")
    except InputError as error:  # the extra is not installed; the release and report.json do not depend on it
        print(f"discreet: no report.html: {error}", file=sys.stderr)


def _summary(one: Any) -> str:
    table = one.table
    verdict = "REFUSED"
    if one.published is not None:
        verdict = "published with signed exceptions" if one.published.exceptions else "published"
    return f"{one.name}: {verdict}; {counted(table)}; {one.audit!r}; {one.seconds:.1f} s"


# -------------------------------------------------------------------- audit


def _audit(given: argparse.Namespace) -> int:
    from discreet.audit import audit

    unsafe = False
    for name, table in _tables(given):
        proof = audit(table, time_limit=given.time_limit)
        print_verdict(name, table, proof)
        unsafe |= not proof.safe
    return NOT_PROTECTED if unsafe else 0


def _tables(given: argparse.Namespace) -> list[tuple[str, Any]]:
    columns = {role.replace("-", "_"): getattr(given, role.replace("-", "_")) for role in AUDIT_COLUMNS}
    columns = {role: column for role, column in (*columns.items(), ("total", given.total)) if column is not None}
    from discreet.io.given import read_given
    from discreet.io.hierarchies import read_hierarchy
    from discreet.io.jj import read_jj

    kind = {".toml": "a plan", ".jj": "a JJ file"}.get(Path(given.source).suffix.lower())
    if kind:
        useless = [*columns, *(["spanning"] if given.spanning else []), *(["hierarchy"] if given.hierarchy else [])]
        if useless:
            raise ParameterError("audit", f"{some(useless)} cannot be given beside {kind}", "leave it out: the file says it")
        return _planned(Path(given.source)) if kind == "a plan" else [(Path(given.source).name, read_jj(given.source))]

    if not given.spanning:
        raise ParameterError("audit", "no spanning variable is named", "--spanning nace region")
    pairs = [pair.partition("=")[::2] for pair in given.hierarchy]
    for column, file in pairs:
        if column not in given.spanning or not file:
            trouble = (
                f"--hierarchy is given for {column!r}{near(column, given.spanning)}" if file else "--hierarchy names no file"
            )
            raise ParameterError("audit", trouble, "--hierarchy COLUMN=FILE, with one of the spanning variables")
    trees = {column: read_hierarchy(Path(file)) for column, file in pairs}
    kind = "magnitude" if given.n else "frequency"
    spanning = {column: trees.get(column) for column in given.spanning}
    return [(Path(given.source).name, read_given(Path(given.source), spanning=spanning, kind=kind, **columns))]


def _planned(path: Path) -> list[tuple[str, Any]]:
    from discreet.plan.catalog import SUPPRESSION
    from discreet.plan.read import read_plan
    from discreet.plan.sources import Sources

    found = []
    for group, table in Sources(read_plan(path)).tables():
        rules = [method for method in group[0].methods if method.NAME not in SUPPRESSION]
        name = " + ".join(one.name for one in group)
        found.append((name, reduce(lambda current, method: method.apply(current), rules, table)))
    return found


# -------------------------------------------------------------------- methods


def _methods(given: argparse.Namespace) -> int:
    from discreet.plan.catalog import EXPLAINED, FAMILIES, FOR_RECORDS, find
    from discreet.plan.explain import explained

    if given.name:
        print(explained(find(given.name, EXPLAINED)))
        return 0
    width = max(map(len, EXPLAINED))
    for family, methods in (FAMILIES | FOR_RECORDS).items():
        print(f"{family}:")
        for method in methods:
            print(f"  {method.NAME:{width}}  {inspect.cleandoc(method.__doc__ or '').partition(chr(10))[0]}")
        print()
    print("More of one: discreet methods NAME")
    return 0


def _broken(error: Exception) -> str:
    """Where a fault of discreet itself happened; its own words are left out, as they may hold values."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "discreet" in Path(frame.filename).parts]
    at = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "an unknown place"
    return f"this is a fault of discreet ({type(error).__name__} in {at}); please report it with these words"
