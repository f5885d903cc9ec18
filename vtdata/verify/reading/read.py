r"""From an answer's text to its value.

What is not certain is not guessed: a text that is no mathematics is ``Words``, mathematics that
isn't read here is ``Foreign``, and both are left to later stages.
"""

from __future__ import annotations

import functools
import re

from vtdata.verify.algebra.parse import parse
from vtdata.verify.algebra.tokens import ProseError, UnreadableError, is_prose
from vtdata.verify.algebra.tree import Node, minus, num, signed
from vtdata.verify.normal import CACHED_CHARS, MAX_CHARS, normal
from vtdata.verify.reading import words
from vtdata.verify.reading.matrix import matrix
from vtdata.verify.reading.plain import plain_number
from vtdata.verify.reading.quantity import quantity
from vtdata.verify.reading.relation import is_relation, relation
from vtdata.verify.reading.split import enclosed, items
from vtdata.verify.reading.union import is_union, union
from vtdata.verify.reading.values import (
    EMPTY,
    Based,
    Foreign,
    Group,
    Named,
    Ratio,
    Reals,
    Scalar,
    Span,
    Value,
    Words,
)

MAX_ITEMS = 64
"""Longer lists are compared as text (ours)."""
_MAX_NESTING = 8
_PREFIX = re.compile(
    r"(?:(?:so|thus|hence|therefore|then)?,?\s*(?:the\s+)?(?:final\s+|correct\s+)?"
    r"(?:answers?|ans|solutions?|result|value)\s*(?:is|are|:|=)\s*:?"
    r"|(?:最终|最后|正确)?(?:答案|结果|解)(?:是|为|为:|:)|答:)\s*",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:\\approx|about|approximately|approx\.?|roughly|约为?|大约)\s*", re.IGNORECASE
)
_THOUSANDS = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?!,[0-9])")
_SPACED = re.compile(r"(?<![0-9.])[0-9]{1,3}(?: [0-9]{3})+(?![0-9/ ])")
_BASED = re.compile(
    r"\(?(?P<digits>[0-9A-Fa-f]+)\)?(?:_\{?\(?(?P<base>[0-9]{1,2})\)?\}?"
    r"|(?:_\{?|\s+)(?:base|in base)\s*(?P<word>[0-9]{1,2})\}?)"
)
_CLOCK = re.compile(r"(?P<time>[0-9]{1,2}(?::[0-9]{2}){1,2}) ?(?P<half>[aApP])\.?[mM]\.?")
_RATIO = re.compile(r"[^:=<>]+(?::[^:=<>]+)+")
_QUANTIFIER = re.compile(
    r"[,;(]?\s*(?:where|for|with|其中)?\s*(?P<name>[a-zA-Z])\s*\\in\s*"
    r"\\(?:mathbb|mathbf|mathrm|Bbb)?\s*\{?\\?(?P<set>[ZNR])\}?(?:\^?[+*]|_\+)?\)?$"
)
_STRUCTURE = re.compile(
    r"[,;=<>:_|]|(?<![\\A-Za-z])[A-Za-z]{2}|[\u4e00-\u9fff]|[0-9] [0-9]"
    r"|\\(?:in|cup|setminus|backslash|[lgn]eq|approx|equiv|parallel|perp|cong|sim|lor|vee|land"
    r"|wedge|begin|emptyset|mathbb|\{)(?![A-Za-z])"
)
"""What an answer has that is more than one expression."""
_LABELED = re.compile(r"\(?(?P<letter>[A-Z])\)?\s*(?:[.):])\s*(?P<text>.+)", re.DOTALL)
_OPEN, _CLOSED = frozenset({"(", "]"}), frozenset({"[", "]"})
_ESCAPED_BRACES = (r"\{", r"\}")


def read(answer: str) -> Value:
    """Return the value of an answer; never raises."""
    return _cached(answer) if len(answer) <= CACHED_CHARS else _read(answer)


def _read(answer: str) -> Value:
    if len(answer) > MAX_CHARS:
        return Words(answer.strip())
    try:
        return value_of(_unprefixed(normal(answer)))
    except RecursionError:  # brackets within brackets: our depth is not the interpreter's
        return Foreign(normal(answer))


_cached = functools.lru_cache(maxsize=8_192)(_read)


def _unprefixed(text: str) -> str:
    match = _PREFIX.match(text)
    text = text[match.end() :] if match and match.end() < len(text) else text
    match = _ABOUT.match(text)
    return text[match.end() :] if match and match.end() < len(text) else text


