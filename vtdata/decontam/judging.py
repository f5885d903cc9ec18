"""Asking a model whether a question is a benchmark's problem in other words.

Both orders are asked: "the same" is what both say, and so is "different". Everything else, an
outage among it, is undecided, which neither drops a query nor clears it.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vtdata.llm.prompts import prompt
from vtdata.records import Turn
from vtdata.seeds import derive_seed
from vtdata.steps import Generation, Models, Request
from vtdata.verify.judge import AGAIN_CHARS, Label, fenced, read_ruling, verdict_key

PROMPT = "judge_suspects"
ORDERS = ("item", "query")
"""Which of the two stands first."""

Outcome = Literal["same", "different", "undecided"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A question of a corpus and an item of a benchmark."""

    query_id: str
    query: str
    item: str


@dataclass(frozen=True, slots=True)
class Ballot:
    """What came of asking in one order."""

    first: str
    """One of ``ORDERS``."""
    label: Label | None
    """None where the call failed or its reply couldn't be read, twice."""
    why: str
    """The judge's reason, or why there is no label."""
    tries: int
    last: Generation


def requests(pair: Pair, by: str, seed: int, bucket: int) -> list[Request]:
    """Return the calls that a pair surely causes, one for each order.

    Args:
        pair: what is compared.
        by: the judge, an entry of the recipe's models.
        seed: the recipe's.
        bucket: the query's.
    """
    own = [
        (first, derive_seed(seed, PROMPT, pair.query_id, pair.query, pair.item, first))
        for first in ORDERS
    ]
    return [Request(by, messages(pair, first, number), number, bucket) for first, number in own]


def messages(pair: Pair, first: str, seed: int) -> tuple[Turn, ...]:
    """Return what the judge is asked; it isn't told which problem is the benchmark's."""
    texts = (pair.item, pair.query) if first == "item" else (pair.query, pair.item)
    key, text = verdict_key(seed), prompt(PROMPT)
    asked = text.fill("user", first=fenced(texts[0]), second=fenced(texts[1]), key=key)
    return (Turn("system", text.fill("system", key=key)), Turn("user", asked))


async def ask(asked: Sequence[Request], models: Models) -> list[Ballot]:
    """Ask in both orders at once; a reply that can't be read is asked for once more."""
    calls = (_ballot(first, one, models) for first, one in zip(ORDERS, asked, strict=True))
    return list(await asyncio.gather(*calls))


async def _ballot(first: str, request: Request, models: Models) -> Ballot:
    key = verdict_key(request.seed)
    why, answer = "", await models.generate(request)
    for tries in (1, 2):
        if answer.state != "ok":
            return Ballot(first, None, answer.error or f"the call is {answer.state}", tries, answer)
        said = answer.content or ""
        ruling = read_ruling(said, key)
        if not isinstance(ruling, str):
            return Ballot(first, ruling.label, ruling.reason, tries, answer)
        why = ruling
        if tries == 1:
            complaint = Turn("user", prompt(PROMPT).fill("retry", error=ruling, key=key))
            again = (*request.messages, Turn("assistant", said[-AGAIN_CHARS:]), complaint)
            answer = await models.generate(dataclasses.replace(request, messages=again))
    return Ballot(first, None, why, 2, answer)


def outcome(labels: Sequence[Label | None]) -> Outcome:
    """Say what two ballots come to.

    >>> outcome(["equivalent", "equivalent"]), outcome(["different", "different"])
    ('same', 'different')
    >>> outcome(["equivalent", "different"]), outcome(["different", None]), outcome([None, None])
    ('undecided', 'undecided', 'undecided')
    """
    if set(labels) == {"equivalent"}:
        return "same"
    return "different" if set(labels) == {"different"} else "undecided"
