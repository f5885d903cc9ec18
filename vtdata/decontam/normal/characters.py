"""What each character is to a word: one shipped table for every Python and every machine.

A character is looked up by itself, never with its neighbors, so that a scan needs one pass and no
second copy of the text. Folding is NFKD, casefold and the loss of diacritics; digits of all
scripts become 0 to 9. ``python -m tests.unicode_table`` makes the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PUNCTUATION, SPACE, IGNORED, WORD, SOLO, SYMBOL = range(6)
"""Kinds, the low three bits of an entry. SOLO is a token by itself (ideographs, kana, fractions);
SYMBOL too, but only where symbols aren't removed; IGNORED neither counts nor splits."""

SUPERSCRIPT, SUBSCRIPT, GREEK = 1 << 3, 2 << 3, 3 << 3
"""Scripts, the next two bits. Where the script changes, a new token starts, so that x² and x^2,
αx and \\alpha x come out the same."""

KIND, SCRIPT = 0b111, 0b11000


@dataclass(frozen=True, slots=True)
class Characters:
    """The table: ``entries[pages[code >> 8], code & 255]`` is flags | place in the pool << 8.

    At a place of the pool stand the number of bytes and the bytes of the folded text, words of it
    separated by a space. Place 0 means that the character stays as it is.
    """

    pages: NDArray[np.uint16]
    entries: NDArray[np.uint32]
    pool: NDArray[np.uint8]

    def flags(self, code: int) -> int:
        return int(self.entries[self.pages[code >> 8], code & 255]) & 0xFF

    def folded(self, char: str) -> str:
        """The folded text of a character; empty for what belongs to no word."""
        code = ord(char)
        entry = int(self.entries[self.pages[code >> 8], code & 255])
        place = entry >> 8
        if place:
            return self.pool[place + 1 : place + 1 + int(self.pool[place])].tobytes().decode()
        return char if entry & KIND in {WORD, SOLO} else ""


@cache
def characters() -> Characters:
    """Load the table; takes a millisecond or two."""
    import numpy as np

    with (files("vtdata.decontam.normal") / "characters.npz").open("rb") as file:
        data = np.load(file)
        return Characters(data["pages"], data["entries"], data["pool"])
