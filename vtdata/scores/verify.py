"""A verdict per rollout, and the pass rate of its set."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from vtdata.records import Query, Rollout, Verdict
from vtdata.scores.disagreements import DISAGREEMENTS, TABLE, contradicted, disagreement
from vtdata.scores.rates import CUT_OFF, record
from vtdata.steps import Context, Map, step
from vtdata.verify import verify


@step
class Verify(Map):
    """Judge every live rollout of a set by its query's verifier.

    Only a response that came to its end is judged for its answer. A truncated or looped one gets
    the verdict None with its state as reason: what it counts as is the consumer's choice, and it
    never votes. An empty response is the model's fault, 0.0 ``empty``. A refused or failed request
    is ours: None.

    What ``run_tests`` said about a rollout of a code query stays.

    Reads the rollouts of the set ``of`` that are live, their content and never their reasoning.
    Writes their ``verdict``, the set's entry of ``pass_rates`` in place of its old one, and the
    summaries ``n_correct``, ``n_scored``, ``n_truncated``, ``max_tokens``, ``reasons``, which are
    those of the set judged last. Logs the table ``disagreements``: answers about which two stages
    of the verifier contradict each other. Notes ``correct``, ``wrong``, ``truncated``,
    ``unscored``. Holds one query in memory.

    Drops queries: ``no_rollouts`` (the set has none).

    Source: "answer verification" of 3B p.4, which has two outcomes; the third is ours.
    """

    of: str | None = None
    """The rollout set; None where there is only one."""

    needs = ("rollouts",)
    gives = ("verdicts",)
    reasons = ("no_rollouts",)
    tables: ClassVar[dict[str, pa.Schema]] = {TABLE: DISAGREEMENTS}

    def process(self, query: Query, ctx: Context) -> list[Query]:
        name = query.only_set(self.of)
        for rollout in query.rollouts_of(name):
            if query.verifier.kind != "code" or rollout.verdict is None:
                rollout.verdict = judge(rollout, query)
        for group in contradicted(query.rollouts_of(name)):
            assert group[0].verdict is not None
            ctx.log(TABLE, disagreement(query, group, rules=group[0].verdict.reason))
        rate = record(query, name)
        for count in ("correct", "wrong", "truncated", "unscored"):
            if getattr(rate, count):
                ctx.note(count, getattr(rate, count))
        return [query]


def judge(rollout: Rollout, query: Query) -> Verdict:
    """Return the verdict on one rollout; see ``Verify``."""
    kind = query.verifier.kind
    if rollout.state in CUT_OFF or rollout.state in ("refused", "failed"):
        return Verdict(None, rollout.state, kind)
    if rollout.state == "empty" or not (rollout.content or "").strip():
        return Verdict(0.0, "empty", kind)
    if rollout.state != "ok":
        return Verdict(None, "unknown_state", kind)
    return verify(rollout.content or "", query)
