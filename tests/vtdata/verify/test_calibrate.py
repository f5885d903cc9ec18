from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.errors import ConfigError
from vtdata.intervals import at_least, clopper_pearson, lower_bound
from vtdata.verify.calibrate import (
    Point,
    as_text,
    choose_threshold,
    curve,
    fewest,
)

TARGET, CONFIDENCE = 0.95, 0.95
CORPORA = 2_000
SLACK = 3 * math.sqrt(0.05 * 0.95 / CORPORA)
"""Three standard deviations of a share of 5 % among so many corpora."""


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.01, 0.3, 0.5, 0.95, 0.999]))
def test_the_binomial_tail_is_exact(k: int, n: int, p: float) -> None:
    exact = sum(
        math.comb(n, i) * Fraction(p) ** i * (1 - Fraction(p)) ** (n - i) for i in range(k, n + 1)
    )
    assert at_least(k, n, p) == pytest.approx(float(exact), rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_small_tail_keeps_its_digits(wrong: int) -> None:
    exact = Fraction(95, 100) ** 1_000 * (1 if not wrong else 1 + 1_000 * Fraction(5, 95))
    assert at_least(1_000 - wrong, 1_000, 0.95) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("n", [1_000, 1_000_000])
def test_the_tail_of_many_trials(n: int) -> None:
    k = round(n * 0.95 + 2 * math.sqrt(n * 0.95 * 0.05))
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])  # of factorials
    i = np.arange(k, n + 1)
    terms = logs[n] - logs[i] - logs[n - i] + i * math.log(0.95) + (n - i) * math.log(0.05)
    assert at_least(k, n, 0.95) == pytest.approx(float(np.exp(terms).sum()), rel=1e-5)
    assert 0.01 < at_least(k, n, 0.95) < 0.03


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(
    ("k", "n"), [(0, 10), (10, 10), (8, 10), (1, 1), (59, 59), (950, 1000), (3, 70_000)]
)
def test_the_bounds_are_quantiles_of_the_beta_distribution(
    k: int, n: int, confidence: float
) -> None:
    low, high = clopper_pearson(k, n, confidence)
    error = (1 - confidence) / 2
    if k:
        assert float(mpmath.betainc(k, n - k + 1, 0, low, regularized=True)) == pytest.approx(error)
        assert lower_bound(k, n, 1 - error) == pytest.approx(low)
    else:
        assert low == 0.0
    if k < n:
        above = float(mpmath.betainc(k + 1, n - k, high, 1, regularized=True))
        assert above == pytest.approx(error)
    else:
        assert high == 1.0


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.77, 0.95, 0.999])
def test_the_bounds_cover_the_rate_often_enough(p: float) -> None:
    n = 40
    covered = sum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k)
        for k in range(n + 1)
        if clopper_pearson(k, n, 0.9)[0] <= p <= clopper_pearson(k, n, 0.9)[1]
    )
    assert covered >= 0.9


