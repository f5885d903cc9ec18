"""N-grams and short items, compiled once, and found in any texts.

Two ways lead to the same hits: plain Python, and compiled code that is some hundred times as fast
but takes many seconds to be compiled the first time on a machine.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from vtdata.decontam.kernel import cache
from vtdata.decontam.kernel.columns import Column, Texts, columns, padded
from vtdata.decontam.kernel.hits import Hits
from vtdata.decontam.kernel.plain import Plain
from vtdata.decontam.kernel.tables import (
    Table,
    hash_grams,
    hash_lines,
    hash_word,
    table,
)
from vtdata.decontam.normal.tokens import FORMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vtdata.decontam.kernel.scanned import Rows

Way = Literal["plain", "compiled"]

COMPILE_FROM_BYTES = 30_000_000
"""Text from which compiling is faster than plain Python. Ours: that many bytes take plain Python
about as long as compiling takes."""

LOAD_FROM_BYTES = 1_000_000
"""Text from which loading code that was compiled before is faster. Ours: that many bytes take plain
Python about as long as importing numba takes."""

MAX_SHORT = 12
"""Longest short item, in tokens: longer ones have n-grams enough."""


@dataclass(frozen=True, eq=False)
class Grams:
    """What is looked for.

    Hits are found by 64-bit hashes: see `tables` for how seldom one is false. Whoever needs
    certainty compares the words, as the alignment does.
    """

    form: str
    """evidence or paper, as `normal.tokens` has them."""
    n: int
    grams: tuple[tuple[str, ...], ...]
    shorts: tuple[tuple[str, ...], ...]

    @classmethod
    def compile(
        cls,
        grams: Sequence[Sequence[str]],
        shorts: Sequence[Sequence[str]],
        form: str,
        n: int,
    ) -> Self:
        """Check what is looked for, and keep it.

        Args:
            grams: n tokens each, each once; a hit names the place in this list.
            shorts: the tokens of a whole short item each, at most MAX_SHORT, each once.
            form: evidence or paper; how the tokens came about.
            n: tokens of an n-gram, at least 2.

        Raises:
            ValueError: an n-gram of another length, one that is there twice, an unknown form.
        """
        if form not in FORMS:
            raise ValueError(f"need a form of {FORMS}, got {form!r}")
        own = cls(form, n, tuple(map(tuple, grams)), tuple(map(tuple, shorts)))
        own._check()
        return own

    def _check(self) -> None:
        if self.n < 2:
            raise ValueError(f"need n-grams of at least 2 tokens, got n={self.n}")
        for gram in self.grams:
            if len(gram) != self.n:
                raise ValueError(f"need n-grams of n={self.n} tokens, got {' '.join(gram)!r}")
        for short in self.shorts:
            if not 1 <= len(short) <= MAX_SHORT:
                raise ValueError(
                    f"need short items of 1 to {MAX_SHORT} tokens, got {' '.join(short)!r}"
                )
        for name, rows in (("n-gram", self.grams), ("short item", self.shorts)):
            if len(set(rows)) < len(rows):
                twice = Counter(rows).most_common(1)[0][0]
                raise ValueError(f"need each {name} once, got {' '.join(twice)!r} twice")

    def hits(self, texts: Texts, *, ahead: int | None = None, way: Way | None = None) -> Hits:
        """Find all n-grams and short items.

        Args:
            texts: null texts hold nothing; bytes that are no UTF-8 are punctuation.
            ahead: bytes that this process is going to scan from here on, if that is known.
            way: which code to use; by default `choose` does.
        """
        found = list(columns(texts))
        num_bytes = int(sum((column.ends - column.begins).sum() for column in found))
        way = way or choose(num_bytes, ahead)
        if way == "plain":
            _PLAIN_BYTES[0] += num_bytes
            return self._plain.hits(_raw(found))
        rows, counts = self._scanned(found, trace=False)
        grams, shorts, _ = (np.concatenate(block) for block in zip(*rows, strict=True))
        return Hits.of(grams, shorts, np.concatenate(counts).astype(np.int32))

    def traced(self, texts: Texts) -> NDArray[np.int64]:
        """All tokens as the compiled scan sees them: rows of (text, start, end, hash)."""
        rows, _ = self._scanned(list(columns(texts)), trace=True)
        return np.concatenate([row[2] for row in rows])

    def _scanned(
        self, found: list[Column], *, trace: bool
    ) -> tuple[list[Rows], list[NDArray[np.int64]]]:
        from vtdata.decontam.kernel.scanned import no_rows, scanned

        longest = max(map(len, self.shorts), default=0)
        all_rows, all_counts, before = [no_rows()], [np.zeros(0, np.int64)], 0
        for column in found:
            for part in padded(column):
                rows, counts = scanned(
                    part,
                    self._gram_table,
                    self._short_table,
                    form=self.form,
                    n=self.n,
                    longest=longest,
                    trace=trace,
                )
                for block in (block for row in rows for block in row):
                    block[:, 0] += before
                before += len(counts)
                all_rows += rows
                all_counts.append(counts)
        return all_rows, all_counts

    def make_ready(self) -> None:
        """Make the tables of the compiled scan, where it is loaded, before the first text."""
        if "vtdata.decontam.kernel.compiled" in sys.modules:
            _ = self._gram_table, self._short_table
            object.__setattr__(self, "grams", ())  # some 20 MB of tuples; the tables have them

    @cached_property
    def _plain(self) -> Plain:
        return Plain(
            self.form,
            self.n,
            {gram: number for number, gram in enumerate(self.grams)},
            {short: number for number, short in enumerate(self.shorts)},
        )

    @cached_property
    def _hashes(self) -> dict[str, int]:
        words = set(chain.from_iterable(chain(self.grams, self.shorts)))
        return {word: hash_word(word) for word in words}

    @cached_property
    def _gram_table(self) -> Table:
        known = self._hashes
        words = map(known.__getitem__, chain.from_iterable(self.grams))
        flat = np.fromiter(words, np.uint64, len(self.grams) * self.n)
        keys = hash_grams(flat.reshape(-1, self.n))
        return table(keys, np.arange(len(keys), dtype=np.uint64))

    @cached_property
    def _short_table(self) -> Table:
        pairs: dict[int, int] = {}
        for number, short in enumerate(self.shorts):
            *beginnings, whole = hash_lines([self._hashes[word] for word in short])
            for key in beginnings:
                pairs.setdefault(key, 0)
            pairs[whole] = number + 1
        keys = np.fromiter(pairs.keys(), np.uint64, len(pairs))
        return table(keys, np.fromiter(pairs.values(), np.uint64, len(pairs)))


def _raw(found: list[Column]) -> Iterator[bytes]:
    for column in found:
        for row in range(len(column.begins)):
            yield column.raw(row)


_PLAIN_BYTES = [0]
"""What this process has scanned in plain Python so far."""


def choose(num_bytes: int, ahead: int | None = None) -> Way:
    """Which code scans the next texts.

    Compiled, where this process has loaded it; or where enough is to be scanned, or, if nobody
    knows, has been scanned: LOAD_FROM_BYTES where an earlier process left compiled code, else
    COMPILE_FROM_BYTES.

    Args:
        num_bytes: of these texts.
        ahead: of all texts from here on, if known.
    """
    if sys.byteorder != "little":
        return "plain"  # words are read eight bytes at a time, the first byte lowest
    if "vtdata.decontam.kernel.compiled" in sys.modules:
        return "compiled"
    total = _PLAIN_BYTES[0] + num_bytes if ahead is None else max(ahead, num_bytes)
    least = LOAD_FROM_BYTES if cache.is_warm() else COMPILE_FROM_BYTES
    return "compiled" if total >= least else "plain"


def prepare(num_bytes: int) -> None:
    """Load the compiled scan now if so many bytes are worth it, and not in the middle of them."""
    if choose(num_bytes, num_bytes) == "compiled":
        importlib.import_module("vtdata.decontam.kernel.compiled")
