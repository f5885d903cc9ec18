"""One measurement of decontamination, in a process of its own: prints a line of JSON.

python -m tests.bench.decontam_one audit FILE PROFILE WORKERS
python -m tests.bench.decontam_one decode FILE | warm FILE | index PROFILE
"""

from __future__ import annotations

import json
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.bench_decontam_cases import FILES, benchmark
from tests.bench.decontam_corpora import TEXT_COLUMNS
from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.index import Index, build
from vtdata.decontam.profile import PROFILES, Profile


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one thing."""

    wall: float
    cpu: float


class Clock:
    """When things happened, by both clocks."""

    def __init__(self) -> None:
        self.times: dict[str, list[Took]] = {}

    def mark(self, name: str) -> None:
        now = Took(time.perf_counter(), time.process_time())
        self.times.setdefault(name, []).append(now)

    def between(self, first: str, last: str, *, nth: int = 0) -> Took:
        a, b = self.times[first][nth], self.times[last][nth]
        return Took(b.wall - a.wall, b.cpu - a.cpu)

    def around(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, with a mark before and behind."""

        def timed(*given: Any, **named: Any) -> Any:
            self.mark(f"{name} begins")
            made = work(*given, **named)
            self.mark(f"{name} ends")
            return made

        return timed


CLOCK = Clock()
"""Of this process."""


def build_in_place(benchmarks: Sequence[Benchmark], profile: Profile) -> Index:
    """Make an index and look for nothing with it, so that all it needs is loaded and made."""
    CLOCK.mark("build begins")
    import_module("vtdata.decontam.kernel.compiled")
    made = build(benchmarks, profile)
    for side in ("prompt", "response"):
        made.scan(pa.array(["nothing at all"]), side)
    CLOCK.mark("build ends")
    return made


def child_audit(path: str, profile: str, workers: str) -> dict[str, Any]:
    """Audit one file; see the head of this file for what is counted."""
    from tests.bench import decontam_one  # by this name other processes know it, too
    from vtdata.decontam.audit import audit
    from vtdata.decontam.engine import default_engine
    from vtdata.decontam.request import Request

    clock, own = decontam_one.CLOCK, default_engine()
    engine = replace(
        own,
        load=benchmark,
        build=decontam_one.build_in_place,
        judge=clock.around("judge", own.judge),
        power=clock.around("power", own.power) if own.power else None,
    )
    with tempfile.TemporaryDirectory() as folder:
        request = Request((path,), tuple(FILES), profile=profile, store=Path(folder) / "store",
                          workers=int(workers))  # fmt: skip
        clock.mark("begins")
        made = audit(request, engine)
        clock.mark("ends")
    found: dict[str, Any] = {
        "whole": vars_of(clock.between("begins", "ends")),
        "index": vars_of(clock.between("build begins", "build ends")),
        "scan": vars_of(clock.between("build ends", "judge ends")),
        "hits": made.evidence.num_rows,
    }
    if "power begins" in clock.times:
        found["power"] = vars_of(clock.between("power begins", "power ends"))
    beside = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {**found, "rss_mb": peak_mb(), "beside_mb": beside.ru_maxrss * 1024 / 10**6}


def peak_mb() -> float:
    """Most memory of this program; ``getrusage`` has that of whoever started it, too."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024 / 10**6


def vars_of(took: Took) -> dict[str, float]:
    return {"wall": took.wall, "cpu": took.cpu}


def child_decode(path: str) -> dict[str, Any]:
    """Read the text columns."""
    begun = Took(time.perf_counter(), time.process_time())
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            file.read_row_group(group, columns=TEXT_COLUMNS, use_threads=False)
    took = Took(time.perf_counter() - begun.wall, time.process_time() - begun.cpu)
    return {"scan": vars_of(took)}


def child_warm(path: str) -> dict[str, Any]:
    """Have everything compiled that is compiled, so that it lies in the cache."""
    return {profile: child_audit(path, profile, "1") for profile in ("paper", "evidence")}


def child_index(profile: str) -> dict[str, Any]:
    """Make an index of all items: in a new process, and with compiled code at hand."""
    benchmarks = [benchmark(name) for name in FILES]
    found = {}
    for name in ("new", "scan"):
        begun = Took(time.perf_counter(), time.process_time())
        build_in_place(benchmarks, PROFILES[profile])
        took = Took(time.perf_counter() - begun.wall, time.process_time() - begun.cpu)
        found[name] = vars_of(took)
    return {**found, "items": sum(len(bench.items) for bench in benchmarks)}


CHILDREN: dict[str, Callable[..., dict[str, Any]]] = {
    "audit": child_audit,
    "decode": child_decode,
    "warm": child_warm,
    "index": child_index,
}


if __name__ == "__main__":
    print(json.dumps(CHILDREN[sys.argv[1]](*sys.argv[2:])))
