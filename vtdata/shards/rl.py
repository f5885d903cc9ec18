"""RL rows: one per query, with what a reward function needs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field

from vtdata.records import Query
from vtdata.seeds import derive_seed
from vtdata.shards.facts import (
    MESSAGES,
    SHARD_VERSION,
    Split,
    answer_of,
    answer_source,
    rate_of,
    split_of,
)
from vtdata.shards.spill import SIDE, Side
from vtdata.shards.template import MAX_OPTIONS, check_instructions, prompt_messages
from vtdata.steps import Context, Cut, step

EXTRA_INFO = pa.struct(
    [
        ("index", pa.int64()),
        ("split", pa.string()),
        ("query_id", pa.string()),
        ("question", pa.string()),
        ("choices", pa.list_(pa.string())),
        ("answer_source", pa.string()),
        ("verifier_kind", pa.string()),
        ("verifier_spec", pa.string()),
        ("tests_sha256", pa.string()),
        ("pass_rate_set", pa.string()),
        ("pass_rate_model", pa.string()),
        ("pass_rate_revision", pa.string()),
        ("pass_rate_n", pa.int32()),
        ("pass_rate_correct", pa.int32()),
        ("pass_rate_wrong", pa.int32()),
        ("pass_rate_truncated", pa.int32()),
        ("pass_rate_unscored", pa.int32()),
        ("seed_id", pa.string()),
        ("subdomain", pa.string()),
        ("source", pa.string()),
        ("license", pa.string()),
        ("recipe", pa.string()),
        ("fingerprint", pa.string()),
    ]
)
RL_SCHEMA = pa.schema(
    [
        ("schema_version", pa.int32()),
        ("id", pa.string()),
        ("prompt", MESSAGES),
        ("data_source", pa.string()),
        ("ability", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        ("extra_info", EXTRA_INFO),
        ("answer", pa.string()),
        ("solution", pa.string()),
    ]
)
"""One fixed struct for ``extra_info``: with other keys per file, ``load_dataset`` of several
files fails to cast."""

_BY_SPEC = frozenset({"code", "constraints", "rubric", "reasoning_gym"})
"""Kinds whose spec, and not the answer alone, decides: it is their ground truth."""


@step
class Rl(Cut):
    r"""Cut one row per query, read by verl and TRL as it is.

    ``reward_model.ground_truth`` is always a string: the answer, or for code, constraints,
    rubrics and reasoning_gym the verifier's spec. A spec above ``max_inline_bytes`` stands in the
    side table, and the ground truth is ``sha256:`` and its hash. ``solution`` is the answer in
    ``\boxed{}``, because math-verify reads a bare ``2\sqrt{3}`` as 2.

    Reads ``into``, and where they are there ``vote`` and ``pass_rates``. Holds one query in memory.

    Drops queries: ``no_ground_truth`` (a reward function would have nothing to hold a response
    to), ``too_many_options`` (there are 26 letters).
    """

    set: str = "rl"
    """Cuts the queries that a selection put into this set; also the folder's name."""
    rate_of: str | None = None
    """The rollout set whose pass rate a row carries; None: the one measured last."""
    instruction: dict[str, str] = Field(default_factory=dict)
    """Answer-format text by kind of verifier, over our own; an empty text adds nothing."""
    data_source: dict[str, str] = Field(default_factory=dict)
    """By domain, a name that the trainer's rewards know (verl: ``lighteval/MATH``); a domain that
    is not here is ``vtdata/DOMAIN``."""
    max_inline_bytes: Annotated[int, Field(ge=0)] = 65_536
    """Longest spec in a row, in bytes of UTF-8 (ours)."""
    validation_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of queries, in [0, 1), that go to the validation split (ours)."""

    needs = ("into",)
    reasons = ("no_ground_truth", "too_many_options")

    def __post_init__(self) -> None:
        check_instructions(self.instruction)

    @property
    def folder(self) -> str:
        return self.set

    @property
    def schema(self) -> pa.Schema:
        return RL_SCHEMA

    def split(self, query: Query, ctx: Context) -> Split:
        return split_of(query, ctx.seed, self.validation_share)

    def rows(self, query: Query, ctx: Context) -> Iterator[dict[str, Any]]:
        if self.set not in query.into or not query.live:
            return
        answer = answer_of(query)
        by_spec = query.verifier.kind in _BY_SPEC
        if len(query.options) > MAX_OPTIONS:
            query.drop("rl", "too_many_options", f"{len(query.options)} options")
            return
        if query.verifier.kind == "none" or (answer is None and not by_spec):
            query.drop("rl", "no_ground_truth", f"verifier {query.verifier.kind}, no answer")
            return
        truth = query.verifier.spec if by_spec else answer
        side = self._side(query.verifier.spec)
        if by_spec and side:
            truth = f"sha256:{side.sha256}"
        yield {
            "schema_version": SHARD_VERSION,
            "id": query.id,
            "prompt": prompt_messages(query, self.instruction),
            "data_source": self.data_source.get(query.domain, f"vtdata/{query.domain}"),
            "ability": query.domain,
            "reward_model": {
                "style": "model" if query.verifier.kind == "rubric" else "rule",
                "ground_truth": truth,
            },
            "extra_info": {
                **self._extra(query, ctx),
                "verifier_spec": None if by_spec or side else query.verifier.spec,
                "tests_sha256": side.sha256 if side else None,
            },
            "answer": answer,
            "solution": None if answer is None else f"\\boxed{{{answer}}}",
            SIDE: side,
        }

    def _side(self, spec: str) -> Side | None:
        raw = spec.encode()
        if len(raw) <= self.max_inline_bytes:
            return None
        return Side(hashlib.sha256(raw).hexdigest(), spec)

    def _extra(self, query: Query, ctx: Context) -> dict[str, Any]:
        rate = rate_of(query, self.rate_of)
        counts = ("set", "model", "revision", "n", "correct", "wrong", "truncated", "unscored")
        return {
            # a number of the query and not its place, so that it is the same in every run
            "index": derive_seed("index", query.id),
            "split": self.split(query, ctx),
            "query_id": query.id,
            "question": query.question,
            "choices": query.options,
            "answer_source": answer_source(query),
            "verifier_kind": query.verifier.kind,
            **{f"pass_rate_{name}": getattr(rate, name) if rate else None for name in counts},
            "seed_id": query.provenance.seed_id,
            "subdomain": query.subdomain,
            "source": query.source,
            "license": query.license,
            "recipe": ctx.recipe,
            "fingerprint": ctx.fingerprint,
        }
