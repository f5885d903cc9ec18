"""Cut text by bytes without ever breaking a character, and show characters that hide."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

AROUND = 200
"""Bytes of context on each side of a span (ours)."""

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


@dataclass(frozen=True, slots=True)
class Cut:
    """A span of raw bytes, moved to whole characters, and what it holds."""

    start: int
    end: int
    text: str


def to_bytes(text: str) -> bytes:
    """Return UTF-8; halves of surrogate pairs, which JSON can smuggle in, take three bytes."""
    return text.encode("utf-8", "surrogatepass")


def to_text(raw: bytes) -> str:
    """Return the text of bytes; what is no UTF-8 becomes U+FFFD."""
    return raw.decode("utf-8", "replace")


def cut(raw: bytes, start: int, end: int) -> Cut:
    """Return the span, clipped to the text and widened to whole characters.

    Args:
        raw: the whole text, UTF-8.
        start: first byte of the span.
        end: byte after its last.

    >>> cut("naïve".encode(), 3, 4)
    Cut(start=2, end=4, text='ï')
    >>> cut(b"short", 2, 99)
    Cut(start=2, end=5, text='ort')
    >>> cut(b"short", 4, 1)
    Cut(start=4, end=4, text='')
    """
    start = min(max(start, 0), len(raw))
    end = min(end, len(raw))
    first = _lead(raw, start)
    last = _past(raw, end) if start < end else first
    return Cut(first, last, to_text(raw[first:last]))


def around(raw: bytes, start: int, end: int, size: int = AROUND) -> tuple[str, str]:
    """Return up to ``size`` bytes before and after a span, in whole characters.

    >>> around("ab ïcd".encode(), 5, 6, size=1)
    ('', 'd')
    >>> around(b"abcdef", 2, 4, size=9)
    ('ab', 'ef')
    """
    first = _past(raw, max(start - size, 0))
    last = _lead(raw, min(end + size, len(raw)))
    return to_text(raw[min(first, start) : start]), to_text(raw[end : max(last, end)])


def _lead(raw: bytes, at: int) -> int:
    """The first byte of the character that ``at`` stands in."""
    for back in range(4):
        if at - back < 0 or at >= len(raw):
            break
        if raw[at - back] & 0xC0 != 0x80:
            return at - back
    return at


def _past(raw: bytes, at: int) -> int:
    """``at``, or the byte after the character that ``at`` stands in."""
    for ahead in range(4):
        if at + ahead >= len(raw) or raw[at + ahead] & 0xC0 != 0x80:
            return at + ahead
    return at


def hides(char: str) -> bool:
    r"""Whether a character is unseen, or changes how its neighbors are seen.

    Controls, direction marks, joiners and zero widths, halves of surrogates, private and
    unassigned ones. Tab and newline are what they look like.

    >>> [hides(char) for char in "a\n\u202e\u200b\x1b"]
    [False, False, True, True, True]
    """
    return unicodedata.category(char) in _HIDDEN and char not in "\t\n"


def visible(text: str) -> str:
    r"""Return text for a terminal: every character that hides is spelled, newlines are spaces.

    >>> visible("a\u202eb\n\x1b[31m")
    'a<U+202E>b <U+001B>[31m'
    """
    shown = (f"<U+{ord(char):04X}>" if hides(char) else char for char in text)
    return " ".join("".join(shown).split())
