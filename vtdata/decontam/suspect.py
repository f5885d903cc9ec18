"""Prompts that may be an item in other words, or in another language: for a look, not for a drop.

Paraphrases: the cosine of two bags of words, weighed by how rare a word is in the benchmark
(TF-IDF), over words that at most a twentieth of the benchmark's items have. Translations between
a script with ideographs and one without: the same set of numbers, of at least three numbers and
five digits. Both are ours; measured in `tests/bench/bench_decontam_cases.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vtdata.decontam.align import NUMBERS
from vtdata.decontam.compiled import compiled
from vtdata.decontam.entries import Entry
from vtdata.decontam.kernel.tables import hash_word
from vtdata.decontam.profile import Profile
from vtdata.decontam.traced import NUMBER_WORDS, Traced

COMMON_SHARE = 0.05
"""A word that a larger share of a benchmark's items have brings no candidate. Ours."""

LEAST_NUMBERS, LEAST_DIGITS = 3, 5
"""What a set of numbers must have to stand for a problem; a number counts up to three digits."""

_ONE = np.uint64(hash_word("1"))
"""No number that tells: articles and measure words of many languages say it."""

_IDEOGRAPHS = 0.3
"""Share of tokens from which a text is written in ideographs."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Suspects:
    """Bags of words and sets of numbers of all items. B benchmarks, E entries, W known words."""

    keys: Hashes
    """uint64 (W,), sorted: hashes of the words of all items."""
    first: Ints
    """int64 (W + 1,): where the postings of each word begin."""
    entry: Ints
    weight: Floats
    """By posting: the item's weight times the word's own, over the item's length."""
    bench_first: Ints
    """int64 (W + 1,): where the benchmarks that know a word begin."""
    bench: Ints
    less: Floats
    """By the same: how much less than an unknown word it adds to a text's squared length."""
    unknown: Floats
    """float64 (B,): the squared weight of a word that a benchmark doesn't know."""
    bench_of: Ints
    """int64 (E,)."""
    sets: dict[tuple[int, bool], list[int]]
    """Entries by the fingerprint of their numbers, and whether they are in ideographs."""
    floor: float

    @classmethod
    def of(cls, found: Sequence[Entry], profile: Profile) -> Suspects:
        """Weigh the words of all items."""
        names = list(dict.fromkeys(entry.bench for entry in found))
        bench_of = np.array([names.index(entry.bench) for entry in found], np.int64)
        bags = [Counter(NUMBERS.get(word, word) for word in entry.evidence) for entry in found]
        words = sorted({word for bag in bags for word in bag})
        hashed = sorted((hash_word(word), word) for word in words)
        number_of = {word: number for number, (_, word) in enumerate(hashed)}
        postings: list[tuple[int, int, float]] = []
        known: list[tuple[int, int, float]] = []
        unknown = []
        for number in range(len(names)):
            own = np.flatnonzero(bench_of == number).tolist()
            df = Counter(word for e in own for word in bags[e])
            idf = {word: _idf(len(own), count) for word, count in df.items()}
            unknown.append(_idf(len(own), 0) ** 2)
            known += [(number_of[w], number, unknown[-1] - value**2) for w, value in idf.items()]
            for e in own:
                weights = {w: (1 + math.log(c)) * idf[w] for w, c in bags[e].items()}
                length = math.sqrt(sum(value**2 for value in weights.values())) or 1.0
                postings += [
                    (number_of[w], e, value * idf[w] / length)
                    for w, value in weights.items()
                    if df[w] <= max(3, COMMON_SHARE * len(own))
                ]
        first, entry, weight = _rows(postings, len(words))
        bench_first, bench, less = _rows(known, len(words))
        keys = np.array([key for key, _ in hashed], np.uint64)
        return cls(
            keys, first, entry, weight, bench_first, bench, less, np.array(unknown), bench_of,
            _sets(found), profile.similarity_from,
        )  # fmt: skip

    def scan(self, all_words: Traced, num_texts: int) -> list[dict[str, Any]]:
        """Return the best item of each benchmark for each prompt: text, entry, similarity."""
        words = NUMBER_WORDS.replaced(all_words.hash)
        borders = np.searchsorted(all_words.text, np.arange(num_texts + 1)).astype(np.int64)
        best, score = self._similar(borders, words)
        rows = {
            (int(text), int(best[text, bench])): float(score[text, bench])
            for text, bench in np.argwhere(score >= self.floor)
        }
        for text, entry in self._translated(all_words, words, borders):
            rows[text, entry] = 1.0
        return [
            {"text": text, "entry": entry, "similarity": min(1.0, value)}
            for (text, entry), value in rows.items()
        ]

    def _similar(self, borders: Ints, words: Hashes) -> tuple[Ints, Floats]:
        """The best entry of each benchmark for each text, and its cosine."""
        shape = (len(borders) - 1, len(self.unknown))
        at = np.minimum(np.searchsorted(self.keys, words), len(self.keys) - 1)
        known = np.where(self.keys[at] == words, at, -1)
        squares = _squares(borders, words, known < 0)
        loop = compiled(similar)
        if loop is similar:  # lists are several times as fast as arrays, one number at a time
            best = [[0] * shape[1] for _ in range(shape[0])]
            score = [[0.0] * shape[1] for _ in range(shape[0])]
            similar(borders.tolist(), known.tolist(), squares.tolist(), *self._lists, best, score)
            return np.array(best, np.int64).reshape(shape), np.array(score).reshape(shape)
        best, score = np.zeros(shape, np.int64), np.zeros(shape)
        loop(borders, known, squares, *self._arrays, best, score)
        return best, score

    @property
    def _arrays(self) -> tuple[Any, ...]:
        """What ``similar`` takes of these, in order, with room for its counts."""
        counts = np.zeros(len(self.keys), np.int64), np.zeros(len(self.bench_of))
        return (
            self.first, self.entry, self.weight, self.bench_first, self.bench, self.less,
            self.unknown, self.bench_of, *counts,
        )  # fmt: skip

    @cached_property
    def _lists(self) -> tuple[list[Any], ...]:
        """The same as lists; the loop leaves its counts at zero."""
        return tuple(array.tolist() for array in self._arrays)

    def _translated(self, all_words: Traced, words: Hashes, borders: Ints) -> list[tuple[int, int]]:
        """Texts with the numbers of an item that is written in another kind of script."""
        sizes = np.diff(borders)
        wide = np.bincount(all_words.text, all_words.is_wide, len(sizes)) > _IDEOGRAPHS * sizes
        is_number = all_words.is_number | NUMBER_WORDS.has(all_words.hash)
        is_number &= words != _ONE
        text, number = all_words.text[is_number], words[is_number]
        order = np.lexsort((number, text))
        text, number = text[order], number[order]
        new = np.append(True, (text[1:] != text[:-1]) | (number[1:] != number[:-1]))[: len(text)]
        text, number = text[new], number[new]
        first = np.flatnonzero(np.diff(text, prepend=-1))
        count = np.diff(first, append=len(text))
        keys = np.bitwise_xor.reduceat(number, first) if len(text) else number
        many = count >= LEAST_NUMBERS
        return [
            (own, entry)
            for own, key in zip(text[first[many]].tolist(), keys[many].tolist(), strict=True)
            for entry in self.sets.get((key, not wide[own]), ())
        ]


