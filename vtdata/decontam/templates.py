"""Items in other numbers: n-grams in which all numbers are alike.

Where every third word is a number, no n-gram survives other numbers, so prompts are also looked
through with numbers masked. What is found is aligned like any candidate, and a template only if
numbers differ there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from vtdata.decontam.entries import Entry, Postings
from vtdata.decontam.kernel import Hits, Shorts
from vtdata.decontam.kernel.tables import hash_grams
from vtdata.decontam.profile import Profile
from vtdata.decontam.traced import Traced
from vtdata.decontam.windows import Windows, windows

LEAST_COVERAGE = 0.5
"""Share of an item's masked n-grams with a number that must stand in a prompt. Ours."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Templates:
    """Masked n-grams with at least one number, of all items."""

    keys: Hashes
    """uint64, sorted."""
    postings: Postings
    profile: Profile

    @classmethod
    def of(cls, found: Sequence[Entry], alike: Sequence[list[int]], profile: Profile) -> Templates:
        """Hash the masked n-grams of all items; ``alike`` holds their words, numbers as 0."""
        sizes = np.array([len(words) for words in alike])
        words = np.array([word for words in alike for word in words], np.uint64)
        owner = np.repeat(np.arange(len(found)), sizes)
        grams = _grams(words, profile.n)
        inside = owner[: len(grams)] == owner[profile.n - 1 :]
        grams, owner = grams[inside & (grams != 0)], owner[: len(grams)][inside & (grams != 0)]
        keys, number = np.unique(grams, return_inverse=True)
        pairs = np.unique(number.astype(np.int64) * len(found) + owner)
        number, of = pairs // len(found), pairs % len(found)
        first = np.searchsorted(number, np.arange(len(keys) + 1))
        weight = np.ones(len(of))
        total = np.bincount(of, minlength=len(found)).astype(np.float64)
        place = np.zeros(len(of), np.int64)
        lists = Postings([], first, of, place, weight, total)
        return cls(keys, lists, replace(profile, min_coverage=LEAST_COVERAGE))

    def scan(
        self, found: Traced, alike: Hashes, num_texts: int, limits: NDArray[np.int64]
    ) -> tuple[Windows, Hits]:
        """Return the prompts' windows with enough of an item, and the hits they are made of."""
        grams = _grams(alike, self.profile.n)
        last = self.profile.n - 1
        inside = found.text[: len(grams)] == found.text[last:] if len(grams) else grams == 1
        at = np.flatnonzero(inside & (grams != 0))
        gram = np.minimum(np.searchsorted(self.keys, grams[at]), max(0, len(self.keys) - 1))
        is_known = self.keys[gram] == grams[at] if len(self.keys) else gram < 0
        at, gram = at[is_known], gram[is_known]
        counts = np.bincount(found.text, minlength=num_texts)
        before = np.cumsum(counts) - counts
        text = found.text[at]
        hits = Hits(
            text.astype(np.int32),
            (at - before[text]).astype(np.int32),
            found.start[at],
            found.end[at + last],
            gram.astype(np.int32),
            _NO_SHORTS,
            counts.astype(np.int32),
        )
        return windows(hits, self.postings, limits, self.profile), hits


_EMPTY = np.zeros(0, np.int64)
_NONE = np.zeros(0, np.bool_)
_NO_SHORTS = Shorts(
    _EMPTY.astype(np.int32), _EMPTY.astype(np.int32), _EMPTY, _EMPTY, _EMPTY.astype(np.int32),
    _NONE, _NONE,
)  # fmt: skip


def _grams(words: Hashes, n: int) -> Hashes:
    """The hash of each n-gram that has a number and a word; 0 for the others."""
    if len(words) < n:
        return np.zeros(0, np.uint64)
    parts = sliding_window_view(words, n)
    numbers = (parts == 0).sum(axis=1)
    return np.where((numbers > 0) & (numbers < n), hash_grams(parts), np.uint64(0))
