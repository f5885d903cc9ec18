"""What a scan returns: columns of numbers, one row for each hit, in order of (text, token)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Shorts:
    """Lines, or texts, that begin with a whole short item."""

    text: NDArray[np.int32]
    token: NDArray[np.int32]
    """The line's first token: its place among the text's."""
    start: NDArray[np.int64]
    """Bytes of raw UTF-8 in the text, from the first token's start to the last one's end."""
    end: NDArray[np.int64]
    short: NDArray[np.int32]
    ends_line: NDArray[np.bool_]
    """No further token stands on the line."""
    ends_text: NDArray[np.bool_]
    """No further token stands in the text."""

    def __len__(self) -> int:
        return len(self.text)

    @classmethod
    def of(cls, rows: NDArray[np.int64]) -> Self:
        """From rows of (text, token, start, end, short, ends_line, ends_text)."""
        ends_line, ends_text = rows[:, 5].astype(np.bool_), rows[:, 6].astype(np.bool_)
        return cls(*_places(rows), _int32(rows[:, 4]), ends_line, ends_text)


@dataclass(frozen=True, slots=True)
class Hits:
    """N-grams and short items that were found in some texts."""

    text: NDArray[np.int32]
    """The text's row."""
    token: NDArray[np.int32]
    """The n-gram's first token: its place among the text's."""
    start: NDArray[np.int64]
    """Bytes of raw UTF-8 in the text, from the first token's start to the last one's end."""
    end: NDArray[np.int64]
    gram: NDArray[np.int32]
    shorts: Shorts
    n_tokens: NDArray[np.int32]
    """Tokens of each text."""

    def __len__(self) -> int:
        return len(self.text)

    @classmethod
    def of(
        cls,
        grams: NDArray[np.int64],
        shorts: NDArray[np.int64],
        n_tokens: NDArray[np.int32],
    ) -> Self:
        """From rows: (text, token, start, end, gram), (same, short, ends_line, ends_text)."""
        return cls(*_places(grams), _int32(grams[:, 4]), Shorts.of(shorts), n_tokens)


def _places(
    rows: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    return _int32(rows[:, 0]), _int32(rows[:, 1]), rows[:, 2].copy(), rows[:, 3].copy()


def _int32(column: NDArray[np.int64]) -> NDArray[np.int32]:
    return column.astype(np.int32)
