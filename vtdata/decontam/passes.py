"""Which units were not scanned for which benchmarks yet, and the passes that make up for it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.crew import Pace, Task, share
from vtdata.decontam.digests import Stamp, stamp
from vtdata.decontam.engine import Indexes, Profile, bench_key
from vtdata.decontam.inputs import Field, Shard, Side, Unit
from vtdata.decontam.store import Shelf, Store
from vtdata.decontam.sweep import Job

BOTH: tuple[Side, ...] = ("prompt", "response")
PROMPTS: tuple[Side, ...] = ("prompt",)


@dataclass(frozen=True, slots=True)
class Held:
    """One shard with all that is known of it."""

    shard: Shard
    digest: str
    stamp: Stamp | None
    units: tuple[Unit, ...]
    fields: tuple[Field, ...]
    sides: tuple[Side, ...]
    shelf: Shelf

    @property
    def size(self) -> int:
        return sum(unit.size for unit in self.units)


@dataclass(frozen=True, slots=True)
class Work:
    """A unit and the benchmarks that it has to be scanned for."""

    held: Held
    unit: Unit
    keys: frozenset[str]


@dataclass(slots=True)
class Passed:
    """What was done in this process."""

    units: int = 0
    text_bytes: int = 0
    seconds: float = 0.0


def hold(
    store: Store, shards: Sequence[Shard], profile: Profile, sides: Sequence[Side]
) -> list[Held]:
    """Find out what each shard is, by content, and what the store has of it."""
    held = []
    for shard in shards:
        fields = tuple(f for f in shard.fields if sides == BOTH or f.side == "prompt")
        digest = store.digests.of(shard)
        seen = stamp(shard.path) if shard.path else None
        shelf = store.shelf(digest, fields, sides, profile.hash)
        held.append(Held(shard, digest, seen, tuple(shard.units()), fields, tuple(sides), shelf))
    return held


def todo(held: Sequence[Held], benchmarks: Sequence[Benchmark]) -> list[Work]:
    """Return what has to be scanned."""
    keys = [bench_key(bench) for bench in benchmarks]
    work = [
        Work(one, unit, one.shelf.missing(unit.number, keys)) for one in held for unit in one.units
    ]
    return [item for item in work if item.keys]


def scan(
    work: Sequence[Work],
    benchmarks: Sequence[Benchmark],
    profile: Profile,
    indexes: Indexes,
    *,
    workers: int,
    said: Callable[[int, int], None],
) -> Passed:
    """Scan each unit once, with an index of exactly what it lacks; each is kept when it is done.

    Units that lack the same benchmarks share an index; one index is in memory at a time.

    Raises:
        RunError: a file is corrupt or changes; everything finished is kept.
    """
    began = time.monotonic()
    by_key = {bench_key(bench): bench for bench in benchmarks}
    groups: dict[frozenset[str], list[Work]] = defaultdict(list)
    for item in work:
        groups[item.keys].append(item)
    pace = Pace(sum(item.unit.size for item in work), said)
    for keys, items in groups.items():
        lacking = {key: bench for key, bench in by_key.items() if key in keys}
        names = {key: bench.name for key, bench in lacking.items()}
        share(
            [(_task(item, names), item.held.shelf.learn) for item in items],
            indexes,
            list(lacking.values()),
            profile,
            workers=workers,
            size=sum(item.unit.size for item in items),
            pace=pace,
        )
    for one in {id(item.held): item.held for item in work}.values():
        one.shelf.join(len(one.units))
    return Passed(len(work), pace.done, time.monotonic() - began)


def _task(item: Work, names: Mapping[str, str]) -> Task:
    held = item.held
    job = Job(held.shard, held.digest, item.unit, held.fields, held.sides)
    return Task(job, held.shelf.folder, held.shelf.profile, names, held.stamp)
