"""An audit from inputs to evidence: load, scan what was not scanned yet, judge, spread, report.

Everything that only re-scores works from the store: changed thresholds, other reports, an
unchanged corpus. Only a pair of a shard and a benchmark that the store doesn't know is scanned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.engine import Engine, Indexes, Power, Profile, bench_key
from vtdata.decontam.hits import evidence_of, judged
from vtdata.decontam.inputs import Bad, Counts, Shard, open_inputs, shown_fields
from vtdata.decontam.measured import measured
from vtdata.decontam.outputs import Cleaned
from vtdata.decontam.passes import BOTH, PROMPTS, Held, Passed, hold, scan, todo
from vtdata.decontam.report import merge
from vtdata.decontam.request import Request, check, check_places, store_of
from vtdata.decontam.spread import contaminated_rows, tainted, taints
from vtdata.decontam.store import Store
from vtdata.decontam.sweep import lowest
from vtdata.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a front end wants to hear of."""

    say: Callable[[str], None] = lambda _sentence: None
    scanned: Callable[[int, int], None] = lambda _done, _total: None
    """Bytes of text, of about how many."""


@dataclass(slots=True)
class Audit:
    """What came of it."""

    evidence: pa.Table
    benchmarks: list[Benchmark]
    profile: Profile
    held: list[Held]
    drop: tuple[str, ...]
    counts: Counts = field(default_factory=Counts)
    bad: list[tuple[str, Bad]] = field(default_factory=list)
    """Lines that were set aside, by file; the first 100 of each unit."""
    passed: Passed = field(default_factory=Passed)
    known_units: int = 0
    """Units of which nothing had to be scanned."""
    power: Power | None = None
    store: Path = Path()
    written: list[Path] = field(default_factory=list)
    cleaned: list[Cleaned] = field(default_factory=list)

    @property
    def num_dropped(self) -> int:
        """Hits of a class that is dropped."""
        verdicts = self.evidence.column("verdict").to_pylist()
        return sum(verdict in self.drop for verdict in verdicts)

    def lines(self) -> list[str]:
        """Return what was done, for people."""
        seen, pace = self.counts, self.passed
        said = [
            f"{seen.rows:,} rows, {seen.texts:,} texts, {seen.text_bytes / 1e6:,.1f} MB in "
            f"{len(self.held)} files; {pace.units} units scanned, {self.known_units} known"
        ]
        if pace.units:
            rate = pace.text_bytes / 1e6 / max(pace.seconds, 1e-9)
            said.append(
                f"scanned {pace.text_bytes / 1e6:,.1f} MB in {pace.seconds:.1f} s, {rate:,.0f} MB/s"
            )
        if seen.null_texts:
            said.append(f"{seen.null_texts:,} texts are null and were not scanned")
        if seen.bad_rows:
            file, bad = self.bad[0]
            said.append(
                f"{seen.bad_rows:,} lines are no JSON objects and were set aside, the first: "
                f"{file}:{bad.row + 1}: {bad.detail}"
            )
        for one in self.cleaned:
            said.append(
                f"{one.file}: {one.rows_in:,} rows in, {one.kept:,} kept, {one.removed:,} removed, "
                f"{one.rollouts_dropped:,} rollouts marked"
            )
        return [*said, *(f"wrote {path}" for path in self.written)]

    def data(self) -> dict[str, Any]:
        """Return the audit as JSON has it, without the evidence itself."""
        verdicts = self.evidence.column("verdict").to_pylist()
        benches = self.evidence.column("bench").to_pylist()
        hits: dict[str, dict[str, int]] = {bench.name: {} for bench in self.benchmarks}
        for bench, verdict in zip(benches, verdicts, strict=True):
            own = hits.setdefault(bench, {})
            own[verdict] = own.get(verdict, 0) + 1
        return {
            "files": [
                {"file": one.shard.file, "sha256": one.digest, "fields": shown_fields(one.fields)}
                for one in self.held
            ],
            "rows": self.counts.rows,
            "texts": self.counts.texts,
            "text_bytes": self.counts.text_bytes,
            "null_texts": self.counts.null_texts,
            "bad_rows": self.counts.bad_rows,
            "profile": self.profile.label,
            "benchmarks": [
                {"name": bench.name, "items": len(bench.items), "sha256": bench.sha256}
                for bench in self.benchmarks
            ],
            "hits": hits,
            "num_hits": self.evidence.num_rows,
            "num_dropped": self.num_dropped,
            "units_scanned": self.passed.units,
            "units_known": self.known_units,
            "power": self.power,
            "written": [str(path) for path in self.written],
            "cleaned": [asdict(one) for one in self.cleaned],
        }


