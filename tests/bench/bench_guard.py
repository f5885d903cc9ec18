"""Hostile answers among ordinary ones: limits, memory, and the pace of the guard afterwards.

    python -m tests.bench.bench_guard [--normal 1000] [--children 1] [--limit 4.0]

45 hostile pairs (tests/hostile.py) are spread over 1,000 ordinary ones. All must be answered
within the limit (and 0.5 s for the kill), no child may peak above 512 MB (VmHWM, every 10 ms), the
number of processes must be the same after as before, and the ordinary pairs alone must go as fast
afterwards as they did before. In the same run: what an ask costs above its job, and math-verify in
process.
"""

from __future__ import annotations

import argparse
import os
import random
import threading
import time
from pathlib import Path

import psutil

from tests.hostile import HOSTILE
from vtdata.verify.guard import Reply, ask, ask_many
from vtdata.verify.guard.limits import MEMORY_BYTES

Pair = list[str]


def ordinary(count: int, seed: int = 7) -> list[Pair]:
    """Pairs as a vote on hard answers has them: fractions, surds, tuples, polynomials, numbers."""
    rng = random.Random(seed)

    def one() -> Pair:
        a, b, c = (rng.randint(2, 99) for _ in range(3))
        return rng.choice(
            [
                [rf"\frac{{{a}}}{{{b}}}", rf"{a}/{b}"],
                [rf"{a}\sqrt{{{b}}}", rf"\sqrt{{{a * a * b}}}"],
                [rf"({a},{b})", rf"({a},{c})"],
                [rf"(x+{a})(x+{b})", rf"x^2+{a + b}x+{a * b}"],
                [str(a * b * c), str(a * b * c + rng.randint(0, 1))],
                [rf"{a}\pi", rf"{a}\pi + {b}"],
                [rf"[{a},{a + b}]", rf"[{a},{a + b})"],
                [
                    rf"\frac{{{a}+\sqrt{{{b}}}}}{{2}}",
                    rf"\frac{{{a}}}{{2}}+\frac{{\sqrt{{{b}}}}}{{2}}",
                ],
            ]
        )

    return [one() for _ in range(count)]


class Memory(threading.Thread):
    """Watches the peak memory of every child of this process's helper."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_bytes = 0
        self._helper = helper()
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.01):
            for pid in children(self._helper):
                self.peak_bytes = max(self.peak_bytes, high_water(pid))

    def stop(self) -> int:
        self._done.set()
        self.join()
        return self.peak_bytes


def helper() -> int:
    mine = psutil.Process().children()
    return next(p.pid for p in mine if any("helper.py" in word for word in p.cmdline()))


def children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def high_water(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def processor_s() -> float:
    """Processor time of all children of the helper, those that have ended too."""
    parent = psutil.Process(helper())
    times = parent.cpu_times()
    alive = [child.cpu_times() for child in parent.children()]
    return times.children_user + times.children_system + sum(t.user + t.system for t in alive)


def pace(pairs: list[Pair], limit_s: float, num_children: int) -> tuple[float, float]:
    """Ordinary pairs per second of wall-clock time, and milliseconds of processor time for each.

    The second is what a machine with other work on it can compare.
    """
    begin, used = time.perf_counter(), processor_s()
    replies = ask_many("math", pairs, limit_s=limit_s, children=num_children)
    assert {r.reason for r in replies} == {"ok"}, {r.reason for r in replies}
    taken = time.perf_counter() - begin
    return len(pairs) / taken, (processor_s() - used) * 1e3 / len(pairs)


def overhead_us(count: int = 2_000) -> tuple[float, float]:
    """Microseconds of an ask above its job, alone and in a batch."""
    pair = ["7", "7"]
    begin = time.perf_counter()
    work_ms = sum(ask("math", pair).ms for _ in range(count))
    alone = (time.perf_counter() - begin) * 1e6 - work_ms * 1e3
    begin = time.perf_counter()
    work_ms = sum(r.ms for r in ask_many("math", [pair] * count))
    batch = (time.perf_counter() - begin) * 1e6 - work_ms * 1e3
    return alone / count, batch / count


def in_process(pairs: list[Pair]) -> float:
    """Pairs per second of math-verify in this process, both directions, without any limit."""
    from vtdata.verify.guard.mathverify import compare, warm

    warm()
    begin = time.perf_counter()
    for gold, pred in pairs:
        compare(gold, pred)
    return len(pairs) / (time.perf_counter() - begin)


def report(replies: list[Reply], names: dict[int, str], limit_s: float) -> None:
    reasons: dict[str, int] = {}
    for n in names:
        reasons[replies[n].reason] = reasons.get(replies[n].reason, 0) + 1
    slowest = max(replies[n].ms for n in names)
    usual = [r for n, r in enumerate(replies) if n not in names]
    print(f"hostile: {dict(sorted(reasons.items()))}, slowest {slowest:.0f} ms")
    print(f"ordinary among them: {sum(r.reason == 'ok' for r in usual)} of {len(usual)} ok")
    assert slowest < limit_s * 1e3 + 500, "a pair was late"
    assert all(r.reason == "ok" for r in usual)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--normal", type=int, default=1_000)
    parser.add_argument("--children", type=int, default=1)
    parser.add_argument("--limit", type=float, default=4.0)
    options = parser.parse_args()
    normal = ordinary(options.normal)
    begin = time.perf_counter()
    ask("math", ["1", "1"])
    print(f"start of the helper, warm: {time.perf_counter() - begin:.2f} s")
    sample = normal[:200]
    pace(sample, options.limit, options.children)
    before = pace(sample, options.limit, options.children)
    processes = len(psutil.Process().children(recursive=True))
    mixed = [[*pair] for pair in normal]
    names = {}
    step = (len(mixed) + len(HOSTILE)) / len(HOSTILE)
    for i, (name, pair) in enumerate(HOSTILE.items()):
        names[int(i * step)] = name
        mixed.insert(int(i * step), list(pair))
    memory = Memory()
    memory.start()
    begin = time.perf_counter()
    replies = ask_many("math", mixed, limit_s=options.limit, children=options.children)
    print(f"{len(mixed)} pairs, {len(names)} of them hostile: {time.perf_counter() - begin:.0f} s")
    peak = memory.stop()
    report(replies, names, options.limit)
    print(f"peak of a child: {peak / 2**20:.0f} MiB (at most {MEMORY_BYTES >> 20})")
    after = pace(sample, options.limit, options.children)
    left = len(psutil.Process().children(recursive=True))
    print(f"processes before {processes}, after {left}")
    print(
        f"ordinary pairs before and after: {before[0]:.1f} and {after[0]:.1f} a second, "
        f"{before[1]:.1f} and {after[1]:.1f} ms of processor time, "
        f"ratio {after[0] / before[0]:.2f} and {before[1] / after[1]:.2f}"
    )
    alone, batch = overhead_us()
    print(f"an ask costs {alone:.0f} us above its job, {batch:.0f} us in a batch")
    print(f"math-verify in process: {in_process(sample):.0f}/s (load {os.getloadavg()[0]:.1f})")
    assert peak <= MEMORY_BYTES
    assert left == processes


if __name__ == "__main__":
    main()
