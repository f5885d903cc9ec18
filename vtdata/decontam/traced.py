"""All words of some texts as hashes, for what looks at whole prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vtdata.decontam.align import NUMBERS
from vtdata.decontam.kernel import Grams, choose
from vtdata.decontam.kernel.columns import Column, columns
from vtdata.decontam.kernel.tables import hash_word, hash_words
from vtdata.decontam.normal.tokens import tokens


@dataclass(frozen=True, slots=True)
class Traced:
    """One row for each word, by (text, place)."""

    text: NDArray[np.int64]
    start: NDArray[np.int64]
    """First byte in the text."""
    end: NDArray[np.int64]
    hash: NDArray[np.uint64]
    is_number: NDArray[np.bool_]
    """Whether it begins with a digit of ASCII."""
    is_wide: NDArray[np.bool_]
    """Whether it is of one character of three bytes: in nearly all texts an ideograph."""


def traced(grams: Grams, texts: pa.Array) -> Traced:
    """Return all words of all texts, by the same way as the scan would take."""
    found = list(columns(texts))
    num_bytes = sum(int((column.ends - column.begins).sum()) for column in found)
    if choose(num_bytes) == "compiled":
        rows = grams.traced(texts)
    else:
        rows = np.concatenate([_rows(column, grams.form) for column in found])
    first = np.concatenate(
        [column.data[column.begins[own[:, 0]] + own[:, 1]] for column, own in _split(found, rows)]
    )
    text, start, end = rows[:, :3].T
    return Traced(
        text,
        start,
        end,
        rows[:, 3].view(np.uint64) if rows.flags.c_contiguous else rows[:, 3].astype(np.uint64),
        (first >= ord("0")) & (first <= ord("9")),
        (first >= 0xE3) & (end - start == 3),
    )


def _split(
    found: list[Column], rows: NDArray[np.int64]
) -> Iterator[tuple[Column, NDArray[np.int64]]]:
    """The rows of each column, their texts numbered within it."""
    before = 0
    for column in found:
        low, high = np.searchsorted(rows[:, 0], [before, before + len(column.begins)])
        own = rows[low:high].copy()
        own[:, 0] -= before
        before += len(column.begins)
        yield column, own


def _rows(column: Column, form: str) -> NDArray[np.int64]:
    out = []
    for number in range(len(column.begins)):
        words = tokens(column.raw(number), form)
        hashes = hash_words(word.text for word in words).view(np.int64)
        out += [
            (number, word.start, word.end, key) for word, key in zip(words, hashes, strict=True)
        ]
    return np.array(out, np.int64).reshape(-1, 4)


class NumberWords:
    """Hashes of numbers in words, to the hashes of the same in digits."""

    def __init__(self) -> None:
        pairs = sorted((hash_word(word), hash_word(digits)) for word, digits in NUMBERS.items())
        self._keys = np.array([key for key, _ in pairs], np.uint64)
        self._values = np.array([value for _, value in pairs], np.uint64)

    def has(self, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        return self._keys[self._at(words)] == words

    def replaced(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        at = self._at(words)
        return np.where(self._keys[at] == words, self._values[at], words)

    def _at(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        return np.minimum(np.searchsorted(self._keys, words), len(self._keys) - 1)


NUMBER_WORDS = NumberWords()


def alike(found: Traced) -> NDArray[np.uint64]:
    """Return the words as hashes, all numbers alike (0)."""
    number = found.is_number | NUMBER_WORDS.has(found.hash)
    return np.where(number, np.uint64(0), found.hash)


def alike_words(words: Iterable[str], hashes: Mapping[str, int]) -> list[int]:
    """Return the same for normalized words."""
    return [0 if w[0] in "0123456789" or w in NUMBERS else hashes[w] for w in words]
