"""What SFT and RL rows say about a query in the same way."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa

from vtdata.records import PassRate, Query
from vtdata.seeds import share
from vtdata.shards.template import MAX_OPTIONS, label
from vtdata.verify import answer_kind
from vtdata.verify.choice import pick

SHARD_VERSION = 1
"""The ``schema_version`` of SFT and RL rows; raised when a column changes."""

AnswerSource = Literal["gold", "vote", "tests"]
Split = Literal["train", "validation"]

MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))

_TESTED = ("code", "constraints")
_UNANSWERED = ("rubric", "none")


def split_of(query: Query, seed: int, validation_share: float) -> Split:
    """Return where a query goes with all its traces: a split by rollout would leak questions."""
    held_out = validation_share > 0 and share(seed, "split", query.id) < validation_share
    return "validation" if held_out else "train"


def answer_of(query: Query) -> str | None:
    """Return the answer a response is held to; a choice's is its letter, or letters.

    A winning vote is the answer of a query whose verifier is ``vote``.
    """
    answer = query.answer
    if query.verifier.kind == "vote" and answer is None and query.vote:
        answer = query.vote.answer
    if answer is None or answer_kind(query) != "choice" or len(query.options) > MAX_OPTIONS:
        return answer
    indices = sorted(pick(answer, query.options).indices)
    return ", ".join(map(label, indices)) if indices else answer


def answer_source(query: Query) -> AnswerSource | None:
    """Return what vouches for the answer; None where nothing does."""
    kind = query.verifier.kind
    if kind == "vote":
        return "vote"
    if kind in _TESTED:
        return "tests"
    return None if kind in _UNANSWERED or query.answer is None else "gold"


def rate_of(query: Query, name: str | None) -> PassRate | None:
    """Return the pass rate of a rollout set; of the one that was measured last for None."""
    rates = [rate for rate in query.pass_rates if name is None or rate.set == name]
    return rates[-1] if rates else None


def names_of(kind: pa.StructType) -> tuple[str, ...]:
    """Return the names of a struct's fields; asked for once, since Arrow is slow to say."""
    return tuple(field.name for field in kind)


def as_struct(value: Any, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return a record's attributes by name; None stays None."""
    return None if value is None else {name: getattr(value, name) for name in names}
