"""A shard: one file of a corpus, cut into units that are scanned on their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vtdata.decontam.inputs.pieces import Batch, Field

UNIT_BYTES = 16 * 2**20
"""A unit ends when it holds so many bytes of text (ours): what a kill can cost, and what workers
share. It is part of every key of the store."""
BATCH_BYTES = 8 * 2**20
"""About how many bytes of text are decoded at a time (ours)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A span of a shard: finished or not, never half."""

    number: int
    first: int
    """First row group, or first byte."""
    stop: int
    row: int
    """Row number in the file where it starts."""
    size: int
    """About how many bytes of text it holds, for progress."""


class Shard(Protocol):
    """One file of a corpus."""

    @property
    def file(self) -> str:
        """Its name in evidence, the same wherever the corpus lies."""
        ...

    @property
    def path(self) -> Path | None:
        """Where it lies; None for what is not on this machine."""
        ...

    @property
    def fields(self) -> tuple[Field, ...]: ...

    def digest(self) -> str:
        """Return the sha256 of its content, hexadecimal."""
        ...

    def units(self) -> list[Unit]:
        """Return its units; a function of content and fields alone."""
        ...

    def batches(self, unit: Unit, fields: Sequence[Field]) -> Iterator[Batch]:
        """Yield the unit's rows with the texts of these columns, in order.

        Raises:
            RunError: the file is corrupt.
        """
        ...
