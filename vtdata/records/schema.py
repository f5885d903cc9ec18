"""The one explicit Arrow schema of queries and rollouts.

Nothing is ever inferred: an inferred schema changes with the first row, and two parts of one run
then no longer concatenate.
"""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 2

TURN = pa.struct([("role", pa.string()), ("content", pa.string())])
VERIFIER = pa.struct([("kind", pa.string()), ("spec", pa.string())])
VERDICT = pa.struct(
    [
        ("kind", pa.string()),
        ("reward", pa.float64()),
        ("reason", pa.string()),
        ("answer", pa.string()),
    ]
)
ORIGIN = pa.struct([(c, pa.string()) for c in ("source", "row", "license", "date")])
PROVENANCE = pa.struct(
    [
        ("seed_id", pa.string()),
        ("transform", pa.string()),
        ("parents", pa.list_(pa.string())),
        ("origins", pa.list_(ORIGIN)),
    ]
)
PASS_RATE = pa.struct(
    [(c, pa.string()) for c in ("set", "model", "revision")]
    + [(c, pa.int32()) for c in ("n", "correct", "wrong", "truncated", "unscored")]
)
VOTE = pa.struct(
    [
        ("set", pa.string()),
        ("answer", pa.string()),
        ("votes", pa.int32()),
        ("asked", pa.int32()),
        ("abstained", pa.int32()),
        ("margin", pa.int32()),
        ("reason", pa.string()),
        ("answer_type", pa.string()),
        ("num_classes", pa.int32()),
        ("undecided", pa.int32()),
        ("conflicts", pa.int32()),
    ]
)
ROLLOUT = pa.struct(
    [
        ("set", pa.string()),
        ("sample_idx", pa.int32()),
        ("seed", pa.int64()),
        ("model", pa.string()),
        ("revision", pa.string()),
        ("sampling", pa.string()),
        ("reasoning", pa.string()),
        ("content", pa.string()),
        ("think_source", pa.string()),
        ("finish_reason", pa.string()),
        ("state", pa.string()),
        ("n_prompt_tokens", pa.int32()),
        ("n_completion_tokens", pa.int32()),
        ("verdict", VERDICT),
        ("class", pa.int32()),
        ("marks", pa.list_(pa.string())),
        ("dropped_by", pa.string()),
        ("drop_reason", pa.string()),
    ]
)
QUERY = pa.schema(
    [
        ("bucket", pa.int16()),
        ("id", pa.string()),
        ("prompt", pa.list_(TURN)),
        ("options", pa.list_(pa.string())),
        ("answer", pa.string()),
        ("verifier", VERIFIER),
        ("domain", pa.string()),
        ("subdomain", pa.string()),
        ("source", pa.string()),
        ("license", pa.string()),
        ("date", pa.string()),
        ("provenance", PROVENANCE),
        ("pass_rates", pa.list_(PASS_RATE)),
        ("vote", VOTE),
        ("n_correct", pa.int32()),
        ("n_scored", pa.int32()),
        ("n_truncated", pa.int32()),
        ("max_tokens", pa.int32()),
        ("reasons", pa.list_(pa.string())),
        ("into", pa.list_(pa.string())),
        ("rollouts", pa.list_(ROLLOUT)),
        ("dropped_by", pa.string()),
        ("drop_reason", pa.string()),
        ("drop_detail", pa.string()),
    ]
)


def query_schema(extra: dict[str, pa.DataType] | None = None) -> pa.Schema:
    """Return the schema of a part: the fixed columns, then what steps declared, by name.

    >>> query_schema({"score": pa.float64()}).names[-1]
    'score'
    """
    declared = sorted((extra or {}).items())
    return pa.schema([*QUERY, *(pa.field(name, kind) for name, kind in declared)])
