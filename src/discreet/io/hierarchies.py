"""Reads code trees: indented and lead-string files, code lists, parent-child pairs, level columns, nested dicts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import HierarchyError, InputError, ParameterError
from discreet.io.columns import Columns, code_text, is_path, pick, read_columns, read_text
from discreet.model.hierarchy import Hierarchy

__all__ = [
    "read_hierarchy",
    "read_labels",
    "read_levels",
    "read_nested",
    "read_pairs",
    "read_prefixes",
    "read_tree",
]

Groupings = Sequence[Mapping[str, Sequence[str]]]
Labels = Mapping[Any, str] | str | os.PathLike[str] | None


def read_hierarchy(
    source: Any,
    *,
    total: str | None = None,
    labels: Labels = None,
    groupings: Groupings = (),
    even: bool = False,
    **options: Any,
) -> Hierarchy:
    """The hierarchy behind whatever holds it.

    ============================================  =====================  =================================
    source                                        read by                options
    ============================================  =====================  =================================
    a nested dict                                 :func:`read_nested`
    a list of codes with ``prefix_lengths``       :func:`read_prefixes`  prefix_lengths
    a list of codes, flat                         :meth:`Hierarchy.flat`
    a csv path or frame with parent and child     :func:`read_pairs`     parent, child, label, delimiter,
                                                                         encoding
    a csv path or frame with level columns        :func:`read_levels`    columns, delimiter, encoding
    any other path                                :func:`read_tree`      lead, encoding
    ============================================  =====================  =================================

    ``total`` the code of the total ("Total" by default); ``labels`` a dict or a file of codes and labels;
    ``groupings`` further sums over the same leaves; ``even`` refuses leaves on different levels.

    Errors: ParameterError for an option that this kind of source cannot use.
    """
    common: dict[str, Any] = {"total": total, "labels": labels, "groupings": groupings, "even": even}
    if isinstance(source, Mapping):
        return read_nested(source, **common, **_usable(options, "a nested dict"))
    if isinstance(source, list | tuple | range):
        if "prefix_lengths" in options:
            return read_prefixes(source, **common, **_usable(options, "a list of codes", "prefix_lengths"))
        _usable(options, "a list of codes")
        return _finished([(total or "Total", code_text(code, "hierarchy")) for code in source], common, "hierarchy")
    tabular = options.keys() & {"parent", "child", "columns"}
    if is_path(source) and Path(source).suffix.lower() not in (".csv", ".tsv") and not tabular:
        return read_tree(source, **common, **_usable(options, "a file of codes", "lead", "encoding"))
    file = {key: options[key] for key in ("delimiter", "encoding") if key in options}
    columns = read_columns(source, where="hierarchy", **file)
    rest = {key: value for key, value in options.items() if key not in file}
    where = Path(source).name if is_path(source) else "hierarchy"
    pairs = {"parent", "child"} & rest.keys() or {"parent", "child"} <= columns.keys()
    if "columns" not in rest and pairs:
        rest = _usable(rest, "parent-child pairs", "parent", "child", "label")
        return read_pairs(columns, **common, source_name=where, **rest)
    return read_levels(columns, **common, source_name=where, **_usable(rest, "level columns", "columns"))


def read_tree(
    path: str | os.PathLike[str],
    *,
    lead: str | None = None,
    total: str | None = None,
    labels: Labels = None,
    groupings: Groupings = (),
    even: bool = False,
    encoding: str | None = None,
) -> Hierarchy:
    """From a file with one code a line in pre-order, each behind as many lead strings as it lies below the first level.

    ``lead`` the lead string, such as "@" or four blanks; where not given, "@" when a line begins with it, else the
    smallest indentation.  The total is not listed.  Codes are what follows, byte for byte.
    """
    name = Path(path).name
    lines = list(_lines(read_text(path, encoding=encoding)))
    found = lead if lead is not None else _found_lead([line for _, line in lines])
    if lead == "":
        raise ParameterError("lead", "the lead string is empty", "leave lead out to have it found")
    nodes = list(_nodes(lines, found, name))
    root = total or "Total"
    if nodes and nodes[0][1] == root and sum(depth == 0 for depth, _ in nodes) == 1:
        nodes = [(depth - 1, code) for depth, code in nodes[1:]]
    pairs, branch = [], [root]
    for depth, code in nodes:
        branch[depth + 1 :] = [code]
        pairs.append((branch[depth], code))
    return _finished(pairs, {"total": total, "labels": labels, "groupings": groupings, "even": even}, name)


def read_pairs(
    source: Any,
    *,
    parent: str = "parent",
    child: str = "child",
    label: str | None = None,
    total: str | None = None,
    labels: Labels = None,
    groupings: Groupings = (),
    even: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    source_name: str = "",
) -> Hierarchy:
    """From a csv file or frame with a parent and a child on each line; an empty parent is the total.

    Without ``total``, a single code that is nobody's child is the total.
    """
    columns, name = _columns(source, delimiter, encoding, source_name)
    up = _codes(columns, parent, name, "the parents")
    down = _codes(columns, child, name, "the children")
    if "" in down:
        raise HierarchyError(name, f"row {down.index('') + 1} has no child", "complete or remove it")
    root = total or _root(up, down)
    given = dict(_label_map(labels))
    if label is not None:
        texts = pick(columns, label, name, "the labels")
        given |= {code: str(text) for code, text in zip(down, texts, strict=True) if text is not None}
    pairs = [(above or root, code) for above, code in zip(up, down, strict=True) if above or code != root]
    return _finished(pairs, {"total": root, "labels": given, "groupings": groupings, "even": even}, name)


def read_levels(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    total: str | None = None,
    labels: Labels = None,
    groupings: Groupings = (),
    even: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    source_name: str = "",
) -> Hierarchy:
    """From a csv file or frame with one column a level, coarse to fine (all its columns where not given)."""
    table, name = _columns(source, delimiter, encoding, source_name)
    chosen = [_codes(table, column, name, "a level") for column in (columns if columns is not None else table)]
    if not chosen:
        raise ParameterError("columns", "names no level column", "list them from coarse to fine")
    made = Hierarchy.from_levels(
        zip(*chosen, strict=True),
        total=total or "Total",
        groupings=groupings,
        labels=_label_map(labels),
        source=name,
    )
    if even:
        made.check_even(name)
    return made


def read_prefixes(
    codes: Iterable[Any],
    prefix_lengths: Sequence[int],
    *,
    total: str | None = None,
    labels: Labels = None,
    groupings: Groupings = (),
    even: bool = False,
) -> Hierarchy:
    """From finest codes that begin with their coarser codes; ``prefix_lengths`` counts the characters of each level."""
    made = Hierarchy.from_prefixes(
        [code_text(code, "hierarchy") for code in codes],
        prefix_lengths,
        total=total or "Total",
        groupings=groupings,
        labels=_label_map(labels),
    )
    if even:
        made.check_even()
    return made


def read_nested(
    tree: Mapping[Any, Any],
    *,
    total: str | None = None,
    labels: Labels = None,
    groupings: Groupings = (),
    even: bool = False,
) -> Hierarchy:
    """From nested dicts and lists: ``{"A": {"A1": None, "A2": {}}, "B": ["B1", "B2"]}``."""
    root = total or "Total"
    inner = tree[root] if list(tree) == [root] else tree
    common = {"total": total, "labels": labels, "groupings": groupings, "even": even}
    return _finished(list(_walk(inner, root)), common, "hierarchy")


def read_labels(source: str | os.PathLike[str], *, encoding: str | None = None) -> dict[str, str]:
    """Codes and labels from a ``code,label`` file (.cdl), or from a csv file with columns code and label."""
    name = Path(source).name
    if Path(source).suffix.lower() in (".csv", ".tsv"):
        columns = read_columns(source, encoding=encoding)
        return dict(zip(pick(columns, "code", name, "the codes"), pick(columns, "label", name, "the labels"), strict=True))
    found = {}
    for number, line in _lines(read_text(source, encoding=encoding)):
        code, comma, text = line.partition(",")
        if not comma:
            raise InputError(name, f"line {number} has no comma between code and label", "write it as: code,label")
        found[code] = text
    return found


# -------------------------------------------------------------------- the parts


def _root(up: Sequence[str], down: Sequence[str]) -> str:
    """The one code at the top: a parent that is nobody's child, or the only child of an empty parent; else "Total"."""
    parents, children = set(up), set(down)
    tops = [code for code in dict.fromkeys(up) if code and code not in children]
    tops += [code for above, code in zip(up, down, strict=True) if not above]
    return tops[0] if len(tops) == 1 and tops[0] in parents else "Total"


