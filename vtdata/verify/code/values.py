"""JSON and literals of data sets, read without running anything."""

from __future__ import annotations

import ast
import json
import warnings
from typing import Any

from vtdata.errors import DataError

_DIGITS = 4_000
"""Python reads so many digits at once (its limit is 4,300)."""
_MAX_DIGITS = 1_000_000


def bad(detail: str) -> DataError:
    """Tests that can't be read."""
    return DataError("bad_tests", detail)


def loads(text: str, name: str) -> Any:
    """Parse JSON with whole numbers of any length.

    Raises:
        DataError: ``bad_tests``; it is none.
    """
    try:
        return json.loads(text, parse_int=big_int)
    except (ValueError, RecursionError) as error:
        raise bad(f"{name}: no JSON ({error}) in {text[:60]!r}") from error


def value_of(text: Any) -> Any:
    """Read an argument or a result: JSON, or the Python literal that some sources write instead.

    >>> value_of("[1, 2]"), value_of("(1, 'a')"), value_of("true")
    ([1, 2], (1, 'a'), True)
    >>> value_of("it is text")
    'it is text'
    """
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text, parse_int=big_int)
    except RecursionError as error:
        raise bad(f"a value nested too deep: {text[:60]!r}") from error
    except ValueError:
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text


def big_int(digits: str) -> int:
    """Read a whole number beyond Python's limit of 4,300 digits.

    >>> big_int("1" + "0" * 5_000) == 10**5_000
    True
    """
    if len(digits) <= _DIGITS:
        return int(digits)
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    sign, digits = (-1, digits[1:]) if digits[0] == "-" else (1, digits)
    value = 0
    for at in range(0, len(digits), _DIGITS):
        chunk = digits[at : at + _DIGITS]
        value = value * 10 ** len(chunk) + int(chunk)
    return sign * value
