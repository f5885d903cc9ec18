"""Which came first, the row or the problem; three words that promise nothing more."""

from __future__ import annotations

import re

_ISO = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:[T ].*)?")
DATES = ("predates", "postdates", "undated")


def relation(row: str | None, item: str | None) -> str:
    """Return ``predates``, ``postdates`` or ``undated``: the row against the item's publication.

    A row predates an item if its whole date lies before it. On the same day it postdates. Where
    one date is missing, or is coarse and holds the other, the row is undated: who was first
    can't be told.

    Args:
        row: effective date of the row, ISO: a year, a month or a day.
        item: first publication of the problem, likewise.

    >>> relation("2024-01-31", "2024-02"), relation("2024-02-06", "2024-02-06")
    ('predates', 'postdates')
    >>> relation("2024", "2024-02-06"), relation(None, "2024"), relation("soon", "2024")
    ('undated', 'undated', 'undated')
    """
    mine, theirs = _range(row), _range(item)
    if mine is None or theirs is None:
        return "undated"
    if mine[1] < theirs[0]:
        return "predates"
    if mine[0] >= theirs[1]:
        return "postdates"
    return "undated"


def _range(date: str | None) -> tuple[int, int] | None:
    """First and last day that a date can mean, as yyyymmdd."""
    match = _ISO.fullmatch((date or "").strip())
    if match is None:
        return None
    year, month, day = match.groups()
    first = int(f"{year}{month or '01'}{day or '01'}")
    return first, int(f"{year}{month or '12'}{day or '31'}")
