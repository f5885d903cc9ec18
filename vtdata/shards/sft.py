"""SFT rows: one per verified rollout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field

from vtdata.records import Query, Rollout
from vtdata.records.schema import PASS_RATE
from vtdata.shards.facts import (
    MESSAGES,
    SHARD_VERSION,
    Split,
    answer_of,
    answer_source,
    as_struct,
    names_of,
    rate_of,
    split_of,
)
from vtdata.shards.template import (
    MAX_OPTIONS,
    assistant_content,
    check_instructions,
    prompt_messages,
)
from vtdata.steps import Context, Cut, step

TEACHER = pa.struct([(name, pa.string()) for name in ("model", "revision", "sampling")])
VERDICT = pa.struct([("kind", pa.string()), ("reward", pa.float64()), ("reason", pa.string())])
VOTE = pa.struct(
    [
        ("answer", pa.string()),
        ("votes", pa.int32()),
        ("asked", pa.int32()),
        ("abstained", pa.int32()),
    ]
)
PROVENANCE = pa.struct(
    [
        ("seed_id", pa.string()),
        ("transform", pa.string()),
        ("parents", pa.list_(pa.string())),
        ("recipe", pa.string()),
        ("fingerprint", pa.string()),
    ]
)
SFT_SCHEMA = pa.schema(
    [
        ("schema_version", pa.int32()),
        ("id", pa.string()),
        ("query_id", pa.string()),
        ("messages", MESSAGES),
        ("data_source", pa.string()),
        ("domain", pa.string()),
        ("subdomain", pa.string()),
        ("answer", pa.string()),
        ("answer_source", pa.string()),
        ("teacher", TEACHER),
        ("sample_idx", pa.int32()),
        ("seed", pa.int64()),
        ("finish_reason", pa.string()),
        ("n_prompt_tokens", pa.int32()),
        ("n_completion_tokens", pa.int32()),
        ("verdict", VERDICT),
        ("vote", VOTE),
        ("pass_rate", PASS_RATE),
        ("stratum", pa.string()),
        ("provenance", PROVENANCE),
        ("license", pa.string()),
    ]
)
"""No ``prompt`` and no ``text`` beside ``messages``: TRL 1.16 then fails with KeyError
'completion'."""

_TEACHER, _VERDICT = names_of(TEACHER), names_of(VERDICT)
_VOTE, _PASS_RATE = names_of(VOTE), names_of(PASS_RATE)


@step
class Sft(Cut):
    """Cut one row per live rollout with reward 1.0, as a chat with its reasoning inline.

    Nothing unverified enters. A rollout of the set that does not qualify is dropped here, so
    that the books show why it is not in the shard; one that a selection left out of this set is
    passed over, since another set may take it.

    Reads ``into``, the verdicts of the rollout set ``of``, and where they are there ``vote``,
    ``pass_rates`` and the column ``stratum``. Holds one query in memory.

    Drops rollouts: ``unverified`` (nobody judged it), ``wrong``, ``unfinished`` (its content is
    not to be trusted), ``empty``, ``bad_think_tags`` (a think tag inside its text: a trainer
    would see more than one block). Drops queries: ``too_many_options`` (there are 26 letters).
    """

    set: str = "sft"
    """Cuts the queries that a selection put into this set; also the folder's name."""
    of: str | None = None
    """The rollout set; None where there is only one."""
    rate_of: str | None = None
    """The set whose pass rate a row carries; None: the rollouts' own."""
    instruction: dict[str, str] = Field(default_factory=dict)
    """Answer-format text by kind of verifier, over our own; an empty text adds nothing."""
    validation_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of queries, in [0, 1), that go to the validation split (ours)."""

    needs = ("verdicts", "into")
    reasons = (
        "unverified",
        "wrong",
        "unfinished",
        "empty",
        "bad_think_tags",
        "too_many_options",
    )

    def __post_init__(self) -> None:
        check_instructions(self.instruction)

    @property
    def folder(self) -> str:
        return self.set

    @property
    def schema(self) -> pa.Schema:
        return SFT_SCHEMA

    def split(self, query: Query, ctx: Context) -> Split:
        return split_of(query, ctx.seed, self.validation_share)

    def rows(self, query: Query, ctx: Context) -> Iterator[dict[str, Any]]:
        if self.set not in query.into or not query.live:
            return
        if len(query.options) > MAX_OPTIONS:
            query.drop("sft", "too_many_options", f"{len(query.options)} options")
            return
        chosen = [r for r in query.rollouts_of(self.of) if not r.left_out_of(self.set)]
        contents = [_content(rollout) for rollout in chosen]
        if not any(contents):
            return
        shared = self._query_columns(query, ctx)
        prompt = prompt_messages(query, self.instruction)
        for rollout, content in zip(chosen, contents, strict=True):
            if content is not None:
                said = {"role": "assistant", "content": content}
                yield {**shared, **_rollout_columns(query, rollout), "messages": [*prompt, said]}

    def _query_columns(self, query: Query, ctx: Context) -> dict[str, Any]:
        origin = query.provenance
        return {
            "schema_version": SHARD_VERSION,
            "query_id": query.id,
            "data_source": query.source,
            "domain": query.domain,
            "subdomain": query.subdomain,
            "answer": answer_of(query),
            "answer_source": answer_source(query),
            "vote": as_struct(query.vote, _VOTE),
            "pass_rate": as_struct(rate_of(query, self.rate_of or self.of), _PASS_RATE),
            "stratum": query.extra.get("stratum") or self.set.partition(".")[2] or None,
            "provenance": {
                "seed_id": origin.seed_id,
                "transform": origin.transform,
                "parents": origin.parents,
                "recipe": ctx.recipe,
                "fingerprint": ctx.fingerprint,
            },
            "license": query.license,
        }


def _rollout_columns(query: Query, rollout: Rollout) -> dict[str, Any]:
    return {
        "id": f"{query.id}:{rollout.set}:{rollout.sample_idx}",
        "teacher": as_struct(rollout, _TEACHER),
        "sample_idx": rollout.sample_idx,
        "seed": rollout.seed,
        "finish_reason": rollout.finish_reason,
        "n_prompt_tokens": rollout.n_prompt_tokens,
        "n_completion_tokens": rollout.n_completion_tokens,
        "verdict": as_struct(rollout.verdict, _VERDICT),
    }


def _content(rollout: Rollout) -> str | None:
    """Return what the assistant says, or drop the rollout and return None."""
    verdict = rollout.verdict
    said = rollout.content or ""
    content = assistant_content(rollout.reasoning, said)
    if verdict is None or verdict.reward is None:
        rollout.drop("sft", "unverified")
    elif verdict.reward != 1.0:
        rollout.drop("sft", "wrong")
    elif rollout.state != "ok":
        rollout.drop("sft", "unfinished")
    elif not said.strip():
        rollout.drop("sft", "empty")
    elif content is None:
        rollout.drop("sft", "bad_think_tags")
    return content if rollout.live else None
