r"""Text to tokens with their places in the raw bytes: the rule, and the oracle of the kernel.

``evidence``: a token is a run of letters and digits; punctuation, operators and LaTeX formatting
separate; ideographs and kana are a token each. ``paper``: punctuation and symbols are removed and
only white space separates, as the 1.5B report has it (p. 7); a token for each ideograph is ours.

>>> [t.text for t in tokens(r"If \(\dfrac{x^2}{3} \leq \alpha\), don't.", "evidence")]
['if', 'x', '2', '3', 'α', 'don', 't']
>>> [t.text for t in tokens("If x²/3 ≤ α, don’t.", "evidence")]
['if', 'x', '2', '3', 'α', 'don', 't']
>>> [t.text for t in tokens("If x²/3 ≤ α, don’t.", "paper")]
['if', 'x23', 'α', 'dont']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate, chain
from typing import NamedTuple

from vtdata.decontam.normal import characters as ch
from vtdata.decontam.normal import latex

FORMS = ("evidence", "paper")

VERSION = 1
"""Raised whenever the same text could give other tokens; part of each profile's hash."""


class Token(NamedTuple):
    """A word as it counts, and where it stood."""

    text: str
    start: int
    """First byte in the raw UTF-8."""
    end: int
    """Behind the last byte."""


def tokens(raw: str | bytes, form: str) -> list[Token]:
    """All tokens of a text, in order.

    Args:
        raw: text; bytes that are no UTF-8 are punctuation, one by one.
        form: evidence or paper.
    """
    text = raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw
    found = _evidence(text) if form == "evidence" else _paper(text)
    if text.isascii():
        return list(map(Token._make, found))
    places = [0, *accumulate(map(_width, text))]
    return [Token(word, places[start], places[end]) for word, start, end in found]


def words(raw: str | bytes, form: str) -> list[str]:
    """The tokens' texts; some ten times as fast as with their places."""
    text = raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw
    if form == "paper":
        return text.translate(_PAPER).split()
    if _DIGITS_BEHIND_FRACTION.search(text):
        return [word for word, _, _ in _stepwise(text)]
    pattern = _ASCII_PATTERN if text.isascii() else _pattern()
    return list(chain.from_iterable(map(_MEANINGS.__getitem__, pattern.findall(text))))


class _Meanings(dict[str, tuple[str, ...]]):
    """What each match of the evidence pattern says, digits behind a fraction aside."""

    def __missing__(self, match: str) -> tuple[str, ...]:
        if len(self) > _MOST_MEANINGS:
            self.clear()
        said = self[match] = tuple(word for word, _, _ in _stepwise(match))
        return said


_MEANINGS = _Meanings()

_MOST_MEANINGS = 1_000_000
"""Ours: about 200 MB of words; then it begins anew."""


class _PaperFolding(dict[int, str]):
    """What each character becomes under `paper`, with spaces around what stands by itself."""

    def __missing__(self, code: int) -> str:
        kind, folded = _kind(chr(code)), _fold(chr(code))
        said = {ch.WORD: folded, ch.SOLO: f" {folded} ", ch.SPACE: " "}.get(kind, "")
        self[code] = said
        return said


_PAPER = _PaperFolding()


def _width(char: str) -> int:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8
        return 1
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


Found = tuple[str, int, int]


def _evidence(text: str) -> Iterator[Found]:
    """Words by a pattern, what each match says looked up where it was met before."""
    if _DIGITS_BEHIND_FRACTION.search(text):
        yield from _stepwise(text)
        return
    pattern = _ASCII_PATTERN if text.isascii() else _pattern()
    for match in pattern.finditer(text):
        start, end = match.span()
        start += text[start] == "\\"
        for word in _MEANINGS[match[0]]:
            yield word, start, end


