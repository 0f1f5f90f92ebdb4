"""From the facts of a run to one HTML file that opens offline, and to a small picture of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from html import escape
from typing import Any

from discreet.errors import InputError
from discreet.report.attacks import attack_chart
from discreet.report.charts import bar, deviations, heat_map, histogram
from discreet.report.verdict import grouped

__all__ = ["page", "picture", "render"]


def render(facts: Mapping[str, Any]) -> str:
    """One self-contained HTML page, made from :func:`discreet.report.facts` alone; it asks nothing of the network."""
    functions = {
        "percent": _percent,
        "told": lambda share: "not told" if share is None else f"{grouped(share)} %",
        "settings": _settings,
        "map_title": _map_title,
        "about": _about,
        "attack_chart": attack_chart,
        "bar": bar,
        "deviations": deviations,
        "groups_of": _groups_of,
        "heat_map": heat_map,
        "histogram": histogram,
        "pivot": _pivot,
        "embedded": _embedded,
    }
    titles = [_title(table) for table in facts["tables"]]
    return page("report.html", functions, facts=facts, titles=titles)


def page(template: str, functions: Mapping[str, Any], **values: Any) -> str:
    """A template of the reports, filled with values; ``functions`` are in its reach.

    Errors: InputError where the package jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise InputError("report", "the package jinja2 is not installed", 'pip install "discreet[report]"') from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("discreet.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # what charts and tables return is marked safe in the templates: they escape every code and label themselves
    environment.filters["grouped"] = grouped
    environment.globals |= functions
    return str(environment.get_template(template).render(**values))


def picture(facts: Mapping[str, Any], table: int = 0) -> str:
    """A stand-alone SVG of one table of the run: its verdict, counts, and the map of its hidden cells."""
    chosen = facts["tables"][table]
    counts = chosen["counts"]
    chart = heat_map(chosen["views"][0], _map_title(chosen, chosen["views"][0]))
    start = chart.index('viewBox="0 0 ') + len('viewBox="0 0 ')
    width, height = (int(number) for number in chart[start : chart.index('"', start)].split())
    legend = " ".join(
        f'<tspan dx="12" class="{name}">■</tspan> {grouped(counts[key])} {key}'
        for name, key in (("open", "published"), ("perturbed", "perturbed"), ("primary", "primary"), ("secondary", "secondary"))
        if key != "perturbed" or counts[key]
    )
    top, margin = 92, 24
    full = (max(width, 520) + 2 * margin, height + top + margin)
    inner = chart.replace("<svg ", f'<svg x="{margin}" y="{top}" width="{width}" height="{height}" ', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full[0]} {full[1]}" width="{full[0]}" height="{full[1]}" '
        f'font-family="system-ui, Helvetica, Arial, sans-serif"><style>{_PICTURE_STYLE}</style>'
        f'<rect class="card" x=".5" y=".5" width="{full[0] - 1}" height="{full[1] - 1}" rx="6"/>'
        f'<text class="title {chosen["verdict"]["verdict"]}" x="{margin}" y="42">{escape(chosen["verdict"]["title"])}</text>'
        f'<text class="line" x="{margin}" y="66">{escape(_title(chosen))} {legend}</text>{inner}</svg>\n'
    )


_PICTURE_STYLE = (
    ".card{fill:#fff;stroke:#d9dde0}.title{font-size:24px;font-weight:600;fill:#1f6f5c}"
    ".title.signed{fill:#8a5a00}.title.refused{fill:#a3241f}.line{font-size:13px;fill:#5b6772}"
    "text{font-size:10px;fill:#5b6772}.axis{font-size:11px;font-weight:600;fill:#1d2730}.open{fill:#dde3e7}"
    ".perturbed{fill:#86c3b0}.secondary{fill:#5b9bd0}.primary{fill:#c4511f}.unlisted{fill:#b9b3c9}.border{stroke:#5b6772;stroke-width:.7;fill:none;opacity:.55}"
)


def _title(table: Mapping[str, Any]) -> str:
    return f"{table['name']}: {table['response']} by {' × '.join(each['variable'] for each in table['spanning'])}"


def _map_title(table: Mapping[str, Any], view: Mapping[str, Any]) -> str:
    across = f" by {view['columns']['variable']}" if view["columns"] else ""
    marks = view["slices"][0]["marks"]
    many = {letter: grouped(marks.count(letter)) for letter in "rps"}
    perturbed = f", {many['r']} of them rounded or with noise" if "r" in marks else ""
    published = grouped(marks.count("o") + marks.count("r"))
    return (
        f"Map of {table['response']}, {view['rows']['variable']}{across}: "
        f"{published} cells published{perturbed}, {many['p']} primary and {many['s']} secondary suppressions"
    )


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _about(number: float | None, unit: str = "") -> str:
    """A figure that was rounded to what may be told of it, ``unit`` %: times 100."""
    if number is None:
        return "not told"
    size = number * (100 if unit else 1)
    decimals = len(f"{Decimal(f'{size:.10g}'):f}".partition(".")[2])
    return grouped(size, decimals) + (f" {unit}" if unit else "")


def _groups_of(loss: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The groups of a perturbation loss with their names."""
    levels = [
        (f"{name}: {'total' if group['level'] == 0 else 'level ' + str(group['level'])}", group)
        for name, groups in loss["levels"].items()
        for group in groups
    ]
    return [("all cells", loss["total"]), *levels]


def _settings(method: Mapping[str, Any]) -> str:
    return ", ".join(f"{each['name']} = {each['value']} {each['unit']}".rstrip() for each in method["parameters"])


def _embedded(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _pivot(view: Mapping[str, Any], decimals: int) -> str:
    """The first slice as an HTML table; made here, as a loop in the template takes five times as long."""
    rows, columns = view["rows"], view["columns"] or {"variable": "", "codes": [""], "labels": [""], "levels": [0]}
    wide = len(columns["codes"])
    marks, values = view["slices"][0]["marks"], view["slices"][0]["values"]
    corner = escape(" × ".join(name for name in (rows["variable"], columns["variable"]) if name))
    out = [f'<table class="grid"><thead><tr><th scope="col">{corner}</th>']
    out += [_heading("col", columns, i, labelled=False) for i in range(wide)]
    out.append("</tr></thead><tbody>")
    for y, level in enumerate(rows["levels"]):
        out.append(f"<tr data-l={level}>{_heading('row', rows, y, labelled=True)}")
        for at in range(y * wide, (y + 1) * wide):
            out.append(_cell(marks[at], values[at] if values else None, decimals))
        out.append("</tr>\n")
    out.append("</tbody></table>")
    return "".join(out)


def _heading(scope: str, axis: Mapping[str, Any], at: int, *, labelled: bool) -> str:
    code, label, level = escape(axis["codes"][at]), escape(axis["labels"][at]), axis["levels"][at]
    title = f' title="{label}"' if label else ""
    name = f'{code} <span class="label">{label}</span>' if label and labelled else code
    return f'<th scope="{scope}" class="l{min(level, 5)}" data-l="{level}"{title}>{name}</th>'


def _cell(mark: str, value: float | None, decimals: int) -> str:
    if mark in ("o", "r"):
        return f"<td{' class=r' if mark == 'r' else ''}>{'·' if value is None else grouped(value, decimals)}</td>"
    return {"p": "<td class=p>P</td>", "s": "<td class=s>S</td>", "n": "<td class=n></td>", ".": "<td class=e>–</td>"}[mark]
