"""Small pure functions on strings that more than one part needs."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable


def collapse(text: str) -> str:
    r"""NFC and single spaces, and nothing else: operators, case and digits stay.

    >>> collapse(" x + 1\n\t= 2 ")
    'x + 1 = 2'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Return `` did you mean 'x'?`` for the nearest allowed spelling, or nothing.

    >>> nearest("smaple", ["sample", "hygiene"])
    " did you mean 'sample'?"
    >>> nearest("zzz", ["sample"])
    ''
    """
    found = difflib.get_close_matches(word, list(allowed), n=1)
    return f" did you mean '{found[0]}'?" if found else ""
