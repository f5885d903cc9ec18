"""Whether what a program printed or returned is what was expected; plain data on both sides."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

from vtdata.verify.code.model import Order

TOLERANCE = 1e-6
"""Absolute and relative, where the expected number is written with a point or an exponent (the
usual bound of contests; ours)."""
_REAL = re.compile(rb"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_LONGEST = 400
"""Longer tokens are no numbers to be compared with a tolerance."""


def same_text(expected: bytes, found: bytes, order: Order = "kept") -> bool:
    r"""Compare outputs, from the strictest rule to the laxest.

    Equal bytes; equal lines without what is blank at their ends, and without blank lines at the
    end; equal tokens; tokens of which some are numbers that are close, where the expected one has
    a point or an exponent; where ``order`` is ``any``, the same lines in any order.

    Source: the rules of LiveCodeBench's, SandboxFusion's and Code-R1's graders compared; case
    counts (SandboxFusion ignores it), and whole numbers are compared exactly.

    >>> same_text(b"1 2\n3\n", b"1 2 \n3")
    True
    >>> same_text(b"0.3333333333", b"0.3333333333333333"), same_text(b"3", b"3.0000001")
    (True, False)
    >>> same_text(b"a\nb", b"b\na"), same_text(b"a\nb", b"b\na", "any")
    (False, True)
    """
    if expected == found or _lines(expected) == _lines(found):
        return True
    if _same_tokens(expected.split(), found.split()):
        return True
    return order == "any" and _bag(expected) == _bag(found)


def _lines(text: bytes) -> list[bytes]:
    return [line.rstrip() for line in text.rstrip().split(b"\n")]


def _bag(text: bytes) -> Counter[bytes]:
    return Counter(b" ".join(line.split()) for line in _lines(text))


def _same_tokens(expected: list[bytes], found: list[bytes]) -> bool:
    if len(expected) != len(found):
        return False
    return all(a == b or _close(a, b) for a, b in zip(expected, found, strict=True))


def _close(expected: bytes, found: bytes) -> bool:
    if max(len(expected), len(found)) > _LONGEST or not _REAL.fullmatch(expected):
        return False
    if not _NUMBER.fullmatch(found):
        return False
    return math.isclose(float(expected), float(found), rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def same_value(expected: Any, found: Any, order: Order = "kept") -> bool:
    """Compare results: types count, but for tuple and list, and for an int and an equal float.

    Numbers are close where a float is about; keys of an object that came from JSON are text, so a
    whole number among the keys found is as good as its digits.

    >>> same_value([1, 2.0], (1.0, 2)), same_value(True, 1), same_value(0.1 + 0.2, 0.3)
    (True, False, True)
    >>> same_value([[1], [2]], [[2], [1]]), same_value([[1], [2]], [[2], [1]], "any")
    (False, True)
    """
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        return _same_number(expected, found)
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        if len(expected) != len(found):
            return False
        if all(same_value(a, b) for a, b in zip(expected, found, strict=True)):
            return True
        return order == "any" and _same_bag(list(expected), list(found))
    if isinstance(expected, dict) and isinstance(found, dict):
        return _same_dict(expected, found)
    return type(expected) is type(found) and bool(expected == found)


def _same_number(expected: float, found: float) -> bool:
    if expected == found or (expected != expected and found != found):
        return True
    if isinstance(expected, int) or not math.isfinite(expected):
        return False
    try:
        return math.isclose(expected, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except OverflowError:  # an int beyond all floats
        return False


def _same_dict(expected: dict[Any, Any], found: dict[Any, Any]) -> bool:
    if all(isinstance(key, str) for key in expected):
        found = {str(k) if type(k) is int else k: value for k, value in found.items()}
    return expected.keys() == found.keys() and all(
        same_value(value, found[key]) for key, value in expected.items()
    )


def _same_bag(expected: list[Any], found: list[Any]) -> bool:
    """Whether each has its partner; few enough are left over for looking at all pairs."""
    for item in expected:
        partner = next((at for at, other in enumerate(found) if same_value(item, other)), None)
        if partner is None:
            return False
        del found[partner]
    return True
