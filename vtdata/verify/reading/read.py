r"""From an answer's text to its value.

What is not certain is not guessed: a text that is no mathematics is ``Words``, mathematics that
isn't read here is ``Foreign``; neither is guessed at.
"""

from __future__ import annotations

import functools
import re

from vtdata.verify.algebra.form import formed
from vtdata.verify.algebra.parse import parse
from vtdata.verify.algebra.tokens import ProseError, UnreadableError, is_prose
from vtdata.verify.algebra.tree import Node, has, minus, num, signed
from vtdata.verify.normal import CACHED_CHARS, MAX_CHARS, normal
from vtdata.verify.reading import words
from vtdata.verify.reading.based import based
from vtdata.verify.reading.matrix import matrix
from vtdata.verify.reading.plain import plain_number
from vtdata.verify.reading.quantity import quantity
from vtdata.verify.reading.relation import congruence, is_relation, relation
from vtdata.verify.reading.split import enclosed, items
from vtdata.verify.reading.union import is_union, join, meet, union
from vtdata.verify.reading.values import (
    EMPTY,
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
    r"|(?:there\s+(?:are|is)|it\s+is|we\s+(?:get|have|find))(?=\s)"
    r"|(?:最终|最后|正确)?(?:答案|结果|解)(?:是|为|为:|:)|答:)\s*",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:\\approx|about|approximately|approx\.?|roughly|约为?|大约)\s*", re.IGNORECASE
)
_SPELLED = (
    (re.compile(r"(?<=[0-9A-Za-z]) ?等于 ?(?=[-0-9A-Za-z\\])"), "="),
    (re.compile(r"\)U\("), r")\\cup("),
    (re.compile(r"^\]([^\[\]]+,[^\[\]]+)\[$"), r"(\1)"),
    (re.compile(r"^\]([^\[\]]+,[^\[\]]+)\]$"), r"(\1]"),
    (re.compile(r"^\[([^\[\]]+,[^\[\]]+)\[$"), r"[\1)"),
    (re.compile(r"^([0-9]+) and ([0-9]+/[0-9]+)$"), r"\1 \2"),
    (re.compile(r"^([0-9]+) to ([0-9]+)$"), r"\1:\2"),
)
"""What people write for a mark."""
_THOUSANDS = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?!,[0-9])")
_SPACED = re.compile(r"(?<![0-9.])[0-9]{1,3}(?: [0-9]{3})+(?![0-9/ ])")
_CLOCK = re.compile(r"(?P<time>[0-9]{1,2}(?::[0-9]{2}){1,2}) ?(?P<half>[aApP])\.?[mM]\.?")
_RATIO = re.compile(r"[^:=<>]+(?::[^:=<>]+)+")
_QUANTIFIER = re.compile(
    r"[,;(]?\s*(?:where|for|with|其中)?\s*(?P<name>[a-zA-Z])\s*\\in\s*"
    r"\\mathbb\{(?P<set>[ZR])\}\)?$"
)
_STRUCTURE = re.compile(
    r"[,;=<>:_|&]|0x|(?<![\\A-Za-z])[A-Za-z]{2}|[\u4e00-\u9fff]|[0-9] [0-9]"
    r"|\\(?:in|cup|setminus|backslash|[lgn]eq|approx|equiv|pmod|parallel|perp|cong|sim|lor|vee|land"
    r"|wedge|begin|emptyset|mathbb|\{)(?![A-Za-z])"
)
"""What an answer has that is more than one expression."""
_OR = re.compile(r"(?<![A-Za-z\\])or(?![A-Za-z])|\\(?:lor|vee)(?![A-Za-z])|或")
_LABELED = re.compile(
    r"(?:(?P<letter>[A-Z])\s*[.):]|\((?P<point>[A-Z])\)[.:]?)\s*(?![-+*/=<>(]|\\(?:times|cdot|div|pm|[lg]eq|neq)|to\b|or\b|以)(?P<text>[^^_].*)",
    re.DOTALL,
)
_TITLED = re.compile(r"(?P<name>[A-Za-z][A-Za-z ]{2,30}):\s*(?P<text>.+)", re.DOTALL)
_POINT = re.compile(r"(?P<name>[ABD-Z])(?P<text>\([^()]+,[^()]+\))")
_OPEN, _CLOSED = frozenset({"(", "]"}), frozenset({"[", "]"})
_ESCAPED_BRACES = (r"\{", r"\}")


def read(answer: str) -> Value:
    """Return the value of an answer; never raises."""
    return _cached(answer) if len(answer) <= CACHED_CHARS else _read(answer)


