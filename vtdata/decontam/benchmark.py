"""A benchmark as decontamination sees it: items with their text, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Item:
    """One text of one row of a benchmark."""

    index: int
    """Row number in the benchmark's file, from 0; rows that were left out are counted, too."""
    text: str
    """Raw, as in the file: spans of evidence point into its UTF-8 bytes."""
    field: str
    """The column that the text came from."""
    key: str | None = None
    """The row's own name in the file, where it has one."""
    date: str | None = None
    """First publication of the problem, ISO; the benchmark's where rows have none."""

    @property
    def hash(self) -> str:
        """sha256 of the text's UTF-8 bytes, hexadecimal; stands for the text of a gated set."""
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark, loaded."""

    name: str
    items: tuple[Item, ...]
    source: str
    """The file, or ``owner/name`` on the Hub."""
    sha256: str
    """Of the file, or of the canonical JSON of all items where there is no file; hexadecimal."""
    revision: str | None = None
    split: str | None = None
    license: str | None = None
    published: str | None = None
    """First publication of the problems, ISO date; None where nobody knows."""
    gated: bool = False
    """Item text appears in no evidence, card or report: number, hash and the corpus's span do."""
    non_commercial: bool = False

    @property
    def shows_text(self) -> bool:
        """Whether a card or a pushed corpus may quote items."""
        return not (self.gated or self.non_commercial)
