"""What was found before, by the text it was found in."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

ROOM = 200
"""Bytes that an entry takes beside its key, about. Ours."""


class Memo:
    """Results by key, up to so many bytes of keys; then it begins anew.

    Safe for threads: a result depends on its key alone, so whoever comes second writes the same.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._found: dict[bytes, Any] = {}

    def get(self, key: bytes) -> Any | None:
        """What was kept, or None."""
        return self._found.get(key)

    def keep(self, key: bytes, found: Sized) -> None:
        """Remember a result; not None."""
        if self._size > self._limit:
            self._found, self._size = {}, 0
        self._found[key] = found
        self._size += len(key) + ROOM * (1 + len(found))