def _read(answer: str) -> Value:
    if len(answer) > MAX_CHARS:
        return Foreign(answer.strip())
    try:
        return value_of(_unprefixed(normal(answer)))
    except RecursionError:  # brackets within brackets: our depth is not the interpreter's
        return Foreign(normal(answer))


_cached = functools.lru_cache(maxsize=8_192)(_read)


def _unprefixed(text: str) -> str:
    match = _PREFIX.match(text)
    text = text[match.end() :] if match and match.end() < len(text) else text
    for pattern, mark in _SPELLED:
        text = pattern.sub(mark, text)
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
    if (found := based(bare)) is not None:
        return found
    return _structured(bare, depth)


def _structured(text: str, depth: int) -> Value:
    """Environments, lists, unions, relations; whatever is more than one expression."""

    def inner(part: str) -> Value:
        return value_of(part, depth + 1)

    if r"\begin" in text:
        found = matrix(text, inner)
        if found is not None or not is_relation(text):
            return found or Foreign(text)
    if not any(char in text for char in "([{"):
        text = _SPACED.sub(_joined, _THOUSANDS.sub(_joined, text))
    parts = items(text)
    if len(parts) > 1:
        return _listed(parts, text, depth)
    if ("pmod" in text or "(mod" in text) and not is_relation(text):
        return congruence("", text) or Foreign(text)
    if is_union(text):
        return union(text, inner) or Foreign(text)
    return relation(text, inner) if is_relation(text) else _single(text, depth)


def _joined(match: re.Match[str]) -> str:
    return match.group().replace(",", "").replace(" ", "")


def grouped(answer: str) -> Value | None:
    """The other reading of ``100,200``: two numbers. None where there is no other."""
    text = normal(answer)
    if not _THOUSANDS.search(text) or any(char in text for char in "([{"):
        return None
    parts = items(text)
    if len(parts) > MAX_ITEMS or any(part[0] == "0" and len(part) > 1 for part in parts):
        return None
    return _listed(parts, text, 0)


def _quantified(text: str) -> str:
    """The text without ", k in Z" behind it, and with k for whatever name ran through Z."""
    match = _QUANTIFIER.search(text) if r"\in" in text else None
    if match is None or not match.start():
        return text
    before, name = text[: match.start()].rstrip(" ,;("), match["name"]
    uses = re.compile(rf"(?<![A-Za-z\\]){name}(?![A-Za-z])")
    ruled = re.search(rf"(?<![A-Za-z\\]){name} ?(?:[<>=]|\\(?:leq|geq|neq|in))", before)
    if ruled is not None or uses.search(before) is None:
        return text
    return uses.sub("k", before) if match["set"] == "Z" else before


def _phrase(text: str) -> Value | None:
    """What is said in words, or in one symbol for a set."""
    if text in (r"\emptyset", r"\{\}", "Ø"):
        return EMPTY
    if text in (r"\mathbb{R}", r"\R", r"\mathbb R"):
        return _line()
    if text[:1] == "\\" or text[:1].isdigit() or len(text) > 40:
        return None
    plain = words.plain(text)
    if plain in ("yes", "no", "true", "false"):
        return Words(plain)
    if plain in words.NOTHING:
        return EMPTY
    if plain in words.REALS and len(plain) > 1:
        return _line()
    if plain in words.INFINITE:
        return Scalar(("k", "oo"))
    number = words.number_word(plain)
    return None if number is None else Scalar(num(number))


def _line() -> Reals:
    infinity: Node = ("k", "oo")
    return Reals((Span(minus(infinity), False, infinity, False),))  # noqa: FBT003


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
    return _shared_name(values, text)


def _either(values: list[Value], text: str) -> Value:
    """``x<1 or x>3`` is a union, and ``x>1 and x<3`` an intersection, which is left to others."""
    found = [value for value in values if isinstance(value, Reals)]
    names = {value.name for value in found}
    if len(names) > 1:
        return Group("list", tuple(values))
    if re.search(r"and|且|\\land|\\wedge", text):
        return meet(found) or Foreign(text)
    if "or" not in text and "或" not in text and r"\lor" not in text and r"\vee" not in text:
        if None in names:
            return Group("list", tuple(values))
        return Foreign(text)
    return join(found) or Group("list", tuple(values))


