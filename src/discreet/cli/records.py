"""The commands for records: ``discreet pram | swap | estimate``."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from discreet.cli.options import out_option, progress
from discreet.errors import InputError, ParameterError

__all__ = ["add_records"]


def add_records(commands: Any) -> None:
    """Adds these commands and their options."""
    pram = commands.add_parser("pram", help="randomise the records of a plan's section [pram], and write what may be released")
    pram.add_argument("plan", help="the plan, a TOML file")
    out_option(pram)
    pram.set_defaults(command=_pram)

    swap = commands.add_parser(
        "swap", help="swap values between the records of a plan's section [swap], and write what may leave"
    )
    swap.add_argument("plan", help="the plan, a TOML file")
    out_option(swap)
    swap.add_argument("--foresee", action="store_true", help="say what each step would have to move; nothing is written")
    swap.set_defaults(command=_swap)

    estimate = commands.add_parser("estimate", help="unbiased tables from a randomised file, with their errors")
    _estimates(estimate)
    estimate.set_defaults(command=_estimate)


def _estimates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", help="the document, a file .pram.json that came with the records")
    parser.add_argument(
        "--by", type=_listed, default=[], metavar="COLUMNS", help="what the table is by: sex,region; quote a name with a comma"
    )
    parser.add_argument("--records", metavar="FILE", help="the randomised records (default: the file that the document names)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--total", metavar="COLUMN", help="totals of this column; without this, --mean and --share, counts of records"
    )
    what.add_argument("--mean", metavar="COLUMN", help="means of this column")
    text = "shares of the codes of these columns, within each combination of those of --by"
    what.add_argument("--share", type=_listed, metavar="COLUMNS", help=text)
    parser.add_argument(
        "--on-value", choices=("drop", "zero"), help="leave out records without a value of --total or --mean, or take it as 0"
    )
    parser.add_argument("--weight", metavar="COLUMN", help="the column of sampling weights")
    text = "the column of ultimate clusters (or of records): errors then are those of sample and randomisation together"
    parser.add_argument("--cluster", metavar="COLUMN", help=text)
    parser.add_argument("--design-strata", type=_listed, default=[], metavar="COLUMNS", help="the strata of that sample")
    parser.add_argument("--level", type=_level, default=0.95, metavar="SHARE", help="the level of the intervals")
    parser.add_argument("--csv", metavar="FILE", help="write the table into this file, in full")


def _listed(text: str) -> list[str]:
    return [name.strip() for line in csv.reader([text], skipinitialspace=True) for name in line if name.strip()]


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise argparse.ArgumentTypeError(f"takes a number between 0 and 1, not {text!r}")
    return level


def _pram(given: argparse.Namespace) -> int:
    from discreet.io.staging import gathered
    from discreet.plan.pram import REPORT, pram_names, run_pram, write_pram_run
    from discreet.plan.read import read_plan
    from discreet.plan.run import check_out
    from discreet.report.pram import pram_report

    plan = Path(given.plan)
    target = Path(given.out or f"{plan.stem}-output")
    checked = read_plan(plan)
    check_out(checked, target, pram_names(checked))
    run = run_pram(checked, progress=progress())
    with gathered(target, stale=pram_names(checked)) as folder:
        document = write_pram_run(run, folder)
        title = f"{checked.path.name}: {document.file}"
        _report(folder / REPORT, lambda: pram_report(run.file, document, title=title, risk=run.risk))
        written = _files(folder)
    variables = "1 randomised variable" if len(document.variables) == 1 else f"{len(document.variables)} randomised variables"
    epsilon = f"{document.epsilon:.4g}".replace("inf", "∞")
    print(f"{document.file}: {document.records} records, {variables}, ε = {epsilon} in all; {run.seconds:.1f} s")
    _tell(target, (*run.notes, *run.risk.warnings), written)
    return 0


def _swap(given: argparse.Namespace) -> int:
    from discreet.io.staging import gathered
    from discreet.plan.read import read_plan
    from discreet.plan.run import check_out
    from discreet.plan.swap import REPORT, foresee_swap, run_swap, swap_names, write_swap_run
    from discreet.report.swap import swap_report

    plan = Path(given.plan)
    if given.foresee:
        if given.out is not None:
            raise ParameterError("--out", "names a folder, and with --foresee nothing is written", "leave one of them out")
        for line in foresee_swap(plan, progress=progress()):
            print(line)
        return 0
    target = Path(given.out or f"{plan.stem}-output")
    checked = read_plan(plan)
    check_out(checked, target, swap_names(checked))
    run = run_swap(checked, progress=progress())
    with gathered(target, stale=swap_names(checked)) as folder:
        release = write_swap_run(run, folder)
        (keys, at_most), title = run.keys, f"{checked.path.name}: {release.name}"
        _report(folder / REPORT, lambda: swap_report(run.file, title=title, keys=keys, at_most=at_most))
        written = _files(folder)
    for line in run.told:
        print(line)
    kept, changed = run.file.kept()
    print(f"kept exactly: {'; '.join(' × '.join(margin) for margin in kept) or 'the counts of each column'}")
    print(f"{release.name}: {len(run.file.key)} records, {run.changed} of them with values of others; {run.seconds:.1f} s")
    lost = [f"{' × '.join(margin)} is kept by one step and changed by another" for margin in changed]
    _tell(target, (*run.notes, *lost), written)
    return 0


def _report(path: Path, made: Callable[[], str]) -> None:
    try:
        path.write_text(made(), "utf-8")
    except InputError as error:  # the extra is not installed; the release does not depend on it
        print(f"discreet: no report: {error}", file=sys.stderr)


def _files(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


def _tell(target: Path, notes: Sequence[str], written: Sequence[str]) -> None:
    from discreet.plan.release_sections import CONFIDENTIAL

    for text in notes:
        print(f"note: {text}")
    print(f"written to {target}: {', '.join(written)}; what is in {CONFIDENTIAL} is not for release")


def _estimate(given: argparse.Namespace) -> int:
    from discreet.inference.counts import estimate_counts
    from discreet.inference.sums import estimate_means, estimate_proportions, estimate_totals
    from discreet.io.estimates import write_estimates
    from discreet.io.pram import read_pram

    numbers = given.total is not None or given.mean is not None
    if not given.by and not numbers and not given.share:
        raise ParameterError("estimate", "no column is named", "--by sex,region")
    if given.on_value and not numbers:
        raise ParameterError("--on-value", "says what to do without a value, and none is asked for", "leave it out")
    released = read_pram(Path(given.document), given.records)
    inputs = (Path(given.document), Path(given.records or Path(given.document).parent / released.document.file))
    if given.csv and Path(given.csv).resolve() in [file.resolve() for file in inputs]:
        raise InputError(Path(given.csv).name, "is read, and the table would replace it", "choose another file for the table")
    options = {name: getattr(given, name) for name in ("weight", "cluster", "design_strata", "level")}
    if given.total is not None:
        found = estimate_totals(released, given.total, given.by, on_value=given.on_value, **options)
    elif given.mean is not None:
        found = estimate_means(released, given.mean, given.by, on_value=given.on_value, **options)
    elif given.share:
        found = estimate_proportions(released, given.share, given.by, **options)
    else:
        found = estimate_counts(released, given.by, **options)
    if given.csv:
        write_estimates(found.columns(), given.csv)
    print(found)
    return 0
