"""What one rank does with one segment of a block, as a datatrove pipeline step.

A ``RankStep`` holds nothing but plain data: it pickles into any interpreter, and rebuilds the
steps from the recipe there. Its marker is written last, so a rank without one is done again, and
clears what it left behind first.
"""

from __future__ import annotations

import errno
import gc
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import polars as pl
from datatrove.pipeline.base import PipelineStep

from vtdata.errors import RunError, TooManyFailures
from vtdata.llm import Client, Ledger, open_store
from vtdata.recipe.plan import Block, Plan, PlannedStep, Segment, build_plan
from vtdata.recipe.source import Source
from vtdata.records import Query, query_schema
from vtdata.records.parts import Part, PartWriter, read_parts
from vtdata.run.executor import worker_index
from vtdata.run.flow import (
    Station,
    applied,
    from_sources,
    heeding,
    station,
    through,
    united,
)
from vtdata.run.folder import read_json, write_json
from vtdata.run.fused import Loop, fatal_first, fused
from vtdata.run.job import Job
from vtdata.run.progress import Progress
from vtdata.run.rows import REST, Cutter, Observer
from vtdata.run.sandboxes import open_sandbox
from vtdata.run.tables import Tables
from vtdata.sandbox import Sandbox
from vtdata.seeds import NUM_BUCKETS, NUM_RANGES, ranges_of
from vtdata.steps import Async, Context, Cut, Step
from vtdata.steps import Source as SourceStep

OTHER_SLOTS = 32
"""Queries in flight for async steps that wait for something else than a model (ours)."""
EARLY_CALLS = 50
"""So many calls must have ended before too many failures end a block early (ours)."""


_known: dict[str, dict[str, Any]] = {}
"""What this process found out about a run's models, so that each rank needn't probe again."""


def forget_models(run: Path) -> None:
    """Begin a run: what its last one found, in a notebook say, may have been another recipe's."""
    _known.pop(str(run), None)


@lru_cache(maxsize=4)
def rebuild(raw: str, folder: str) -> Plan:
    """Rebuild a plan from the JSON of its recipe, once per process."""
    return build_plan(Source("recipe", json.loads(raw)), Path(folder))


class RankStep(PipelineStep):
    """Runs a job's rank; the executor gives rank and world size."""

    type = "vtdata"
    name = "segment"

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[Any]:  # ty: ignore[incompatible-method-override] - its rows are ours, not Documents
        del data
        if world_size != self.job.world:
            raise RunError(f"job is for {self.job.world} tasks, executor has {world_size}")
        if not is_done(self.job, rank):
            try:
                RankRun(self.job, rank).go()
            except OSError as error:
                raise RunError(disk_sentence(error)) from error
        yield from ()


def is_done(job: Job, rank: int) -> bool:
    """True where a rank ended before, and all its model calls with it."""
    marker = job.marker(rank)
    return marker.exists() and not num_failed(read_json(marker)["models"])


def num_failed(models: dict[str, Any]) -> int:
    """Model calls that were given up in this run and are tried again by the next."""
    return sum(model["states"].get("failed", 0) for model in models.values())


def num_finished(models: dict[str, Any]) -> int:
    """Model calls that came to an end, whatever it was."""
    return sum(sum(model["states"].values()) for model in models.values())


def disk_sentence(error: OSError) -> str:
    """Say what the system refused, and the way out."""
    way_out = {
        errno.ENOSPC: "free some space and run again: what is finished is kept",
        errno.EDQUOT: "your quota is used up: free some space and run again",
        errno.EMFILE: "raise the limit of open files (ulimit -n) or lower the concurrency",
        errno.ENFILE: "the machine's limit of open files is reached: close something",
    }
    where = f" ({error.filename})" if error.filename else ""
    hint = way_out.get(error.errno or 0, "mend it and run again: what is finished is kept")
    return f"{error.strerror or error}{where}: {hint}"


@dataclass(slots=True)
class _Calls:
    """What a rank waits for, models and programs, and the loop that both live on."""

    loop: Loop
    client: Client
    max_failed_share: float
    sandbox: Sandbox | None = None

    def check(self) -> None:
        stats = self.client.stats()
        ended = num_finished(stats)
        if ended >= EARLY_CALLS and self.client.failed_share() > self.max_failed_share:
            raise TooManyFailures(failure_sentence(stats, self.max_failed_share))


