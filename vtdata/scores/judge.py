"""A model's judgment on answers about which the rules could not tell."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import pyarrow as pa
from pydantic import Field

from vtdata.errors import ConfigError, DataError
from vtdata.llm.prompts import path_of
from vtdata.records import Query, Rollout, Verdict
from vtdata.scores.disagreements import DISAGREEMENTS, TABLE, cut, disagreement
from vtdata.scores.rates import record
from vtdata.steps import Async, Context, Generation, Models, Request, step
from vtdata.text import collapse
from vtdata.verify import answer_kind
from vtdata.verify.judge import (
    OPEN,
    PROMPT,
    Label,
    Pair,
    Tally,
    again,
    ballot_seed,
    messages,
    read_ruling,
    reference_first,
    tally,
    verdict_key,
)

JUDGED = ("math", "choice")
"""Kinds whose references can be compared with an answer by reading both."""
BALLOTS = pa.schema(
    [
        ("query_id", pa.string()),
        ("set", pa.string()),
        ("reference", pa.string()),
        ("answer", pa.string()),
        ("ballot", pa.int32()),
        ("reference_first", pa.bool_()),
        ("label", pa.string()),
        ("why", pa.string()),
        ("state", pa.string()),
        ("tries", pa.int32()),
        ("model", pa.string()),
        ("revision", pa.string()),
        ("request", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("completion_tokens", pa.int32()),
    ]
)


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote of a judge, with or without a label."""

    number: int
    label: Label | None
    why: str
    """The judge's reason, or why there is no label."""
    tries: int
    last: Generation


@step
class JudgeAnswers(Async):
    """Ask a model whether an answer and the reference are the same, where rules left it open.

    Asked once for every different answer of a query, not for every rollout, and only where the
    verdict is None for a reason of ``vtdata.verify.judge.OPEN``: what exact values decided never
    goes to a judge. The judge sees the question and the two answers, in turns, not which of them is
    the reference, and no thoughts. More than half of ``votes`` decide; no more are asked than can
    change the outcome, so two that agree are enough of three. A reply that can't be read is asked
    for once more; then, as where the call failed, was refused or was cut off, it is no ballot,
    which is neither equal nor different.

    Reads the verdicts of the rollout set ``of`` and the reference. Writes the verdicts: 1.0
    ``judged_equal``, 0.0 ``judged_different``, None ``judge_undecided`` (the ballots disagree or
    can't tell), None ``judge_failed`` (ballots are missing that could have decided it); then the
    set's pass rate and the summaries. Logs the tables ``ballots`` and ``disagreements``. Notes
    ``answers`` (asked about), ``split`` (of these, with different ballots), ``no_ballot``,
    ``second_tries``, ``too_long``, and rollouts by outcome. Holds one query in memory.

    Drops queries: ``no_rollouts`` (the set has none), ``not_verified`` (it has not been through
    ``verify``).

    Raises:
        ConfigError: ``votes`` is even.

    Source: "math-verify and LLM-as-judge" of 3B p.7, there for evaluation and without a protocol;
    the protocol is ours.
    """

    by: str
    """The entry of the recipe's ``models`` that judges; with several votes its temperature should
    not be 0."""
    of: str | None = None
    """The rollout set; None where there is only one."""
    votes: Annotated[int, Field(ge=1)] = 3
    """Most ballots on one answer, an odd number (ours)."""
    max_chars: Annotated[int, Field(ge=1)] = 2_000
    """Longest answer that is shown to a judge, in characters; a longer one stays open (ours)."""

    needs = ("verdicts",)
    reasons = ("no_rollouts", "not_verified")
    tables: ClassVar[dict[str, pa.Schema]] = {"ballots": BALLOTS, TABLE: DISAGREEMENTS}
    bound = "fewer where the first ballots agree; one more for each reply that can't be read"

    def __post_init__(self) -> None:
        if self.votes % 2 == 0:
            raise ConfigError(f"votes must be odd, so that a tie is no outcome; got {self.votes}")

    def model_names(self) -> list[str]:
        return [self.by]

    def files(self, folder: Path) -> list[Path]:
        del folder
        return [path_of(PROMPT)]

    def requests(self, query: Query, ctx: Context) -> list[Request] | None:
        rollouts = query.rollouts_of(self.of)
        if not rollouts or any(rollout.verdict is None for rollout in rollouts):
            return None
        pairs, _ = self._open(query, rollouts)
        ballots = range(self.votes)
        return [self._request(query, pair, n, ctx) for pair in pairs for n in ballots]

    async def process(self, query: Query, ctx: Context) -> list[Query]:
        assert ctx.models is not None
        name = query.only_set(self.of)
        rollouts = query.rollouts_of(name)
        if any(rollout.verdict is None for rollout in rollouts):
            raise DataError("not_verified", f"query {query.id}: run 'verify' on the set before")
        pairs, too_long = self._open(query, rollouts)
        if too_long:
            ctx.note("too_long", too_long)
        asked = await asyncio.gather(*(self._ask(query, p, ctx, ctx.models) for p in pairs))
        for (pair, group), ballots in zip(pairs.items(), asked, strict=True):
            self._close(query, pair, group, ballots, ctx)
        if pairs:
            record(query, name)
        return [query]

    def _open(
        self, query: Query, rollouts: Iterable[Rollout]
    ) -> tuple[dict[Pair, list[Rollout]], int]:
        """The different answers that are open, and how many rollouts are too long to be shown."""
        pairs: dict[Pair, list[Rollout]] = {}
        too_long = 0
        if query.answer is None or answer_kind(query) not in JUDGED:
            return pairs, 0
        asked, reference = question_of(query), collapse(query.answer)
        for rollout in rollouts:
            verdict = rollout.verdict
            if verdict is None or verdict.reason not in OPEN or verdict.answer is None:
                continue
            answer = collapse(verdict.answer)
            if max(len(answer), len(reference)) > self.max_chars:
                too_long += 1
            else:
                pairs.setdefault(Pair(asked, reference, answer), []).append(rollout)
        return pairs, too_long

    def _request(self, query: Query, pair: Pair, ballot: int, ctx: Context) -> Request:
        seed = ballot_seed(ctx.seed, query.id, pair, ballot)
        return Request(self.by, messages(pair, seed, ballot), seed, query.bucket)

    async def _ask(self, query: Query, pair: Pair, ctx: Context, models: Models) -> list[Ballot]:
        ballots: list[Ballot] = []
        while more := tally([ballot.label for ballot in ballots], self.votes).ask:
            numbers = range(len(ballots), len(ballots) + more)
            requests = [self._request(query, pair, number, ctx) for number in numbers]
            calls = (cast_ballot(n, r, models) for n, r in zip(numbers, requests, strict=True))
            ballots += await asyncio.gather(*calls)
        return ballots

    def _close(
        self,
        query: Query,
        pair: Pair,
        rollouts: list[Rollout],
        ballots: Sequence[Ballot],
        ctx: Context,
    ) -> None:
        """Write what the ballots say about one answer, and log it."""
        labels = [ballot.label for ballot in ballots]
        result = tally(labels, self.votes)
        assert rollouts[0].verdict is not None
        rules = rollouts[0].verdict.reason
        for rollout in rollouts:
            assert rollout.verdict is not None
            rollout.verdict = judged(rollout.verdict, result)
        ctx.note("answers", 1)
        ctx.note(result.reason, len(rollouts))
        for note, count in (
            ("split", int(len(set(labels) - {None}) > 1)),
            ("no_ballot", labels.count(None)),
            ("second_tries", sum(ballot.tries - 1 for ballot in ballots)),
        ):
            if count:
                ctx.note(note, count)
        for ballot in ballots:
            ctx.log("ballots", {"query_id": query.id, "set": rollouts[0].set, **row(pair, ballot)})
        told = ", ".join(f"{label or 'no ballot'} {n}" for label, n in Counter(labels).items())
        line = disagreement(query, rollouts, rules=rules, judge=told, agreement=result.agreement)
        ctx.log(TABLE, line)


