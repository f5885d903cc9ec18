"""Exact intervals of rates."""

from __future__ import annotations

import math
from collections.abc import Callable

from vtdata.errors import ConfigError

MAX_STEPS = 200
"""Halvings of an interval; floats are exhausted before (ours)."""


def at_least(k: int, n: int, p: float) -> float:
    """Return the probability of at least ``k`` successes in ``n`` trials of probability ``p``.

    Summed outward from ``k``, so that a small tail keeps its digits; a few hundred terms even for
    millions of trials.

    >>> at_least(2, 2, 0.5), at_least(0, 5, 0.1), round(at_least(59, 59, 0.95), 4)
    (0.25, 1.0, 0.0485)
    """
    if k <= 0 or p >= 1.0:
        return 1.0 if k <= n else 0.0
    if k > n or p <= 0.0:
        return 0.0
    odds = p / (1 - p)
    if k > n * p:
        return min(1.0, _tail(k, n, p, lambda i: (n - i) / (i + 1) * odds, 1))
    return max(0.0, 1.0 - _tail(k - 1, n, p, lambda i: i / (n - i + 1) / odds, -1))


def _tail(start: int, n: int, p: float, ratio: Callable[[int], float], by: int) -> float:
    """Sum binomial terms from ``start`` away from the mean, where they only get smaller."""
    log_ways = math.lgamma(n + 1) - math.lgamma(start + 1) - math.lgamma(n - start + 1)
    term = math.exp(log_ways + start * math.log(p) + (n - start) * math.log1p(-p))
    total, at = 0.0, start
    while 0 <= at <= n and term > total * 1e-17:
        total += term
        term *= ratio(at)
        at += by
    return total


def clopper_pearson(k: int, n: int, confidence: float) -> tuple[float, float]:
    """Return the exact two-sided bounds of a rate of which ``k`` in ``n`` were seen.

    Each bound alone holds with ``(1 + confidence) / 2``. Without trials it is (0, 1).

    Raises:
        ConfigError: not 0 <= k <= n, or ``confidence`` is not in (0, 1).

    Source: Clopper and Pearson, Biometrika 26 (1934) 404.

    >>> [round(bound, 4) for bound in clopper_pearson(8, 10, 0.95)]
    [0.4439, 0.9748]
    >>> clopper_pearson(0, 0, 0.95)
    (0.0, 1.0)
    """
    if not 0 <= k <= n:
        raise ConfigError(f"bounds of {k} in {n}: need 0 <= k <= n")
    check_open_unit(confidence=confidence)
    error = (1 - confidence) / 2
    low = _bisect(lambda p: at_least(k, n, p) > error) if k else 0.0
    high = _bisect(lambda p: at_least(k + 1, n, p) > 1 - error) if k < n else 1.0
    return low, high


def lower_bound(k: int, n: int, confidence: float) -> float:
    """Return the exact one-sided lower bound of a rate of which ``k`` in ``n`` were seen.

    >>> round(lower_bound(59, 59, 0.95), 4)
    0.9505
    """
    check_open_unit(confidence=confidence)
    return _bisect(lambda p: at_least(k, n, p) > 1 - confidence) if k else 0.0


def _bisect(above: Callable[[float], bool]) -> float:
    """Return where in (0, 1) a condition begins to hold, from below."""
    low, high = 0.0, 1.0
    for _ in range(MAX_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if above(middle) else (middle, high)
    return low


def check_open_unit(**values: float) -> None:
    """Raise ConfigError, with the name, for a value that isn't between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ConfigError(f"{name} must lie between 0 and 1, got {value}")
