"""The local sandbox beside a plain Python and beside ``unshare``; and a soak of hostile programs.

    python -m tests.bench.bench_sandbox [--runs 200] [--rounds 5] [--programs 10000]

Peers in the same run, interleaved in rounds because the machine is shared: ``python3 -I -S`` as a
subprocess without any isolation, and python under bwrap, or under ``unshare -Urnpmif`` where there
is no bwrap. CPU is that of all processes involved but this one, which is told beside. Then
``--programs`` programs, 5 % of them hostile: every verdict, memory, descriptors, processes, mounts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.sandboxes.soak import soak
from vtdata import sandbox
from vtdata.sandbox import Limits, Sandbox

SOURCE = "import sys\na, b = map(int, sys.stdin.readline().split())\nprint(a + b)\n"
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
PLAIN = [PYTHON, "-I", "-S", "-c", SOURCE]
BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev",
         "--proc", "/proc", "--tmpfs", "/tmp"]  # fmt: skip
UNSHARE = ["unshare", "-Urnpmif"]
NICE = 10


def peer() -> tuple[str, list[str]]:
    if shutil.which("bwrap"):
        return "bwrap + python", [*BWRAP, *PLAIN]
    return "unshare -Urnpmif + python (no bwrap here)", [*UNSHARE, *PLAIN]


def waited_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process, its children that live, and those it waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(tree_cpu(int(child)) for child in children)


def launcher() -> int:
    (pid,) = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return int(pid)


def by_subprocess(command: list[str], runs: int) -> tuple[float, float]:
    """Runs per second and CPU ms per run."""
    begin, used = time.perf_counter(), waited_cpu()
    for _ in range(runs):
        done = subprocess.run(command, input=b"1 2\n", capture_output=True, check=True)
        assert done.stdout == b"3\n"
    return runs / (time.perf_counter() - begin), (waited_cpu() - used) / runs * 1e3


async def by_sandbox(box: Sandbox, runs: int, tests: int) -> tuple[float, float]:
    """Tests per second and CPU ms per test, ``tests`` of one program at a time."""
    begin, used = time.perf_counter(), tree_cpu(launcher())
    for _ in range(runs // tests):
        outcomes = await box.run(SOURCE, [b"1 2\n"] * tests, Limits())
        assert all(outcome.stdout == b"3\n" for outcome in outcomes)
    taken = time.perf_counter() - begin
    return runs / taken, (tree_cpu(launcher()) - used) / runs * 1e3


async def compare(runs: int, rounds: int) -> None:
    peer_name, command = peer()
    seen: dict[str, list[tuple[float, float]]] = {}
    async with sandbox.load("local", Path(__file__).parent) as box:
        await by_sandbox(box, 50, 50)
        for _ in range(rounds):
            seen.setdefault("plain python3 -I -S", []).append(by_subprocess(PLAIN, runs))
            seen.setdefault(peer_name, []).append(by_subprocess(command, runs))
            seen.setdefault("local", []).append(await by_sandbox(box, runs, 1))
            seen.setdefault("local, 50 tests each", []).append(await by_sandbox(box, runs, 50))
    for name, rows in seen.items():
        rate, cpu_ms = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{name:45} {rate:7.0f} runs/s {cpu_ms:7.2f} ms CPU a run")

    def ratio(pick: Callable[[tuple[float, float]], float], ours: str, theirs: str) -> float:
        pairs = zip(seen[ours], seen[theirs], strict=True)
        return statistics.median(pick(a) / pick(b) for a, b in pairs)

    cpu = ratio(lambda row: row[1], "local", "plain python3 -I -S")
    speed = ratio(lambda row: row[0], "local", peer_name)
    many = statistics.median(row[0] for row in seen["local, 50 tests each"])
    print(f"CPU a run, of plain python's: {cpu:.2f} (at most 0.6)")
    print(f"runs/s, of {peer_name}: {speed:.1f} times (at least 5)")
    print(
        f"tests/s of a worker, 50 a program: {many:.0f} (at least 300), {os.getloadavg()[0]:.1f} load"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--programs", type=int, default=10_000)
    options = parser.parse_args()
    os.setpriority(os.PRIO_PROCESS, 0, NICE)  # the sandbox's own, so that the peers share it
    asyncio.run(compare(options.runs, options.rounds))
    print(asyncio.run(soak(options.programs, random.Random(17))))


if __name__ == "__main__":
    main()
