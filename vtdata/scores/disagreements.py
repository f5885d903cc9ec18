"""The table of answers about which the stages of the cascade differ, for people to read.

``vtdata inspect RUN --table disagreements --markdown`` shows it. A row is an answer of a query and
set, however many rollouts gave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from vtdata.records import Query, Rollout
from vtdata.verify.cascade import opposed

TABLE = "disagreements"
STAGES = ("points", "forward", "backward", "proof")
"""Stages of the rules behind the canonical key; what each said stands in its column: equal,
different, or why it could not tell. ``forward`` and ``backward`` are math-verify's directions."""
MAX_CHARS = 2_000
"""Longer texts are cut in the table (ours)."""

DISAGREEMENTS = pa.schema(
    [
        ("query_id", pa.string()),
        ("set", pa.string()),
        ("sample_idx", pa.int32()),  # the first rollout that gave the answer
        ("rollouts", pa.int32()),  # how many gave it
        ("reference", pa.string()),
        ("answer", pa.string()),
        ("rules", pa.string()),  # the reason that the rules left
        *((stage, pa.string()) for stage in STAGES),
        ("judge", pa.string()),
        ("agreement", pa.float64()),
        ("reward", pa.float64()),
        ("reason", pa.string()),
    ]
)


def contradicted(rollouts: Iterable[Rollout]) -> list[list[Rollout]]:
    """Return the rollouts about whose answer two stages contradict each other, by answer."""
    groups: dict[str | None, list[Rollout]] = {}
    for rollout in rollouts:
        verdict = rollout.verdict
        if verdict is not None and opposed(verdict.said or {}):
            groups.setdefault(verdict.answer, []).append(rollout)
    return list(groups.values())


def disagreement(
    query: Query,
    rollouts: Sequence[Rollout],
    *,
    rules: str,
    judge: str | None = None,
    agreement: float | None = None,
) -> dict[str, Any]:
    """Return the row of one answer.

    Args:
        query: the question, with its reference.
        rollouts: those that gave the answer, at least one; their verdict is the one in force.
        rules: the reason of the verdict that the rules came to.
        judge: the judge's ballots in words.
        agreement: share of the most frequent ballot.
    """
    first = rollouts[0]
    verdict = first.verdict
    said = (verdict.said if verdict else None) or {}
    return {
        "query_id": query.id,
        "set": first.set,
        "sample_idx": first.sample_idx,
        "rollouts": len(rollouts),
        "reference": cut(query.answer),
        "answer": cut(verdict.answer if verdict else None),
        "rules": rules,
        **{stage: said.get(stage) for stage in STAGES},
        "judge": judge,
        "agreement": agreement,
        "reward": verdict.reward if verdict else None,
        "reason": verdict.reason if verdict else None,
    }


def cut(text: str | None) -> str | None:
    """Shorten a text for a table, and say by how much.

    >>> cut("x" * 2_003)[-22:]
    'x ... and 3 characters'
    """
    if text is None or len(text) <= MAX_CHARS:
        return text
    return f"{text[:MAX_CHARS]} ... and {len(text) - MAX_CHARS} characters"
