"""One pass over one unit: texts are decoded in a thread of their own while they are scanned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import Protocol

import numpy as np
import pyarrow as pa

from vtdata.decontam.candidate import CANDIDATE
from vtdata.decontam.engine import Index
from vtdata.decontam.inputs import Bad, Batch, Counts, Field, Piece, Shard, Side, Unit, row_date
from vtdata.errors import Stopped

AROUND = 256
"""Bytes of raw text kept on both sides of a span (ours): evidence shows 200."""
WHOLE_BYTES = 64 * 2**10
"""A prompt up to this size is kept whole (ours), since its near-duplicates may be looked for."""
SAMPLE = 128
"""Texts of a corpus in which power is measured (ours)."""
SAMPLE_BYTES = 16 * 2**10
"""A sampled text is cut here (ours)."""
MAX_BAD = 100
"""Lines that are no rows and are shown, of each unit (ours); all are counted."""

STORED = pa.schema(
    [
        pa.field("id", pa.string()),  # null where the file has none
        pa.field("row", pa.int64(), nullable=False),
        pa.field("field", pa.string(), nullable=False),
        pa.field("side", pa.string(), nullable=False),
        pa.field("rollout", pa.int32()),
        pa.field("date", pa.string()),
        pa.field("window_start", pa.int64(), nullable=False),  # in the text, bytes
        pa.field("window", pa.binary(), nullable=False),  # raw text at and around the span
        *[item for item in CANDIDATE if item.name != "text"],
    ]
)
"""A candidate with its place, as the store keeps it; names of files are not in it."""
ORDER = ("row", "field", "bench", "item", "item_field", "start", "end", "item_start", "rule")

SAMPLED = pa.schema([("rank", pa.uint64()), ("side", pa.string()), ("text", pa.large_binary())])


@dataclass(slots=True)
class Found:
    """What a pass over a unit saw."""

    candidates: pa.Table
    counts: Counts
    sample: pa.Table
    bad: list[Bad] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    """A unit to be scanned, and for what."""

    shard: Shard
    digest: str
    unit: Unit
    fields: tuple[Field, ...]
    sides: tuple[Side, ...]


class Stop(Protocol):
    """An event of threads or of processes."""

    def is_set(self) -> bool: ...


def sweep(job: Job, index: Index, stop: Stop, tick: Callable[[int], None]) -> Found:
    """Scan one unit.

    Args:
        job: what.
        index: for which items.
        stop: set from outside to end early.
        tick: called with the bytes of each batch that is done.

    Raises:
        Stopped: ``stop`` was set; nothing of this unit counts.
        RunError: the file is corrupt.
    """
    counts, tables, bad = Counts(), [], []
    sample = SAMPLED.empty_table()
    for batch in ahead(job.shard.batches(job.unit, job.fields)):
        pieces = [piece for piece in batch.pieces if piece.side in job.sides]
        for piece in pieces:
            if stop.is_set():
                raise Stopped("the scan was ended; run again to go on")
            tables.append(_placed(index.scan(piece.texts, piece.side), piece, batch))
            sample = lowest([sample, _sampled(piece, job.digest, sample)])
        seen = batch.counts
        counts.add(seen)
        bad += batch.bad[: MAX_BAD - len(bad)]
        tick(seen.text_bytes)
    candidates = pa.concat_tables([STORED.empty_table(), *tables])
    return Found(in_order(candidates), counts, sample, bad)


def in_order(candidates: pa.Table) -> pa.Table:
    """Sort stored candidates, so that equal ones make equal files."""
    return candidates.sort_by([(name, "ascending") for name in ORDER]).combine_chunks()


def lowest(samples: Sequence[pa.Table]) -> pa.Table:
    """Return the ``SAMPLE`` texts of lowest rank: the same however they were split."""
    joined = pa.concat_tables([SAMPLED.empty_table(), *samples])
    return joined.sort_by([("rank", "ascending")]).slice(0, SAMPLE).combine_chunks()


def ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield what ``batches`` yields, while a thread makes the next one."""
    with ThreadPoolExecutor(1, thread_name_prefix="vtdata-decode") as pool:
        coming = pool.submit(_pull, batches)
        while got := coming.result():
            coming = pool.submit(_pull, batches)
            yield from got


