"""Where most of an item stands in a text: the window with the heaviest distinct n-grams.

One function, written so that numba can compile it and Python can run it as it is: small inputs
must not wait for a compiler.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vtdata.decontam.compiled import compiled
from vtdata.decontam.entries import Postings
from vtdata.decontam.kernel import Hits
from vtdata.decontam.profile import Profile

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
    """Which of ``hit`` opens the window."""
    last: Ints
    """Which of ``hit`` closes it."""
    coverage: Floats
    n_shared: Ints
    run: Ints
    """Most tokens in a row that are equal, anywhere in the text."""
    hit: Ints
    """Hits by (text, entry, token): an n-gram of several items is there several times."""
    posting: Ints
    """Which posting each of ``hit`` is."""


def windows(hits: Hits, lists: Postings, limits: Ints, profile: Profile) -> Windows:
    """Group hits by text and item, and keep the groups whose best window covers enough."""
    counts = lists.first[hits.gram + 1] - lists.first[hits.gram]
    hit = np.repeat(np.arange(len(counts)), counts)
    behind = np.cumsum(counts)
    posting = np.arange(len(hit)) - np.repeat(behind - counts - lists.first[hits.gram], counts)
    entry = lists.entry[posting]
    order = np.argsort(hits.text[hit].astype(np.int64) * len(limits) + entry, kind="stable")
    hit, posting, entry = hit[order], posting[order], entry[order]
    key = hits.text[hit].astype(np.int64) * len(limits) + entry
    borders = np.flatnonzero(np.diff(key, prepend=-1, append=-1))
    at_most = np.add.reduceat(lists.weight[posting], borders[:-1]) if len(hit) else np.zeros(0)
    enough = at_most >= profile.min_coverage * lists.total[entry[borders[:-1]]] - 1e-9
    hit, posting, borders = _only(hit, posting, borders, enough)
    entry = lists.entry[posting[borders[:-1]]]
    found, score = np.zeros((len(entry), 4), np.int64), np.zeros(len(entry))
    token = hits.token[hit].astype(np.int64)
    seen = np.zeros(len(lists.entry), np.int64)
    compiled(densest)(
        borders, token, posting, lists.weight, limits[entry], profile.n, found, score, seen
    )
    coverage = np.minimum(1.0, score / np.maximum(lists.total[entry], 1e-12))
    keep = coverage >= profile.min_coverage
    text = hits.text[hit[borders[:-1]]].astype(np.int64)
    first, last, distinct, run = found[keep].T
    return Windows(
        text[keep], entry[keep], first, last, coverage[keep], distinct, run, hit, posting
    )


def _only(hit: Ints, posting: Ints, borders: Ints, keep: NDArray[np.bool_]) -> tuple[Ints, ...]:
    """Drop whole groups."""
    sizes = np.diff(borders)
    mask = np.repeat(keep, sizes)
    return hit[mask], posting[mask], np.concatenate([[0], np.cumsum(sizes[keep])])
