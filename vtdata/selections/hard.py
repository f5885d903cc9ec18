"""Hard samples: long right traces of queries that a reference model mostly fails."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from vtdata.errors import ConfigError, DataError
from vtdata.records import PassRate, Query
from vtdata.selections.members import choose, fraction, join, rate_of, right, within
from vtdata.steps import Context, Map, step


@step
class Hard(Map):
    """Put a query into a set if the reference model mostly fails it and a right trace is long.

    The error rate must reach ``min_error`` twice: with the truncated and unscored rollouts of the
    reference counted right, and counted wrong. Where only the second holds, nobody knows: the
    query is ``hard_uncertain`` and no member. Shorter right traces of a member are left out of
    this set with the mark ``out:SET`` and stay live.

    Reads ``pass_rates`` of the reference set ``of``; the verdicts and ``n_completion_tokens`` of
    the set ``traces``. Writes ``into`` and marks of rollouts. Notes ``selected``,
    ``hard_uncertain``, ``not_hard``, ``too_short`` (hard, without a right trace that is long
    enough). Holds one query in memory.

    Drops queries: ``no_rollouts``, ``no_pass_rate``, ``too_few_rollouts`` (the reference has fewer
    than ``n``; missing is not wrong), ``no_token_count``.

    Raises:
        ConfigError: there are several other sets and ``traces`` doesn't say which, or ``traces``
            is the reference's own.

    Source: 3B p.5: VibeThinker-1.5B, 8 rollouts, discard an error rate below 0.75 and traces
    below 5K tokens. It doesn't say what a truncated rollout counts as; counting it both ways is
    ours, and so is counting tokens as the teacher's server does.
    """

    into: str
    """The set that the query joins, for example ``sft.stage2``."""
    of: str
    """The rollout set of the reference model."""
    traces: str | None = None
    """The set whose right rollouts are learned from; None: the only other one."""
    n: Annotated[int, Field(ge=1)] = 8
    """Fewest rollouts of the reference (3B p.5)."""
    min_error: Annotated[float, Field(gt=0, le=1)] = 0.75
    """Smallest error rate of a hard query, in (0, 1]; it belongs to the hard ones (3B p.5)."""
    min_tokens: Annotated[int, Field(ge=1)] = 5_000
    """Shortest trace, in tokens; it belongs to the long ones (3B p.5)."""

    needs = ("verdicts",)
    gives = ("into",)
    reasons = ("no_rollouts", "no_pass_rate", "too_few_rollouts", "no_token_count")

    def __post_init__(self) -> None:
        if self.traces == self.of:
            raise ConfigError(f"traces and of are both '{self.of}': the reference can't teach")

    def process(self, query: Query, ctx: Context) -> list[Query]:
        name = self._traces_of(query)
        verdict = self.hardness(rate_of(query, self.of))
        if verdict != "hard":
            ctx.note(verdict, 1)
            return [query]
        long = [r for r in right(query, name) if within(r, self.min_tokens, None)]
        if not long:
            ctx.note("too_short", 1)
            return [query]
        join(query, self.into)
        choose(query, name, long, self.into)
        ctx.note("selected", 1)
        return [query]

    def hardness(self, counts: PassRate) -> str:
        """Return hard, hard_uncertain or not_hard for the reference's counts.

        Raises:
            DataError: there are fewer than ``n`` rollouts.
        """
        if counts.n < self.n:
            raise DataError(
                "too_few_rollouts",
                f"set '{counts.set}' has {counts.n} rollouts, the rule needs {self.n}",
            )
        limit = fraction(self.min_error)
        if Fraction(counts.wrong, counts.n) >= limit:
            return "hard"
        possible = counts.wrong + counts.truncated + counts.unscored
        return "hard_uncertain" if Fraction(possible, counts.n) >= limit else "not_hard"

    def _traces_of(self, query: Query) -> str:
        if self.traces is not None:
            return query.only_set(self.traces)
        others = sorted({rollout.set for rollout in query.rollouts} - {self.of})
        if len(others) > 1:
            raise ConfigError(
                f"hard: query {query.id} has several sets beside '{self.of}' "
                f"({', '.join(others)}): say with 'traces' which one to learn from"
            )
        if not others:
            raise DataError("no_rollouts", f"query {query.id} has no set beside '{self.of}'")
        return others[0]
