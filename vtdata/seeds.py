"""Randomness is derived from names, never drawn from a global generator."""

from __future__ import annotations

import json
from hashlib import blake2b

from vtdata.errors import ConfigError

NUM_BUCKETS = 1024
"""Every query lives in one of these, whatever the number of ranks (ours)."""

NUM_RANGES = 64
"""Buckets are owned in this many contiguous ranges of 16: the most ranks a run can have, and the
number of databases in a generation store, so that each is opened by one rank alone (ours)."""


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


def range_of(bucket: int) -> int:
    """Return the range that a bucket belongs to.

    >>> range_of(0), range_of(15), range_of(16), range_of(1023)
    (0, 0, 1, 63)
    """
    return bucket * NUM_RANGES // NUM_BUCKETS


def ranges_of(rank: int, world: int) -> range:
    """Return the ranges that rank ``rank`` of ``world`` owns; together the ranks own each once.

    >>> [list(ranges_of(rank, 32))[0] for rank in (0, 1, 31)]
    [0, 2, 62]
    """
    if not 1 <= world <= NUM_RANGES or not 0 <= rank < world:
        raise ConfigError(
            f"rank {rank} of {world}: a run has 1 to {NUM_RANGES} tasks, one per range of buckets; "
            f"use --tasks {NUM_RANGES} at most"
        )
    return range(rank * NUM_RANGES // world, (rank + 1) * NUM_RANGES // world)
