"""Where most of an item stands in a text: the window with the heaviest distinct n-grams.

One function, written so that numba can compile it and Python can run it as it is: small inputs
must not wait for a compiler.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def densest(
    borders: Ints, token: Ints, posting: Ints, weight: Floats, limit: Ints, n: int, found: Ints,
    score: Floats, seen: Ints,
) -> None:  # fmt: skip
    """For each group of hits find the window whose distinct n-grams weigh most; the first of them.

    Args:
        borders: int64 (G + 1,): group g has the hits borders[g] to borders[g + 1].
        token: int64 (H,): index of a hit's first token, rising within a group.
        posting: int64 (H,): which n-gram of which item it is.
        weight: float64 (P,): by posting.
        limit: int64 (G,): most tokens from the first of a window to behind its last.
        n: tokens in an n-gram.
        found: int64 (G, 4), written: first hit, last hit, distinct n-grams, longest run in tokens.
        score: float64 (G,), written: the distinct n-grams' weight.
        seen: int64 (P,), zeros; left as zeros.
    """
    for g in range(len(borders) - 1):
        first, end = borders[g], borders[g + 1]
        low, total, distinct, run, longest = first, 0.0, 0, 0, 0
        score[g] = -1.0
        for k in range(first, end):
            p = posting[k]
            if seen[p] == 0:
                total += weight[p]
                distinct += 1
            seen[p] += 1
            while token[k] + n - token[low] > limit[g]:
                q = posting[low]
                seen[q] -= 1
                if seen[q] == 0:
                    total -= weight[q]
                    distinct -= 1
                low += 1
            run = run + 1 if k > first and token[k] == token[k - 1] + 1 else 1
            longest = max(longest, run)
            if total > score[g] + 1e-9:
                score[g] = total
                found[g, 0], found[g, 1], found[g, 2] = low, k, distinct
        found[g, 3] = longest + n - 1
        for k in range(low, end):
            seen[posting[k]] = 0


@dataclass(frozen=True, slots=True)
class Windows:
    """The best window of each (text, entry) that is worth a look, ordered by both."""

    text: Ints
    entry: Ints
    first: Ints
    """Index of the hit that opens the window."""
    last: Ints
    """Index of the hit that closes it."""
    coverage: Floats
    n_shared: Ints
    run: Ints
    """Most tokens in a row that are equal."""
