r"""Words that are no evidence: how to write the answer, drawing code, and what every contest says.

Both sides are weighed by the same rule, so an instruction that a template added to a benchmark
item, or to a document, changes nothing.

>>> from vtdata.decontam.normal.tokens import words
>>> text = "Compute 2+3. Please reason step by step, and put your final answer within \\boxed{}."
>>> [w for w, weight in zip(words(text, "evidence"), weights(words(text, "evidence"))) if weight]
['compute', '2', '3']
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate

from vtdata.decontam.normal.tokens import words

VERSION = 1
"""Raised whenever a word could weigh differently; part of each profile's hash."""

LIGHT = 0.1
"""The weight of boilerplate, where other words have 1. Ours."""


@cache
def instructions() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Patterns for normalized words that are joined by spaces, and what each cannot do without.

    ``instructions.txt`` holds them.
    """
    named: dict[str, str] = {}
    found = []
    for line in (_FOLDER / "instructions.txt").read_text("utf-8").splitlines():
        name, equals, value = line.partition(" = ")
        if equals and name.isupper():
            named[name] = value
        elif line and not line.startswith("#"):
            hints, _, pattern = line.partition(" ::: ")
            whole = re.sub("<([A-Z]+)>", lambda match: named[match[1]], pattern)
            compiled = re.compile(rf"(?<!\S){whole}(?!\S)")
            found.append((tuple(hints.split("|")), compiled))
    return tuple(found)


_FOLDER = files("vtdata.decontam.normal")

_DRAWING = re.compile(r"(?<!\S)asy(?!\S).*?(?<!\S)asy(?!\S)")
"""Asymptote code: copies of a problem have it or not."""


def weights(tokens: Sequence[str], *, drawings: bool = False) -> list[float]:
    """How much each word of a text counts: 1, ``LIGHT`` for boilerplate, 0 for no evidence.

    Args:
        tokens: normalized words.
        drawings: whether drawing code counts.
    """
    found = [1.0] * len(tokens)
    for start, end in _boilerplate(tokens):
        found[start:end] = [LIGHT] * (end - start)
    for start, end in void(tokens, drawings=drawings):
        found[start:end] = [0.0] * (end - start)
    return found


def void(tokens: Sequence[str], *, drawings: bool = False) -> Iterator[tuple[int, int]]:
    """Ranges of words that are no evidence at all, first and behind the last."""
    text = " ".join(tokens)
    starts: list[int] = []
    patterns = instructions() if drawings else (*instructions(), (("asy",), _DRAWING))
    for hints, pattern in patterns:
        if not any(hint in text for hint in hints):
            continue
        for match in pattern.finditer(text):
            if not starts:
                starts = [0, *accumulate(len(token) + 1 for token in tokens)]
            yield bisect_left(starts, match.start()), bisect_right(starts, match.end() - 1)


@cache
def _phrases() -> dict[str, list[tuple[str, ...]]]:
    """Phrases by first word, longest first; a single letter is ``?``."""
    text = (_FOLDER / "boilerplate.txt").read_text("utf-8")
    found: dict[str, set[tuple[str, ...]]] = {}
    for line in text.splitlines():
        phrase = _letters(words(line, "evidence")) if not line.startswith("#") else ()
        if phrase:
            found.setdefault(phrase[0], set()).add(phrase)
    return {first: sorted(some, key=lambda p: (-len(p), p)) for first, some in found.items()}


def _letters(tokens: Sequence[str]) -> tuple[str, ...]:
    """A lone letter of a formula as ``?``, but for the article."""
    return tuple("?" if len(t) == 1 and t.isascii() and t.isalpha() else t for t in tokens)


def _boilerplate(tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    plain, phrases = _letters(tokens), _phrases()
    place = 0
    while place < len(plain):
        for phrase in phrases.get(plain[place], ()):
            if plain[place : place + len(phrase)] == phrase:
                yield place, place + len(phrase)
                place += len(phrase) - 1
                break
        place += 1
