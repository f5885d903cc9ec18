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


Power = dict[str, Any]
"""See ``vtdata.decontam.report.Power``."""


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


def default_engine() -> Engine:
    """Return the engine that ships: the registry, the two profiles, the index."""
    from vtdata.decontam.benchmarks import load
    from vtdata.decontam.index import build, shared_grams
    from vtdata.decontam.power import power
    from vtdata.decontam.profile import judge, profile

    return Engine(load, profile, build, judge, power, shared_grams)


def bench_key(bench: Benchmark) -> str:
    """Return what a benchmark's candidates depend on besides the text: its items, hexadecimal.

    The file's hash alone would not do, since other fields of it may have been loaded; the name
    isn't in it, so a renamed benchmark is known again.
    """
    items = [[item.index, item.field, item.hash] for item in bench.items]
    return hashlib.sha256(json.dumps(items).encode()).hexdigest()
