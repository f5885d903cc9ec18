r"""An answer in its canonical spelling, cut into tokens.

LaTeX and plain syntax are read alike: ``\sqrt{3}`` and ``sqrt(3)``, ``\pi`` and ``pi``. A word
that is neither a function nor a product of symbols is prose, which is no expression.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from vtdata.verify.algebra.tree import Rational, whole

MAX_TOKENS = 2_000
"""Longer expressions are not read (ours)."""
MAX_DIGITS = 4_000
"""Longest run of digits read; Python's own limit for text to int is 4,300 (ours)."""


class UnreadableError(Exception):
    """The text is no expression of ours; whoever reads it takes it for something else."""


class ProseError(UnreadableError):
    """It has words in it."""


class Token(NamedTuple):
    """One token; ``value`` is set for numbers."""

    kind: str
    """number, symbol, function, command, space, or the operator itself."""
    text: str
    value: Rational = 0


_FUNCTION_NAMES = (
    "sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan arccot exp ln log lg "
    "abs floor ceil ceiling gcd lcm max min sqrt cbrt Re Im arg det binom sgn sign cis"
)
FUNCTIONS = {name: name for name in _FUNCTION_NAMES.split()} | {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "ctg": "cot",
    "tg": "tan",
    "ceiling": "ceil",
}
_GREEK_NAMES = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu "
    "nu xi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi "
    "Sigma Upsilon Phi Psi Omega ell"
)
_GREEK = _GREEK_NAMES.split()
GREEK = frozenset(_GREEK)
CONSTANTS = {
    "pi": "pi",
    "e": "e",
    "i": "i",
    "infty": "oo",
    "infinity": "oo",
    "inf": "oo",
    "oo": "oo",
}
_SPELLED = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi"}
_SHORT_WORDS = "or no if is of to in at by an on as we it he so do be am pm us vs"
_NO_PRODUCT = frozenset(_SHORT_WORDS.split())
"""Words of two letters that are words."""
_SERIES = (
    "abcdefgh",
    "ABCDEFGH",
    "uvwxyz",
    "UVWXYZ",
    "klmn",
    "pqrst",
    "KLMN",
    "PQRST",
    "ijk",
    "IJK",
)
_VOWELS = frozenset("aeiouyAEIOUY")
_MAX_PRODUCT = 3
_FEW_DIGITS = 19

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.(?=\\(?:overline|bar|dot)|\([0-9]+\))|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?:\\(?:overline|bar)\s*\{(?P<repeat>[0-9]+)\}"
    r"|(?<=[0-9.])\((?P<cycle>[0-9]+)\)(?<=\))"
    r"|\\dot\s*\{?(?P<from>[0-9])\}?(?:(?P<mid>[0-9]*)\\dot\s*\{?(?P<to>[0-9])\}?)?)?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,5})(?![0-9A-Za-z]))?)"
    r"|\\(?P<command>[A-Za-z]+|[^A-Za-z])"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<power>\*\*)"
    r"|(?P<operator>[-+*/^_(){}\[\]|!',;:=<>%&@])"
    r"|(?P<space> )"
)


def tokens(text: str) -> list[Token]:
    r"""Cut ``text``, which is in the spelling of ``normal``, into tokens.

    Raises:
        ProseError: it has a word in it that is neither function nor symbols.
        UnreadableError: a character that no expression has, or too many tokens.

    >>> [token.text for token in tokens(r"2\sqrt{x}+pi")]
    ['2', 'sqrt', '{', 'x', '}', '+', 'pi']
    """
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ProseError if text[at].isalpha() else UnreadableError
        at = match.end()
        if match["number"] is not None:
            found.append(Token("number", match["number"], _value(match)))
        elif match["command"] is not None:
            found.append(_command(match["command"]))
        elif match["word"] is not None:
            found += _points(match["word"]) if _named(found) else _word(match["word"])
        elif match["space"] is not None:
            found.append(Token("space", " "))
        else:
            found.append(Token("^", "^") if match["power"] else Token(match.group(), match.group()))
        if len(found) > MAX_TOKENS:
            raise UnreadableError
    return found


def _value(match: re.Match[str]) -> Rational:
    digits = match["number"]
    if len(digits) < _FEW_DIGITS and digits.isdigit():
        return int(digits)
    for mark in ("\\", "e", "E"):
        digits = digits.partition(mark)[0]
    digits = digits.partition("(")[0]
    repeat = match["repeat"] or match["cycle"]
    if match["from"]:
        repeat = match["from"] + (match["mid"] or "") + (match["to"] or "")
    exponent = int(match["exponent"] or 0)
    if len(digits) + len(repeat or "") > MAX_DIGITS or abs(exponent) > MAX_DIGITS:
        raise UnreadableError
    before, _, decimals = digits.partition(".")
    if not decimals and not repeat:
        value = Fraction(int(before))
    else:
        value = Fraction(int((before + decimals) or "0"), 10 ** len(decimals))
    if repeat:
        if "." not in digits:
            raise UnreadableError
        value += Fraction(int(repeat), (10 ** len(repeat) - 1) * 10 ** len(decimals))
    return whole(value * Fraction(10) ** exponent if exponent else value)


def _command(name: str) -> Token:
    if name in FUNCTIONS and name != "binom":  # which takes two groups
        return Token("function", FUNCTIONS[name])
    if name in CONSTANTS:
        return Token("constant", CONSTANTS[name])
    if name in GREEK:
        return Token("symbol", _SPELLED.get(name, name))
    if name == "mod":
        return Token("command", "bmod")
    if name == "ldots":
        return Token("symbol", name)
    return Token("command", name)


def _named(found: list[Token]) -> bool:
    """Whether the letters to come name an angle or a triangle."""
    last = next((token for token in reversed(found) if token.kind not in ("space", "{")), None)
    return last is not None and last.kind == "command" and last.text in ("angle", "triangle")


def _points(word: str) -> list[Token]:
    return [Token("symbol", letter) for letter in word]


def _word(word: str) -> list[Token]:
    if word == "mod":
        return [Token("command", "bmod")]
    if word in FUNCTIONS:
        return [Token("function", FUNCTIONS[word])]
    if word in CONSTANTS or word.lower() in ("infinity", "pi"):
        return [Token("constant", CONSTANTS.get(word) or CONSTANTS[word.lower()])]
    if word in GREEK and word != "ell":
        return [Token("symbol", _SPELLED.get(word, word))]
    if not is_product(word):
        raise ProseError
    return [Token("constant" if c in "ei" else "symbol", c) for c in word]


def is_prose(word: str) -> bool:
    """Whether a word is neither a function, a constant, a symbol nor a product of symbols."""
    known = word in FUNCTIONS or word in CONSTANTS or word in GREEK
    return not known and word.lower() not in CONSTANTS and not is_product(word)


def is_product(word: str) -> bool:
    """Whether letters side by side are a product of symbols and not a word.

    >>> [is_product(word) for word in ("x", "AB", "xyz", "abc", "Evan", "no")]
    [True, True, True, True, False, False]
    """
    if len(word) == 1:
        return True
    if word in _NO_PRODUCT:
        return False
    if len(word) == 2 or any(word in series for series in _SERIES):
        return True
    if word.isupper() and set(word) <= set("ABCDEFGH") and len(set(word)) == len(word):
        return len(word) <= len("ABCDE")
    return len(word) <= _MAX_PRODUCT and not _VOWELS & set(word)
