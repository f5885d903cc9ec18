r"""One spelling for answers that are written differently and mean the same.

Only what can't change the value: wrappers, spacing commands, Unicode forms of LaTeX symbols, full
width, redundant braces. A pair that this makes equal is equal; a pair that stays different may
still be.
"""

from __future__ import annotations

import functools
import re
import unicodedata

_FULL_WIDTH = {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}
_SYMBOLS = {
    "−": "-",
    "×": r"\times ",
    "·": r"\cdot ",
    "÷": "/",
    "⁄": "/",
    "∞": r"\infty ",
    "π": r"\pi ",
    "√": r"\sqrt ",
    "≤": r"\leq ",
    "≥": r"\geq ",
    "≠": r"\neq ",
    "±": r"\pm ",
    "°": r"^\circ ",
    "∅": r"\emptyset ",
    "、": ",",
    "。": ".",
    "\u3000": " ",
    "\u00a0": " ",
    "\u202f": " ",
    "\u2009": " ",
    "\u200b": "",
}
_VULGAR = {
    "½": "12",
    "⅓": "13",
    "⅔": "23",
    "¼": "14",
    "¾": "34",
    "⅕": "15",
    "⅖": "25",
    "⅗": "35",
    "⅘": "45",
    "⅙": "16",
    "⅚": "56",
    "⅛": "18",
    "⅜": "38",
    "⅝": "58",
    "⅞": "78",
}
_TABLE = str.maketrans(
    _FULL_WIDTH | _SYMBOLS | {c: rf"\frac{{{v[0]}}}{{{v[1]}}}" for c, v in _VULGAR.items()}
)
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_WRAPPED = ((r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("`", "`"))
_DOLLAR = re.compile(r"(?<!\\)\$")
_STYLE = re.compile(
    r"\\(?:displaystyle|textstyle|limits|bigl?|bigr?|Bigl?|Bigr?|left|right)(?![A-Za-z])"
)
_SPACE = re.compile(r"\\[,;:! ]|\\q?quad(?![A-Za-z])|~")
_THOUSANDS = re.compile(r"(?<=[0-9])(?:\\[,! ]|\{,\}|,\\!)(?=[0-9]{3}(?![0-9]))")
_LIST = re.compile(r"(?<=[0-9])\s*,\s+(?=[0-9]{3}(?![0-9]))")
_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|operatorname|mbox|boxed|fbox)"
    r"\s*\{([^{}]*)\}"
)
_FRAC = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_SHORT_FRAC = re.compile(r"\\frac\s*([0-9A-Za-z])\s*([0-9A-Za-z])")
_HALF_FRAC = re.compile(r"\\frac\s*(\{[^{}]*\})\s*([0-9A-Za-z])")
_FRAC_HALF = re.compile(r"\\frac\s*([0-9A-Za-z])\s*(\{)")
_SHORT_SQRT = re.compile(r"\\sqrt\s*([0-9A-Za-z])")
_SCRIPT = re.compile(r"([_^])\{([0-9A-Za-z])\}")
_INNER_SPACE = re.compile(r"(?<![0-9A-Za-z.]) | (?![0-9A-Za-z])")
_WORDS = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*")
_PLAIN = re.compile(r"-?[0-9]+|[0-9]+\.[0-9]+|[A-Za-z]+")
_CLOSED = frozenset({"yes", "no", "true", "false", "odd", "even"})

MAX_CHARS = 10_000
"""Longer answers are compared as they stand (ours)."""
CACHED_CHARS = 200
"""Longer answers are read anew each time, so that a cache stays small (ours)."""


def normal(answer: str) -> str:
    r"""Return the canonical spelling of an answer; empty where nothing is left.

    >>> normal(r"$\dfrac12$"), normal(r"\text{ Yes. }"), normal("（1， 2）")
    ('\\frac{1}{2}', 'yes', '(1,2)')

    A space between two letters or digits stays, so that "1 2" is not 12:

    >>> normal("1  2")
    '1 2'
    """
    if _PLAIN.fullmatch(answer):
        return _fold(answer)
    if len(answer) <= CACHED_CHARS:
        return _cached(answer)
    return answer.strip() if len(answer) > MAX_CHARS else _spell(answer)


def _spell(answer: str) -> str:
    text = unicodedata.normalize("NFC", answer)
    text = _SUPERSCRIPT.sub(lambda match: f"^{{{match.group().translate(_DIGITS)}}}", text)
    text = _DOLLAR.sub("", text.translate(_TABLE))
    text = _THOUSANDS.sub("", _unwrap(text))
    text = _LIST.sub(";", text)  # "1, 234" is two numbers, "1,234" is one
    for _ in range(4):
        text, changed = _TEXT.subn(r" \1 ", text)
        if not changed:
            break
    text = _STYLE.sub("", text)
    text = _SPACE.sub(" ", text)
    text = _fractions(text)
    text = _SCRIPT.sub(r"\1\2", text)
    text = _unwrap(" ".join(text.split()))
    text = _INNER_SPACE.sub("", text)
    return _fold(text)


# The rollouts of one query repeat its reference, and each other.
_cached = functools.lru_cache(maxsize=8_192)(_spell)


def _unwrap(text: str) -> str:
    """Strip math delimiters, Markdown emphasis, and the full stop that ends a sentence."""
    before = None
    while before != text:
        before = text
        text = text.strip()
        for opener, closer in _WRAPPED:
            inner = text[len(opener) : -len(closer)]
            whole = len(text) > len(opener) + len(closer) and opener not in inner
            if whole and text.startswith(opener) and text.endswith(closer):
                text = inner.strip()
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1]
    return text


def _fractions(text: str) -> str:
    text = _FRAC.sub(r"\\frac", text)
    text = _SHORT_FRAC.sub(r"\\frac{\1}{\2}", text)
    text = _HALF_FRAC.sub(r"\\frac\1{\2}", text)
    text = _FRAC_HALF.sub(r"\\frac{\1}\2", text)
    return _SHORT_SQRT.sub(r"\\sqrt{\1}", text)


def _fold(text: str) -> str:
    """Fold the case of words, never of symbols: AB and ab are two products."""
    if not _WORDS.fullmatch(text):
        return text
    words = text.split()
    if all(len(word) > 3 or word.lower() in _CLOSED for word in words):
        return text.lower()
    return text
