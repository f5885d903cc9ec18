"""Plain numbers: most answers of a vote, read without the way through tokens and trees."""

from __future__ import annotations

import re
from fractions import Fraction

from vtdata.verify.algebra.tree import Rational, whole

_NUMBER = re.compile(
    r"(?:\\\(|\$)?(-?)(?:([0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,5})(?:\.([0-9]{0,15}))?"
    r"|\\[dt]?frac\{(-?[0-9]{1,15})\}\{([0-9]{1,15})\}|([0-9]{1,15})/([0-9]{1,15}))(?:\\\)|\$)?"
)


def plain_number(text: str) -> Rational | None:
    r"""Return the value of an integer, a decimal or a fraction of integers; None for all else.

    >>> plain_number("1,234.50"), plain_number(r"$-\frac{3}{6}$"), plain_number("1/0")
    (Fraction(2469, 2), Fraction(-1, 2), None)
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, digits, decimals, top, bottom, left, right = match.groups()
    if digits is None:
        numerator, denominator = int(top or left), int(bottom or right)
        if not denominator:
            return None
        return whole(Fraction(-numerator if sign else numerator, denominator))
    value = int(digits.replace(",", "") + (decimals or ""))
    value = -value if sign else value
    return whole(Fraction(value, 10 ** len(decimals))) if decimals else value