Numbers = Ints | Floats | list[Any]


def similar(
    borders: Numbers, words: Numbers, squares: Numbers, first: Numbers, entry: Numbers,
    weight: Numbers, bench_first: Numbers, bench: Numbers, less: Numbers, unknown: Numbers,
    bench_of: Numbers, count: Numbers, total: Numbers, best: Any, score: Any,
) -> None:  # fmt: skip
    """Find the entry of each benchmark with the highest cosine, for each text.

    Text t has the known words borders[t] to borders[t + 1], -1 for an unknown one; squares[t] is
    what its unknown words add to its squared length. ``first`` to ``bench_of`` are those of
    ``Suspects``; count (W,) and total (E,) are zeros and left so. Writes best (T, B) and score
    (T, B), which is 0 where no word brought a candidate. All arrays, or all lists.
    """
    own, touched = [0], [0]
    for t in range(len(borders) - 1):
        own.clear()
        touched.clear()
        for at in range(borders[t], borders[t + 1]):
            w = words[at]
            if w >= 0:
                if count[w] == 0:
                    own.append(w)
                count[w] += 1
        length = [0.0 for _ in unknown]
        all_squares = squares[t]
        for w in own:
            tf = 1.0 + math.log(count[w])
            count[w] = 0
            all_squares += tf * tf
            for k in range(bench_first[w], bench_first[w + 1]):
                length[bench[k]] -= tf * tf * less[k]
            for k in range(first[w], first[w + 1]):
                e = entry[k]
                if total[e] == 0.0:
                    touched.append(e)
                total[e] += tf * weight[k]
        for e in touched:
            b = bench_of[e]
            cosine = total[e] / math.sqrt(length[b] + unknown[b] * all_squares)
            total[e] = 0.0
            if cosine > score[t][b]:
                score[t][b] = cosine
                best[t][b] = e


def _squares(borders: Ints, words: Hashes, unknown: NDArray[np.bool_]) -> Floats:
    """What the unknown words of each text add to its squared length, by their counts."""
    text = np.repeat(np.arange(len(borders) - 1), np.diff(borders))[unknown]
    keys = words[unknown]
    order = np.lexsort((keys, text))
    text, keys = text[order], keys[order]
    new = np.append(True, (text[1:] != text[:-1]) | (keys[1:] != keys[:-1]))[: len(text)]
    first = np.flatnonzero(new)
    counts = np.diff(first, append=len(text))
    out = np.zeros(len(borders) - 1)
    np.add.at(out, text[first], (1.0 + np.log(counts)) ** 2)
    return out


def _idf(size: int, df: int) -> float:
    """The weight of a word that ``df`` of ``size`` items have."""
    return math.log((size + 1) / (df + 0.5))


def _rows(rows: list[tuple[int, int, float]], num_words: int) -> tuple[Ints, Ints, Floats]:
    rows.sort()
    words = np.array([row[0] for row in rows], np.int64)
    first = np.searchsorted(words, np.arange(num_words + 1)).astype(np.int64)
    return first, np.array([row[1] for row in rows], np.int64), np.array([row[2] for row in rows])


def _sets(found: Sequence[Entry]) -> dict[tuple[int, bool], list[int]]:
    sets: dict[tuple[int, bool], list[int]] = {}
    for number, entry in enumerate(found):
        words = [NUMBERS.get(word, word) for word in entry.evidence]
        numbers = {word for word in words if word[0].isdigit()} - {"1"}
        if len(numbers) < LEAST_NUMBERS or sum(min(len(n), 3) for n in numbers) < LEAST_DIGITS:
            continue
        wide = sum(_is_wide(word) for word in entry.evidence) > _IDEOGRAPHS * len(words)
        key = 0
        for word in numbers:
            key ^= hash_word(word)
        sets.setdefault((key, wide), []).append(number)
    return sets


def _is_wide(word: str) -> bool:
    return "\u3040" <= word[0] <= "\u9fff"
