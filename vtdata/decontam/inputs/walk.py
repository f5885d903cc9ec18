"""From a column of any shape to plain arrays of text, without touching a row in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from vtdata.decontam.inputs.pieces import Field, Piece, Rows, Side

ROLES = ("role", "from")
"""Names of the field that says who speaks, beside a text."""
ANSWERS = ("assistant", "gpt", "model", "bot", "chatbot")
"""Roles whose text is a response; every other role's is a prompt."""
ROLLOUTS = "rollouts"


@dataclass(frozen=True, slots=True)
class _At:
    """An array somewhere inside a batch, and the way there."""

    array: pa.Array
    rows: Rows
    label: str
    positions: tuple[Rows, ...] = ()
    roles: pa.Array | None = None
    rollout: int | None = None


def walk(batch: pa.RecordBatch, field: Field, rows: Rows) -> tuple[list[Piece], int]:
    """Return the texts of one column, split by side, and how many of them are null.

    Args:
        batch: rows as Arrow.
        field: the column; lists on its way are opened.
        rows: number in the file of each row of the batch.
    """
    name, *steps = field.path.split(".")
    column = batch.column(name)
    start = _At(column, rows, name)
    pieces, nulls = [], 0
    for leaf in _down(start, steps, name):
        valid = leaf
        if leaf.array.null_count:
            nulls += leaf.array.null_count
            valid = _only(leaf, leaf.array.is_valid())
        pieces += _by_side(valid, field.side)
    return [piece for piece in pieces if len(piece.texts)], nulls


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists, of any layout."""
    return (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _down(at: _At, steps: Sequence[str], last: str) -> Iterator[_At]:
    kind = at.array.type
    if pa.types.is_null(kind):
        return
    if is_list(kind):
        yield from _down(_open_list(at, last), steps, last)
    elif pa.types.is_struct(kind) and steps:
        yield from _down(_child(at, steps[0]), steps[1:], steps[0])
    elif pa.types.is_null(kind) or not steps:
        yield _At(plain(at.array), at.rows, at.label, at.positions, at.roles, at.rollout)


def _open_list(at: _At, name: str) -> _At:
    """Every element on its own, with its position."""
    parents = at.array.value_parent_indices().to_numpy(zero_copy_only=False)
    first = np.searchsorted(parents, parents, side="left")
    inside = np.arange(len(parents), dtype=np.int64) - first
    outer = tuple(position[parents] for position in at.positions)
    roles = None if at.roles is None else at.roles.take(pa.array(parents))
    return _At(
        at.array.flatten(),
        at.rows[parents],
        f"{at.label}[{{}}]",
        (*outer, inside),
        roles,
        len(outer) if name == ROLLOUTS else at.rollout,
    )


def _child(at: _At, name: str) -> _At:
    names = [child.name for child in at.array.type]
    inside = dict(zip(names, at.array.flatten(), strict=True))
    roles = at.roles
    for role in ROLES:
        if role in names and is_text(inside[role].type):
            roles = plain(inside[role])
    child = inside.get(name)
    if child is None:
        child = pa.nulls(len(at.array))
    return _At(child, at.rows, f"{at.label}.{name}", at.positions, roles, at.rollout)


def plain(array: pa.Array) -> pa.Array:
    """Text as string or large_string, whatever it was encoded as."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type == pa.string_view():
        return array.cast(pa.large_string())
    return array


def _only(at: _At, mask: pa.Array) -> _At:
    keep = mask.to_numpy(zero_copy_only=False)
    return _At(
        at.array.filter(mask),
        at.rows[keep],
        at.label,
        tuple(position[keep] for position in at.positions),
        None if at.roles is None else at.roles.filter(mask),
        at.rollout,
    )


def _by_side(at: _At, side: Side) -> list[Piece]:
    """Split by who speaks; without roles the column's own side holds for all."""
    if at.roles is None:
        return [_piece(at, side)]
    known = at.roles.dictionary_encode()
    is_answer = [str(role).lower() in ANSWERS for role in known.dictionary.to_pylist()]
    codes = known.indices.fill_null(len(is_answer)).to_numpy(zero_copy_only=False)
    answers = np.array([*is_answer, False])[codes]
    if answers.all() or not answers.any():
        return [_piece(at, "response" if len(answers) and answers[0] else "prompt")]
    prompts, replies = _only(at, pa.array(~answers)), _only(at, pa.array(answers))
    return [_piece(prompts, "prompt"), _piece(replies, "response")]


def _piece(at: _At, side: Side) -> Piece:
    return Piece(at.array, at.rows, at.label, at.positions, side, at.rollout)
