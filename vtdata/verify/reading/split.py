"""Text cut at its top level: outside all brackets and environments."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BRACKETS = re.compile(
    r"\\begin\{[a-z*]+\}|\\end\{[a-z*]+\}|\\[{}]|\\l(?:angle|floor|ceil)(?![a-z])"
    r"|\\r(?:angle|floor|ceil)(?![a-z])|[(){}\[\]]"
)
_OPENERS = frozenset({"(", "[", "{", r"\{", r"\langle", r"\lfloor", r"\lceil"})
_SEPARATOR = re.compile(
    r"[,;&]|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])|\\(?:lor|vee|land|wedge)(?![A-Za-z])|[或和及与且]"
)


def depths(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, depth) of the stretches between brackets; a bracket is in no stretch."""
    depth = at = 0
    for match in _BRACKETS.finditer(text):
        yield at, match.start(), depth
        token = match.group()
        depth += 1 if token in _OPENERS or token.startswith(r"\begin") else -1
        at = match.end()
    yield at, len(text), depth


def cut(text: str, pattern: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Return the parts between top-level matches of ``pattern``, and the matches.

    >>> cut("(1,2),3", re.compile(","))
    (['(1,2)', '3'], [','])
    """
    if _BRACKETS.search(text) is None:
        return [part.strip() for part in pattern.split(text)], pattern.findall(text)
    parts, marks, last = [], [], 0
    for start, end, depth in depths(text):
        if depth:
            continue
        for match in pattern.finditer(text, start, end):
            parts.append(text[last : match.start()].strip())
            marks.append(match.group())
            last = match.end()
    parts.append(text[last:].strip())
    return parts, marks


def items(text: str) -> list[str]:
    """The members of a list that is joined by commas, semicolons, and, or.

    >>> items("19,46,and 82"), items("x=1 or x=2")
    (['19', '46', '82'], ['x=1', 'x=2'])
    """
    return [part for part in cut(text, _SEPARATOR)[0] if part]


def enclosed(text: str) -> tuple[str, str, str] | None:
    r"""Return (opener, inside, closer) where one pair of brackets holds the whole text.

    >>> enclosed(r"\{1,2\}"), enclosed("(1,2]"), enclosed("(1)(2)")
    (('\\{', '1,2', '\\}'), ('(', '1,2', ']'), None)
    """
    first = _BRACKETS.match(text)
    if first is None or first.group() not in _OPENERS:
        return None
    depth = 0
    for match in _BRACKETS.finditer(text):
        token = match.group()
        depth += 1 if token in _OPENERS or token.startswith(r"\begin") else -1
        if depth == 0:
            if match.end() != len(text):
                return None
            return first.group(), text[first.end() : match.start()].strip(), token
    return None
