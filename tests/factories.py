"""Small factories: a query with rollouts of the given rewards is one call.

``query(1, 0, None)`` has a right, a wrong and an unjudged rollout of the set ``teacher``.
"""

from __future__ import annotations

from typing import Any

from vtdata.records import (
    PassRate,
    Provenance,
    Query,
    Rollout,
    Turn,
    Verdict,
    Verifier,
    query_id,
)

SAMPLING = '{"max_tokens":64,"temperature":1.0}'


def verdict(reward: float | None, kind: str = "math") -> Verdict:
    reason = {1.0: "correct", 0.0: "wrong", None: "bad_reference"}[reward]
    return Verdict(reward, reason, kind, answer="4" if reward == 1.0 else None)


def rollout(reward: float | None = 1.0, **changes: Any) -> Rollout:
    """A finished rollout of the set ``teacher``; any attribute can be changed by name."""
    values: dict[str, Any] = {
        "set": "teacher",
        "sample_idx": 0,
        "seed": 7,
        "model": "our/teacher",
        "revision": "unpinned",
        "sampling": SAMPLING,
        "reasoning": "Two and two.",
        "content": r"The answer is \boxed{4}.",
        "think_source": "field",
        "finish_reason": "stop",
        "state": "ok",
        "n_prompt_tokens": 12,
        "n_completion_tokens": 9,
        "verdict": verdict(reward),
    }
    return Rollout(**{**values, **changes})


def rate(*rewards: float | None, of: str = "teacher", truncated: int = 0) -> PassRate:
    """The counts of rollouts with these rewards, and of so many truncated ones."""
    return PassRate(
        set=of,
        model="our/teacher",
        revision="unpinned",
        n=len(rewards) + truncated,
        correct=rewards.count(1.0),
        wrong=rewards.count(0.0),
        truncated=truncated,
        unscored=rewards.count(None),
    )


def query(*rewards: float | None, question: str = "What is 2+2?", **changes: Any) -> Query:
    """A live query with one rollout per reward; any attribute can be changed by name."""
    prompt = changes.pop("prompt", [Turn("user", question)])
    own = changes.pop("id", None) or query_id(prompt, changes.get("options"))
    values: dict[str, Any] = {
        "id": own,
        "prompt": prompt,
        "verifier": Verifier("math"),
        "source": "ours",
        "license": "Apache-2.0",
        "provenance": Provenance(seed_id=own),
        "answer": "4",
        "rollouts": [rollout(reward, sample_idx=at) for at, reward in enumerate(rewards)],
        "pass_rates": [rate(*rewards)] if rewards else [],
    }
    return Query(**{**values, **changes})
