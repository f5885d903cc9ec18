"""Two texts word by word: what is equal, what was changed, what only one of them has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_WORD = re.compile(rf"\d+(?:[.,]\d+)*|[{_IDEOGRAPH}]|[^\W\d_{_IDEOGRAPH}]+|[^\s]")
MAX_WORDS = 4_000
"""Most words a side that are aligned (ours): the matrix has a bit for each pair."""

EQUAL, CHANGED, ONLY, NUMBER = "equal", "changed", "only", "number"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one text and how it stands to the other."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    key: str


def compare(left: str, right: str) -> tuple[list[Piece], list[Piece]]:
    """Return both texts in pieces: ``equal``, ``changed``, ``only``, ``number``.

    Words are equal if they are so in NFKC and without case; an ideograph or kana is a word, and so
    is a number. ``changed`` has something else in its place, ``only`` nothing; ``number`` is a
    number in a changed or lonely place. Punctuation that agrees between two changes is a
    coincidence and counts as changed. White space goes with the word before it. The pieces of a
    side, joined, are that side. What lies beyond 4,000 words is in one ``changed`` piece.

    >>> left, right = compare("Tom has 12 red apples.", "Tom has 15 apples.")
    >>> [(piece.kind, piece.text) for piece in left]
    [('equal', 'Tom has '), ('number', '12 '), ('changed', 'red '), ('equal', 'apples.')]
    >>> [(piece.kind, piece.text) for piece in right]
    [('equal', 'Tom has '), ('number', '15 '), ('equal', 'apples.')]
    """
    mine, theirs = _words(left), _words(right)
    kinds = _kinds([word.key for word in mine], [word.key for word in theirs])
    return _pieces(left, mine, kinds[0]), _pieces(right, theirs, kinds[1])


def keys_of(text: str) -> list[str]:
    """Return words as they are compared, without punctuation.

    >>> keys_of("Find the AREA: 3.5 cm²!")
    ['find', 'the', 'area', '3.5', 'cm2']
    """
    keys = (_key(match.group()) for match in _WORD.finditer(text))
    return [key for key in keys if key[:1].isalnum()]


def _words(text: str) -> list[_Word]:
    matches = islice(_WORD.finditer(text), MAX_WORDS)
    return [_Word(match.start(), match.end(), _key(match.group())) for match in matches]


def _key(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _kinds(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """The kind of every word of both sides."""
    kinds = [CHANGED] * len(left), [CHANGED] * len(right)
    at = (0, 0)
    for i, j, size in _blocks(left, right):
        lonely = ONLY if at[0] == i or at[1] == j else CHANGED
        kinds[0][at[0] : i] = [lonely] * (i - at[0])
        kinds[1][at[1] : j] = [lonely] * (j - at[1])
        at = (i + size, j + size)
        kinds[0][i : at[0]] = kinds[1][j : at[1]] = [EQUAL] * size
    for side, keys in zip(kinds, (left, right), strict=True):
        for at_word, key in enumerate(keys):
            if side[at_word] != EQUAL and key[:1].isdigit():
                side[at_word] = NUMBER
    return kinds


def _blocks(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int, int]]:
    """Equal runs, without those of punctuation alone between two changes; an empty one last."""
    from rapidfuzz.distance import Indel

    found = [
        (block.a, block.b, block.size)
        for block in Indel.opcodes(left, right).as_matching_blocks()
        if block.size
    ]
    ends = (len(left), len(right))
    kept = [
        (i, j, size)
        for i, j, size in found
        if any(key[:1].isalnum() for key in left[i : i + size])
        or (i, j) == (0, 0)
        or (i + size, j + size) == ends
    ]
    return [*kept, (*ends, 0)]


def _pieces(text: str, words: Sequence[_Word], kinds: Iterable[str]) -> list[Piece]:
    """Neighbors of one kind, joined, with the white space after them."""
    pieces: list[Piece] = []
    start, last = 0, None
    for word, kind in zip(words, kinds, strict=True):
        if last is not None and kind != last:
            pieces.append(Piece(last, text[start : word.start]))
            start = word.start
        last = kind
    if text:
        rest = words[-1].end if words else 0
        beyond = text[rest:] if len(words) == MAX_WORDS else ""
        pieces.append(Piece(last or CHANGED, text[start : len(text) - len(beyond)]))
        if beyond:
            pieces.append(Piece(CHANGED, beyond))
    return pieces
