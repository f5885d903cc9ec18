"""The scan in plain Python: for small inputs, where compiling takes longer than the scan.

It is the measure of the compiled one: tokens come from `normal.tokens` wherever a hit is, and
n-grams are compared by their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from vtdata.decontam.kernel.hits import Hits
from vtdata.decontam.normal.tokens import Token, tokens


@dataclass(frozen=True, slots=True)
class Plain:
    """N-grams and short texts, to be looked up by their words."""

    form: str
    n: int
    grams: Mapping[tuple[str, ...], int]
    shorts: Mapping[tuple[str, ...], int]
    beginnings: frozenset[tuple[str, ...]]
    """Of short texts."""
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        found = frozenset(word for gram in self.grams for word in gram)
        object.__setattr__(self, "words", found)

    def hits(self, texts: Iterable[bytes]) -> Hits:
        """All hits, the texts numbered from 0."""
        grams: list[tuple[int, ...]] = []
        shorts: list[tuple[int, ...]] = []
        counts = []
        for number, raw in enumerate(texts):
            found = tokens(raw, self.form)
            words = [token.text for token in found]
            counts.append(len(words))
            grams += [(number, *row) for row in self._grams(found, words)]
            shorts += [(number, *row) for row in self._shorts(raw, found, words)]
        return Hits.of(
            np.array(grams, np.int64).reshape(-1, 5),
            np.array(shorts, np.int64).reshape(-1, 7),
            np.array(counts, np.int32),
        )

    def _grams(self, found: list[Token], words: list[str]) -> Iterable[tuple[int, ...]]:
        for first in range(len(words) - self.n + 1):
            gram = self.grams.get(tuple(words[first : first + self.n]))
            if gram is not None:
                yield first, found[first].start, found[first + self.n - 1].end, gram

    def _shorts(
        self, raw: bytes, found: list[Token], words: list[str]
    ) -> Iterable[tuple[int, ...]]:
        firsts = [*_line_starts(raw, found), len(found)]
        for line, first in enumerate(firsts[:-1]):
            end = firsts[line + 1] if first else len(found)
            for last in range(first, end):
                key = tuple(words[first : last + 1])
                if key not in self.beginnings:
                    break
                short = self.shorts.get(key)
                if short is not None:
                    yield (
                        first,
                        found[first].start,
                        found[last].end,
                        short,
                        last + 1 in firsts,
                        last + 1 == len(found),
                    )


def _line_starts(raw: bytes, found: list[Token]) -> list[int]:
    """The tokens that are the first of their line."""
    out, behind = [], 0
    for number, token in enumerate(found):
        between = raw[behind : token.start]
        if number == 0 or b"\n" in between or b"\r" in between:
            out.append(number)
        behind = token.end
    return out
