"""Membership in sets, and which right rollouts stand for a member."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from vtdata.errors import DataError
from vtdata.records import PassRate, Query, Rollout


def join(query: Query, into: str) -> None:
    """Make the query a member of a set; once is enough."""
    if into not in query.into:
        query.into.append(into)


def right(query: Query, name: str) -> list[Rollout]:
    """Return the live rollouts of set ``name`` with verdict 1.0."""
    return [
        rollout
        for rollout in query.rollouts_of(name)
        if rollout.verdict is not None and rollout.verdict.reward == 1.0
    ]


def choose(query: Query, name: str, chosen: Iterable[Rollout], into: str) -> None:
    """Leave every other right rollout of set ``name`` out of the rows of ``into``."""
    stay = {rollout.sample_idx for rollout in chosen}
    for rollout in right(query, name):
        if rollout.sample_idx not in stay:
            rollout.leave_out(into)


def within(rollout: Rollout, low: int | None, high: int | None) -> bool:
    """Whether the response's length in tokens is in ``[low, high]``.

    Raises:
        DataError: a bound is set and the number of tokens is unknown (``no_token_count``).
    """
    if low is None and high is None:
        return True
    tokens = rollout.n_completion_tokens
    if tokens is None:
        raise DataError(
            "no_token_count",
            f"rollout {rollout.sample_idx} of set '{rollout.set}' has no n_completion_tokens: "
            "its server doesn't count them, so a bound on tokens can't be held",
        )
    return (low is None or tokens >= low) and (high is None or tokens <= high)


def rate_of(query: Query, of: str | None) -> PassRate:
    """Return the pass rate of a rollout set.

    Raises:
        DataError: the set has none (``no_pass_rate``).
        ConfigError: there are several sets and ``of`` doesn't say which.
    """
    name = query.only_set(of) if of is None else of
    for rate in query.pass_rates:
        if rate.set == name:
            return rate
    found = ", ".join(rate.set for rate in query.pass_rates) or "none"
    raise DataError(
        "no_pass_rate",
        f"query {query.id} has no pass rate of set '{name}' (it has {found}): run 'verify' on it",
    )


def fraction(value: float) -> Fraction:
    """Return the fraction that a decimal in a recipe means, so that a bound is exact.

    >>> fraction(0.6), fraction(0.125), fraction(1 / 3)
    (Fraction(3, 5), Fraction(1, 8), Fraction(1, 3))
    """
    return Fraction(value).limit_denominator(1_000_000)
