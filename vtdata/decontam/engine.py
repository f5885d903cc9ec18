"""What an audit needs of whatever finds matches: its parts, so that each can be tried alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.inputs import Side
from vtdata.decontam.report import Power


class Profile(Protocol):
    """A named set of rules and thresholds."""

    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str:
        """Name and version, for evidence and cards."""
        ...

    @property
    def hash(self) -> str:
        """Of everything that changes candidates; thresholds of verdicts don't."""
        ...

    @property
    def aligns(self) -> bool:
        """Whether candidates are aligned, which keeps the interpreter from other threads."""
        ...

    @property
    def thresholds(self) -> dict[str, object]:
        """All settings, for cards."""
        ...


class Index(Protocol):
    """Benchmarks, made ready for a scan; read-only, so any number of threads may scan."""

    def scan(self, texts: pa.Array, side: Side, /) -> pa.Table:
        """Return the candidates (CANDIDATE) of a batch of texts, all of one side."""
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts of a scan."""

    load: Callable[[str], Benchmark]
    """From a name of the registry or a file to the benchmark."""
    profile: Callable[[str], Profile]
    build: Callable[[Sequence[Benchmark], Any], Index]
    judge: Callable[[pa.Table, Any], pa.Table]
    """Adds ``verdict`` (null: below the thresholds) and ``strength`` to candidates."""
    power: Callable[[Index, pa.Table, Sequence[Benchmark]], Power] | None = None
    """Measures recall on a sample of the corpus: a table of ``text`` and ``side``."""
    grams_of: Callable[[str, str, Any], list[str]] | None = None
    """The n-grams that a text and an item share under a profile, for people to read."""


class Indexes:
    """Makes indexes and keeps the last: the one of a scan is also the one to measure."""

    def __init__(self, engine: Engine) -> None:
        self.build = engine.build
        self._last: tuple[Any, Index] | None = None

    def __call__(self, benchmarks: Sequence[Benchmark], profile: Profile) -> Index:
        """Return the index of these benchmarks."""
        key = ([(bench.name, bench_key(bench)) for bench in benchmarks], profile)
        if self._last is None or self._last[0] != key:
            self._last = None  # one index in memory at a time
            self._last = (key, self.build(benchmarks, profile))
        return self._last[1]

    @property
    def without_evidence(self) -> list[tuple[str, int]]:
        """Benchmark and number of the items that the last index can't find."""
        return list(getattr(self._last[1], "without_evidence", ())) if self._last else []


def default_engine() -> Engine:
    """Return the engine that ships: the registry, the two profiles, the index."""
    from vtdata.decontam.benchmarks import load
    from vtdata.decontam.profile import judge, profile

    return Engine(load, profile, _build, judge, _power, _grams_of)


# numba takes half a second to load, and an audit that has to scan nothing needs none.


def _build(benchmarks: Sequence[Benchmark], profile: Any) -> Index:
    from vtdata.decontam.index import build

    return build(benchmarks, profile)


def _power(index: Any, sample: pa.Table, benchmarks: Sequence[Benchmark]) -> Power:
    from vtdata.decontam.power import power

    return power(index, sample, benchmarks)


def _grams_of(text: str, item: str, profile: Any) -> list[str]:
    from vtdata.decontam.index import shared_grams

    return shared_grams(text, item, profile)


def bench_key(bench: Benchmark) -> str:
    """Return what a benchmark's candidates depend on besides the text: its items, hexadecimal.

    The file's hash alone would not do, since other fields of it may have been loaded; the name
    isn't in it, so a renamed benchmark is known again.
    """
    items = [[item.index, item.field, item.hash] for item in bench.items]
    return hashlib.sha256(json.dumps(items).encode()).hexdigest()
