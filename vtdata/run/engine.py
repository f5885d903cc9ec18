"""A recipe on an executor: which blocks are done, which run, and in which order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from vtdata.errors import ConfigError, RunError, Stopped, TooManyFailures
from vtdata.llm import Ledger
from vtdata.recipe.fingerprint import settings_of
from vtdata.recipe.plan import Block, Plan, PlannedStep, Segment
from vtdata.records import query_schema
from vtdata.records.parts import Part
from vtdata.run.books import Books
from vtdata.run.executor import LocalExecutor, Pool
from vtdata.run.folder import (
    MANIFEST,
    Manifest,
    block_folder,
    clear,
    load_manifest,
    read_json,
    write_json,
    write_manifest,
)
from vtdata.run.job import Job
from vtdata.run.progress import progress_folder
from vtdata.run.rank import RankStep, failure_sentence, num_failed, num_finished
from vtdata.run.rows import REST
from vtdata.run.sets import cut_sets
from vtdata.run.tables import FOLDER as TABLES
from vtdata.run.tables import TableFile, declared, merge
from vtdata.steps import Context, Global

Say = Callable[[str], None]


@dataclass(slots=True)
class Input:
    """What a block reads."""

    folder: Path
    manifest: Manifest

    @property
    def digest(self) -> str:
        """Of the manifest's parts."""
        return self.manifest.digest


@dataclass(slots=True)
class Outcome:
    """What became of a block in this run."""

    block: Block
    folder: Path
    manifest: Manifest
    reused: bool
    seconds: float = 0.0
    world: int = 0