def value_of(text: str, depth: int = 0) -> Value:
    """Read a text in the spelling of ``normal``; brackets deeper than eight are Foreign."""
    if depth > _MAX_NESTING:
        return Foreign(text)
    if (number := plain_number(text)) is not None and not (depth and "," in text):
        return Scalar(("n", number))
    if not _STRUCTURE.search(text):
        return _single(text, depth)
    bare = _quantified(text)
    known = _phrase(bare)
    if known is not None:
        return known
    if bare.isalpha() and bare.isascii() and is_prose(bare):
        return Words(words.plain(bare))
    if (based := _BASED.fullmatch(bare)) and (found := _based(based)) is not None:
        return found
    if r"\begin" in bare:
        return matrix(bare, lambda part: value_of(part, depth + 1))
    if not any(char in bare for char in "([{"):
        bare = _SPACED.sub(_joined, _THOUSANDS.sub(_joined, bare))
    parts = items(bare)
    if len(parts) > 1:
        return _listed(parts, bare, depth)
    if is_union(bare):
        return union(bare, lambda part: value_of(part, depth + 1)) or Foreign(bare)
    if is_relation(bare):
        return relation(bare, lambda part: value_of(part, depth + 1))
    return _single(bare, depth)


def _joined(match: re.Match[str]) -> str:
    return match.group().replace(",", "").replace(" ", "")


def grouped(answer: str) -> Value | None:
    """The other reading of ``100,200``: two numbers. None where there is no other."""
    text = normal(answer)
    if not _THOUSANDS.search(text) or any(char in text for char in "([{"):
        return None
    parts = items(text)
    return _listed(parts, text, 0) if len(parts) <= MAX_ITEMS else None


def _quantified(text: str) -> str:
    """The text without ", k in Z" behind it."""
    match = _QUANTIFIER.search(text) if r"\in" in text else None
    if match is None or not match.start():
        return text
    return text[: match.start()].rstrip(" ,;(") if match["name"] in text[: match.start()] else text


def _phrase(text: str) -> Value | None:
    """What is said in words, or in one symbol for a set."""
    if text in (r"\emptyset", r"\varnothing", r"\{\}", "Ø", r"\phi"):
        return EMPTY
    if text in (r"\mathbb{R}", r"\R", r"\mathbb R"):
        return _line()
    if text[:1] == "\\" or text[:1].isdigit() or len(text) > 40:
        return None
    plain = words.plain(text)
    if plain in words.NOTHING:
        return EMPTY
    if plain in words.REALS and len(plain) > 1:
        return _line()
    number = words.number_word(plain)
    return None if number is None else Scalar(num(number))


def _line() -> Reals:
    infinity: Node = ("k", "oo")
    return Reals((Span(minus(infinity), False, infinity, False),))  # noqa: FBT003


def _based(match: re.Match[str]) -> Based | None:
    base = int(match["base"] or match["word"])
    digits = match["digits"].lstrip("0").upper() or "0"
    if not 2 <= base <= 36 or len(digits) > 400:
        return None
    if any(int(digit, 36) >= base for digit in digits):
        return None
    return Based(digits, base)


def _listed(parts: list[str], text: str, depth: int) -> Value:
    if len(parts) > MAX_ITEMS:
        return Words(text)
    values = [value_of(part, depth + 1) for part in parts]
    if all(isinstance(value, Reals) for value in values):
        return _either(values, text)
    if any(isinstance(value, (Words, Foreign)) for value in values):
        # A sentence with a comma is not a list of its halves.
        atoms = [v for v in values if isinstance(v, Words) and words.is_atomic(v.text)]
        others = [v for v in values if isinstance(v, (Words, Foreign))]
        if len(atoms) < len(others):
            return Words(words.plain(text))
    return _shared_name(values)


def _either(values: list[Value], text: str) -> Value:
    """``x<1 or x>3`` is a union, and ``x>1 and x<3`` an intersection, which is left to others."""
    from vtdata.verify.reading.union import join

    found = [value for value in values if isinstance(value, Reals)]
    names = {value.name for value in found}
    if len(names) > 1:
        return Group("list", tuple(values))
    if re.search(r"and|且|\\land|\\wedge", text):
        return Foreign(text)
    if "or" not in text and "或" not in text and r"\lor" not in text and r"\vee" not in text:
        if None in names:
            return Group("list", tuple(values))
        return Foreign(text)
    return join(found) or Group("list", tuple(values))


