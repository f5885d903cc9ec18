"""The scan in plain Python: for small inputs, where compiling takes longer than the scan.

It is the measure of the compiled one: tokens come from `normal.tokens` wherever a hit is, and
n-grams are compared by their words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vtdata.decontam.kernel.hits import Hits
from vtdata.decontam.normal.tokens import Token, tokens, words

_BORDER = re.compile(rb"[\n\r]")


@dataclass(frozen=True, eq=False)
class Plain:
    """N-grams and short texts, to be looked up by their words."""

    form: str
    n: int
    grams: Mapping[tuple[str, ...], int]
    shorts: Mapping[tuple[str, ...], int]

    def hits(self, texts: Iterable[bytes]) -> Hits:
        """All hits, the texts numbered from 0."""
        grams: list[tuple[int, ...]] = []
        shorts: list[tuple[int, ...]] = []
        counts = []
        for number, raw in enumerate(texts):
            text = _Text.read(raw, self.form)
            counts.append(len(text.words))
            grams += ((number, *row) for row in self._grams(text))
            shorts += ((number, *row) for row in self._shorts(text))
        return Hits.of(
            np.array(grams, np.int64).reshape(-1, 5),
            np.array(shorts, np.int64).reshape(-1, 7),
            np.array(counts, np.int32),
        )

    def _grams(self, text: _Text) -> Iterator[tuple[int, ...]]:
        shifted = (text.words[by:] for by in range(self.n))
        windows = enumerate(zip(*shifted, strict=False))  # the last words begin no n-gram
        for first, gram in [window for window in windows if window[1] in self.grams]:
            yield first, *text.span(first, first + self.n), self.grams[gram]

    def _shorts(self, text: _Text) -> Iterator[tuple[int, ...]]:
        """Short items that stand at the beginning of a line, or of the text."""
        num_words = len(text.words)
        ends = [*text.firsts, num_words]
        borders = frozenset(ends)
        for line, first in enumerate(text.firsts):
            end = ends[line + 1] if first else num_words
            for last in range(first + 1, end + 1):
                key = tuple(text.words[first:last])
                if key not in self._beginnings:
                    break
                if key in self.shorts:
                    is_end = last in borders
                    yield (
                        first,
                        *text.span(first, last),
                        self.shorts[key],
                        is_end,
                        last == num_words,
                    )

    @cached_property
    def _beginnings(self) -> frozenset[tuple[str, ...]]:
        shorts = self.shorts
        return frozenset(short[:k] for short in shorts for k in range(1, len(short) + 1))


@dataclass(frozen=True, eq=False)
class _Text:
    """The words of a text; where they stand is found out only where that is asked."""

    form: str
    words: list[str]
    lines: list[str]
    """All that have a word."""
    firsts: list[int]
    """Words that are the first of their line."""
    offsets: list[int]
    """Bytes before each line."""

    @classmethod
    def read(cls, raw: bytes, form: str) -> _Text:
        out, offset = cls(form, [], [], [], []), 0
        for line in _BORDER.split(raw):
            text = line.decode("utf-8", "surrogateescape")
            found = words(text, form)
            if found:
                out.firsts.append(len(out.words))
                out.offsets.append(offset)
                out.lines.append(text)
                out.words.extend(found)
            offset += len(line) + 1
        return out

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Bytes from the first of some words to the last."""
        return self._token(first)[0], self._token(last - 1)[1]

    def _token(self, number: int) -> tuple[int, int]:
        line = bisect_right(self.firsts, number) - 1
        token = self._tokens(line)[number - self.firsts[line]]
        return self.offsets[line] + token.start, self.offsets[line] + token.end

    def _tokens(self, line: int) -> list[Token]:
        if line not in self._known:
            self._known[line] = tokens(self.lines[line], self.form)
        return self._known[line]

    @cached_property
    def _known(self) -> dict[int, list[Token]]:
        return {}
