"""Lines of a plan's keys, however it is laid out."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from discreet.plan.lines import key_lines

PLAN = '''# a plan
title = "brackets ] } # in text"   # and a comment ] }

[microdata]
path = 'enter#prises.parquet'
"quoted key" = """
several
lines "with" quotes"""

[tables.turnover]
spanning = [
  "nace",  # first
  { variable = "region", level = 2 },
]
methods = [
  { method = "min-frequency", n = 3 },

  { method = "p-percent", p = [
    10 ] }, { method = "x" },
]
intruder.prior = 50

[[many.items]]
a = 1
[[many.items]]
b = [[1, 2],
     [3]]
[many.items.deep]
c = 1979-05-27 07:32:00
'''


def test_a_table_stands_at_its_heading_even_where_a_part_of_it_comes_first() -> None:
    found = key_lines("[[a.parts]]\nx = 1\n[[a.parts]]\nx = 2\n[a]\ny = 3\n")
    assert (found["a",], found["a", "parts"], found["a", "parts", 0], found["a", "parts", 1]) == (5, 1, 1, 3)


def test_every_key_and_item_is_found_on_its_line() -> None:
    found = key_lines(PLAN)
    assert found["title",] == 2
    assert found["microdata",] == 4
    assert found["microdata", "path"] == 5
    assert found["microdata", "quoted key"] == 6
    assert found["tables", "turnover"] == 10
    assert found["tables", "turnover", "spanning", 0] == 12
    assert found["tables", "turnover", "spanning", 1, "level"] == 13
    assert found["tables", "turnover", "methods", 0, "n"] == 16
    assert found["tables", "turnover", "methods", 1] == 18
    assert found["tables", "turnover", "methods", 1, "p", 0] == 19
    assert found["tables", "turnover", "methods", 2, "method"] == 19
    assert found["tables", "turnover", "intruder", "prior"] == 21
    assert found["many", "items", 0, "a"] == 24
    assert found["many", "items", 1, "b", 1] == 27
    assert found["many", "items", 1, "deep", "c"] == 29


def paths(value: object, inside: tuple = ()) -> set:
    found = set()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found |= {(*inside, key)} | paths(item, (*inside, key))
    return found


def test_no_key_is_missed() -> None:
    assert set(key_lines(PLAN)) == paths(tomllib.loads(PLAN))


def test_windows_line_ends_count_once() -> None:
    found = key_lines(PLAN.replace("\n", "\r\n"))
    assert found["tables", "turnover", "methods", 1, "p", 0] == 19


SIMPLE = st.one_of(st.integers(), st.booleans(), st.text("ab,#\"'\\[]{}=é", max_size=8))
KEYS = st.text("ab.c]#\"' é=", min_size=1, max_size=5)
NESTED = st.dictionaries
VALUES = st.recursive(SIMPLE, lambda inner: st.lists(inner, max_size=3) | NESTED(KEYS, inner, max_size=3), max_leaves=8)


def written(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(key)} = {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(written(item) for item in value) + " # ] }\n]"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_accepted_text_is_walked_to_its_end(plan: dict) -> None:
    text = "\n".join(f"{written(key)} = {written(value)}" for key, value in plan.items())
    assert tomllib.loads(text) == plan
    assert set(key_lines(text)) == paths(plan)