async def cast_ballot(number: int, request: Request, models: Models) -> Ballot:
    """Ask for one ballot, and once more with the mistake where the reply can't be read."""
    key = verdict_key(request.seed)
    why, answer = "", await models.generate(request)
    for tries in (1, 2):
        if answer.state != "ok":
            return Ballot(
                number, None, answer.error or f"the call is {answer.state}", tries, answer
            )
        said = answer.content or ""
        ruling = read_ruling(said, key)
        if not isinstance(ruling, str):
            return Ballot(number, ruling.label, ruling.reason, tries, answer)
        why = ruling
        if tries == 1:
            complaint = again(request.messages, said, ruling, request.seed)
            answer = await models.generate(dataclasses.replace(request, messages=complaint))
    return Ballot(number, None, why, 2, answer)


def judged(verdict: Verdict, result: Tally) -> Verdict:
    """Return the verdict as the judge closed it, with the answer as it was read."""
    return dataclasses.replace(verdict, reward=result.reward, reason=result.reason)


def question_of(query: Query) -> str:
    """Return what a judge sees of the question: the last turn, and the options if any."""
    lines = [f"{chr(65 + index)}. {text}" for index, text in enumerate(query.options)]
    return "\n".join([query.question, *lines])


def row(pair: Pair, ballot: Ballot) -> dict[str, str | int | bool | None]:
    """Return a ballot's part of its row in the table."""
    last = ballot.last
    return {
        "reference": cut(pair.reference),
        "answer": cut(pair.answer),
        "ballot": ballot.number,
        "reference_first": reference_first(ballot.number),
        "label": ballot.label,
        "why": cut(ballot.why),
        "state": last.state,
        "tries": ballot.tries,
        "model": last.model,
        "revision": last.revision,
        "request": last.key,
        "prompt_tokens": last.n_prompt_tokens,
        "completion_tokens": last.n_completion_tokens,
    }
