"""The counts of a rollout set: a rate keeps its counts."""

from __future__ import annotations

from vtdata.records import PassRate, Query, Rollout

CUT_OFF = ("truncated", "looped")
"""States of a response that never came to its end: neither right nor wrong, and no vote."""


def outcome(rollout: Rollout) -> str:
    """Return which count of a pass rate the rollout belongs to."""
    if rollout.state in CUT_OFF:
        return "truncated"
    if rollout.verdict is None or rollout.verdict.reward is None:
        return "unscored"
    return "correct" if rollout.verdict.reward == 1.0 else "wrong"


def pass_rate(query: Query, name: str) -> PassRate:
    """Count the rollouts of set ``name``: all that were asked for, dropped ones too.

    ``n = correct + wrong + truncated + unscored``. A rollout that was dropped before it could be
    judged is unscored, so that dropping never moves a rate without a trace.
    """
    rollouts = [rollout for rollout in query.rollouts if rollout.set == name]
    outcomes = [outcome(rollout) for rollout in rollouts]
    makers = sorted({(rollout.model, rollout.revision) for rollout in rollouts})
    return PassRate(
        set=name,
        model=",".join(model for model, _ in makers),
        revision=",".join(revision for _, revision in makers),
        n=len(rollouts),
        correct=outcomes.count("correct"),
        wrong=outcomes.count("wrong"),
        truncated=outcomes.count("truncated"),
        unscored=outcomes.count("unscored"),
    )


def record(query: Query, name: str) -> PassRate:
    """Write the set's pass rate, last in ``pass_rates``, and the summaries of the query.

    The summaries (``n_correct``, ``n_scored``, ``n_truncated``, ``max_tokens``, ``reasons``) are
    those of the set recorded last; ``pass_rates`` keeps every set's.
    """
    rate = pass_rate(query, name)
    query.pass_rates = [*(old for old in query.pass_rates if old.set != name), rate]
    rollouts = [rollout for rollout in query.rollouts if rollout.set == name]
    query.n_correct = rate.correct
    query.n_scored = rate.correct + rate.wrong
    query.n_truncated = rate.truncated
    tokens = [r.n_completion_tokens for r in rollouts if r.n_completion_tokens is not None]
    query.max_tokens = max(tokens, default=None)
    query.reasons = sorted({r.verdict.reason for r in rollouts if r.verdict is not None})
    return rate
