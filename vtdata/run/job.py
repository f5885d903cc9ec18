"""What a rank is told: a segment of a block, as plain data that pickles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtdata.records.parts import Part


@dataclass(frozen=True, slots=True)
class Job:
    """A segment, for every rank of it; plain data that pickles."""

    raw: str
    """The recipe as JSON."""
    folder: str
    """The recipe's folder."""
    block: int
    """Position of the block in the plan."""
    segment: int
    run: str
    """The run's folder."""
    block_folder: str
    fingerprint: str
    world: int
    workers: int
    input_folder: str | None
    parts: tuple[Part, ...]
    raw_bytes: int
    store: str
    limit: int | None = None
    endpoints: tuple[tuple[str, str], ...] = ()
    revisions: tuple[tuple[str, str], ...] = ()
    offline: bool = False
    """True in a replay: a call that is not in the store ends the run."""
    columns: tuple[tuple[str, Any], ...] = ()
    """Columns that the input has from another recipe, with their types."""

    @property
    def work(self) -> Path:
        """Where the segment keeps what is not part of the block's result."""
        return Path(self.block_folder) / ".work" / f"segment-{self.segment}"

    def marker(self, rank: int) -> Path:
        return self.work / f"rank-{rank:05d}-of-{self.world:05d}.json"
