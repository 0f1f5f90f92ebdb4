"""Tables by a variable that is not in the file and belongs to the codes of one that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.errors import InputError, near, some
from discreet.inference.axes import Axis, Layout
from discreet.inference.counts import counts_of
from discreet.inference.estimates import Estimates
from discreet.inference.survey import Survey, columns_of
from discreet.inference.tally import tally
from discreet.model.released import ReleasedFile

__all__ = ["matched_counts"]


def matched_counts(
    file: ReleasedFile,
    by: str | Sequence[str],
    column: str,
    key: Mapping[str, str],
    *,
    name: str,
    weight: str | None = None,
    cluster: str | None = None,
    design_strata: str | Sequence[str] = (),
    level: float = 0.95,
) -> Estimates:
    """Counts by an extra variable R, called ``name``, that is known for each code of ``column`` (say, the size of a town).

    ``key`` gives for each code of ``column``, one of ``by``, the code of R that it belongs to; the empty code that was kept
    belongs to the empty one.  R is matched to the *corrected* axis: ``T̂_R = Mᵀ T̂``, M 0/1 with a row for each code of
    the column and a column for each of R, and the variances are those of this sum.  R matched to the released records as they
    are gives biased counts, which are shown as ``naive``.

    Errors: InputError for codes without an entry in ``key`` or that are no texts, and a column that is not asked for; else as
    :func:`~discreet.inference.counts.estimate_counts`.

    Source: Gouweleeuw et al. (1998), Post randomisation for statistical disclosure control, JOS 14(4), section 5.
    """
    by = columns_of(by)
    if column not in by:
        raise InputError("extra key", f"column {column!r} is not asked for{near(column, by)}", "name it among by")
    if name in by and name != column:
        raise InputError("extra key", f"the table already has a column {name!r}", "choose another name")
    if not all(isinstance(code, str) for pair in key.items() for code in pair):
        raise InputError("extra key", "holds codes that are no texts", "write them as texts, as the file's codes are: '1'")
    survey = Survey.of(file, weight, cluster, design_strata)
    sums = tally(file, by, survey, refit=lambda layout: _matched(layout, column, key, name))
    return counts_of(sums, [name if asked == column else asked for asked in by], weight, level)


def _matched(layout: Layout, column: str, key: Mapping[str, str], name: str) -> Layout:
    place = next(place for place, axis in enumerate(layout.axes) if column in axis.columns)
    axis = layout.axes[place]
    if axis.columns != (column,):
        problem = f"column {column!r} is asked for with others of its compound variable: {', '.join(axis.columns)}"
        raise InputError("extra key", problem, "ask for them in separate tables")
    full = {"": "", **key}
    codes = [category[0] for category in axis.categories]
    absent = [code for code in codes if code not in full]
    if absent:
        raise InputError(
            "extra key", f"has no entry for codes of {column!r}: {some(absent)}", "add them, or a code for the rest"
        )
    extra = sorted({full[code] for code in codes})
    members = np.array([[full[code] == one for one in extra] for code in codes], float)
    return layout.with_axis(place, Axis((name,), tuple((one,) for one in extra)), members)
