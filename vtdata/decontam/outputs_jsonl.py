"""A JSON Lines file without some of its lines; every line that stays keeps its bytes."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from vtdata.decontam.hits import Drops
from vtdata.decontam.inputs.jsonl import COMPRESSIONS, JsonlShard, blocks, objects
from vtdata.decontam.outputs_parquet import Split, copied
from vtdata.decontam.report.write import replacing


def split_lines(shard: JsonlShard, drops: Drops, target: Path, removed: Path) -> Split:
    """Write the lines that stay and those that leave, and beside the latter why.

    A line that is no JSON object was never scanned, so it leaves, too. A dropped rollout takes
    its line with it. A byte order mark isn't copied, and blank lines stay.
    """
    reasons = {row: next(iter(found.values())) for row, found in drops.rollouts.items()}
    reasons |= drops.rows
    num_lines = 0
    for first, lines in _numbered(shard):
        for at, (_, wrong) in enumerate(objects(b"".join(lines), first)):
            if wrong is not None:
                reasons[first + at] = f"{wrong.reason}: {wrong.detail}"
        num_lines = first + len(lines)
    if not reasons:
        return copied(shard.path, target, num_lines)
    removed.parent.mkdir(parents=True, exist_ok=True)
    gone = 0
    with ExitStack() as stack:
        keep = stack.enter_context(_writing(target))
        leave = stack.enter_context(_writing(removed))
        told = stack.enter_context(replacing(removed.with_name(f"{removed.name}.reasons.jsonl")))
        for first, lines in _numbered(shard):
            for row, line in enumerate(lines, first):
                reason = reasons.get(row)
                (keep if reason is None else leave).write(line)
                if reason is not None:
                    gone += 1
                    said = json.dumps({"row": row, "reason": reason}, ensure_ascii=False)
                    told.write(said.encode() + b"\n")
    return Split(num_lines, num_lines - gone, gone, 0)


def _numbered(shard: JsonlShard) -> Iterator[tuple[int, list[bytes]]]:
    """Lines with their ends, some at a time, and the number of the first."""
    first = 0
    for block in blocks(shard.path, shard.file, None):
        lines = [line + b"\n" for line in block.split(b"\n")]
        if block.endswith(b"\n"):
            lines.pop()
        else:
            lines[-1] = lines[-1][:-1]
        yield first, lines
        first += len(lines)


@contextmanager
def _writing(path: Path) -> Generator[IO[bytes] | Any, None, None]:
    """Open a temporary file, compressed as its name says, and rename it when all is written."""
    kind = COMPRESSIONS.get(path.suffix)
    with replacing(path) as file:
        if kind is None:
            yield file
            return
        sink = pa.PythonFile(_KeptOpen(file), mode="w")
        with pa.CompressedOutputStream(sink, kind) as stream:
            yield stream


class _KeptOpen:
    """A file that pyarrow may not close, since it has to be synced first."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        """Leave it to who opened it."""
