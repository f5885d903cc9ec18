"""Make the table of characters that decontamination normalizes by.

It is made once and shipped, because Python's own tables differ between its versions, and a score
must not depend on the Python that computed it.

    python -m tests.unicode_table          write it
"""

from __future__ import annotations

import unicodedata
from itertools import groupby
from pathlib import Path

import numpy as np

from vtdata.decontam.normal import characters as ch

FILE = Path(ch.__file__).with_name("characters.npz")

NAMED = {
    "√": "sqrt", "∞": "infty", "∑": "sum", "∏": "prod", "∫": "int", "∠": "angle",
    "∂": "partial", "∇": "nabla", "∅": "emptyset", "∀": "forall", "∃": "exists",
}  # fmt: skip
"""Symbols that say something a word could say; LaTeX has the same names for them."""

_DIACRITICS = {
    *range(0x300, 0x370),
    0x3099,
    0x309A,
    *range(0x1AB0, 0x1B00),
    *range(0x1DC0, 0x1E00),
    *range(0x20D0, 0x2100),
}
_IGNORED = {0xAD, 0x34F, 0x61C, 0x640, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070),
            *range(0xFE00, 0xFE10), 0xFEFF, *range(0xE0100, 0xE01F0), *range(0xE0000, 0xE0080)}  # fmt: skip


def is_solo(char: str) -> bool:
    """Scripts that put no spaces between words: a token for each sign."""
    name = unicodedata.name(char, "")
    return (
        name.startswith(
            (
                "CJK UNIFIED",
                "CJK COMPATIBILITY IDEOGRAPH",
                "HIRAGANA",
                "KATAKANA",
                "BOPOMOFO",
                "YI SYLLABLE",
            )
        )
        or char in "々〇ー"
    )


def folded(char: str) -> str:
    """NFKD, casefold, digits of all scripts as 0 to 9, no diacritics; a space for what is no word."""
    full = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    out = []
    for part in full:
        if ord(part) in _DIACRITICS or ord(part) in _IGNORED:
            continue
        kind = unicodedata.category(part)
        if kind == "Nd":
            out.append(str(unicodedata.digit(part)))
        else:
            out.append(part if kind[0] in "LMN" else " ")
    return "".join(out)


def is_greek(char: str) -> bool:
    return unicodedata.name(char, "").startswith("GREEK")


def by_script(word: str) -> list[str]:
    """Greek letters by themselves, as where two characters stand: the sign for μm is μ and m."""
    return ["".join(part) for _, part in groupby(word, is_greek)]


def entry(char: str) -> tuple[int, str]:
    """The flags and the folded text of one character."""
    code, kind = ord(char), unicodedata.category(char)
    if code in _DIACRITICS or code in _IGNORED:
        return ch.IGNORED, ""
    if char.isspace() or kind in {"Zs", "Zl", "Zp"}:
        return ch.SPACE, ""
    if char in NAMED:
        return ch.SYMBOL, NAMED[char]
    if kind in {"Cn", "Cs", "Co", "Cc", "Cf"}:
        return ch.PUNCTUATION, ""
    text = folded(char)
    words = text.split()
    if not words:
        return (ch.IGNORED if text == "" and kind[0] == "M" else ch.PUNCTUATION), ""
    decomposition = unicodedata.decomposition(char)
    if decomposition.startswith("<super>"):
        return ch.WORD | ch.SUPERSCRIPT, words[0] if len(words) == 1 else "".join(words)
    if decomposition.startswith("<sub>"):
        return ch.WORD | ch.SUBSCRIPT, "".join(words)
    if any(is_solo(part) for part in text):
        return ch.SOLO, " ".join("".join(words))
    words = [part for word in words for part in by_script(word)]
    if len(words) > 1 or decomposition.startswith(("<circle>", "<fraction>")):
        return ch.SOLO, " ".join(words)
    if len(words[0]) == 1 and is_greek(words[0]):
        return ch.WORD | ch.GREEK, words[0].replace("ς", "σ").replace("ϵ", "ε").replace("ϕ", "φ")
    return ch.WORD, words[0]


def table() -> dict[str, np.ndarray]:
    """Pages of 256 characters each, equal pages once, and the pool of folded texts."""
    pool = bytearray(b"\0")
    places: dict[bytes, int] = {}
    pages: dict[bytes, int] = {}
    rows: list[np.ndarray] = []
    numbers = np.zeros(0x1100, np.uint16)
    for page in range(0x1100):
        row = np.zeros(256, np.uint32)
        for low in range(256):
            code = page * 256 + low
            if 0xD800 <= code < 0xE000:
                continue
            flags, text = entry(chr(code))
            raw = text.encode()
            if text == chr(code) or not raw:
                place = 0
            elif raw in places:
                place = places[raw]
            else:
                place = places[raw] = len(pool)
                pool += bytes([len(raw)]) + raw
            row[low] = flags | place << 8
        key = row.tobytes()
        if key not in pages:
            pages[key] = len(rows)
            rows.append(row)
        numbers[page] = pages[key]
    return {
        "pages": numbers,
        "entries": np.stack(rows),
        "pool": np.frombuffer(bytes(pool), np.uint8),
        "unicode": np.array(unicodedata.unidata_version),
    }


if __name__ == "__main__":
    made = table()
    np.savez_compressed(FILE, **made)
    print(
        f"{FILE.name}: Unicode {made['unicode']}, {FILE.stat().st_size:,} bytes, {len(made['entries'])} pages"
    )
