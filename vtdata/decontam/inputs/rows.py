"""Rows that came as Python objects, to the same batches as Arrow gives: the slow, forgiving way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from vtdata.decontam.inputs.pieces import Bad, Batch, Field, Piece, Rows, Side
from vtdata.decontam.inputs.rowdates import FACTS
from vtdata.decontam.inputs.walk import ANSWERS, ROLES, ROLLOUTS


@dataclass(slots=True)
class _Column:
    texts: list[bytes] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    positions: list[tuple[int, ...]] = field(default_factory=list)
    rollout: int | None = None


def rows_batch(
    rows: Sequence[dict[str, Any]], numbers: Rows, fields: Sequence[Field], bad: tuple[Bad, ...]
) -> Batch:
    """Take the texts of these columns from objects with these row numbers.

    Where an object stands in place of a text, all texts in it are taken; a number counts as a null.
    Halves of surrogate pairs take three bytes, as everywhere in evidence.
    """
    pieces, nulls = [], 0
    for one in fields:
        columns: dict[tuple[str, Side], _Column] = defaultdict(_Column)
        for number, row in zip(numbers.tolist(), rows, strict=True):
            name, *steps = one.path.split(".")
            for found in _down(row.get(name), steps, name, name, (), None, None):
                if found.text is None:
                    nulls += 1
                    continue
                column = columns[found.label, found.side or one.side]
                column.texts.append(found.text.encode("utf-8", "surrogatepass"))
                column.rows.append(number)
                column.positions.append(found.positions)
                column.rollout = found.rollout
        pieces += [_piece(label, side, column) for (label, side), column in columns.items()]
    ids = [None if row.get("id") is None else _id(row["id"]) for row in rows]
    return Batch(
        rows=numbers,
        pieces=tuple(pieces),
        ids=pa.array(ids, pa.string()) if any(ids) else None,
        facts=_facts(rows),
        null_texts=nulls,
        bad=bad,
    )


@dataclass(frozen=True, slots=True)
class _Text:
    text: str | None
    label: str
    positions: tuple[int, ...]
    side: Side | None
    rollout: int | None


def _down(
    value: Any,
    steps: Sequence[str],
    name: str,
    label: str,
    positions: tuple[int, ...],
    side: Side | None,
    rollout: int | None,
) -> Iterator[_Text]:
    if isinstance(value, list):
        inner = len(positions) if name == ROLLOUTS else rollout
        for at, item in enumerate(value):
            yield from _down(item, steps, name, f"{label}[{{}}]", (*positions, at), side, inner)
    elif isinstance(value, dict):
        for role in ROLES:
            if isinstance(value.get(role), str):
                side = "response" if value[role].lower() in ANSWERS else "prompt"
        first, rest = ([steps[0]], steps[1:]) if steps else (value.keys() - set(ROLES), ())
        for inner_name in sorted(first):
            yield from _down(
                value.get(inner_name), rest, inner_name, f"{label}.{inner_name}", positions, side,
                rollout,
            )  # fmt: skip
    else:
        text = value if isinstance(value, str) and not steps else None
        yield _Text(text, label, positions, side, rollout)


def _piece(label: str, side: Side, column: _Column) -> Piece:
    # Cut from bytes by hand: Arrow would refuse text that isn't valid UTF-8.
    texts = pa.array(column.texts, pa.large_binary()).view(pa.large_string())
    levels = np.array(column.positions, dtype=np.int64).reshape(len(column.rows), -1)
    return Piece(
        texts=texts,
        rows=np.array(column.rows, dtype=np.int64),
        label=label,
        positions=tuple(levels[:, at] for at in range(levels.shape[1])),
        side=side,
        rollout=column.rollout,
    )


def _id(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _facts(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch | None:
    tops = sorted({fact.split(".")[0] for fact in FACTS})
    columns = {}
    for name in tops:
        try:
            columns[name] = pa.array([row.get(name) for row in rows])
        except (pa.ArrowException, UnicodeEncodeError, OverflowError, TypeError, ValueError):
            continue  # of no form that a date could be found in
    there = {name: array for name, array in columns.items() if array.null_count < len(array)}
    if not there.keys() & {"date", "provenance"}:
        return None
    return pa.RecordBatch.from_pydict(there)
