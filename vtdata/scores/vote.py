"""The majority among a query's answers, and the label where it has no reference."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vtdata.errors import DataError
from vtdata.records import Query, Rollout
from vtdata.records import Vote as VoteRecord
from vtdata.scores.rates import record
from vtdata.scores.verify import judge
from vtdata.steps import Context, Map, step
from vtdata.verify import Majority, answer_kind, key, majority

VOTABLE = ("math", "choice", "reasoning_gym")
"""Kinds of answer that form classes; a program or an essay doesn't."""
_BINARY = frozenset({"yes", "no", "true", "false", "是", "否", "对", "错"})


@step
class Vote(Map):
    """Let the rollouts of a set vote on the answer.

    Where the query has a reference, the vote is a record of agreement and changes nothing else.
    Where its verifier is ``vote``, the winner becomes ``answer`` and the rollouts are judged by
    it; the verifier stays ``vote``, which is how a shard knows that nothing but a vote vouches
    for the answer. A query with such a label keeps it when another set votes later.

    Answers are one vote if their exact values or canonical spellings are the same. Rollouts that
    are truncated, failed, dropped or without an answer abstain, and count against the share.

    Reads the verdicts of the rollout set ``of``. Writes ``vote``, the ``answer_class`` of the
    rollouts, and for a new label ``answer``, the verdicts, the set's pass rate and the
    summaries. Notes ``labeled``, ``not_votable``. Holds one query in memory.

    Drops queries, of verifier ``vote`` only: ``no_answers``, ``tie``, ``too_few_votes``,
    ``too_low_share``, ``choice_vote`` and ``binary_vote`` (guessing alone passes 5 of 8 in 11 % of
    four-choice and 73 % of binary questions), ``no_rollouts``, ``not_verified`` (the set has not
    been through ``verify``).

    Source: "majority voting" over answers of strong teachers, 3B p.4, which gives neither number
    nor threshold; both are ours, as are classes in place of strings.
    """

    of: str | None = None
    """The rollout set; None where there is only one."""
    min_votes: Annotated[int, Field(ge=1)] = 4
    """Fewest votes of a winner (ours)."""
    min_share: Annotated[float, Field(gt=0, le=1)] = 0.6
    """Smallest share of a winner in the rollouts asked for, in (0, 1] (ours)."""
    label_choice: bool = False
    """Whether a vote may label a question with options (ours)."""
    label_binary: bool = False
    """Whether a vote may label a question that is answered by yes or no, true or false (ours)."""

    needs = ("verdicts",)
    gives = ("vote",)
    reasons = (
        "no_answers",
        "tie",
        "too_few_votes",
        "too_low_share",
        "choice_vote",
        "binary_vote",
        "no_rollouts",
        "not_verified",
    )

    def process(self, query: Query, ctx: Context) -> list[Query]:
        name = query.only_set(self.of)
        kind = answer_kind(query)
        if kind not in VOTABLE:
            ctx.note("not_votable", 1)
            return [query]
        rollouts = [rollout for rollout in query.rollouts if rollout.set == name]
        result = self._count(query, rollouts, kind)
        query.vote = VoteRecord(
            name,
            result.answer,
            result.votes,
            result.asked,
            result.abstained,
            result.margin,
            result.reason,
        )
        for rollout, index in zip(rollouts, result.classes, strict=True):
            rollout.answer_class = index
        if query.verifier.kind == "vote" and query.answer is None:
            self._label(query, name, result)
            if query.live:
                ctx.note("labeled", 1)
        return [query]

    def _count(self, query: Query, rollouts: list[Rollout], kind: str) -> Majority:
        if any(rollout.live and rollout.verdict is None for rollout in rollouts):
            raise DataError("not_verified", f"query {query.id}: run 'verify' on the set before")
        return majority(
            [ballot(rollout) for rollout in rollouts],
            min_votes=self.min_votes,
            min_share=self.min_share,
            kind=kind,
            options=query.options,
        )

    def _label(self, query: Query, name: str, result: Majority) -> None:
        reason = self._why_not(query, result)
        if reason is not None:
            detail = f"{result.votes} of {result.asked} votes, {result.abstained} abstained"
            query.drop("vote", reason, detail)
            return
        query.answer = result.answer
        for rollout in query.rollouts_of(name):
            rollout.verdict = judge(rollout, query)
        record(query, name)

    def _why_not(self, query: Query, result: Majority) -> str | None:
        if query.options and not self.label_choice:
            return "choice_vote"
        if result.answer is None:
            return result.reason
        binary = key(result.answer) in {f"text {word}" for word in _BINARY}
        return "binary_vote" if binary and not self.label_binary else None


def ballot(rollout: Rollout) -> str | None:
    """Return the answer that a rollout votes for; None abstains."""
    if not rollout.live or rollout.state != "ok" or rollout.verdict is None:
        return None
    return rollout.verdict.answer