@dataclass(slots=True)
class Engine:
    """Runs the blocks of a plan in one run folder."""

    plan: Plan
    run: Path
    prints: Mapping[str, str]
    """Fingerprint by block name."""
    store: Path
    pool: Pool
    tasks: int
    ledger: Ledger
    limit: int | None = None
    revisions: Mapping[str, str] = field(default_factory=dict)
    endpoints: Callable[[Block], Mapping[str, str]] = lambda _block: {}
    """Starts the embedded server when it is first needed, and says where it is."""
    say: Say = lambda _text: None
    offline: bool = False
    redo: frozenset[str] = frozenset()
    """Blocks to run again though they are finished."""

    def folder(self, block: Block) -> Path:
        return block_folder(self.run, block, self.prints[block.name])

    def finished(self, block: Block, given: Input | None) -> Manifest | None:
        """Return the block's manifest if nothing is left to do for it."""
        manifest = load_manifest(self.folder(block))
        if manifest is None or block.name in self.redo or manifest.failed:
            return None
        return manifest if manifest.input == (given.digest if given else None) else None

    def go(self, block: Block, given: Input | None) -> Outcome:
        """Run a block to its end, or find that there is nothing to do."""
        folder = self.folder(block)
        done = self.finished(block, given)
        if done:
            clear(folder / ".work")  # a kill just behind the manifest leaves it
            return Outcome(block, folder, done, reused=True)
        if (folder / MANIFEST).exists() or block.name in self.redo:
            clear(folder)
        folder.mkdir(parents=True, exist_ok=True)
        endpoints = dict(self.endpoints(block)) if _asks(block) else {}
        results: list[list[dict[str, Any]]] = []
        at = given
        for index, segment in enumerate(block.segments()):
            job = self._job(block, index, at, endpoints)
            found = self._segment(block, job, segment)
            results.append(found)
            at = Input(job.work, _interim(found))
        return self._finish(block, folder, given, results)

    def _job(
        self, block: Block, index: int, given: Input | None, endpoints: Mapping[str, str]
    ) -> Job:
        plan = self.plan
        return Job(
            raw=json.dumps(plan.raw, sort_keys=True),
            folder=str(plan.folder),
            block=plan.blocks.index(block),
            segment=index,
            run=str(self.run),
            block_folder=str(self.folder(block)),
            fingerprint=self.prints[block.name],
            world=self.tasks,
            workers=min(self.pool.workers, self.tasks),
            input_folder=str(given.folder) if given else None,
            parts=tuple(given.manifest.parts) if given else (),
            raw_bytes=given.manifest.raw_bytes if given else 0,
            store=str(self.store),
            limit=self.limit,
            endpoints=tuple(sorted(endpoints.items())),
            revisions=tuple(sorted(self.revisions.items())),
            offline=self.offline,
            columns=_foreign_columns(given) if plan.start and given else (),
        )

    def _segment(self, block: Block, job: Job, segment: Segment) -> list[dict[str, Any]]:
        self._replan(job)
        clear(progress_folder(self.run))
        logs = self.run / "logs" / f"{self.folder(block).name}-{job.segment}"
        executor = LocalExecutor(
            RankStep(job), tasks=job.world, pool=self.pool, logs=logs, stop=self.ledger.request_stop
        )
        try:
            executor.run()
        except Stopped as error:
            raise Stopped(self.ledger.stop_reason() or str(error)) from None
        results = [read_json(job.marker(rank)) for rank in range(job.world)]
        self._check_failures(results)
        if segment.observes:
            self._decide(Path(job.block_folder), job.work, segment.observes, results)
        return results

    def _replan(self, job: Job) -> None:
        """Start the segment anew if what lies there was made for other tasks or another input."""
        wanted = {"world": job.world, "parts": [part.sha256 for part in job.parts]}
        note = job.work / "plan.json"
        if note.exists() and read_json(note) != wanted:
            self.say(f"segment {job.segment} was begun with other tasks or input: done again")
            # What follows goes too: its marks would outlive the parts that they tell of.
            for work in job.work.parent.glob("segment-*"):
                if int(work.name.rpartition("-")[2]) >= job.segment:
                    clear(work)
            for pattern in ("rejects/part-*", "part-*"):
                for path in Path(job.block_folder).glob(pattern):
                    if path.parent.name != "rejects" or _segment_of(path) >= job.segment:
                        path.unlink()
        job.work.mkdir(parents=True, exist_ok=True)
        write_json(note, wanted)

    def _check_failures(self, results: list[dict[str, Any]]) -> None:
        stats: dict[str, Any] = _merged_models(results)
        ended = num_finished(stats)
        allowed = self.plan.recipe.max_failed_share
        if ended and num_failed(stats) > allowed * ended:
            raise TooManyFailures(failure_sentence(stats, allowed))

    def _decide(
        self, folder: Path, work: Path, planned: PlannedStep, results: list[dict[str, Any]]
    ) -> None:
        assert isinstance(planned.step, Global)
        tables = [pl.read_parquet(work / r["observed"], glob=False) for r in results]
        table = pl.concat(tables).sort("bucket", "id")
        ctx = Context(seed=self.plan.recipe.seed, folder=self.plan.folder)
        decided = planned.step.decide(table.drop("bucket"), ctx)
        if "id" not in decided.columns or decided["id"].is_duplicated().any():
            raise RunError(f"step '{planned.name}' decided without one row per id: mend its decide")
        joined = table.select("bucket", "id").join(decided, on="id").sort("bucket", "id")
        path = folder / "decisions" / f"{planned.name}.parquet"
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_suffix(".tmp")
        pq.write_table(joined.to_arrow(), temporary, compression="zstd", store_schema=False)
        temporary.rename(path)

    def _finish(
        self,
        block: Block,
        folder: Path,
        given: Input | None,
        results: list[list[dict[str, Any]]],
    ) -> Outcome:
        everything = [result for found in results for result in found]
        books = _merged_books(everything)
        for name, book in books.items():
            book.check(name)
        models = _merged_models(everything)
        last = results[-1]
        manifest = Manifest(
            block=block.name,
            fingerprint=self.prints[block.name],
            input=given.digest if given else None,
            parts=[Part.load(part) for result in last for part in result["parts"]],
            rejects=[Part.load(part) for result in everything for part in result["rejects"]],
            steps=[_step_entry(p, books, self.plan.folder) for p in _reported(block)],
            decisions=sorted(path.name for path in folder.glob("decisions/*.parquet")),
            tables=_merged_tables(block, folder, results),
            models=models,
            failed=num_failed(models),
        )
        _check_balance(block, given, manifest, books)
        if block.cuts:
            work = folder / ".work" / f"segment-{len(results) - 1}"
            manifest.sets = cut_sets(self, block, folder, work, manifest)
        write_manifest(folder, manifest)
        clear(folder / ".work")
        seconds = sum(result["seconds"] for result in everything)
        return Outcome(block, folder, manifest, reused=False, seconds=seconds)


