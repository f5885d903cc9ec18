"""Benchmark items made ready: their words, their n-grams and how much each weighs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from vtdata.decontam.align import Pieces, pieces
from vtdata.decontam.benchmark import Benchmark, Item
from vtdata.decontam.kernel import MAX_SHORT
from vtdata.decontam.normal.phrases import weights
from vtdata.decontam.normal.tokens import Token, tokens, words
from vtdata.decontam.profile import Profile

_WORDS = ("question", "problem", "q", "exercise", "task", "prompt", "user", "问题", "题目")
LABELS = (
    *_WORDS,
    *(f"{word} {number}" for word in _WORDS[:4] for number in range(1, 31)),
    *(f"solve the following {kind}problem" for kind in ("", "math ")),
    "answer the following question",
    "please",
)
"""What may stand before a short item on its line: "Question 3: ...". Ours."""

Gram = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of one benchmark."""

    bench: str
    item: Item
    tokens: list[Token]
    weight: list[float]
    """Of each token."""
    pieces: Pieces
    """For alignment."""
    grams: list[Gram]
    """Distinct, in order of first appearance; those with a word that is no evidence left out."""
    places: list[int]
    """The token at which each n-gram first begins."""
    n_grams: int
    evidence: list[str]
    """The words without those that are no evidence."""

    def lean(self) -> Entry:
        """The same without its n-grams, once they are in an index."""
        return replace(self, grams=[], places=[])

    @property
    def token_bytes(self) -> float:
        """Mean length of a word with what stands behind it, in bytes of UTF-8."""
        return len(self.item.text.encode("utf-8", "surrogatepass")) / max(1, len(self.tokens))

    @property
    def n_tokens(self) -> int:
        return len(self.evidence)


def entries(benchmarks: Sequence[Benchmark], profile: Profile) -> list[Entry]:
    """Tokenize and cut all items."""
    return [_entry(bench.name, item, profile) for bench in benchmarks for item in bench.items]


def _entry(bench: str, item: Item, profile: Profile) -> Entry:
    found = tokens(item.text, profile.form)
    spelled = [token.text for token in found]
    weight = weights(spelled, drawings=not profile.aligns)  # the paper's rule has no exception
    grams: dict[Gram, int] = {}
    for place in range(len(spelled) - profile.n + 1):
        if all(weight[place : place + profile.n]):
            grams.setdefault(tuple(spelled[place : place + profile.n]), place)
    evidence = [word for word, heavy in zip(spelled, weight, strict=True) if heavy]
    cut = pieces(spelled, weight) if profile.aligns else Pieces([], [], [])
    return Entry(
        bench, item, found, weight, cut, list(grams), list(grams.values()), len(grams), evidence
    )


@dataclass(frozen=True, slots=True)
class Postings:
    """Which items have an n-gram: the postings of gram g are first[g] to first[g + 1]."""

    grams: list[Gram]
    first: NDArray[np.int64]
    entry: NDArray[np.int64]
    place: NDArray[np.int64]
    """The token of the item at which the n-gram begins."""
    weight: NDArray[np.float64]
    total: NDArray[np.float64]
    """By entry: the weight of all its n-grams."""


def postings(found: Sequence[Entry], profile: Profile) -> Postings:
    """Number the n-grams and weigh them.

    An n-gram of a benchmark of N items, of which df have it, weighs log((N + 1) / df) / log(N + 1),
    times the mean weight of its words. No other benchmark and no corpus has a say in it: a score
    stays what it is when benchmarks come and go, and an item that was copied a thousand times
    into a corpus weighs no less for it.
    """
    numbers: dict[Gram, int] = {}
    df: dict[str, Counter[Gram]] = {}
    for entry in found:
        df.setdefault(entry.bench, Counter()).update(entry.grams)
    sizes = Counter(entry.bench for entry in found)
    gram, entry_of, place, weight = [], [], [], []
    for number, entry in enumerate(found):
        gram += [numbers.setdefault(own, len(numbers)) for own in entry.grams]
        entry_of += [number] * len(entry.grams)
        place += entry.places
        if profile.aligns:
            weight += _weights(entry, df[entry.bench], sizes[entry.bench], profile.n)
        else:
            weight += [1.0] * len(entry.grams)
    order = np.argsort(np.array(gram, np.int64), kind="stable")
    of = np.array(entry_of, np.int64)
    heavy = np.array(weight, np.float64)
    total = np.zeros(len(found))
    np.add.at(total, of, heavy)
    return Postings(
        list(numbers),
        np.searchsorted(np.array(gram, np.int64)[order], np.arange(len(numbers) + 1)),
        of[order],
        np.array(place, np.int64)[order],
        heavy[order],
        total,
    )


def _weights(entry: Entry, df: Counter[Gram], size: int, n: int) -> list[float]:
    whole = math.log(size + 1)
    before = [0.0, *accumulate(entry.weight)]
    return [
        (1 - math.log(df[gram]) / whole) * (before[place + n] - before[place]) / n
        for gram, place in zip(entry.grams, entry.places, strict=True)
    ]


def shorts(
    found: Sequence[Entry], profile: Profile
) -> tuple[list[tuple[str, ...]], list[list[int]]]:
    """Return the beginnings of lines that are a short item, and the entries of each."""
    lines: dict[tuple[str, ...], list[int]] = {}
    labels = [tuple(words(label, profile.form)) for label in ("", *LABELS)]
    for number, entry in enumerate(found):
        if 0 < entry.n_tokens <= profile.short_words:
            for label in labels:
                if len(label) + entry.n_tokens <= MAX_SHORT:
                    lines.setdefault((*label, *entry.evidence), []).append(number)
    return list(lines), list(lines.values())