def _usable(options: Mapping[str, Any], kind: str, *takes: str) -> dict[str, Any]:
    useless = [key for key in options if key not in takes]
    if useless:
        what = f"takes {', '.join(takes)}" if takes else "takes none of the kind"
        raise ParameterError("read_hierarchy", f"{', '.join(useless)} cannot be used with {kind}", f"{kind} {what}")
    return dict(options)


def _finished(pairs: Iterable[tuple[str, str]], common: Mapping[str, Any], name: str) -> Hierarchy:
    made = Hierarchy.from_parents(
        pairs,
        total=common["total"] or "Total",
        groupings=common["groupings"],
        labels=_label_map(common["labels"]),
        source=name,
    )
    if common["even"]:
        made.check_even(name)
    return made


def _label_map(labels: Labels) -> dict[str, str]:
    if labels is None:
        return {}
    if isinstance(labels, Mapping):
        return {code_text(code, "labels"): str(text) for code, text in labels.items()}
    return read_labels(labels)


def _columns(source: Any, delimiter: str | None, encoding: str | None, name: str) -> tuple[Columns, str]:
    found = name or (Path(source).name if is_path(source) else "hierarchy")
    return read_columns(source, delimiter=delimiter, encoding=encoding, where=found), found


def _codes(columns: Columns, name: str, where: str, role: str) -> list[str]:
    return [code_text(value, f"column {name!r}") for value in pick(columns, name, where, role)]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends and without blank ones; nothing but line ends is taken off."""
    ends = "\n" if "\n" in text else "\r"
    for number, line in enumerate(text.split(ends), 1):
        if line.strip():
            yield number, line.rstrip("\r")


def _found_lead(lines: Sequence[str]) -> str:
    if any(line.startswith("@") for line in lines):
        return "@"
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines]
    return min((indent for indent in indents if indent), key=len, default="@")


def _nodes(lines: Sequence[tuple[int, str]], lead: str, name: str) -> Iterator[tuple[int, str]]:
    """(depth, code) of each line, with everything refused that makes no tree."""
    seen: dict[str, int] = {}
    before = -1
    for number, line in lines:
        depth, code = 0, line
        while code.startswith(lead):
            depth, code = depth + 1, code[len(lead) :]
        if not code.strip():
            raise HierarchyError(name, f"line {number} has lead strings but no code", "complete or remove it")
        if not lead.strip() and code[0] in " \t":
            raise HierarchyError(name, f"line {number} is indented by a part of a level", f"indent each level by {len(lead)}")
        if depth > before + 1:
            deep = f"line {number} lies {depth - before} levels deeper" if seen else "the first line lies below the first level"
            blanks = "" if lead.strip() else "; if the codes themselves begin with blanks, give lead = '@'"
            raise HierarchyError(name, f"{deep} (code {code!r}): a level is left out", f"add the level between{blanks}")
        if code in seen:
            raise HierarchyError(name, f"code {code!r} stands on line {seen[code]} and on line {number}", "list each code once")
        seen[code] = number
        before = depth
        yield depth, code


def _walk(tree: Any, above: str) -> Iterator[tuple[str, str]]:
    if tree is None:
        return
    if isinstance(tree, Mapping):
        for key, below in tree.items():
            code = code_text(key, "hierarchy")
            yield above, code
            yield from _walk(below, code)
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for item in tree:
            if isinstance(item, Mapping):
                yield from _walk(item, above)
            else:
                yield above, code_text(item, "hierarchy")
    else:
        problem = f"below {above!r} stands a {type(tree).__name__}"
        raise HierarchyError("hierarchy", problem, "nest tables (dicts) and lists of codes")
