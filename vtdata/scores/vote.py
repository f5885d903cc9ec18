"""The majority among a query's answers, and the label where it has no reference."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from vtdata.errors import DataError
from vtdata.records import Query, Rollout
from vtdata.records import Vote as VoteRecord
from vtdata.scores.rates import record
from vtdata.scores.verify import judge
from vtdata.steps import Context, Map, step
from vtdata.verify import TYPES, Majority, answer_kind, equal, majority, policy_of

VOTABLE = ("math", "choice", "reasoning_gym")
"""Kinds of answer that form classes; a program or an essay doesn't."""

AnswerType = Literal["numeric", "expression", "set", "text", "choice", "binary"]
Share = Annotated[float, Field(gt=0, le=1)]


@step
class Vote(Map):
    """Let the rollouts of a set vote on the answer.

    Where the query has a reference, the vote is a record of agreement, of types without a label
    too, and changes nothing else. Where its verifier is ``vote``, the winner becomes ``answer``
    and the rollouts are judged by it; the verifier stays ``vote``, which is how a shard knows that
    nothing but a vote vouches for the answer. A rollout that voted for something else is never
    right: where the verifier would take it for the label, nobody can judge it (``other_class``). A
    query with such a label keeps it when another set votes later. ``calibrate`` behind it can
    raise the shares to what a precision asks for.

    Answers are one vote if they have the same canonical key, or equal the leader of a class (see
    ``vtdata.verify.majority``). Rollouts that are truncated, failed, dropped or without an answer
    abstain, and count against the share.

    Reads the verdicts of the rollout set ``of``. Writes ``vote``, the ``answer_class`` of the
    rollouts, and for a new label ``answer``, the verdicts, the set's pass rate and the
    summaries. Notes ``labeled``, ``not_votable``, ``undecided_pairs``, ``conflicts``. Holds one
    query in memory.

    Drops queries, of verifier ``vote`` only: ``no_answers``, ``tie``, ``too_few_votes``,
    ``too_low_share``; ``choice_vote``, ``binary_vote`` and so on where no share is named for the
    type (guessing alone passes 5 of 8 in 11 % of four-choice and 73 % of binary questions);
    ``no_rollouts``, ``not_verified`` (the set has not been through ``verify``).

    Source: "majority voting" over answers of strong teachers, 3B p.4, which gives neither number
    nor threshold; both are ours, as are classes in place of strings.
    """

    of: str | None = None
    """The rollout set; None where there is only one."""
    min_votes: Annotated[int, Field(ge=1)] = 4
    """Fewest votes of a winner (ours)."""
    min_share: Share = 0.6
    """Smallest share of a winner in the rollouts asked for, in (0, 1] (ours)."""
    min_share_by: dict[AnswerType, Share | None] = Field(default_factory=dict)
    """The same for single types of answer, for example ``{text: 0.75}``; null gives no label to
    the type, which is what ``choice`` and ``binary`` get unless they are named here (ours)."""

    version = 2
    needs = ("verdicts",)
    gives = ("vote",)
    reasons = (
        "no_answers",
        "tie",
        "too_few_votes",
        "too_low_share",
        *(f"{what}_vote" for what in TYPES),
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
        query.vote = record_of(result, name)
        for note, count in (
            ("undecided_pairs", result.undecided),
            ("conflicts", result.conflicts),
        ):
            if count:
                ctx.note(note, count)
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
        by: dict[str, float | None] = {**self.min_share_by}
        if query.verifier.kind != "vote":  # no label hangs on it
            by = {what: by.get(what) or self.min_share for what in TYPES}
        return majority(
            [ballot(rollout) for rollout in rollouts],
            min_votes=self.min_votes,
            min_share=self.min_share,
            min_share_by=by,
            kind=kind,
            options=query.options,
            same=partial(equal, policy=policy_of(query)),
        )

    def _label(self, query: Query, name: str, result: Majority) -> None:
        if result.answer is None:
            detail = f"{result.votes} of {result.asked} votes, {result.abstained} abstained"
            query.drop("vote", result.reason, detail)
            return
        query.answer = result.answer
        for rollout in query.rollouts_of(name):
            verdict = judge(rollout, query)
            if rollout.answer_class and verdict.reward == 1.0:
                # "5 m" equals the label "5", which in this vote is 5 cm.
                verdict = replace(verdict, reward=None, reason="other_class")
            rollout.verdict = verdict
        record(query, name)


def record_of(result: Majority, name: str) -> VoteRecord:
    """Return what a query keeps of the vote of set ``name``."""
    return VoteRecord(
        set=name,
        answer=result.answer,
        votes=result.votes,
        asked=result.asked,
        abstained=result.abstained,
        margin=result.margin,
        reason=result.reason,
        answer_type=result.answer_type,
        num_classes=result.num_classes,
        undecided=result.undecided,
        conflicts=result.conflicts,
    )


def ballot(rollout: Rollout) -> str | None:
    """Return the answer that a rollout votes for; None abstains."""
    if not rollout.live or rollout.state != "ok" or rollout.verdict is None:
        return None
    return rollout.verdict.answer