def _check_balance(
    block: Block, given: Input | None, manifest: Manifest, books: Mapping[str, Books]
) -> None:
    """The books of a block must agree with what was read and what was written.

    Raises:
        RunError: rows were lost or doubled between steps, which no single step's books can show.
    """
    steps = [books[planned.name] for planned in _reported(block) if planned.name in books]
    created = sum(book.created for book in steps)
    rejected = sum(book.rejected.total() for book in steps)
    read = given.manifest.rows if given else 0
    kept = steps[-1].kept if block.cuts else manifest.rows
    if read + created != kept + rejected:
        raise RunError(
            f"block '{block.name}': {read} queries read + {created} created != {kept} kept + "
            f"{rejected} rejected; this is a bug, nothing of the block is used"
        )
    set_aside = sum(part.rows for part in manifest.rejects)
    if not block.cuts and set_aside != rejected:
        raise RunError(
            f"block '{block.name}': {rejected} queries rejected and {set_aside} written to "
            "rejects; this is a bug, nothing of the block is used"
        )


def _foreign_columns(given: Input) -> tuple[tuple[str, Any], ...]:
    """Columns that steps of another recipe wrote; this one does not know them, and keeps them."""
    if not given.manifest.parts:
        return ()
    schema = pq.read_schema(given.folder / given.manifest.parts[0].file)
    fixed = set(query_schema().names)
    return tuple((field.name, field.type) for field in schema if field.name not in fixed)


def _segment_of(rejects: Path) -> int:
    """The segment that wrote ``part-SEGMENT-RANK-SEQ.parquet``."""
    return int(rejects.name.split("-")[1])


def _asks(block: Block) -> bool:
    return any(planned.step.model_names() for planned in block.steps)


def _interim(results: list[dict[str, Any]]) -> Manifest:
    """The parts between two segments of a block."""
    parts = [Part.load(part) for result in results for part in result["parts"]]
    return Manifest("", "", None, parts, [], [])


def _reported(block: Block) -> list[PlannedStep]:
    """The block's steps as the report lists them."""
    if not block.cuts:
        return list(block.steps)
    rest = PlannedStep(REST, block.steps[0].step, "vtdata.run.rows:Cutter", implied=True)
    return [*block.steps, rest]


def _step_entry(planned: PlannedStep, books: Mapping[str, Books], folder: Path) -> dict[str, Any]:
    is_rest = planned.name == REST
    settings = {} if is_rest else settings_of(planned.step)
    resolved = {} if is_rest else planned.step.resolved(folder)
    return {
        "name": planned.name,
        "step": planned.target,
        "version": planned.step.version,
        "settings": json.loads(json.dumps(settings, default=str)),
        "books": books.get(planned.name, Books()).dump(),
        **({"resolved": resolved} if resolved else {}),
    }


def _merged_tables(
    block: Block, folder: Path, results: list[list[dict[str, Any]]]
) -> dict[str, list[TableFile]]:
    """Write what the steps of all ranks and segments logged."""
    clear(folder / TABLES)  # a kill between this and the manifest leaves some
    runs: dict[str, list[Path]] = {}
    for segment, found in enumerate(results):
        work = folder / ".work" / f"segment-{segment}"
        for table, names in (pair for result in found for pair in result["tables"].items()):
            runs.setdefault(table, []).extend(work / name for name in names)
    return merge(folder, runs, declared(block.steps))


def _merged_books(results: list[dict[str, Any]]) -> dict[str, Books]:
    merged: dict[str, Books] = {}
    for result in results:
        for name, data in result["books"].items():
            merged.setdefault(name, Books()).merge(Books.load(data))
    return merged


def _merged_models(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Sum what the ranks' clients counted; identities must agree."""
    merged: dict[str, Any] = {}
    for result in results:
        for name, stats in result["models"].items():
            merged[name] = _summed(merged[name], stats) if name in merged else stats
    return merged


_COUNTS = (
    "sent",
    "retried",
    "cached",
    "prompt_tokens",
    "completion_tokens",
    "usd",
    "usage_missing",
    "cut_by_context",
    "turned_away",
)
_COUNTERS = ("states", "unknown_finish", "errors")


def _summed(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Add the counts of two workers; what a preflight found is the same for both."""
    total = {**right, **{key: value for key, value in left.items() if value is not None}}
    for name in _COUNTS:
        total[name] = left[name] + right[name]
    for name in _COUNTERS:
        total[name] = dict(Counter(left[name]) + Counter(right[name]))
    return total


def start_input(plan: Plan, find: Callable[[Path, str], Path]) -> Input | None:
    """Return what a recipe that begins ``from`` another run reads first."""
    if plan.start is None:
        return None
    folder = find(plan.folder / plan.start.run, plan.start.block)
    manifest = load_manifest(folder)
    if manifest is None:
        raise ConfigError(f"block {folder} is not finished")
    return Input(folder, manifest)
