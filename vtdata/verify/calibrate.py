"""How far a majority can be trusted: precision by share, and the share that a precision asks for.

A question with a reference votes as one without, its reference unseen; then the winner is compared
with it. From many of those comes a curve: so many winners at a share of at least t, so many of
them right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from vtdata.intervals import at_least, check_open_unit, clopper_pearson


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold would have done to questions whose answer is known."""

    threshold: float
    """Smallest share of a winner, in (0, 1]."""
    num_kept: int
    """Questions whose winner has at least that share."""
    correct: int
    """Those of them whose winner is right."""
    total: int
    """All questions, those without a winner too."""

    @property
    def precision(self) -> float:
        return self.correct / self.num_kept if self.num_kept else math.nan

    @property
    def coverage(self) -> float:
        return self.num_kept / self.total if self.total else 0.0


def curve(votes: Iterable[tuple[float, bool]], total: int | None = None) -> list[Point]:
    """Return one point per share that occurs, from the strictest down.

    Args:
        votes: share and rightness of each winner, for questions whose answer is known.
        total: all such questions, those without a winner too; None: every one has a winner.

    >>> [(p.threshold, p.num_kept, p.correct) for p in curve([(1.0, True), (0.5, False)])]
    [(1.0, 1, 1), (0.5, 2, 1)]
    """
    ordered = sorted(votes, reverse=True)
    total = len(ordered) if total is None else total
    points, kept, correct = [], 0, 0
    for share, group in groupby(ordered, key=lambda vote: vote[0]):
        rights = [right for _, right in group]
        kept += len(rights)
        correct += sum(rights)
        points.append(Point(share, kept, correct, total))
    return points


def choose_threshold(
    points: Sequence[Point], target_precision: float, confidence: float
) -> Point | None:
    """Return the point with the lowest threshold that can be trusted; None where none can.

    To test every threshold and take the lowest that passes would be many looks at one sample, and
    wrong more often than ``1 - confidence``. This is a fixed-sequence test instead: from the
    strictest threshold down, the hypothesis "precision is below the target" is tested by the exact
    binomial tail at the full level, and the first that isn't rejected ends it. To be wrong, it
    must pass the first threshold that is too low, which happens with at most ``1 - confidence``:
    so no correction is needed. Bonferroni and Holm over the same thresholds hold too; in
    simulations of voters they labeled less.

    Where the sequence starts must not hang on who was right, only on how many there are: at the
    strictest threshold that passes with one wrong winner (93 winners for 0.95 at 0.95), so that
    one mishap among the few unanimous votes isn't the end; where there are fewer, at the lowest
    threshold.

    What it promises: over corpora like this one, in at most ``1 - confidence`` of them is the true
    precision at the chosen threshold below the target. It holds for questions that resemble those
    with a reference and are independent of one another; for harder ones, or ones from another
    source, nobody knows.

    Args:
        points: a curve.
        target_precision: share of right labels among the labeled, in (0, 1).
        confidence: in (0, 1).

    Raises:
        ConfigError: a number is out of range.

    Source: fixed sequence testing, as in Learn then Test, arXiv:2110.01052; the start is ours.

    >>> seen = curve([(1.0, True)] * 93 + [(0.75, True)] * 60 + [(0.5, False)] * 60)
    >>> chosen = choose_threshold(seen, 0.95, 0.95)
    >>> chosen.threshold if chosen else None
    0.75
    """
    check_open_unit(target_precision=target_precision, confidence=confidence)
    error = 1 - confidence
    start = fewest(target_precision, confidence, wrong=1)
    ordered = sorted(points, key=lambda point: -point.threshold)
    tested = [point for point in ordered if point.num_kept >= start] or ordered[-1:]
    chosen = None
    for point in tested:
        if at_least(point.correct, point.num_kept, target_precision) > error:
            break
        chosen = point
    return chosen


def fewest(target_precision: float, confidence: float, *, wrong: int = 0) -> int:
    """Return how many winners it takes for the target to hold with so many wrong among them.

    >>> fewest(0.95, 0.95), fewest(0.95, 0.95, wrong=1), fewest(0.9, 0.95)
    (59, 93, 29)
    """
    check_open_unit(target_precision=target_precision, confidence=confidence)
    low, high = wrong, wrong + 1
    while at_least(high - wrong, high, target_precision) > 1 - confidence:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = at_least(middle - wrong, middle, target_precision) <= 1 - confidence
        low, high = (low, middle) if enough else (middle, high)
    return high


def as_text(points: Sequence[Point], confidence: float, chosen: Point | None = None) -> str:
    """Return a curve as a table for people; ``at least`` and ``at most`` are two-sided bounds.

    >>> print(as_text(curve([(1.0, True), (1.0, True), (0.5, False)], total=4), 0.95))
     share  winners  right  precision  at least  at most  coverage
     1.000        2      2      1.000     0.158    1.000     0.500
     0.500        3      2      0.667     0.094    0.992     0.750
    """
    lines = [" share  winners  right  precision  at least  at most  coverage"]
    for point in points:
        low, high = clopper_pearson(point.correct, point.num_kept, confidence)
        mark = "  <- threshold" if point == chosen else ""
        lines.append(
            f"{point.threshold:6.3f} {point.num_kept:8} {point.correct:6} {point.precision:10.3f} "
            f"{low:9.3f} {high:8.3f} {point.coverage:9.3f}{mark}"
        )
    return "\n".join(lines)
