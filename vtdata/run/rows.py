"""The two ends of a segment that are no parts: a global step's table, and training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.recipe.plan import PlannedStep
from vtdata.records import Query, size_of
from vtdata.run.books import before
from vtdata.run.flow import Station
from vtdata.shards.spill import Spill, partitions_for
from vtdata.steps import Context, Cut, Global

if TYPE_CHECKING:
    from vtdata.run.job import Job


_FIELDS = attrgetter(*(item.name for item in fields(Query) if item.init))
REST = "rest"
"""Signs what no cut took: queries in no set, rollouts in no row."""


class Observer:
    """Collects the narrow table that a global step decides on; held in memory."""

    def __init__(self, planned: PlannedStep, ctx: Context, folder: Path, rank: int) -> None:
        assert isinstance(planned.step, Global)
        self._step: Global = planned.step
        self._ctx = ctx
        self._path = folder / f"observed-{rank:05d}.parquet"
        self._rows: list[tuple[Any, ...]] = []

    def see(self, query: Query) -> None:
        row = self._step.observe(query, self._ctx)
        if row is not None:
            self._rows.append((query.bucket, query.id, *row))

    def close(self) -> str:
        schema = pa.schema(
            [("bucket", pa.int16()), ("id", pa.string()), *self._step.columns.items()]
        )
        columns = zip(*self._rows, strict=True) if self._rows else [[] for _ in schema]
        arrays = [
            pa.array(list(column), field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        temporary = self._path.with_suffix(".tmp")
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), temporary, compression="zstd")
        temporary.rename(self._path)
        return self._path.name


class Cutter:
    """Lets the block's cuts make rows of a query, and accounts for what is in no row.

    A query without a row is rejected. A rollout that is in no row is dropped, and what was dropped
    at any time goes to the rejects with its query.
    """

    def __init__(
        self,
        cuts: list[Station],
        rest: Station,
        job: Job,
        rank: int,
        reject: Callable[[Query], None],
    ) -> None:
        self._cuts = cuts
        self.rest = rest
        self._reject = reject
        self._spills = {
            at.name: Spill(
                job.work / f"spill-{rank:05d}-{at.name}.bin",
                _cut(at).schema,
                partitions_for(job.raw_bytes),
                seed=rest.ctx.seed,
            )
            for at in cuts
        }

    def cut(self, query: Query) -> None:
        rows: list[tuple[str, str, dict[str, Any]]] = []
        for at in self._cuts:
            step, was = _cut(at), before(query)
            made = list(step.rows(query, at.ctx))
            at.settle([was], [query])
            if not query.live:
                self._reject(query)
                return
            split = step.split(query, at.ctx) if made else ""
            rows.extend((at.name, split, row) for row in made)
            at.books.note("rows", len(made))
        self._leave(query, {row["id"] for _, _, row in rows})
        if query.live:
            size = 1_000 + size_of(query) // len(rows)
            for name, split, row in rows:
                self._spills[name].add(row, split, size)

    def _leave(self, query: Query, ids: set[str]) -> None:
        was = before(query)
        if not ids:
            query.drop(self.rest.name, "no_rows" if query.into else "in_no_set")
        else:
            for rollout in query.rollouts:
                if rollout.live and f"{query.id}:{rollout.set}:{rollout.sample_idx}" not in ids:
                    rollout.drop(self.rest.name, "in_no_row")
        self.rest.settle([was], [query])
        if not query.live:
            self._reject(query)
            return
        dropped = [rollout for rollout in query.rollouts if not rollout.live]
        if dropped:
            aside = Query(*_FIELDS(query))
            aside.rollouts = dropped
            self._reject(aside)

    def close(self) -> dict[str, str]:
        for spill in self._spills.values():
            spill.close()
        return {at.name: _cut(at).folder for at in self._cuts}

    def abandon(self) -> None:
        for spill in self._spills.values():
            spill.abandon()


def _cut(at: Station) -> Cut:
    assert isinstance(at.planned.step, Cut)
    return at.planned.step