def _pull(batches: Iterator[Batch]) -> list[Batch]:
    """The next batch; nothing at the end."""
    return list(islice(batches, 1))


def _placed(found: pa.Table, piece: Piece, batch: Batch) -> pa.Table:
    """Candidates of one piece with where they stand and the raw text around."""
    if not found.num_rows:
        return STORED.empty_table()
    texts = found.column("text").to_pylist()
    starts, ends = found.column("start").to_pylist(), found.column("end").to_pylist()
    rows = piece.rows[texts]
    inside = np.searchsorted(batch.rows, rows)
    rollouts = [_rollout(piece, text) for text in texts]
    reply = piece.side == "response"
    windows = [
        _window(piece, text, start, end)
        for text, start, end in zip(texts, starts, ends, strict=True)
    ]
    columns = {
        "id": _ids(batch, inside),
        "row": rows,
        "field": [piece.place(text) for text in texts],
        "side": [piece.side] * len(texts),
        "rollout": rollouts,
        "date": _dates(batch, inside.tolist(), rollouts, reply=reply),
        "window_start": [start for start, _ in windows],
        "window": [window for _, window in windows],
    }
    placed = [pa.array(values, STORED.field(name).type) for name, values in columns.items()]
    own = [found.column(name) for name in STORED.names[len(columns) :]]
    return pa.table([*placed, *own], names=STORED.names).cast(STORED)


def _rollout(piece: Piece, text: int) -> int | None:
    return None if piece.rollout is None else int(piece.positions[piece.rollout][text])


def _ids(batch: Batch, inside: np.ndarray) -> pa.Array:
    if batch.ids is None:
        return pa.nulls(len(inside), pa.string())
    return batch.ids.take(pa.array(inside)).cast(pa.string())


def _dates(
    batch: Batch, inside: list[int], rollouts: list[int | None], *, reply: bool
) -> list[str | None]:
    known: dict[tuple[int, int | None], str | None] = {}
    for key in zip(inside, rollouts, strict=True):
        if key not in known:
            known[key] = row_date(batch.facts, key[0], rollout=key[1], reply=reply)
    return [known[key] for key in zip(inside, rollouts, strict=True)]


def _window(piece: Piece, text: int, start: int, end: int) -> tuple[int, bytes]:
    raw = piece.texts[text].as_buffer()
    if piece.side == "prompt" and raw.size <= WHOLE_BYTES:
        return 0, raw.to_pybytes()
    first = max(start - AROUND, 0)
    return first, raw.slice(first, min(end + AROUND, raw.size) - first).to_pybytes()


def _sampled(piece: Piece, digest: str, sample: pa.Table) -> pa.Table:
    """Texts of one piece whose ranks are lower than those of a sample, once that is full."""
    seed = sha256(f"{digest}\x1f{piece.label}\x1f{piece.side}".encode()).digest()
    ranks = piece.rows.astype(np.uint64)
    for position in piece.positions:
        ranks = _mixed(ranks) + position.astype(np.uint64)
    ranks = _mixed(ranks + np.uint64(int.from_bytes(seed[:8])))
    best = np.argsort(ranks, kind="stable")[:SAMPLE]
    if sample.num_rows == SAMPLE:
        best = best[ranks[best] < sample.column("rank")[-1].as_py()]
    if not len(best):
        return SAMPLED.empty_table()
    texts = [
        buffer.slice(0, min(SAMPLE_BYTES, buffer.size)).to_pybytes()
        for buffer in (piece.texts[at].as_buffer() for at in best.tolist())
    ]
    return pa.table([ranks[best], [piece.side] * len(best), texts], schema=SAMPLED)


def _mixed(values: np.ndarray) -> np.ndarray:
    """The finalizer of splitmix64: neighboring rows get ranks that have nothing in common."""
    mixed = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
