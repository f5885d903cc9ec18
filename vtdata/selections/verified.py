"""Queries with right rollouts, and how many of those to learn from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vtdata.errors import ConfigError
from vtdata.records import Query, Rollout
from vtdata.seeds import derive_seed
from vtdata.selections.members import choose, join, right, within
from vtdata.steps import Context, Map, step


@step
class Verified(Map):
    """Put a query into a set if enough of its rollouts are right.

    The rows of a query in an SFT set are its live rollouts with verdict 1.0. Those that are out
    of the bounds on tokens, or beyond ``max_rollouts``, are left out of this set with the mark
    ``out:SET`` and stay live, since another set may want them. Which ones stay in is a draw by
    ``derive_seed``, that does not depend on the order or number of queries.

    Reads the verdicts of the rollout set ``of`` and ``n_completion_tokens``. Writes ``into`` and
    marks of rollouts. Notes ``selected``, ``too_few_correct``, ``surplus`` (rollouts left out by
    ``max_rollouts``), ``out_of_bounds`` (by tokens). Holds one query in memory.

    Drops queries: ``no_rollouts``, ``no_token_count`` (a bound is set, and a right rollout's
    length is unknown).

    Raises:
        ConfigError: the bounds on tokens leave nothing, or ``max_rollouts`` < ``min_correct``.

    Source: filtering of traces by verification, 3B p.4; the numbers are ours.
    """

    into: str
    """The set that the query joins, for example ``sft.stage1``."""
    of: str | None = None
    """The rollout set; None where there is only one."""
    min_correct: Annotated[int, Field(ge=1)] = 1
    """Fewest right rollouts within the bounds (ours)."""
    min_tokens: Annotated[int, Field(ge=1)] | None = None
    """Shortest response, in tokens as the server counted them; None is no bound."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Longest response, in tokens as the server counted them; None is no bound."""
    max_rollouts: Annotated[int, Field(ge=1)] | None = None
    """Most right rollouts per query; None keeps them all."""

    needs = ("verdicts",)
    gives = ("into",)
    reasons = ("no_rollouts", "no_token_count")

    def __post_init__(self) -> None:
        low, high = self.min_tokens, self.max_tokens
        if low is not None and high is not None and low > high:
            raise ConfigError(f"need min_tokens <= max_tokens, got {low} and {high}")
        if self.max_rollouts is not None and self.max_rollouts < self.min_correct:
            raise ConfigError(
                f"need max_rollouts >= min_correct, got {self.max_rollouts} and {self.min_correct}"
            )

    def process(self, query: Query, ctx: Context) -> list[Query]:
        name = query.only_set(self.of)
        correct = right(query, name)
        fit = [r for r in correct if within(r, self.min_tokens, self.max_tokens)]
        if len(fit) < self.min_correct:
            ctx.note("too_few_correct", 1)
            return [query]
        chosen = self._draw(query, fit, ctx)
        join(query, self.into)
        choose(query, name, chosen, self.into)
        ctx.note("selected", 1)
        for note, count in (
            ("out_of_bounds", len(correct) - len(fit)),
            ("surplus", len(fit) - len(chosen)),
        ):
            if count:
                ctx.note(note, count)
        return [query]

    def _draw(self, query: Query, fit: list[Rollout], ctx: Context) -> list[Rollout]:
        if self.max_rollouts is None:
            return fit

        def draw(rollout: Rollout) -> tuple[int, int]:
            parts = ("verified", self.into, query.id, rollout.set, rollout.sample_idx)
            return derive_seed(ctx.seed, *parts), rollout.sample_idx

        return sorted(fit, key=draw)[: self.max_rollouts]
