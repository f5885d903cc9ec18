"""Memory of the compiled scan, and the rows that come out of it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from vtdata.decontam.kernel import compiled
from vtdata.decontam.kernel.columns import Column
from vtdata.decontam.kernel.tables import Table, said_tables
from vtdata.decontam.normal.characters import characters

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.int64]"]
"""Of n-grams, of short items, of tokens; see `compiled`."""


def no_rows() -> Rows:
    """Where no text is."""
    hits, shorts, traced = (
        np.zeros((0, width), np.int64) for width in (compiled.HIT, compiled.SHORT, compiled.TRACE)
    )
    return hits, shorts, traced


def scanned(
    column: Column,
    grams: Table,
    shorts: Table,
    *,
    form: str,
    n: int,
    longest: int,
    trace: bool,
) -> tuple[list[Rows], NDArray[np.int64]]:
    """Scan one column of texts; returns rows and each text's tokens.

    Args:
        column: padded.
        grams: n-grams.
        shorts: short items, as the compiled scan has them.
        form: evidence or paper.
        n: tokens of an n-gram.
        longest: tokens of the longest short item.
        trace: whether to return all tokens.
    """
    base = column.data.ctypes.data
    begins, ends = column.begins + base, column.ends + base
    counts = np.zeros(len(begins), np.int64)
    scratch = np.zeros((compiled.COLUMNS, compiled.COLUMN), np.int64)
    tables = [_addresses(table) for table in (grams, shorts, *said_tables())]
    known, pool = characters(), _readable_pool()
    room = [2 * compiled.TOKENS, 1024, 2 * compiled.TOKENS if trace else 0]
    out, text = [], 0
    while text < len(begins):
        blocks = [
            np.empty((size, width), np.int64)
            for size, width in zip(
                room, (compiled.HIT, compiled.SHORT, compiled.TRACE), strict=True
            )
        ]
        memory = compiled.Memory(
            *(
                array.ctypes.data
                for array in (
                    begins, ends, counts, *blocks, scratch, *tables,
                    known.pages, known.entries, pool,
                )
            )
        )  # fmt: skip
        text, nums = compiled.scan(
            memory,
            form == "paper", n, longest, text, len(begins), tuple(room),
        )  # fmt: skip
        out.append(tuple(block[:num].copy() for block, num in zip(blocks, nums, strict=True)))
        room = [2 * size for size in room]
    return out, counts


@cache
def _readable_pool() -> NDArray[np.uint8]:
    """The folded texts, with eight bytes behind them."""
    return np.append(characters().pool, np.zeros(8, np.uint8))


def _addresses(table: Table) -> NDArray[np.int64]:
    columns = (table.bits, table.keys, table.first, table.values)
    places = [column.ctypes.data for column in columns]
    return np.array([*places, table.bits_shift, table.first_shift], np.int64)
