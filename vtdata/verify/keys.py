r"""The canonical key of an answer: the same text for answers that are certainly the same.

Two keys that differ say "not the same" only where both are *exact* and of one sort: two rational
numbers, or two polynomials in the same kind of atoms. All else is left to ``compare``.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from fractions import Fraction

from vtdata.verify.algebra.tree import Node, Rational
from vtdata.verify.cascade import formed
from vtdata.verify.normal import CACHED_CHARS, normal
from vtdata.verify.reading.read import read
from vtdata.verify.reading.units import DEGREE, PERCENT, scaled
from vtdata.verify.reading.values import (
    Based,
    Group,
    Matrix,
    Named,
    Ratio,
    Reals,
    Scalar,
    Value,
    Words,
)

_NUMBER = re.compile(
    r"(?:\\\(|\$)?(-?)(?:([0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,5})(?:\.([0-9]{0,15}))?"
    r"|\\[dt]?frac\{(-?[0-9]{1,15})\}\{([0-9]{1,15})\}|([0-9]{1,15})/([0-9]{1,15}))(?:\\\)|\$)?"
)
"""Most answers of a vote: read without the way through tokens and trees, to the same key."""
INTEGER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Key:
    """A canonical text, and what a different one means."""

    text: str
    sort: str = ""
    """Two keys of one sort that differ are different answers; empty where they may not be."""


def key_of(answer: str) -> Key | None:
    r"""Return the key of an answer; None where nothing is left of it.

    >>> key_of("0.50"), key_of(r"\sqrt{12}").text == key_of(r"2\sqrt3").text
    (Key(text='number 1/2', sort='number'), True)
    """
    if (match := _NUMBER.fullmatch(answer)) is not None:
        value = _read_number(match)
        if value is not None:
            return Key(f"number {value.numerator:x}/{value.denominator:x}", "number")
    return _cached(answer) if len(answer) <= CACHED_CHARS else _key(answer)


def _read_number(match: re.Match[str]) -> Rational | None:
    """The value of a plain number; None for a division by zero."""
    sign, digits, decimals, top, bottom, left, right = match.groups()
    if digits is None:
        numerator, denominator = int(top or left), int(bottom or right)
        if not denominator:
            return None
        return Fraction(-numerator if sign else numerator, denominator)
    whole = int(digits.replace(",", "") + (decimals or ""))
    whole = -whole if sign else whole
    return Fraction(whole, 10 ** len(decimals)) if decimals else whole


def settled(a: Key, b: Key) -> bool:
    """Whether the keys alone show that two answers differ."""
    return bool(a.sort) and a.sort == b.sort and a.text != b.text


def _key(answer: str) -> Key | None:
    text = normal(answer)
    if not text:
        return None
    return _of(read(answer)) or Key(f"text {text}")


_cached = functools.lru_cache(maxsize=16_384)(_key)


def _of(value: Value) -> Key | None:
    if isinstance(value, Scalar):
        return _scalar(value)
    if isinstance(value, Words):
        return Key(f"text {value.text}")
    if isinstance(value, Group):
        return _group(value)
    if isinstance(value, Based):
        return Key(f"base {value.base} {value.digits}")
    if isinstance(value, Named):
        inner = _of(value.value)
        return None if inner is None else Key(f"named {value.name} {inner.text}")
    if isinstance(value, Reals):
        return _reals(value)
    if isinstance(value, Matrix):
        rows = [[_of(cell) for cell in row] for row in value.rows]
        return _joined("matrix", rows)
    if isinstance(value, Ratio):
        return Key(f"ratio {value.text}")
    return None


def _scalar(value: Scalar) -> Key | None:
    if value.unit is None:
        return _node(value.node)
    if value.unit == PERCENT:
        key = _node(value.node)
        return None if key is None else Key(f"{key.text} percent")
    inner = _node(
        value.node if value.unit.label or value.unit == DEGREE else scaled(value.node, value.unit)
    )
    if inner is None:
        return None
    return Key(f"{inner.text} in {value.unit.label or value.unit.dims}")


def _node(node: Node) -> Key | None:
    form = formed(node)
    if form is None:
        return None
    if form.value is not None:
        return Key(f"number {form.text()}", "number")
    return Key(f"form {form.text()}")


def _group(value: Group) -> Key | None:
    keys = [_of(item) for item in value.items]
    if value.shape in ("set", "list"):
        keys.sort(key=lambda key: "" if key is None else key.text)
    return _joined(value.shape, [keys])


def _reals(value: Reals) -> Key | None:
    ends = []
    for span in value.spans:
        for node, closed in ((span.low, span.low_closed), (span.high, span.high_closed)):
            form = formed(node)
            text = form.text() if form is not None else repr(node)
            ends.append(Key(f"{text}{'.' if closed else ''}"))
    return _joined(f"reals {value.name or ''}", [ends])


def _joined(name: str, rows: list[list[Key | None]]) -> Key | None:
    texts = []
    for row in rows:
        if any(key is None for key in row):
            return None
        texts.append(", ".join(key.text for key in row if key is not None))
    return Key(f"{name} [{'; '.join(texts)}]")
