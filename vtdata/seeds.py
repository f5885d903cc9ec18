"""Randomness is derived from names, never drawn from a global generator."""

from __future__ import annotations

import json
from hashlib import blake2b

NUM_BUCKETS = 1024
"""Every query lives in one of these, whatever the number of ranks (ours)."""


def derive_seed(*parts: str | int) -> int:
    """Return a 63-bit seed for this path of names, the same on every machine and Python.

    ``seed + row`` would not do: row 1 of run 42 would equal row 0 of run 43.

    >>> derive_seed(42, "rollouts", "query-1", 0)
    9059889378710280531
    """
    path = json.dumps(parts)  # joined by "/", ("a/b", "c") would equal ("a", "b/c")
    return int.from_bytes(blake2b(path.encode(), digest_size=8).digest()) >> 1


def share(*parts: str | int) -> float:
    """Return a number in [0, 1) for this path of names; a random choice is ``share(...) < p``.

    >>> 0.0 <= share(17, "split", "query-1") < 1.0
    True
    """
    return derive_seed(*parts) / 2**63


def bucket_of(query_id: str) -> int:
    """Return the fixed bucket of a query, blake2b(id) mod 1024.

    >>> bucket_of("query-1")
    64
    """
    return int.from_bytes(blake2b(query_id.encode(), digest_size=8).digest()) % NUM_BUCKETS
