r"""The canonical key of an answer: the same text for answers that are certainly the same.

Two keys that differ say "not the same" only where both are *exact* and of one sort: two rational
numbers, or two polynomials in the same kind of atoms. All else is left to ``compare``.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from vtdata.verify.algebra.form import NoFormError, form, formed
from vtdata.verify.algebra.poly import TooLargeError
from vtdata.verify.algebra.tree import Node, Rational
from vtdata.verify.normal import CACHED_CHARS, normal
from vtdata.verify.reading.plain import plain_number
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

_EXACT = {
    "number": ("exact", "exact pi", "exact e"),
    "exact": ("number", "exact pi", "exact e"),
    "exact pi": ("number", "exact"),
    "exact e": ("number", "exact"),
}
"""Sorts of exact forms, and which others they can be told from; nobody can tell pi from e."""


class Key(NamedTuple):
    """A canonical text, and what a different one means."""

    text: str
    sort: str = ""
    """Two keys of one sort that differ are different answers; empty where they may not be."""


def key_of(answer: str) -> Key | None:
    r"""Return the key of an answer; None where nothing is left of it.

    >>> key_of("0.50"), key_of(r"\sqrt{12}").text == key_of(r"2\sqrt3").text
    (Key(text='number 1/2', sort='number'), True)
    """
    if (value := plain_number(answer)) is not None:
        return _rational(value)
    return _cached(answer) if len(answer) <= CACHED_CHARS else _key(answer)


def key_of_value(value: Value) -> Key | None:
    """Return the key of an answer that was read already."""
    return _of(value)


def settled(a: Key, b: Key) -> bool:
    """Whether the keys alone show that two answers differ."""
    if not a.sort or not b.sort or a.text == b.text:
        return False
    return a.sort == b.sort or (a.sort in _EXACT and b.sort in _EXACT[a.sort])


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
    if node[0] == "n":
        return _rational(node[1])
    try:
        found = form(node)
    except (NoFormError, TooLargeError, ZeroDivisionError):
        return None
    if (value := found.value) is not None:
        return _rational(value)
    return Key(f"form {found.text()}", found.sort)


def _rational(value: Rational) -> Key:
    # Hexadecimal, since Python refuses to write more than 4,300 decimal digits.
    return Key(f"number {value.numerator:x}/{value.denominator:x}", "number")


def _group(value: Group) -> Key | None:
    keys = [_of(item) for item in value.items]
    if value.shape in ("set", "list", "either"):
        keys.sort(key=lambda key: "" if key is None else key.text)
    found = _joined(value.shape, [keys])
    if found is None or any(key is None or key.sort != "number" for key in keys):
        return found
    return Key(found.text, f"{value.shape} of {len(keys)}")


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