def audit(request: Request, engine: Engine, hooks: Hooks | None = None) -> Audit:
    """Audit a corpus against benchmarks.

    Raises:
        ConfigError: an input, a column, a benchmark or an option is wrong; nothing was scanned.
        RunError: a file is corrupt or changes, or another audit uses the store.
        InfraError: the Hub can't be reached.
    """
    hooks = hooks or Hooks()
    check(request)
    profile = engine.profile(request.profile)
    benchmarks = load_all(request.against, engine, hooks.say)
    shards = open_inputs(request.inputs, request.fields)
    check_places(request, shards)
    for sentence in said_fields(shards):
        hooks.say(sentence)
    with Store(store_of(request)) as store:
        if store.taken_over:
            hooks.say(store.taken_over)
        held = hold(store, shards, profile, BOTH)
        work = todo(held, benchmarks)
        made = Audit(merge([]), benchmarks, profile, held, request.drop, store=store.folder)
        made.known_units = sum(len(one.units) for one in held) - len(work)
        if request.dry_run:
            for sentence in planned(made, work):
                hooks.say(sentence)
            return made
        workers = request.workers or os.cpu_count() or 1
        indexes = Indexes(engine)
        made.passed = scan(work, benchmarks, profile, indexes, workers=workers, said=hooks.scanned)
        if indexes.without_evidence:
            hooks.say(_silent(indexes.without_evidence))
        _count(made)
        if not made.counts.texts:
            raise ConfigError(
                f"nothing was scanned: {made.counts.rows:,} rows hold no text in "
                f"{', '.join(sorted({shown_fields(one.fields) for one in held}))} "
                f"({made.counts.null_texts:,} null): name other columns with --field"
            )
        made.power = _measure_power(made, engine, indexes)
        hits = [judged(one, benchmarks, profile, engine) for one in held]
        tables = [evidence_of(table, benchmarks, profile, engine) for table in hits]
        if request.spread:
            tables += _spread(store, shards, hits, made, engine, workers)
        made.evidence = merge(tables)
    return made


def _silent(items: Sequence[tuple[str, int]]) -> str:
    shown = ", ".join(f"{bench} {item}" for bench, item in items[:5])
    return (
        f"{len(items)} items have too few words that are evidence, and can't be found: {shown}"
        f"{' ...' if len(items) > 5 else ''}"
    )


def load_all(against: Sequence[str], engine: Engine, say: Callable[[str], None]) -> list[Benchmark]:
    """Load the deny set.

    Raises:
        ConfigError: a benchmark can't be loaded or has no items, or two have one name.
    """
    found: dict[str, Benchmark] = {}
    keys: dict[str, str] = {}
    for word in against:
        bench = engine.load(word)
        if not bench.items:
            raise ConfigError(f"benchmark '{word}' ({bench.source}) has no items: nothing to find")
        key = bench_key(bench)
        if key in keys:
            say(f"{word} holds the items of {keys[key]} and nothing else; it is taken once")
            continue
        if bench.name in found:
            raise ConfigError(
                f"--against {word}: another benchmark is named '{bench.name}', too "
                f"({found[bench.name].source}): rename the file"
            )
        found[bench.name], keys[key] = bench, bench.name
    return list(found.values())


def said_fields(shards: Sequence[Shard]) -> list[str]:
    """Return which columns are scanned, a sentence for files of the same columns."""
    files: dict[str, list[str]] = {}
    for shard in shards:
        files.setdefault(shown_fields(shard.fields), []).append(shard.file)
    return [
        f"scanning {fields} of {names[0] if len(names) == 1 else f'{len(names)} files'}"
        for fields, names in files.items()
    ]


def planned(made: Audit, work: Sequence[Any]) -> list[str]:
    """Return what a run would do, for ``--dry-run``."""
    size = sum(item.unit.size for item in work)
    lacking = {id(item.held): item.held.shard.file for item in work}
    items = sum(len(bench.items) for bench in made.benchmarks)
    return [
        f"{len(made.benchmarks)} benchmarks with {items:,} items, profile {made.profile.name}",
        f"{len(made.held)} files, {sum(one.size for one in made.held) / 1e6:,.1f} MB of text",
        f"to scan: {size / 1e6:,.1f} MB in {len(work)} units of {len(lacking)} files; known: "
        f"{made.known_units} units",
    ]


def _count(made: Audit) -> None:
    for one in made.held:
        counts, bad = one.shelf.counts()
        made.counts.add(counts)
        made.bad += [(one.shard.file, line) for line in bad]


def _spread(
    store: Store,
    shards: Sequence[Shard],
    hits: Sequence[pa.Table],
    made: Audit,
    engine: Engine,
    workers: int,
) -> list[pa.Table]:
    """Evidence of documents that nearly repeat a contaminated prompt: a pass over prompts."""
    sets = taints(hits, made.benchmarks, made.drop)
    if not sets:
        return []
    held = hold(store, shards, made.profile, PROMPTS)
    work = todo(held, sets)
    done = scan(
        work, sets, made.profile, Indexes(engine), workers=workers, said=lambda _d, _t: None
    )
    made.passed.seconds += done.seconds
    dirty = contaminated_rows(hits, made.drop)
    found = [tainted(judged(one, sets, made.profile, engine), sets, dirty) for one in held]
    return [evidence_of(table, sets, made.profile, engine) for table in found]


def _measure_power(made: Audit, engine: Engine, indexes: Indexes) -> Power | None:
    """Measure recall on texts of this corpus, where the engine can."""
    sample = lowest([one.shelf.sample() for one in made.held]).select(["text", "side"])
    return measured(made.store, sample, made.benchmarks, made.profile, engine, indexes)
