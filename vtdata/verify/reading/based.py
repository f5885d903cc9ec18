"""Digits in a base that is written out."""

from __future__ import annotations

import re

from vtdata.verify.reading import words
from vtdata.verify.reading.values import Based

_BASED = re.compile(
    r"\(?(?P<digits>[0-9A-F]*[0-9][0-9A-F]*|[A-F]{2,}(?=_\{?\(?16))\)?(?:_\{?\(?(?P<base>[0-9]{1,2})\)?\}?"
    r"|_\{? ?(?P<name>[a-z]+) ?\}?|(?:_\{?|\s+)(?:base|in base)\s*(?P<word>[0-9]{1,2})\}?)"
    r"|0x(?P<hex>[0-9A-Fa-f]+)"
)


def based(text: str) -> Based | None:
    """Read ``2516_8``, ``101_{two}`` or ``0x1F``; None where it is none of these.

    >>> based("101_2"), based("129_8"), based("F_{20}")
    (Based(digits='101', base=2), None, None)
    """
    match = _BASED.fullmatch(text)
    if match is None:
        return None
    named = words.number_word(match["name"]) if match["name"] else None
    base = 16 if match["hex"] else int(named or match["base"] or match["word"] or 0)
    digits = (match["digits"] or match["hex"]).lstrip("0").upper() or "0"
    if not 2 <= base <= 36 or len(digits) > 400:
        return None
    if any(int(digit, 36) >= base for digit in digits):
        return None
    return Based(digits, base)