def failure_sentence(stats: dict[str, Any], allowed: float) -> str:
    """Say how many calls failed, and how."""
    failed = num_failed(stats)
    ended = num_finished(stats)
    kinds = sum((Counter(model["errors"]) for model in stats.values()), Counter())
    errors = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(3))
    last = f" (failed tries: {errors})" if errors else ""
    return (
        f"{failed} of {ended} model calls failed after their retries, more than "
        f"max_failed_share={allowed:g} allows{last}; everything else is kept: mend the server and "
        "run again"
    )


@dataclass(slots=True)
class RankRun:
    """One rank at work."""

    job: Job
    rank: int
    started: float = field(default_factory=time.monotonic)

    def go(self) -> None:
        job = self.job
        plan = rebuild(job.raw, job.folder)
        block = plan.blocks[job.block]
        segments = block.segments()
        segment = segments[job.segment]
        is_last = job.segment == len(segments) - 1
        self._clear(is_last=is_last)
        gc.set_threshold(200_000, 50, 1_000)  # records are small, many and acyclic
        with ExitStack() as stack:
            result = self._segment(plan, block, segment, stack, is_last=is_last)
        write_json(job.marker(self.rank), result)

    def _clear(self, *, is_last: bool) -> None:
        """Remove what an earlier try of this rank left behind."""
        job = self.job
        job.work.mkdir(parents=True, exist_ok=True)
        folders = [job.work, Path(job.block_folder) / "rejects"]
        if is_last:
            folders.append(Path(job.block_folder))
        logged = [f"{kind}-{self.rank:05d}-*" for kind in ("spill", "table")]
        for folder in folders:
            for pattern in (f"{self._stem(folder)}-*", *logged):
                for path in folder.glob(pattern):
                    path.unlink()

    def _stem(self, folder: Path) -> str:
        if folder.name == "rejects":
            return f"part-{self.job.segment}-{self.rank:05d}"
        return f"part-{self.rank:05d}"

    def _context(self, plan: Plan, ledger: Ledger, calls: _Calls | None) -> Context:
        return Context(
            seed=plan.recipe.seed,
            rank=self.rank,
            world=self.job.world,
            folder=plan.folder,
            limit=self.job.limit,
            recipe=plan.recipe.name,
            fingerprint=self.job.fingerprint,
            models=calls.client if calls else None,
            sandbox=calls.sandbox if calls else None,
            stopping=lambda: ledger.stop_reason() is not None,
        )

    def _segment(
        self, plan: Plan, block: Block, segment: Segment, stack: ExitStack, *, is_last: bool
    ) -> dict[str, Any]:
        job = self.job
        ledger = stack.enter_context(
            Ledger(Path(job.run) / "ledger.bin", NUM_RANGES, plan.recipe.budget)
        )
        calls = self._calls(plan, segment, ledger, stack)
        ctx = self._context(plan, ledger, calls)
        tables = Tables(job.work, self.rank)
        stations = [station(planned, ctx, tables) for planned in segment.steps]
        applier = station(segment.applies, ctx, tables) if segment.applies else None
        for at in stations:
            at.planned.step.open(at.ctx)
        schema = query_schema({**dict(job.columns), **plan.columns})
        home = Path(job.block_folder) if is_last else job.work
        rejects = Path(job.block_folder) / "rejects"
        cuts = is_last and bool(block.cuts)
        kept = PartWriter(home, self._stem(home), schema)
        rejected = PartWriter(rejects, self._stem(rejects), schema)
        stack.callback(kept.abandon)
        stack.callback(rejected.abandon)
        stats = calls.client.stats if calls else None
        total = sum(part.rows for part in job.parts)
        progress = stack.enter_context(Progress(Path(job.run), self.rank, stations, stats, total))
        stream = self._stream(stations, applier, ctx, rejected.add, calls)
        observer = (
            Observer(segment.observes, ctx, job.work, self.rank) if segment.observes else None
        )
        cutter = self._cutter(stations, ctx, rejected.add) if cuts else None
        if cutter:
            stack.callback(cutter.abandon)
        for query in progress.watch(stream):
            if observer:
                observer.see(query)
            if cutter:
                cutter.cut(query)
            else:
                kept.add(query)
        result = self._result(stations, applier, kept, rejected, calls, observer, cutter)
        return {**result, "tables": tables.close(block.steps)}

    def _cutter(
        self, stations: list[Station], ctx: Context, reject: Callable[[Query], None]
    ) -> Cutter:
        rest = station(PlannedStep(REST, Step(), "vtdata.run.rows:Cutter", implied=True), ctx)
        cuts = [at for at in stations if is_cut(at)]
        return Cutter(cuts, rest, self.job, self.rank, reject)

    def _calls(
        self, plan: Plan, segment: Segment, ledger: Ledger, stack: ExitStack
    ) -> _Calls | None:
        job = self.job
        names = {name for planned in segment.steps for name in planned.step.model_names()}
        if not names and not any(isinstance(p.step, Async) for p in segment.steps):
            return None
        loop = Loop()
        stack.callback(loop.close)
        ranges = ranges_of(self.rank, job.world)
        store = stack.enter_context(open_store(Path(job.store), ranges, read_only=job.offline))
        client = Client(
            {name: plan.models[name] for name in sorted(names)},
            store,
            ledger=ledger,
            workers=job.workers,
            worker=worker_index(),
            endpoints=dict(job.endpoints),
            revisions=dict(job.revisions),
            stopping=lambda: ledger.stop_reason() is not None,
            offline=job.offline,
            folder=plan.folder,
            known=_known.setdefault(job.run, {}),
        )
        loop.enter(client)
        stack.callback(lambda: loop.leave(client))
        sandbox = open_sandbox(plan, segment, loop, stack)
        return _Calls(loop, client, plan.recipe.max_failed_share, sandbox)

    def _stream(
        self,
        stations: list[Station],
        applier: Station | None,
        ctx: Context,
        reject: Callable[[Query], None],
        calls: _Calls | None,
    ) -> Iterator[Query]:
        job = self.job
        sources = [at for at in stations if isinstance(at.planned.step, SourceStep)]
        rest = stations[len(sources) :]
        stream: Iterable[Query]
        if sources:
            stream = from_sources(sources, reject)
        else:
            ranges = ranges_of(self.rank, job.world)
            width = NUM_BUCKETS // NUM_RANGES
            buckets = range(ranges.start * width, ranges.stop * width)
            assert job.input_folder is not None
            stream = read_parts(Path(job.input_folder), job.parts, buckets)
        stream = heeding(stream, ctx)
        if rest and rest[0].planned.target == "vtdata.corpora.unite:Unite":
            stream = united(rest[0], stream, reject)
            rest = rest[1:]
        if applier:
            stream = applied(applier, stream, self._decision(applier), reject)
        rest = [at for at in rest if not is_cut(at)]
        while rest:
            num_sync = next((n for n, at in enumerate(rest) if at.waits), len(rest))
            stream = through(rest[:num_sync], stream, reject) if num_sync else stream
            rest = rest[num_sync:]
            fusable = list(takewhile(lambda at: not at.batches, rest))
            last_async = max((n for n, at in enumerate(fusable) if at.waits), default=-1)
            if last_async >= 0:
                assert calls is not None
                stream = fused(
                    rest[: last_async + 1],
                    stream,
                    reject,
                    loop=calls.loop,
                    slots=calls.client.slots or OTHER_SLOTS,
                    check=calls.check,
                    stopping=ctx.stopping,
                )
                rest = rest[last_async + 1 :]
        return fatal_first(stream, calls.client.fatal) if calls else iter(stream)

    def _decision(self, applier: Station) -> dict[str, dict[str, Any]]:
        path = Path(self.job.block_folder) / "decisions" / f"{applier.name}.parquet"
        ranges = ranges_of(self.rank, self.job.world)
        width = NUM_BUCKETS // NUM_RANGES
        table = (
            pl.scan_parquet(path, glob=False)
            .filter(pl.col("bucket").is_between(ranges.start * width, ranges.stop * width - 1))
            .drop("bucket")
            .collect()
        )
        return {row["id"]: row for row in table.iter_rows(named=True)}

    def _result(
        self,
        stations: list[Station],
        applier: Station | None,
        kept: PartWriter,
        rejected: PartWriter,
        calls: _Calls | None,
        observer: Observer | None,
        cutter: Cutter | None,
    ) -> dict[str, Any]:
        everyone = [*([applier] if applier else []), *stations, *([cutter.rest] if cutter else [])]
        for at in everyone:
            at.books.check(at.name)
        return {
            "books": {at.name: at.books.dump() for at in everyone},
            "parts": [_plain(part) for part in kept.close()],
            "rejects": [_plain(part) for part in rejected.close()],
            "observed": observer.close() if observer else None,
            "spills": cutter.close() if cutter else {},
            "models": calls.client.stats() if calls else {},
            "seconds": round(time.monotonic() - self.started, 3),
        }


def is_cut(at: Station) -> bool:
    """True for a step that ends the pipeline."""
    return isinstance(at.planned.step, Cut)


def _plain(part: Part) -> dict[str, Any]:
    return {name: getattr(part, name) for name in Part.__slots__}
