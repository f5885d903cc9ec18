r"""Equality of answers beside math-verify in the same run.

    python -m tests.bench.bench_equal [--pairs 20000] [--peer 1500] [--rounds 3]

A vote's mix of unique pairs (70 % integers; see ``tests.bench.mix``) on one core, beginning with
empty caches. Prints how many pairs a second of processor time are decided by key (at least 20,000)
and their share (at least 92 %), and the whole mix against math-verify's ``parse`` and
``verify`` in the same process, both sides in ``\boxed{}`` (at least 10 times); for both, how often
they are right, since the truth of the pairs is known. Then both on the bare answers of
``../shared/cases``, where it is there. Ends with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from math_verify import parse
from math_verify import verify as peer_verify

from tests.bench.mix import Pair, pairs
from vtdata.verify import cascade, keys, math, normal
from vtdata.verify.reading import read, units

CASES = Path(__file__).parents[2] / ".." / "shared" / "cases" / "equivalence.jsonl"
TARGET_BY_KEY, TARGET_SHARE, TARGET_RATIO = 20_000.0, 0.92, 10.0

Judge = Callable[[str, str], bool | None]


def forget() -> None:
    """Empty every cache on the way from a text to a verdict."""
    for module in (cascade, keys, math, normal, read, units):
        for name in dir(module):
            clear = getattr(getattr(module, name), "cache_clear", None)
            if clear is not None:
                clear()


def ours(mix: Sequence[Pair]) -> tuple[float, float, float, Counter[str]]:
    """Seconds for the mix, seconds for what keys decided, their share, and the outcomes."""
    forget()
    by_key = 0.0
    num_by_key = 0
    outcomes: Counter[str] = Counter()
    began = time.perf_counter()
    for pair in mix:
        start = time.process_time()
        finding = math.compare(pair.gold, pair.pred)
        took = time.process_time() - start
        if finding.stage == "key":
            by_key += took
            num_by_key += 1
        outcomes[outcome(finding.same, right=pair.equal)] += 1
    return time.perf_counter() - began, by_key, num_by_key / len(mix), outcomes


def peer(gold: str, pred: str) -> bool | None:
    """math-verify as its README says, both sides boxed."""
    found = parse(rf"\boxed{{{gold}}}"), parse(rf"\boxed{{{pred}}}")
    return peer_verify(*found) if all(found) else None


def outcome(same: bool | None, *, right: bool) -> str:
    """right, open, or which way it is wrong."""
    if same is None:
        return "open"
    if same is right:
        return "right"
    return "false positive" if same else "false negative"


def timed(judge: Judge, mix: Sequence[Pair]) -> tuple[float, Counter[str]]:
    """Seconds that a judge takes, and its outcomes."""
    outcomes: Counter[str] = Counter()
    start = time.perf_counter()
    for pair in mix:
        outcomes[outcome(judge(pair.gold, pair.pred), right=pair.equal)] += 1
    return time.perf_counter() - start, outcomes


def cases() -> list[Pair]:
    """The handed pairs of bare answers."""
    if not CASES.exists():
        return []
    rows = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return [
        Pair(row["gold"], row["pred"], row["equal"], row["kind"])
        for row in rows
        if row["form"] == "answer"
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--peer", type=int, default=1_500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    peer(r"\sqrt{2}", "x^2+1")  # loads what it loads
    math.compare(r"\sin x", r"\cos x")
    gc.freeze()  # what the peer loads is not gone through for each of our collections
    rates, by_key, shares, ratios = [], [], [], []
    for number in range(options.rounds):
        mix = pairs(options.pairs, seed=number)
        total, keyed, share, right = ours(mix)
        took, peer_right = timed(peer, mix[: options.peer])
        rates.append(len(mix) / total)
        by_key.append(share * len(mix) / keyed)
        shares.append(share)
        ratios.append(rates[-1] / (options.peer / took))
        print(f"  ours {rates[-1]:8.0f}/s {dict(right)}")
        print(f"  peer {options.peer / took:8.0f}/s {dict(peer_right)}")
    keyed, share, ratio = map(statistics.median, (by_key, shares, ratios))
    print(f"by key: {keyed:.0f} pairs/s (at least {TARGET_BY_KEY:.0f})")
    print(f"decided by key: {share:.1%} of the mix (at least {TARGET_SHARE:.0%})")
    print(f"ours / math-verify on the whole mix: {ratio:.1f} (at least {TARGET_RATIO:.0f})")
    handed = cases()
    for name, judge in (("ours", math.equal), ("peer", peer)):
        if handed:
            took, outcomes = timed(judge, handed)
            print(f"handed pairs, {name}: {dict(outcomes)} in {took:.2f} s")
    return int(keyed < TARGET_BY_KEY or share < TARGET_SHARE or ratio < TARGET_RATIO)


if __name__ == "__main__":
    sys.exit(main())