def _shared_name(values: list[Value], text: str) -> Value:
    """``n=2,3,4`` and ``a=1 or a=-2`` are one name with several values."""
    first = values[0]
    shape = "either" if _OR.search(text) else "list"
    spread: list[Value] = []
    for value in values:
        if isinstance(value, Scalar):
            spread += [Scalar(node, value.unit) for node in signed(value.node)]
        else:
            spread.append(value)
    if isinstance(first, Named):
        if all(isinstance(value, Named) and value.name == first.name for value in values):
            inner = [value.value for value in values if isinstance(value, Named)]
            return Named(first.name, _list(inner, shape))
        if all(isinstance(value, Scalar) for value in values[1:]):
            return Named(first.name, _list([first.value, *values[1:]], shape))
    return _list(spread, shape)


def _list(values: list[Value], shape: str) -> Value:
    flat: list[Value] = []
    for value in values:
        several = isinstance(value, Group) and value.shape in ("list", "either")
        flat += value.items if isinstance(value, Group) and several else [value]
    return Group(shape, tuple(flat))


def _single(text: str, depth: int) -> Value:
    found = enclosed(text)
    if found is not None and (value := _bracketed(*found, depth)) is not None:
        return value
    named = _titled(text, depth)
    if named is not None:
        return named
    if ":" in text and _RATIO.fullmatch(text) and (ratio := _ratio(text)) is not None:
        return ratio
    return scalar(text)


def _titled(text: str, depth: int) -> Named | None:
    """``(B) 12``, ``B. 42``, ``Answer: 12`` and the point ``P(1,2)``: a name, and a value."""
    for pattern in (_LABELED, _TITLED, _POINT):
        match = pattern.fullmatch(text)
        if match is not None:
            groups = match.groupdict()
            letter = groups.get("letter") or groups.get("point")
            return Named(
                f"{letter}." if letter else groups["name"], value_of(match["text"], depth + 1)
            )
    return None


def _bracketed(opener: str, inside: str, closer: str, depth: int) -> Value | None:
    """Several answers in brackets; None where the brackets only group."""
    if (opener, closer) == _ESCAPED_BRACES:
        built = re.fullmatch(r"(?P<head>[^|:]*?)(?:\||:)(?P<rule>.+)", inside)
        if built is not None and is_relation(built["rule"]):
            head = re.fullmatch(r"[A-Za-z](?:\\in ?\\mathbb\{R\})?", built["head"].strip())
            return value_of(built["rule"], depth + 1) if head else Foreign(f"{{{inside}}}")
        parts = items(inside)
        if len(parts) > MAX_ITEMS:
            return Foreign(inside)
        return Group("set", tuple(value_of(part, depth + 1) for part in parts))
    parts = items(inside)
    if len(parts) > MAX_ITEMS:
        return Words(inside)
    if len(parts) < 2:
        return value_of(inside, depth + 1) if opener == "(" and closer == ")" else None
    values = tuple(value_of(part, depth + 1) for part in parts)
    if opener == "{":
        return Group("set", values)
    values, several = _independent(values)
    if several:
        shape = {"()": "tuple", "[]": "bracket"}.get(opener + closer)
        return Group("either", tuple(Group(shape, row) for row in several)) if shape else None
    if {opener, closer} <= {"(", ")", "[", "]"}:
        shape = {"()": "tuple", "[]": "bracket"}.get(opener + closer)
        infinite = any(isinstance(v, Scalar) and is_infinite(v.node) for v in values)
        if len(values) == 2 and (shape is None or infinite):
            return span(values, opener, closer)
        return Group(shape, values) if shape else None
    return Group("tuple", values) if opener == r"\langle" else None


def _independent(values: tuple[Value, ...]) -> tuple[tuple[Value, ...], list[tuple[Value, ...]]]:
    r"""``(\pm 1, 2)``: both tuples, where one member alone has a sign that is open."""
    several = [i for i, v in enumerate(values) if isinstance(v, Group) and v.shape == "either"]
    if len(several) != 1:
        return values, []
    at = several[0]
    choices = values[at]
    assert isinstance(choices, Group)
    return values, [(*values[:at], choice, *values[at + 1 :]) for choice in choices.items]


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
        if has(node, "s", "ldots") and node != ("s", "ldots"):
            return Foreign(text)  # 1+2+...+n
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
    if prose or not re.search(r"\\|[0-9^_=+]", text):
        return Words(words.plain(text))
    return Foreign(text)


def _signed(value: Scalar | None) -> Value:
    if value is None:
        return Words("")
    nodes = signed(value.node)
    if len(nodes) == 1:
        return value
    if formed(nodes[0]) == formed(nodes[1]) is not None:
        return Scalar(nodes[0], value.unit)
    return Group("either", tuple(Scalar(node, value.unit) for node in nodes))


__all__ = ["grouped", "is_infinite", "read", "scalar", "span", "value_of"]
