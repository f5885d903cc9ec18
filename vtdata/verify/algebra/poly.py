r"""Exact polynomials: sums of rational numbers times powers of atoms.

An atom is a symbol, pi, e, i, a root of a prime, or whatever is not taken apart (``sin(x)``). What
is known of an atom is used while multiplying: i^4 = 1, and a root of 2 times itself is 2. Square
roots of different primes, and i, are linearly independent over the rational numbers, so without
other roots and functions two polynomials are equal only if they look alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from vtdata.verify.algebra.tree import Rational, whole

Atom: TypeAlias = tuple[str, int]
"""A name, and for the root of a prime its index; 1 for a symbol, 0 for what is opaque."""
Monomial: TypeAlias = tuple[tuple[Atom, int], ...]
"""Atoms with their exponents, sorted."""
Poly: TypeAlias = dict[Monomial, Rational]

MAX_TERMS = 400
"""Most terms of a polynomial (ours)."""
MAX_BITS = 1 << 17
"""Largest numerator or denominator of a coefficient, in bits: 5,000! just fits (ours)."""

I_ATOM: Atom = ("i", 2)
ZERO: Poly = {}


class TooLargeError(Exception):
    """The polynomial isn't worth its room; the answer is left to another stage."""


def constant(value: Rational) -> Poly:
    """A number as a polynomial."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise TooLargeError
    return {(): value} if value else {}


def atom(name: Atom, exponent: int = 1) -> Poly:
    """One atom."""
    return {((name, exponent),): 1} if exponent else {(): 1}


def add(a: Poly, b: Poly) -> Poly:
    """The sum."""
    total = dict(a)
    for monomial, value in b.items():
        value += total.get(monomial, 0)
        if value:
            total[monomial] = value
        else:
            del total[monomial]
    if len(total) > MAX_TERMS:
        raise TooLargeError
    return total


def scale(a: Poly, factor: Rational) -> Poly:
    """The polynomial times a number."""
    return {monomial: whole(value * factor) for monomial, value in a.items()} if factor else {}


def multiply(a: Poly, b: Poly) -> Poly:
    """The product."""
    if len(a) * len(b) > MAX_TERMS**2 // 4:
        raise TooLargeError
    for one, other in ((a, b), (b, a)):
        if len(one) == 1 and () in one:
            return _bounded(scale(other, one[()]))
    total: Poly = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial, factor = _merged(left, right)
            value = x * y if factor == 1 else x * y * factor
            value += total.get(monomial, 0)
            if value:
                total[monomial] = value
            else:
                total.pop(monomial, None)
    if len(total) > MAX_TERMS:
        raise TooLargeError
    for monomial, value in total.items():
        if value.denominator == 1:
            total[monomial] = value.numerator
    return _bounded(total)


def _bounded(total: Poly) -> Poly:
    for value in total.values():
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
            raise TooLargeError
    return total


def _merged(left: Monomial, right: Monomial) -> tuple[Monomial, Rational]:
    """The product of two monomials, and the number that falls out of it."""
    if not left or not right:
        return left or right, 1
    powers = dict(left)
    for name, exponent in right:
        powers[name] = powers.get(name, 0) + exponent
    factor: Rational = 1
    merged = []
    for name, exponent in powers.items():
        index = name[1]
        if index > 1:
            times, exponent = divmod(exponent, index)
            if times:
                factor *= Fraction(-1 if name == I_ATOM else int(name[0])) ** times
        if exponent:
            merged.append((name, exponent))
    return tuple(sorted(merged)), factor


def power(a: Poly, exponent: int) -> Poly:
    """A small power, by squaring."""
    if exponent > 1 and len(a) > 1 and len(a) * exponent > MAX_TERMS:
        raise TooLargeError
    if len(a) == 1:
        (value,) = a.values()
        size = max(value.numerator.bit_length(), value.denominator.bit_length())
        if size * exponent > MAX_BITS and abs(value) != 1:
            raise TooLargeError
        (monomial,) = a
        if exponent and all(index < 2 for (_, index), _ in monomial):
            return {tuple((name, e * exponent) for name, e in monomial): value**exponent}
    result: Poly = {(): 1}
    while exponent:
        if exponent & 1:
            result = multiply(result, a)
        exponent >>= 1
        if exponent:
            a = multiply(a, a)
    return result


def atoms(polys: Iterable[Poly]) -> frozenset[Atom]:
    """Every atom in some polynomials."""
    return frozenset(name for p in polys for monomial in p for name, _ in monomial)


def conjugate(a: Poly, name: Atom) -> Poly:
    """The polynomial with the sign of one square root flipped."""
    return {
        monomial: -value if dict(monomial).get(name, 0) % 2 else value
        for monomial, value in a.items()
    }


def text(a: Poly) -> str:
    """A canonical spelling: equal for equal polynomials, and for no others."""
    parts = []
    for monomial in sorted(a):
        value = a[monomial]
        names = "*".join(
            f"{name}{f'#{index}' if index != 1 else ''}^{exponent}"
            for (name, index), exponent in monomial
        )
        # Hexadecimal, since Python refuses to write more than 4,300 decimal digits.
        parts.append(f"{value.numerator:x}/{value.denominator:x}{'*' if names else ''}{names}")
    return " + ".join(parts) or "0/1"