@pytest.mark.parametrize(
    ("k", "n", "confidence", "message"),
    [
        (2, 1, 0.95, "bounds of 2 in 1: need 0 <= k <= n"),
        (-1, 1, 0.95, "bounds of -1 in 1: need 0 <= k <= n"),
        (1, 2, 1.0, "confidence must lie between 0 and 1, got 1.0"),
        (1, 2, 0.0, "confidence must lie between 0 and 1, got 0.0"),
    ],
)
def test_impossible_bounds_are_an_error(k: int, n: int, confidence: float, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        clopper_pearson(k, n, confidence)
    assert str(caught.value) == message


def test_a_curve_counts_from_the_strictest_share_down() -> None:
    votes = [(0.5, False), (1.0, True), (0.75, True), (0.75, False), (1.0, True)]
    points = curve(votes, total=8)
    assert points == [Point(1.0, 2, 2, 8), Point(0.75, 4, 3, 8), Point(0.5, 5, 3, 8)]
    assert [point.precision for point in points] == [1.0, 0.75, 0.6]
    assert [point.coverage for point in points] == [0.25, 0.5, 0.625]
    assert curve([]) == []


def at(*counts: tuple[float, int, int]) -> list[Point]:
    """Points of (threshold, winners, wrong ones)."""
    return [Point(share, kept, kept - wrong, 10_000) for share, kept, wrong in counts]


@pytest.mark.parametrize(
    ("points", "chosen"),
    [
        ([], None),
        ([(1.0, 58, 0)], None),  # 59 right ones are the fewest that show 0.95 at 0.95
        ([(1.0, 59, 0)], 1.0),
        ([(1.0, 59, 1)], None),
        ([(1.0, 93, 1)], 1.0),
        ([(1.0, 93, 2)], None),
        ([(1.0, 93, 1), (0.9, 200, 40)], 1.0),  # 93 are enough to begin with
        ([(1.0, 50, 1), (0.9, 92, 3), (0.8, 400, 4)], 0.8),  # too few to begin with are skipped
        ([(1.0, 400, 0), (0.9, 800, 10), (0.8, 900, 90)], 0.9),
        ([(1.0, 400, 40), (0.9, 8_000, 80)], None),  # the first failure ends it
        ([(1.0, 400, 0), (0.9, 800, 80), (0.8, 9_000, 90)], 1.0),
        ([(0.8, 900, 90), (0.9, 800, 10), (1.0, 400, 0)], 0.9),  # in whatever order
        ([(1.0, 40, 0), (0.9, 70, 0)], 0.9),  # fewer than 93 in all: the lowest one
        ([(1.0, 60, 0), (0.9, 70, 1)], None),
    ],
)
def test_the_sequence_of_tests(points: list[tuple[float, int, int]], chosen: float | None) -> None:
    found = choose_threshold(at(*points), TARGET, CONFIDENCE)
    assert (found.threshold if found else None) == chosen


@pytest.mark.parametrize(
    ("target", "confidence", "message"),
    [
        (1.0, 0.95, "target_precision must lie between 0 and 1, got 1.0"),
        (0.95, 1.0, "confidence must lie between 0 and 1, got 1.0"),
    ],
)
def test_certainty_is_not_to_be_had(target: float, confidence: float, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        choose_threshold([], target, confidence)
    assert str(caught.value) == message


@pytest.mark.parametrize("wrong", [0, 1, 5])
@pytest.mark.parametrize("target", [0.5, 0.9, 0.99])
def test_the_fewest_winners_are_the_fewest(wrong: int, target: float) -> None:
    n = fewest(target, CONFIDENCE, wrong=wrong)
    assert lower_bound(n - wrong, n, CONFIDENCE) >= target
    assert lower_bound(n - 1 - wrong, n - 1, CONFIDENCE) < target


def test_the_table_marks_what_was_chosen() -> None:
    points = at((1.0, 400, 0), (0.9, 800, 10))
    text = as_text(points, CONFIDENCE, choose_threshold(points, TARGET, CONFIDENCE))
    assert text.splitlines() == [
        " share  winners  right  precision  at least  at most  coverage",
        " 1.000      400    400      1.000     0.991    1.000     0.040",
        " 0.900      800    790      0.988     0.977    0.994     0.080  <- threshold",
    ]


def corpora(
    rng: np.random.Generator, num_queries: int, shares: Sequence[float], precision: Sequence[float]
) -> Iterator[list[Point]]:
    """Curves of corpora whose winners have these shares, and are right so often at each.

    Args:
        rng: where chance comes from.
        num_queries: queries of a corpus.
        shares: probability of each threshold's own bin, from the strictest down; what they lack of
            1 has no winner.
        precision: how often a winner of each bin is right.
    """
    thresholds = [1 - at / 10 for at in range(len(shares))]
    cells = [
        part
        for share, right in zip(shares, precision, strict=True)
        for part in (share * right, share * (1 - right))
    ]
    for counts in rng.multinomial(num_queries, [*cells, 1 - sum(shares)], size=CORPORA):
        kept = np.cumsum(counts[0:-1:2] + counts[1:-1:2])
        right = np.cumsum(counts[0:-1:2])
        yield [
            Point(threshold, int(n), int(k), num_queries)
            for threshold, n, k in zip(thresholds, kept, right, strict=True)
        ]


def truth(shares: Sequence[float], precision: Sequence[float]) -> list[float]:
    """The true precision at each threshold."""
    right = np.cumsum(np.multiply(shares, precision))
    return list(right / np.cumsum(shares))


VOTERS = {
    # One threshold is a hair too low, and all before it are good: as hard as it gets.
    "a hair below": ([0.2, 0.1, 0.1, 0.1, 0.2], [0.995, 0.98, 0.97, 0.8075, 0.7]),
    # Every threshold is too low: each look is another chance to be fooled.
    "all below": ([0.06, 0.06, 0.12, 0.24, 0.48], [0.949] * 5),
    "poor": ([0.1, 0.1, 0.2, 0.2, 0.2], [0.9, 0.8, 0.6, 0.5, 0.4]),
    # Few unanimous winners, so that the sequence often begins where it is already too low.
    "late start": ([0.045, 0.02, 0.02, 0.1, 0.4], [0.97, 0.94, 0.93, 0.92, 0.9]),
    "falls, then rises": ([0.1, 0.1, 0.1, 0.3, 0.1], [0.96, 0.9, 0.93, 0.97, 0.9]),
}


@pytest.mark.parametrize("name", VOTERS)
@pytest.mark.parametrize("num_queries", [300, 1_500, 10_000])
def test_the_true_precision_is_rarely_below_the_target(name: str, num_queries: int) -> None:
    shares, precision = VOTERS[name]
    known = truth(shares, precision)
    assert min(known) < TARGET  # there is something to be wrong about
    rng = np.random.default_rng([17, num_queries])
    failures = 0
    for points in corpora(rng, num_queries, shares, precision):
        chosen = choose_threshold(points, TARGET, CONFIDENCE)
        failures += chosen is not None and known[points.index(chosen)] < TARGET
    assert failures / CORPORA <= 1 - CONFIDENCE + SLACK


def test_the_level_is_used_and_many_looks_would_break_it() -> None:
    shares, precision = VOTERS["all below"]
    rng = np.random.default_rng(5)
    ours = naive = 0
    for points in corpora(rng, 4_000, shares, precision):
        ours += choose_threshold(points, TARGET, CONFIDENCE) is not None
        naive += any(at_least(p.correct, p.num_kept, TARGET) <= 1 - CONFIDENCE for p in points)
    assert 0.015 < ours / CORPORA <= 0.05 + SLACK
    assert naive / CORPORA > 0.05 + SLACK


def test_a_good_voter_labels_most_of_what_it_could() -> None:
    shares, precision = [0.2, 0.1, 0.1, 0.1, 0.2], [0.995, 0.99, 0.98, 0.95, 0.6]
    best = 0.5  # the last bin would bring it below the target
    assert [value >= TARGET for value in truth(shares, precision)] == [True] * 4 + [False]
    rng = np.random.default_rng(7)
    labeled = 0.0
    for points in corpora(rng, 2_000, shares, precision):
        chosen = choose_threshold(points, TARGET, CONFIDENCE)
        labeled += sum(shares[: points.index(chosen) + 1]) if chosen else 0.0
    assert labeled / CORPORA > 0.95 * best


def rollouts(rng: np.random.Generator, num_queries: int, asked: int) -> tuple[np.ndarray, ...]:
    """Votes among ``asked`` rollouts: the winner's share, whether it won, whether it is right.

    A query's rollouts are right with a probability of its own; the wrong ones agree among four
    wrong answers as far as a Dirichlet draw makes them, and one in twenty abstains.
    """
    right = rng.beta(2, 1, size=num_queries)
    wrong = rng.dirichlet([0.6] * 4, size=num_queries)
    odds = np.column_stack([0.95 * right, 0.95 * (1 - right)[:, None] * wrong])
    odds = np.column_stack([odds, 1 - odds.sum(axis=1)])
    counts = rng.multinomial(asked, odds)[:, :5]
    most = counts.max(axis=1)
    alone = (counts == most[:, None]).sum(axis=1) == 1
    return most / asked, alone & (most >= 4), counts.argmax(axis=1) == 0


@pytest.mark.parametrize("asked", [8, 16])
def test_scripted_voters_keep_the_promise_and_label(asked: int) -> None:
    rng = np.random.default_rng([3, asked])
    share, won, right = rollouts(rng, 500_000, asked)
    kept = {t / asked: won & (share >= t / asked) for t in range(1, asked + 1)}
    known = {t: (right[found].mean(), found.mean()) for t, found in kept.items() if found.any()}
    num_corpora, failures, covered = 1_000, 0, 0.0
    for _ in range(num_corpora):
        a_share, a_won, a_right = rollouts(rng, 1_000, asked)
        votes = zip(a_share[a_won].tolist(), a_right[a_won].tolist(), strict=True)
        chosen = choose_threshold(curve(votes, total=1_000), TARGET, CONFIDENCE)
        if chosen is not None:
            precision, coverage = known[chosen.threshold]
            failures += precision < TARGET
            covered += coverage
    assert failures / num_corpora <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / num_corpora)
    assert covered / num_corpora > 0.3
