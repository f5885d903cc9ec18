"""Hashes of words and n-grams, and the tables that the scan probes.

A word's hash takes its folded UTF-8 eight bytes at a time; one of up to eight bytes has its hash to
itself. An n-gram's is the exclusive or of its words' hashes, each rotated by its place. Two
sequences that differ collide with a chance of about 2**-63 (2**-57 for n = 8, where repeated words
cancel more): a text of 10**9 words against 10**6 n-grams meets a false one with a chance of 10**-4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from vtdata.decontam.normal import latex

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED, MIX_1, MIX_2 = 0x243F6A8885A308D3, 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
"""Digits of pi; odd multipliers whose bits are spread."""

_ALL = (1 << 64) - 1

SILENT, FRACTION = 0, 1
"""What a word can stand for in the tables of LaTeX, besides another word's hash."""


def hash_word(word: str) -> int:
    """64 bits for a normalized word; what the compiled scan computes from raw bytes.

    >>> hash_word("abc") == hash_word("abd")
    False
    """
    raw, state = word.encode(), SEED
    for place in range(0, max(len(raw), 1), 8):
        state = _mixed(state ^ int.from_bytes(raw[place : place + 8], "little"))
    return state


def _mixed(value: int) -> int:
    value = (value * MIX_1) & _ALL
    value ^= value >> 32
    value = (value * MIX_2) & _ALL
    return value ^ value >> 32


def hash_words(words: Iterable[str]) -> NDArray[np.uint64]:
    """Hashes of many words."""
    return np.array([hash_word(word) for word in words], np.uint64)


def hash_grams(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hashes of sequences of words, from the words' hashes, one sequence in each row."""
    num, width = words.shape
    out = np.zeros(num, np.uint64)
    for place in range(width):
        out = _rotated(out, 1) ^ words[:, place]
    return out


def _rotated(values: NDArray[np.uint64], by: int) -> NDArray[np.uint64]:
    return values << np.uint64(by) | values >> np.uint64(64 - by)


def hash_lines(words: Sequence[int]) -> list[int]:
    """Hashes of all beginnings of a line, the shortest first."""
    state, out = SEED, []
    for word in words:
        state = _mixed(state ^ word)
        out.append(state)
    return out


@dataclass(frozen=True, slots=True)
class Table:
    """Sorted keys behind a small filter of bits, so that most probes touch the filter alone."""

    bits: NDArray[np.uint64]
    bits_shift: int
    """A key's bit is its number shifted right by this."""
    keys: NDArray[np.uint64]
    first: NDArray[np.uint32]
    """Where the keys of each bucket begin."""
    first_shift: int
    values: NDArray[np.uint64]


def table(keys: NDArray[np.uint64], values: NDArray[np.uint64], spare: int = 32) -> Table:
    """Make a table.

    Args:
        keys: hashes, each once.
        values: one for each key.
        spare: bits of the filter for each key, at least; 32 let 3 % of foreign words pass. No
            filter is larger than 512 kB: half and twice as much are no faster (measured, 215,000
            n-grams, on a core with 512 kB of second cache).
    """
    order = np.argsort(keys)
    keys, values = keys[order], values[order]
    width = min(max(13, (len(keys) * spare - 1).bit_length()), 22)
    places = keys >> np.uint64(64 - width)
    bits = np.zeros(1 << (width - 6), np.uint64)
    np.bitwise_or.at(bits, places >> np.uint64(6), np.uint64(1) << (places & np.uint64(63)))
    deep = max(4, len(keys).bit_length())
    edges = np.arange(1 << deep, dtype=np.uint64) << np.uint64(64 - deep)
    first = np.append(np.searchsorted(keys, edges), len(keys)).astype(np.uint32)
    return Table(bits, 64 - width, keys, first, 64 - deep, values)


@cache
def said_tables() -> tuple[Table, Table]:
    """What `latex.said` makes of words, and of commands, by their hashes."""
    names = [*latex.SILENT, *latex.BLOCKS, *latex.GREEK, *latex.SIGNS]
    return _said_table(names, command=False), _said_table(names, command=True)


def _said_table(names: list[str], *, command: bool) -> Table:
    pairs = {}
    for name in names:
        said = latex.said(name, command=command)
        if said is None:
            pairs[hash_word(name)] = FRACTION if name in latex.FRACTIONS else SILENT
        elif said != name:
            pairs[hash_word(name)] = hash_word(said)
    return table(np.array(list(pairs), np.uint64), np.array(list(pairs.values()), np.uint64))
