"""The effective date of a row, from the columns that say when and from what it was made."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from vtdata.decontam.dates import UNUSED, effective, iso
from vtdata.decontam.releases import released

FACTS = (
    "date",
    "provenance.transform",
    "provenance.origins.date",
    "rollouts.model",
    "teacher.model",
)
"""Columns that are read for it, where they are there."""


def row_date(
    facts: pa.RecordBatch | None, at: int, *, rollout: int | None, reply: bool
) -> str | None:
    """Return the date of a text: the latest of its source, its expansion and its teacher.

    Args:
        facts: the columns of ``FACTS`` that the file has.
        at: the row in them.
        rollout: position of the rollout that the text is of.
        reply: whether a model may have written the text.
    """
    if facts is None:
        return None
    row = {name: facts.column(name)[at].as_py() for name in facts.schema.names}
    provenance = row.get("provenance") or {}
    source = iso(row.get("date")) or _latest(provenance.get("origins") or [])
    expansion = None if provenance.get("transform") else UNUSED
    return effective(source, expansion, _teacher(row, rollout) if reply else UNUSED)


def _latest(origins: list[Any]) -> str | None:
    dates = [iso((origin or {}).get("date")) for origin in origins]
    if not dates or None in dates:
        return None
    return max((date for date in dates if date), default=None)


def _teacher(row: dict[str, Any], rollout: int | None) -> str | None:
    if rollout is not None:
        rollouts = row.get("rollouts") or []
        said = rollouts[rollout] if rollout < len(rollouts) else None
    else:
        said = row.get("teacher", UNUSED)
        if said == UNUSED:
            return UNUSED
    model = (said or {}).get("model")
    return released(model) if isinstance(model, str) else None
