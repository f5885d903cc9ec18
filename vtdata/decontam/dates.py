"""Dates of rows, of benchmark items and of models: which came first, as far as anybody can know.

A date is ISO text and may be partial: ``2025-02`` is some day of that month. Whatever can't be
told is "undated". "predates" says that a row was written before an item was published, so that
nobody copied it; it says nothing about what the item's authors copied.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, datetime
from typing import Literal

from vtdata.errors import ConfigError

Order = Literal["predates", "postdates", "undated"]

UNUSED = ""
"""In the place of a date: the row has no such ingredient."""

_ISO = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


def bounds(text: str) -> tuple[date, date]:
    """Return the first and the last day that a date can mean.

    >>> [str(day) for day in bounds("2024-02")]
    ['2024-02-01', '2024-02-29']

    Raises:
        ConfigError: it isn't YYYY, YYYY-MM or YYYY-MM-DD, or no day of the calendar.
    """
    match = _ISO.fullmatch(text)
    try:
        if not match:
            raise ValueError("no such form")
        year, month, day = (int(part) if part else None for part in match.groups())
        assert year is not None
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if day is None:
            return date(year, month, 1), date(year, month, monthrange(year, month)[1])
        return date(year, month, day), date(year, month, day)
    except ValueError as error:
        raise ConfigError(
            f"date '{text}' can't be read ({error}): write YYYY, YYYY-MM or YYYY-MM-DD"
        ) from error


def iso(value: object) -> str | None:
    """Return a cell's date as ISO text, without its time; None where it holds none.

    >>> iso("2025-01-04T10:30:00"), iso("2025-01"), iso("last week"), iso(None)
    ('2025-01-04', '2025-01', None, None)
    """
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str):
        return None
    text = re.split(r"[T ]", value.strip(), maxsplit=1)[0]
    try:
        bounds(text)
    except ConfigError:
        return None
    return text


def effective(
    source: str | None,
    expansion: str | None = UNUSED,
    teacher: str | None = UNUSED,
    judge: str | None = UNUSED,
) -> str | None:
    """Return the date of a row: the latest of everything that its text could have learned from.

    One ingredient of which nobody knows the date makes the row undated, although the others are
    known: it may be the latest.

    Args:
        source: publication of the source that its question came from; None: not known.
        expansion: release of the model that expanded the question; ``UNUSED`` where none did.
        teacher: release of the model that wrote the response; same.
        judge: release of the model that judged or chose it; same.

    >>> effective("2019", teacher="2025-01-20")
    '2025-01-20'
    >>> effective("2019", teacher=None) is None
    True

    Raises:
        ConfigError: a date can't be read, or every ingredient is ``UNUSED``.

    Source: ours.
    """
    parts = [part for part in (source, expansion, teacher, judge) if part != UNUSED]
    if not parts:
        raise ConfigError("a row has a source at least; write None where its date is not known")
    known = [part for part in parts if part is not None]
    spans = {part: bounds(part) for part in known}
    if len(known) < len(parts):
        return None
    return max(known, key=lambda part: (spans[part][1], spans[part][0]))


def compare(item: str | None, row: str | None) -> Order:
    """Say whether a row was written before an item was first published.

    The same day counts as "postdates"; partial dates that overlap are "undated".

    Args:
        item: first publication of the problem.
        row: effective date of the row.

    >>> compare("2025-02-06", "2024-09-19"), compare("2025-02-06", "2025")
    ('predates', 'undated')

    Raises:
        ConfigError: a date can't be read.

    Source: ours.
    """
    if item is None or row is None:
        return "undated"
    (item_first, item_last), (row_first, row_last) = bounds(item), bounds(row)
    if row_last < item_first:
        return "predates"
    return "postdates" if row_first >= item_last else "undated"
