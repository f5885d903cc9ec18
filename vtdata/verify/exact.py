r"""Numbers read exactly: the value of an answer as a ``Fraction``, or None where it isn't one.

Integers, decimals, repeating decimals, fractions, mixed numbers, thousands separators, percent,
scientific notation, products and integer powers of those. Anything else, a sum or a root
included, is left to a verifier that can do algebra.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from fractions import Fraction

from vtdata.verify.normal import CACHED_CHARS, MAX_CHARS, normal

MAX_DIGITS = 4_000
"""Longest run of digits read; Python's own limit for text to int is 4,300 (ours)."""
MAX_BITS = 1 << 14
"""Largest numerator or denominator of a power, in bits (ours)."""
_MAX_DEPTH = 32

INTEGER = re.compile(r"-?[0-9]{1,18}")
_TOKEN = re.compile(
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]*)?"
    r"|[0-9]{1,3}(?: [0-9]{3})+(?![0-9/ ])(?:\.[0-9]*)?"
    r"|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:\\(?:overline|bar)\s*\{(?P<repeat>[0-9]+)\})?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,5})(?![0-9]))?"
    r"|(?P<frac>\\frac)|(?P<times>\\times|\\cdot|\*(?!\*))|(?P<power>\^|\*\*)"
    r"|(?P<percent>\\?%)|(?P<mark>[-+/(){}])|(?P<space> )"
)


@dataclass(frozen=True, slots=True)
class Number:
    """An exact value, and whether it was written in percent."""

    value: Fraction
    percent: bool = False


class _NotANumberError(Exception):
    """The text is something else; the reader answers None."""


def number(answer: str) -> Number | None:
    r"""Return the exact value of an answer, or None where it is no such number.

    Percent is a hundredth: 50 % is 1/2. A leading dollar sign is dropped. Decimals are exact, so
    0.333 is not 1/3.

    >>> number(r"918\frac{1}{2}").value, number("1,234.50").value, number(r"33.5\%").value
    (Fraction(1837, 2), Fraction(2469, 2), Fraction(67, 200))
    >>> number("10,20"), number("1 2"), number("3:30"), number("9^9^9^9")
    (None, None, None, None)
    """
    if INTEGER.fullmatch(answer):
        return Number(Fraction(int(answer)))
    return _cached(answer) if len(answer) <= CACHED_CHARS else _parse(answer)


def _parse(answer: str) -> Number | None:
    text = normal(answer)
    if not text or len(text) > MAX_CHARS:
        return None
    if text.startswith("\\$"):
        text = text[2:].lstrip()
    try:
        reader = _Reader(_tokens(text))
        value = reader.product(0)
        percent = reader.take("percent")
        if reader.rest:
            return None
    except (_NotANumberError, ZeroDivisionError):
        return None
    return Number(value / 100 if percent else value, percent)


_cached = functools.lru_cache(maxsize=8_192)(_parse)


def _tokens(text: str) -> list[tuple[str, str, re.Match[str]]]:
    tokens = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _NotANumberError
        kind = match.lastgroup or "number"
        if match.group("number") is not None:
            kind = "number"
        token = match.group()
        tokens.append((token if kind == "mark" else kind, token, match))
        at = match.end()
    return tokens


class _Reader:
    """Recursive descent over the tokens; ``depth`` bounds the nesting."""

    def __init__(self, tokens: list[tuple[str, str, re.Match[str]]]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def rest(self) -> int:
        return len(self.tokens) - self.at

    def sees(self, kind: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at][0] == kind

    def take(self, kind: str) -> bool:
        if self.sees(kind):
            self.at += 1
            return True
        return False

    def expect(self, kind: str) -> None:
        if not self.take(kind):
            raise _NotANumberError

    def product(self, depth: int) -> Fraction:
        if depth > _MAX_DEPTH:
            raise _NotANumberError
        sign = self.sign()
        value = self.power(depth)
        while self.sees("times") or self.sees("/"):
            times = self.take("times")
            if not times:
                self.expect("/")
            self.take("space")
            factor = self.sign() * self.power(depth)
            value = _bounded(value * factor if times else value / factor)
        return sign * value

    def sign(self) -> int:
        if self.take("-"):
            return -1
        self.take("+")
        return 1

    def power(self, depth: int) -> Fraction:
        base = self.atom(depth)
        if not self.take("power"):
            return base
        exponent = self.group(depth) if self.sees("{") else self.sign() * self.atom(depth)
        if self.sees("power") or exponent.denominator != 1:
            raise _NotANumberError
        size = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(exponent.numerator) * size > MAX_BITS:
            raise _NotANumberError
        return base**exponent.numerator

    def group(self, depth: int) -> Fraction:
        closer = "}" if self.take("{") else ")"
        if closer == ")":
            self.expect("(")
        value = self.product(depth + 1)
        self.expect(closer)
        return value

    def atom(self, depth: int) -> Fraction:
        if self.sees("(") or self.sees("{"):
            return self.group(depth)
        if self.take("frac"):
            return self.fraction(depth)
        if not self.sees("number"):
            raise _NotANumberError
        match = self.tokens[self.at][2]
        self.at += 1
        value = _read(match)
        if value.denominator == 1 and match.group().isdigit():
            return value + self.mixed(depth)
        return value

    def fraction(self, depth: int) -> Fraction:
        if not self.sees("{"):
            raise _NotANumberError
        top = self.group(depth)
        if not self.sees("{"):
            raise _NotANumberError
        return _bounded(top / self.group(depth))

    def mixed(self, depth: int) -> Fraction:
        r"""The fraction behind a whole number: ``1\frac12`` and ``1 1/2``, proper ones only."""
        if self.take("frac"):
            part = self.fraction(depth)
        elif self.take("space"):
            part = self.slash()
        else:
            return Fraction(0)
        if not 0 < part < 1:
            raise _NotANumberError
        return part

    def slash(self) -> Fraction:
        kinds = [token[0] for token in self.tokens[self.at : self.at + 3]]
        if kinds != ["number", "/", "number"]:
            raise _NotANumberError
        top, bottom = (_read(self.tokens[self.at + i][2]) for i in (0, 2))
        self.at += 3
        return top / bottom


def _read(match: re.Match[str]) -> Fraction:
    digits = match.group("number").replace(",", "").replace(" ", "")
    repeat = match.group("repeat")
    exponent = int(match.group("exponent") or 0)
    if len(digits) + len(repeat or "") > MAX_DIGITS or abs(exponent) > MAX_DIGITS:
        raise _NotANumberError
    whole, _, decimals = digits.partition(".")
    value = Fraction(int((whole + decimals) or "0"), 10 ** len(decimals))
    if repeat is not None:
        if "." not in digits:
            raise _NotANumberError
        value += Fraction(int(repeat), (10 ** len(repeat) - 1) * 10 ** len(decimals))
    return value * Fraction(10) ** exponent


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4 * MAX_BITS:
        raise _NotANumberError
    return value
