"""Texts of an Arrow array as the scan reads them: a buffer, and where each begins and ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

BEHIND = 80
"""Bytes that can be read behind a text: a block of 64, and a word's eight."""

Texts = pa.Array | pa.ChunkedArray
"""Strings or large strings, or binary ones with UTF-8 in them."""


@dataclass(frozen=True, slots=True)
class Column:
    """Some texts that stand in one buffer."""

    data: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    """A null text is as empty as an empty one."""

    def raw(self, row: int) -> bytes:
        return self.data[self.begins[row] : self.ends[row]].tobytes()


def columns(texts: Texts) -> Iterator[Column]:
    """The texts in order, one column for each chunk.

    Raises:
        TypeError: not texts.
    """
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        yield _column(chunk)


def padded(column: Column) -> Iterator[Column]:
    """The same texts, with bytes behind each that can be read.

    The last ones of a buffer are copied: nothing says that memory goes on behind a buffer.
    """
    safe = int(np.searchsorted(-column.ends[::-1], BEHIND - len(column.data)))
    first = len(column.ends) - safe
    if first:
        yield Column(column.data, column.begins[:first], column.ends[:first])
    if safe:
        begins, ends = column.begins[first:], column.ends[first:]
        low, high = int(begins[0]), int(ends[-1])
        copied = np.zeros(high - low + BEHIND, np.uint8)
        copied[: high - low] = column.data[low:high]
        yield Column(copied, begins - low, ends - low)


def _column(chunk: pa.Array) -> Column:
    kind = chunk.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        chunk, kind = chunk.cast(pa.large_binary()), pa.large_binary()
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        width = np.int32
    elif pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        width = np.int64
    else:
        raise TypeError(f"need strings to scan, got a column of {kind}: name a text field")
    if not len(chunk):
        return Column(np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64))
    buffers = chunk.buffers()
    offsets = np.frombuffer(buffers[1], width, len(chunk) + 1, chunk.offset * width().itemsize)
    offsets = offsets.astype(np.int64)
    ends = offsets[1:]
    if chunk.null_count:
        there = chunk.is_valid().to_numpy(zero_copy_only=False)
        ends = np.where(there, ends, offsets[:-1])
    data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.zeros(0, np.uint8)
    return Column(data, offsets[:-1], ends)
