"""Queries that a model solves sometimes: the band of pass rates."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from vtdata.errors import ConfigError
from vtdata.records import PassRate as Rate
from vtdata.records import Query
from vtdata.selections.members import fraction, join, rate_of
from vtdata.steps import Context, Map, step

Share = Annotated[float, Field(ge=0, le=1)]


@step
class PassRate(Map):
    """Put a query into a set if its pass rate is in the band.

    A query that is always or never solved gives a group-relative RL loss no gradient. A bound
    that is set belongs to the band; a bound that is not set leaves out exactly the rate 0, or 1.
    So the default keeps ``0 < rate < 1``, and ``low: 0.0`` takes the unsolved queries in.

    Unscored rollouts count neither as solved nor as tried. What a truncated one counts as has no
    default: excluding makes hard questions look easy, counting wrong makes long ones look hard.

    Reads ``pass_rates`` of the rollout set ``of``. Writes ``into``. Notes ``selected``,
    ``too_few_scored``, ``too_hard`` (below the band), ``too_easy`` (above). A query outside stays:
    it is only no member. Holds one query in memory.

    Drops queries: ``no_rollouts``, ``no_pass_rate`` (the set has not been through ``verify``).

    Raises:
        ConfigError: the band is empty.

    Source: 3B p.6 prunes rates 0 and 1; "dynamic sampling" of DAPO, arXiv:2503.14476, does so
    while training. The inner bounds and ``min_scored`` are ours.
    """

    into: str
    """The set that the query joins, for example ``rl``."""
    truncated: Literal["wrong", "exclude"]
    """What a truncated rollout counts as: wrong, or not at all."""
    of: str | None = None
    """The rollout set; None where there is only one."""
    low: Share | None = None
    """Lowest rate in the band, in [0, 1]; None: everything above 0 (3B p.6)."""
    high: Share | None = None
    """Highest rate in the band, in [0, 1]; None: everything below 1 (3B p.6)."""
    min_scored: Annotated[int, Field(ge=1)] = 4
    """Fewest rollouts that count for the rate to be trusted (ours)."""

    needs = ("verdicts",)
    gives = ("into",)
    reasons = ("no_rollouts", "no_pass_rate")

    def __post_init__(self) -> None:
        low, high = self.low, self.high
        crossed = low is not None and high is not None and low > high
        if crossed or (low == 1.0 and high is None) or (high == 0.0 and low is None):
            raise ConfigError(f"no rate is in the band low={low}, high={high}")

    def process(self, query: Query, ctx: Context) -> list[Query]:
        why_not = self.why_not(rate_of(query, self.of))
        if why_not is None:
            join(query, self.into)
        ctx.note(why_not or "selected", 1)
        return [query]

    def why_not(self, counts: Rate) -> str | None:
        """Return why a query with these counts is no member; None where it is one."""
        tried = counts.correct + counts.wrong
        tried += counts.truncated if self.truncated == "wrong" else 0
        if tried < self.min_scored:
            return "too_few_scored"
        rate = Fraction(counts.correct, tried)
        if rate == 0 if self.low is None else rate < fraction(self.low):
            return "too_hard"
        if rate == 1 if self.high is None else rate > fraction(self.high):
            return "too_easy"
        return None
