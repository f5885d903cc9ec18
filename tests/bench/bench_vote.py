"""The vote: 16 answers of each of 10,000 queries, on two cores in under 20 s.

    python -m tests.bench.bench_vote [--queries 10000] [--answers 16] [--workers 2] [--seed 1]

The same answers are counted by their strings, which is how every peer that we read takes a
majority; a tie goes to the first here, and gives no label. Said for both: how often the winner is
right, and how many labels there are, and right ones, at 4 votes and a share of 0.6. The start of
the workers, imports included, is part of the time; processor time is said beside it, since other
work on the machine only lengthens the first. Ends with 1 if it took longer than the target.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction

from tests.bench.mix import Poll, polls
from vtdata.verify import majority

TARGET_S = 20.0
CHUNK = 250
MIN_VOTES, MIN_SHARE = 4, 0.6


def tell(chunk: Sequence[Poll]) -> Counter[str]:
    """Vote on some queries, and count what came out."""
    counts: Counter[str] = Counter()
    for poll in chunk:
        start = time.process_time()
        vote = majority(poll.answers, min_votes=MIN_VOTES, min_share=MIN_SHARE)
        took = time.process_time() - start
        counts[f"us {poll.kind}"] += round(took * 1e6)
        counts[f"queries {poll.kind}"] += 1
        counts["undecided"] += vote.undecided
        counts["conflicts"] += vote.conflicts
        ours = _leading(poll, vote.classes)
        theirs, share = _by_string(poll)
        counts["differ"] += ours != theirs
        counts["right, by class"] += ours == 0
        counts["right, by string"] += theirs == 0
        counts["labels, by class"] += vote.answer is not None
        counts["right labels, by class"] += vote.answer is not None and ours == 0
        labels = share * len(poll.answers) >= MIN_VOTES and share >= Fraction(3, 5)
        counts["labels, by string"] += labels
        counts["right labels, by string"] += labels and theirs == 0
        counts["classes with two meanings"] += len(_meanings(poll, vote.classes)) > vote.num_classes
        pairs = _meanings(poll, vote.classes)
        counts["meanings in two classes"] += len(pairs) > len({meant for _, meant in pairs})
    return counts


def _meanings(poll: Poll, classes: Sequence[int | None]) -> set[tuple[int, int]]:
    pairs = zip(classes, poll.truth, strict=True)
    return {(at, meant) for at, meant in pairs if at is not None and meant is not None}


def _leading(poll: Poll, classes: Sequence[int | None]) -> int | None:
    """What most of the largest class's answers mean; the first of several as large."""
    meant = Counter(t for c, t in zip(classes, poll.truth, strict=True) if c == 0)
    return meant.most_common(1)[0][0] if meant else None


def _by_string(poll: Poll) -> tuple[int | None, Fraction]:
    """What the most frequent string means, the first of several, and its share."""
    found = Counter(answer for answer in poll.answers if answer is not None)
    if not found:
        return None, Fraction(0)
    answer, votes = found.most_common(1)[0]
    return poll.truth[poll.answers.index(answer)], Fraction(votes, len(poll.answers))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    stream = polls(given.queries, given.seed, given.answers)
    chunks = list(iter(lambda: list(itertools.islice(stream, CHUNK)), []))
    start = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.workers, mp_context=context) as pool:
        counts = sum(pool.map(tell, chunks), Counter())
    took = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{given.queries:,} queries x {given.answers} answers on {given.workers} workers: "
        f"{took:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of CPU; target {TARGET_S:g} s)"
    )
    report(counts, given.queries)
    return took > TARGET_S


def report(counts: Counter[str], queries: int) -> None:
    for name in sorted(name for name in counts if name.startswith("queries ")):
        kind = name.removeprefix("queries ")
        each = counts[f"us {kind}"] / counts[name] / 1_000
        print(f"  {kind:11} {counts[name]:6} queries, {each:8.3f} ms of CPU each")
    print(
        f"largest class and most frequent string differ in {counts['differ']} queries "
        f"({counts['differ'] / queries:.1%})"
    )
    for what in ("right", "labels", "right labels"):
        ours, theirs = counts[f"{what}, by class"], counts[f"{what}, by string"]
        ratio = f"{ours / theirs:.3f}" if theirs else "-"
        print(f"  {what:13} by class {ours:6}, by string {theirs:6}, ratio {ratio}")
    for what in ("undecided", "conflicts", "classes with two meanings", "meanings in two classes"):
        print(f"  {what}: {counts[what]}")


if __name__ == "__main__":
    sys.exit(main())
