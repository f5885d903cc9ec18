"""Tests per second of one worker, for programs of 50 tests in each style, in the local sandbox.

    python -m tests.bench.bench_code [--programs 10] [--rounds 5]

Rounds are interleaved with a plain ``python3 -I -S`` as a subprocess, because the machine is
shared: the ratio says more than the rate. Every program is another, as in a run, and is right.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from pathlib import Path
from typing import Any

from tests.bench.bench_sandbox import PLAIN, by_subprocess
from vtdata import sandbox
from vtdata.sandbox import Sandbox
from vtdata.verify.code import judge_program, read_tests

TESTS = 50
PEER_RUNS = 50


def stdin(n: int) -> tuple[str, dict[str, Any]]:
    program = f"a, b = map(int, input().split())\nprint(a + b)  # {n}\n"
    texts = [(f"{k} {n}\n", f"{k + n}\n") for k in range(TESTS)]
    return program, {"inputs": [t[0] for t in texts], "outputs": [t[1] for t in texts]}


def call(n: int) -> tuple[str, dict[str, Any]]:
    program = f"def add(a, b):\n    return a + b  # {n}\n"
    numbers = range(TESTS)
    return program, {
        "fn_name": "add",
        "inputs": [[k, n] for k in numbers],
        "outputs": [k + n for k in numbers],
    }


def asserts(n: int) -> tuple[str, dict[str, Any]]:
    program = f"def add(a, b):\n    return a + b  # {n}\n"
    return program, {"test_list": [f"assert add({k}, {n}) == {k + n}" for k in range(TESTS)]}


async def rate(box: Sandbox, cases: list[tuple[str, dict[str, Any]]]) -> float:
    """Tests per second."""
    begin = time.perf_counter()
    for program, tests in cases:
        judged = await judge_program(program, read_tests(tests), box)
        assert judged.reason == "correct", judged
    return len(cases) * TESTS / (time.perf_counter() - begin)


async def compare(programs: int, rounds: int) -> None:
    seen: dict[str, list[float]] = {}
    async with sandbox.load("local", Path(__file__).parent) as box:
        for number in range(rounds):
            mine = range(number * programs, (number + 1) * programs)
            seen.setdefault("plain python", []).append(by_subprocess(PLAIN, PEER_RUNS)[0])
            for style in (stdin, call, asserts):
                tests_s = await rate(box, [style(n) for n in mine])
                seen.setdefault(style.__name__, []).append(tests_s)
    plain = seen.pop("plain python")
    print(f"plain python3 -I -S: {statistics.median(plain):.0f} runs/s")
    for name, rates in seen.items():
        times = statistics.median(ours / peer for ours, peer in zip(rates, plain, strict=True))
        print(f"{name:8} {statistics.median(rates):5.0f} tests/s, {times:.1f} times plain python")
    print(f"{os.getloadavg()[0]:.1f} load")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    asyncio.run(compare(options.programs, options.rounds))


if __name__ == "__main__":
    main()
