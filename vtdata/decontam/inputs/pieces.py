"""Texts on their way to a scan: which column, which row, which side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Side = Literal["prompt", "response"]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Field:
    """A column to be scanned."""

    path: str
    """Dotted; lists on the way have no mark of their own: ``messages.content``."""
    side: Side
    """Of a text beside which no role stands."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Texts of one column and one side in a batch; none is null."""

    texts: pa.Array
    """string or large_string; bytes that are no UTF-8 may stand in it."""
    rows: Rows
    """Row number in the file of each text, from 0, rising."""
    label: str
    """The column for people, ``{}`` where a list's position belongs: ``messages[{}].content``."""
    positions: tuple[Rows, ...]
    """Per ``{}``, of each text."""
    side: Side
    rollout: int | None = None
    """Which of ``positions`` is the rollout's; None where there are none."""

    def place(self, at: int) -> str:
        """The field of one text, positions filled in."""
        return self.label.format(*(int(position[at]) for position in self.positions))


@dataclass(frozen=True, slots=True)
class Bad:
    """A line that is no row."""

    row: int
    """Its number in the file, from 0."""
    reason: str
    """Stable snake_case word."""
    detail: str


@dataclass(slots=True)
class Counts:
    """What was seen: every text is scanned or counted here."""

    rows: int = 0
    texts: int = 0
    text_bytes: int = 0
    null_texts: int = 0
    """Texts that are null or not there, in a column that is scanned."""
    bad_rows: int = 0
    """Lines that are no JSON object; set aside."""

    def add(self, other: Counts) -> None:
        """Count what another counted, too."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a file."""

    rows: Rows
    """Row number in the file of each row."""
    pieces: tuple[Piece, ...]
    ids: pa.Array | None
    """The ``id`` column, as long as ``rows``; None where the file has none."""
    facts: pa.RecordBatch | None
    """Columns that a row's date is found from (``rowdates``); None where the file has none."""
    null_texts: int = 0
    bad: tuple[Bad, ...] = field(default=())

    @property
    def counts(self) -> Counts:
        """What this batch adds."""
        return Counts(
            rows=len(self.rows) + len(self.bad),
            texts=sum(len(piece.texts) for piece in self.pieces),
            text_bytes=sum(text_bytes(piece.texts) for piece in self.pieces),
            null_texts=self.null_texts,
            bad_rows=len(self.bad),
        )


def text_bytes(texts: pa.Array) -> int:
    """Bytes of UTF-8 in a string array without nulls."""
    if not len(texts):
        return 0
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    offsets = np.frombuffer(texts.buffers()[1], kind)
    return int(offsets[texts.offset + len(texts)]) - int(offsets[texts.offset])
