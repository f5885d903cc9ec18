"""Query, Rollout and Verdict, and their Arrow schema."""

from __future__ import annotations

from vtdata.records.arrow import from_batch, size_of, to_batch
from vtdata.records.query import (
    VERIFIER_KINDS,
    Origin,
    PassRate,
    Provenance,
    Query,
    Rollout,
    Turn,
    Verdict,
    Verifier,
    Vote,
    query_id,
)
from vtdata.records.schema import SCHEMA_VERSION, query_schema

__all__ = [
    "SCHEMA_VERSION",
    "VERIFIER_KINDS",
    "Origin",
    "PassRate",
    "Provenance",
    "Query",
    "Rollout",
    "Turn",
    "Verdict",
    "Verifier",
    "Vote",
    "from_batch",
    "query_id",
    "query_schema",
    "size_of",
    "to_batch",
]