def _shared_name(values: list[Value]) -> Value:
    """``n=2,3,4`` and ``a=1 or a=-2`` are one name with several values."""
    first = values[0]
    spread: list[Value] = []
    for value in values:
        if isinstance(value, Scalar):
            spread += [Scalar(node, value.unit) for node in signed(value.node)]
        else:
            spread.append(value)
    if isinstance(first, Named):
        if all(isinstance(value, Named) and value.name == first.name for value in values):
            inner = [value.value for value in values if isinstance(value, Named)]
            return Named(first.name, _list(inner))
        if all(isinstance(value, Scalar) for value in values[1:]):
            return Named(first.name, _list([first.value, *values[1:]]))
    return _list(spread)


def _list(values: list[Value]) -> Value:
    flat: list[Value] = []
    for value in values:
        flat += value.items if isinstance(value, Group) and value.shape == "list" else [value]
    return Group("list", tuple(flat))


def _single(text: str, depth: int) -> Value:
    found = enclosed(text)
    if found is not None and (value := _bracketed(*found, depth)) is not None:
        return value
    if ":" in text and _RATIO.fullmatch(text) and (ratio := _ratio(text)) is not None:
        return ratio
    return scalar(text)


def _bracketed(opener: str, inside: str, closer: str, depth: int) -> Value | None:
    """Several answers in brackets; None where the brackets only group."""
    if (opener, closer) == _ESCAPED_BRACES:
        built = re.match(r"[^|:]*?(?:\\mid|\||:)(?P<rule>.+)", inside)
        if built is not None and is_relation(built["rule"]):
            return value_of(built["rule"], depth + 1)
        parts = items(inside)
        return Group("set", tuple(value_of(part, depth + 1) for part in parts[:MAX_ITEMS]))
    parts = items(inside)
    if len(parts) > MAX_ITEMS:
        return Words(inside)
    if len(parts) < 2:
        return value_of(inside, depth + 1) if opener == "(" and closer == ")" else None
    values = tuple(value_of(part, depth + 1) for part in parts)
    if {opener, closer} <= {"(", ")", "[", "]"}:
        shape = {"()": "tuple", "[]": "bracket"}.get(opener + closer)
        infinite = any(isinstance(v, Scalar) and is_infinite(v.node) for v in values)
        if len(values) == 2 and (shape is None or infinite):
            return span(values, opener, closer)
        return Group(shape, values) if shape else None
    return Group("tuple", values) if opener == r"\langle" else None


def span(values: tuple[Value, ...], opener: str, closer: str) -> Reals | None:
    """The interval between two scalars."""
    low, high = values
    if not isinstance(low, Scalar) or not isinstance(high, Scalar):
        return None
    return Reals((Span(low.node, opener == "[", high.node, closer == "]"),))


def is_infinite(node: Node) -> bool:
    """Whether a node is infinity, of either sign."""
    return node in (("k", "oo"), minus(("k", "oo")))


def _ratio(text: str) -> Ratio | None:
    clock = _CLOCK.fullmatch(text)
    half = f" {clock['half'].lower()}m" if clock else ""
    text = clock["time"] if clock else text
    try:
        return Ratio(tuple(parse(part) for part in text.split(":")), text + half)
    except UnreadableError:
        return None


def scalar(text: str) -> Value:
    r"""Read an expression with or without its unit; Words or Foreign where it is none."""
    prose = False
    try:
        node = parse(text)
    except ProseError:
        prose = True
    except UnreadableError:
        pass
    else:
        found = quantity(text, node)
        return _signed(found) if r"\pm" in text or r"\mp" in text else found or Words("")
    found = quantity(text, None)
    if found is not None:
        return _signed(found)
    labeled = _LABELED.fullmatch(text)
    if labeled is not None:
        return Named(f"{labeled['letter']}.", scalar(labeled["text"]))
    if prose or not re.search(r"\\|[0-9^_=+]", text):
        return Words(words.plain(text))
    return Foreign(text)


def _signed(value: Scalar | None) -> Value:
    if value is None:
        return Words("")
    nodes = signed(value.node)
    if len(nodes) == 1:
        return value
    return Group("list", tuple(Scalar(node, value.unit) for node in nodes))


__all__ = ["grouped", "is_infinite", "read", "scalar", "span", "value_of"]
