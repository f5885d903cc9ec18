"""LiveCodeBench's private tests: JSON, or base64 of zlib of a pickle of its text."""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib
from typing import Any

from vtdata.errors import DataError
from vtdata.verify.code.values import bad, loads

MAX_BYTES = 512 << 20
"""Most bytes that a row's tests may unfold to (ours): a few kilobytes can unfold to any number."""
_TEXT = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE")
_AROUND = ("PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP")


def private_tests(value: Any) -> list[Any]:
    """Return the list of tests that a column holds; None is an empty one.

    Raises:
        DataError: ``bad_tests``; it is neither form, is too large or pickles anything but a text.
    """
    if isinstance(value, str):
        packed = value[:1] not in "[{" and bool(value.strip())
        value = loads(
            unpickled(_inflated(value)) if packed else value or "[]", "private_test_cases"
        )
    if value is None:
        return []
    if not isinstance(value, list):
        raise bad(f"private_test_cases is {type(value).__name__}, need a list")
    return value


def _inflated(text: str, limit: int = MAX_BYTES) -> bytes:
    try:
        unpacker = zlib.decompressobj()
        found = unpacker.decompress(base64.b64decode(text, validate=True), limit)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise bad(f"private_test_cases: neither JSON nor base64 of zlib: {error}") from error
    if unpacker.unconsumed_tail:
        raise bad(f"private_test_cases: unfolds to more than {limit} bytes")
    if not unpacker.eof:
        raise bad("private_test_cases: cut short")
    return found


def unpickled(data: bytes) -> str:
    r"""Return the text that a pickle holds, reading its operations instead of doing them.

    A pickle can call anything; this one may hold one text and no other operation.

    Raises:
        DataError: ``bad_tests``; it holds anything else.

    >>> import pickle
    >>> unpickled(pickle.dumps("[]"))
    '[]'
    """
    found: list[str] = []
    try:
        for operation, argument, _ in pickletools.genops(data):
            if operation.name in _TEXT and isinstance(argument, str):
                found.append(argument)
            elif operation.name not in _AROUND:
                raise bad(f"private_test_cases: a pickle with {operation.name}, not of a text")
    except DataError:
        raise
    except ValueError as error:
        raise bad(f"private_test_cases: no pickle of a text: {error}") from error
    if len(found) != 1:
        raise bad(f"private_test_cases: a pickle of {len(found)} texts, need one")
    return found[0]
