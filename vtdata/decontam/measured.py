"""The power of an audit, measured on texts of its corpus once and kept in the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

import vtdata
from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.engine import Engine, Index, Power, Profile, bench_key
from vtdata.decontam.report.write import replacing

FOLDER = "power"


def measured(
    folder: Path,
    sample: pa.Table,
    benchmarks: Sequence[Benchmark],
    profile: Profile,
    engine: Engine,
    index_of: Callable[[Sequence[Benchmark], Profile], Index],
) -> Power | None:
    """Return the power of a scan; None where the engine can't measure it.

    Args:
        folder: of the store.
        sample: texts of the corpus with their ``side``, chosen by hash: the same however the
            corpus was scanned.
        benchmarks: all that were scanned for.
        profile: with its thresholds.
        engine: what measures.
        index_of: gives the index of all benchmarks.
    """
    if engine.power is None:
        return None
    path = folder / FOLDER / f"{_key(sample, benchmarks, profile)}.json"
    if path.is_file():
        with suppress(json.JSONDecodeError):  # cut off: measured again
            return json.loads(path.read_bytes())
    power = engine.power(index_of(benchmarks, profile), sample, benchmarks)
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps(power, sort_keys=True).encode())
    return power


def _key(sample: pa.Table, benchmarks: Sequence[Benchmark], profile: Profile) -> str:
    keys = sorted((bench.name, bench_key(bench)) for bench in benchmarks)
    settings = [vtdata.__version__, profile.label, profile.hash, profile.thresholds, keys]
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for side, text in zip(sample.column("side"), sample.column("text"), strict=True):
        digest.update(hashlib.sha256(side.as_py().encode() + text.as_py()).digest())
    return digest.hexdigest()[:32]
