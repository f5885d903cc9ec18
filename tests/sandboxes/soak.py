"""Thousands of programs, 5 % of them hostile, through one local sandbox."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

from tests.sandboxes.hostile import REACHING
from tests.sandboxes.lasting import LASTING
from tests.sandboxes.programs import Program, check, honest
from vtdata import sandbox
from vtdata.sandbox import Limits

_HOSTILE_SHARE = 0.05
_SHORT = Limits(cpu_s=0.3, wall_s=2, memory_mib=256, output_mib=1, disk_mib=16)


@dataclass(frozen=True, slots=True)
class Soak:
    """What a soak found; a wrong verdict ends it."""

    programs: int
    hostile: int
    seconds: float
    rss_growth_mib: float
    """Of the launcher and of this process, from a tenth of the way to the end."""
    descriptors: int
    processes: int
    mounts: int
    """How many more after than before."""

    def __str__(self) -> str:
        return (
            f"{self.programs} programs, {self.hostile} hostile, all verdicts right, in "
            f"{self.seconds:.0f} s; memory grew by {self.rss_growth_mib:.1f} MiB; left over: "
            f"{self.descriptors} descriptors, {self.processes} processes, {self.mounts} mounts"
        )


def ordinary(rng: random.Random) -> Program:
    """A program with a verdict that is known: right, wrong, failing, or printing much."""
    n = rng.randrange(10_000)
    kind = rng.randrange(4)
    if kind == 0:
        return honest(
            "sum", "print(sum(map(int, input().split())))", b"%d 7" % n, b"%d\n" % (n + 7)
        )
    if kind == 1:
        return honest("failing", f"print({n})\nraise ValueError({n})", b"", b"%d\n" % n, 1)
    if kind == 2:
        return honest("much", f"print('x' * {n})", b"", b"x" * n + b"\n")
    source = f"open('f', 'w').write('{n}')\nprint(open('f').read())"
    return honest("file", source, b"", b"%d\n" % n)


def hostile(rng: random.Random) -> Program:
    """One of the hostile programs, with limits that end it soon where a limit must."""
    program = rng.choice([*LASTING, *REACHING])
    if "time_limit" not in program.states:
        return program
    return Program(program.name, program.source, b"", program.stdout, program.states, limits=_SHORT)


async def soak(count: int, rng: random.Random) -> Soak:
    """Run ``count`` programs, two at a time.

    Raises:
        AssertionError: a verdict is wrong; names the program.
    """
    kinds = [rng.random() < _HOSTILE_SHARE for _ in range(count)]
    programs = [hostile(rng) if bad else ordinary(rng) for bad in kinds]
    await asyncio.to_thread(int)  # the loop's own threads and files exist
    gc.collect()  # what earlier tests left behind is not the soak's
    before = _counts()
    begin = time.perf_counter()
    backend = type(sandbox.load("local", Path(__file__).parent))
    async with backend(parallel=2) as box:
        early = 0.0
        for at in range(0, count, 100):
            batch = programs[at : at + 100]
            runs = [box.run(p.source, [p.stdin], p.limits) for p in batch]
            for program, (outcome,) in zip(batch, await asyncio.gather(*runs), strict=True):
                check(program, outcome)
            if early == 0.0 and at >= count // 10:
                early = _rss_mib()
        grown = _rss_mib() - early
    await asyncio.sleep(0.2)
    left = [after - then for after, then in zip(_counts(), before, strict=True)]
    return Soak(count, sum(kinds), time.perf_counter() - begin, grown, *left)


def _counts() -> tuple[int, int, int]:
    mounts = len(Path("/proc/self/mountinfo").read_text().splitlines())
    return len(list(Path("/proc/self/fd").iterdir())), len(_tree(os.getpid())) - 1, mounts


def _rss_mib() -> float:
    """Of this process and the two of the launcher; cells come and go."""
    launcher = _tree(os.getpid())[1]
    first = _tree(launcher)[1]
    pages = [
        int(Path(f"/proc/{p}/statm").read_text().split()[1]) for p in (os.getpid(), launcher, first)
    ]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _tree(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(deeper for child in children for deeper in _tree(int(child)))]