def _stepwise(text: str) -> Iterator[Found]:
    """The rule itself; each alternative of the pattern is one way a token comes about."""
    position, digits = 0, 0
    pattern = _ASCII_PATTERN if text.isascii() else _pattern()
    while match := pattern.search(text, position):
        start, position = match.span()
        if match[0][0] == "\\":
            name = match[0][1:].lower()
            digits = 2 if name in latex.FRACTIONS else 0
            word = latex.said(name, command=True)
            if word is not None:
                yield word, start + 1, position
            continue
        if _kind(match[0][0]) != ch.WORD:
            for word in ch.characters().folded(match[0]).split(" "):
                yield word, start, position
        elif digits and match[0][0] in "0123456789" and text[start - 1] in _OPEN_FRACTION[digits]:
            position = start + 1  # \frac12
            digits -= 1
            yield match[0][0], start, position
            continue
        else:
            word = latex.said(_fold(match[0]), command=False)
            if word is not None:
                yield word, start, position
        digits = 0


_OPEN_FRACTION = {2: "cC", 1: "0123456789"}
r"""What stands directly before the digits of \frac12: the command's end, the first digit."""


_DIGITS_BEHIND_FRACTION = re.compile(
    rf"\\(?:{'|'.join(sorted(latex.FRACTIONS))})[0-9]", re.IGNORECASE | re.ASCII
)

_ASCII_PATTERN = re.compile(r"\\[A-Za-z]+|[0-9A-Za-z]+")
"""What the pattern comes to where no other characters are."""


def _paper(text: str) -> Iterator[Found]:
    """Runs without white space; what is no letter and no digit is taken out of them."""
    for run in _paper_runs().finditer(text):
        word, first, last = "", 0, 0
        for place, char in enumerate(run[0], run.start()):
            kind = _kind(char)
            if kind == ch.SOLO:
                if word:
                    yield word, first, last
                word = ""
                for part in ch.characters().folded(char).split(" "):
                    yield part, place, place + 1
            elif kind == ch.WORD:
                first, last = place if not word else first, place + 1
                word += _fold(char)
        if word:
            yield word, first, last


def _kind(char: str) -> int:
    if char.isascii():
        return ch.WORD if char.isalnum() else ch.SPACE if char.isspace() else ch.PUNCTUATION
    return ch.characters().flags(ord(char)) & ch.KIND


def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    table = ch.characters()
    return "".join(char.lower() if char.isascii() else table.folded(char) for char in word)


@cache
def _pattern() -> re.Pattern[str]:
    ignored = _set(lambda flags: flags & ch.KIND == ch.IGNORED)
    ways = []
    for script in (0, ch.SUPERSCRIPT, ch.SUBSCRIPT, ch.GREEK):
        own = _set(lambda flags, script=script: flags == ch.WORD | script)
        own = own if script else "0-9A-Za-z" + own
        ways.append(f"[{own}](?:[{own}{ignored}]*[{own}])?")
    ways.append(f"[{_set(lambda flags: flags & ch.KIND in {ch.SOLO, ch.SYMBOL})}]")
    # The first two ways are the fast ones, where no other characters are near.
    near = r"\\[A-Za-z]+|[0-9A-Za-z]++(?![^\0-\x7f])"
    return re.compile(f"{near}|(?=[0-9A-Za-z\x80-\U0010ffff])(?:{'|'.join(ways)})")


@cache
def _paper_runs() -> re.Pattern[str]:
    space = _set(lambda flags: flags & ch.KIND == ch.SPACE)
    return re.compile(rf"[^\t-\r\x1c-\x20{space}]+")


def _set(wanted: Callable[[int], bool]) -> str:
    """A regular expression's set of all characters beyond ASCII with such flags."""
    import numpy as np

    table = ch.characters()
    flags = (table.entries & 0xFF).astype(np.uint8)
    by_flag = np.array([bool(wanted(n)) for n in range(256)])
    chosen = by_flag[flags][table.pages].reshape(-1)
    chosen[:128] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    pairs = edges.reshape(-1, 2).tolist()
    return "".join(f"\\U{first:08x}-\\U{last - 1:08x}" for first, last in pairs)
