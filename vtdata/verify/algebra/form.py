r"""The canonical form of an expression: a quotient of two exact polynomials.

Whether two forms are equal is decided by multiplying crosswise, without rounding. Where the forms
hold nothing but rational numbers, symbols, i, square roots and at most one of pi and e, the
decision is exact in both directions; where they hold functions or other roots, equal forms are
equal and different ones may still be.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from vtdata.verify.algebra import poly, special
from vtdata.verify.algebra.poly import I_ATOM, Atom, Poly, TooLargeError
from vtdata.verify.algebra.tree import MINUS_ONE, Node, Rational, expanded, plus, times, whole

MAX_EXPONENT = 64
"""Largest exponent of a sum that is multiplied out (ours)."""
MAX_FACTORIAL = 5_000
"""Largest argument of a factorial that is computed (ours)."""
MAX_ROOT_INDEX = 12
_TRIAL = 10_000
_MAX_CONJUGATES, MAX_CONJUGATED = 4, 16


@dataclass(frozen=True, slots=True)
class Form:
    """``num / den``; the denominator is never zero."""

    num: Poly
    den: Poly

    @property
    def value(self) -> Rational | None:
        """The rational number that it is, or None."""
        if self.den != _UNIT or any(self.num):
            return None
        return self.num.get((), 0)

    @property
    def exact(self) -> bool:
        """Whether different polynomials mean different values."""
        names = poly.atoms((self.num, self.den))
        if ("pi", 1) in names and ("e", 1) in names:
            return False  # nobody knows that they are independent
        return all(index in (1, 2) for _, index in names)

    @property
    def sort(self) -> str:
        """exact, exact pi, exact e: forms without a denominator that differ in their text differ.

        Empty where they may still be equal.
        """
        if self.den != _UNIT or not self.exact:
            return ""
        names = poly.atoms((self.num,))
        return "exact" + (" pi" if ("pi", 1) in names else " e" if ("e", 1) in names else "")

    def text(self) -> str:
        """The canonical spelling."""
        top = poly.text(self.num)
        return top if self.den == _UNIT else f"({top})/({poly.text(self.den)})"


_UNIT: Poly = {(): 1}


class NoFormError(Exception):
    """The expression has no value: a division by zero, or infinity."""


def form(node: Node) -> Form:
    """Put an expression into its canonical form.

    Raises:
        TooLargeError: it would need too many terms or digits.
        NoFormError: it is not a number: something over zero, infinity, an open sign.
    """
    kind = node[0]
    if kind == "n":
        return Form(poly.constant(node[1]), _UNIT)
    if kind == "s":
        return Form(poly.atom((node[1], 1)), _UNIT)
    if kind == "k":
        return _known(node[1])
    if kind == "+":
        return _sum([form(part) for part in node[1]])
    if kind == "*":
        result = form(node[1][0])
        for part in node[1][1:]:
            result = _product(result, form(part))
        return result
    if kind == "^":
        return _power(node)
    if kind == "deg":
        return _product(form(node[1]), Form({((("pi", 1), 1),): Fraction(1, 180)}, _UNIT))
    if kind == "f":
        return _function(node)
    raise NoFormError


@functools.lru_cache(maxsize=4_096)
def formed(node: Node) -> Form | None:
    """The canonical form, or None where there is none."""
    try:
        return form(node)
    except (NoFormError, TooLargeError, ZeroDivisionError):
        return None


def same(a: Form, b: Form) -> bool | None:
    """Whether two forms are equal; None where different forms may have the same value."""
    try:
        equal = poly.multiply(a.num, b.den) == poly.multiply(b.num, a.den)
    except TooLargeError:
        return None
    return True if equal else False if a.exact and b.exact and _one_constant(a, b) else None


def ratio(a: Form, b: Form) -> Rational | None:
    """The rational factor c with a = c b, by exact arithmetic; None where there is none."""
    left, right = poly.multiply(a.num, b.den), poly.multiply(b.num, a.den)
    if not left or not right or left.keys() != right.keys():
        return None
    monomial = next(iter(left))
    factor = Fraction(left[monomial]) / right[monomial]
    return factor if poly.scale(right, factor) == left else None


def _one_constant(a: Form, b: Form) -> bool:
    names = poly.atoms((a.num, a.den, b.num, b.den))
    return not (("pi", 1) in names and ("e", 1) in names)


def _known(name: str) -> Form:
    if name == "i":
        return Form(poly.atom(I_ATOM), _UNIT)
    if name == "oo":
        raise NoFormError
    return Form(poly.atom((name, 1)), _UNIT)


def _sum(parts: list[Form]) -> Form:
    total = parts[0]
    for part in parts[1:]:
        if total.den == part.den:
            total = _settled(poly.add(total.num, part.num), total.den)
        else:
            num = poly.add(poly.multiply(total.num, part.den), poly.multiply(part.num, total.den))
            total = _settled(num, poly.multiply(total.den, part.den))
    return total


def _product(a: Form, b: Form) -> Form:
    num = poly.multiply(a.num, b.num)
    if a.den == b.den == _UNIT:
        return Form(num, _UNIT)
    return _settled(num, poly.multiply(a.den, b.den))


def _inverse(a: Form) -> Form:
    if not a.num:
        raise NoFormError
    return _settled(a.den, a.num)


def _settled(num: Poly, den: Poly) -> Form:
    """The quotient with roots out of the denominator, and that as simple as it can be."""
    if not num:
        return Form(num, _UNIT)
    if den != _UNIT:
        for _ in range(_MAX_CONJUGATES):
            root = next((name for name in sorted(poly.atoms((den,))) if name[1] == 2), None)
            if root is None or len(den) > MAX_CONJUGATED:
                break
            other = poly.conjugate(den, root) if len(den) > 1 else poly.atom(root)
            num, den = poly.multiply(num, other), poly.multiply(den, other)
        if not den:
            raise NoFormError
        if len(den) == 1:
            ((monomial, value),) = den.items()
            if all(index < 2 for (_, index), _ in monomial):
                inverse = tuple((name, -exponent) for name, exponent in monomial)
                return Form(poly.multiply(num, {inverse: 1 / Fraction(value)}), _UNIT)
        first = den[max(den)]
        if first != 1:
            num, den = poly.scale(num, 1 / Fraction(first)), poly.scale(den, 1 / Fraction(first))
        if num == den:
            return Form(_UNIT, _UNIT)
    return Form(num, den)


def _power(node: Node) -> Form:
    base, exponent = node[1], node[2]
    if exponent == MINUS_ONE and base[0] == "n" and base[1]:
        return Form({(): whole(1 / Fraction(base[1]))}, _UNIT)
    if exponent[0] == "n" and isinstance(exponent[1], int):
        return _whole_power(form(base), exponent[1])
    raised = form(exponent)
    value = raised.value
    if value is None:
        return _opaque(f"({form(base).text()})^({raised.text()})")
    below = form(base)
    if value.denominator == 1:
        return _whole_power(below, value.numerator)
    if value.denominator <= MAX_ROOT_INDEX and below.value is not None and below.value >= 0:
        return _whole_power(_root(below.value, value.denominator), value.numerator)
    return _opaque(f"({below.text()})^({raised.text()})")


def _whole_power(base: Form, exponent: int) -> Form:
    if exponent < 0:
        return _whole_power(_inverse(base), -exponent)
    if exponent > MAX_EXPONENT and (len(base.num) > 1 or len(base.den) > 1):
        raise TooLargeError
    if not base.num and not exponent:
        raise NoFormError
    num = poly.power(base.num, exponent)
    return Form(num, _UNIT) if base.den == _UNIT else _settled(num, poly.power(base.den, exponent))


def _opaque(name: str) -> Form:
    return Form(poly.atom((name, 0)), _UNIT)


@functools.lru_cache(maxsize=1_024)
def _root(value: Rational, index: int) -> Form:
    """The real root of a number that isn't negative, over roots of primes."""
    if not value:
        return Form({}, _UNIT)
    # a/b under a root is a b^(n-1) under the root, over b.
    inside = value.numerator * value.denominator ** (index - 1)
    if inside.bit_length() > poly.MAX_BITS:
        raise TooLargeError
    factors = _factors(inside)
    if factors is None:
        exact = _exact_root(inside, index)
        if exact is None:
            return _opaque(f"root{index}({value.numerator:x}/{value.denominator:x})")
        factors = {exact: index} if exact > 1 else {}
    left = {}
    factor: Rational = 1 if value.denominator == 1 else Fraction(1, value.denominator)
    for prime, count in factors.items():
        times, rest = divmod(count, index)
        factor *= prime**times
        if rest:
            common = math.gcd(rest, index)
            left[(str(prime), index // common)] = rest // common
    return Form({tuple(sorted(left.items())): whole(factor)}, _UNIT)


def _factors(number: int) -> dict[int, int] | None:
    """The prime factors, by trial division; None where what is left may not be prime."""
    found: dict[int, int] = {}
    prime = 2
    while prime * prime <= number and prime <= _TRIAL:
        while number % prime == 0:
            found[prime] = found.get(prime, 0) + 1
            number //= prime
        prime += 1 if prime == 2 else 2
    if number > _TRIAL**2:
        return None
    if number > 1:
        found[number] = found.get(number, 0) + 1
    return found


def _exact_root(number: int, index: int) -> int | None:
    if index == 2:
        root = math.isqrt(number)
        return root if root * root == number else None
    return None


def _function(node: Node) -> Form:
    if node[1] in ("sum", "prod") and (terms := expanded(node)) is not None:
        return form(plus(*terms) if node[1] == "sum" else times(*terms))
    name, arguments = node[1], [form(part) for part in node[2]]
    values = [argument.value for argument in arguments]
    if name == "root":
        return _rooted(arguments[0], arguments[1])
    if name in ("sin", "cos", "tan") and (exact := special.trigonometric(name, arguments[0].num)):
        top, bottom = (form(part) for part in exact)
        return _product(top, _inverse(bottom))
    if name in ("ln", "log") and (known := _logarithm(arguments)) is not None:
        return known
    if all(value is not None for value in values):
        computed = _computed(name, [value for value in values if value is not None])
        if computed is not None:
            return Form(poly.constant(computed), _UNIT)
    return _opaque(f"{name}({','.join(argument.text() for argument in arguments)})")


def _logarithm(arguments: list[Form]) -> Form | None:
    """The logarithm of a positive rational number, over logarithms of primes."""
    values = [argument.value for argument in arguments]
    sums: list[Poly] = []
    for value in values:
        if value is None or value <= 0:
            return None
        top, bottom = _factors(value.numerator), _factors(value.denominator)
        if top is None or bottom is None:
            return None
        counts = top | {prime: -count for prime, count in bottom.items()}
        sums.append({((("ln " + str(p), 0), 1),): count for p, count in counts.items()})
    if len(sums) == 1:
        return Form(sums[0], _UNIT)
    quotient = ratio(Form(sums[0], _UNIT), Form(sums[1], _UNIT))
    if not sums[0] or quotient is not None:
        return Form(poly.constant(quotient or 0), _UNIT) if sums[1] else None
    return _product(Form(sums[0], _UNIT), _inverse(Form(sums[1], _UNIT))) if sums[1] else None


def _rooted(inside: Form, index: Form) -> Form:
    number, times = inside.value, index.value
    if times is None or times.denominator != 1 or not 2 <= times <= MAX_ROOT_INDEX:
        return _opaque(f"root({inside.text()},{index.text()})")
    odd = times.numerator % 2 == 1
    if number is None:
        return _opaque(f"root({inside.text()},{index.text()})")
    if number >= 0:
        return _root(number, times.numerator)
    root = _root(-number, times.numerator)
    if odd:
        return Form(poly.scale(root.num, -1), root.den)
    if times == 2:
        return _product(root, Form(poly.atom(I_ATOM), _UNIT))
    return _opaque(f"root({inside.text()},{index.text()})")


def _computed(name: str, values: list[Rational]) -> Rational | None:
    """The value of a function of rational numbers, where that is rational."""
    first = values[0]
    if name == "abs":
        return abs(first)
    if name == "floor":
        return math.floor(first)
    if name == "ceil":
        return math.ceil(first)
    if name in ("max", "min"):
        return max(values) if name == "max" else min(values)
    if any(value.denominator != 1 for value in values):
        return None
    ints = [value.numerator for value in values]
    if name == "factorial":
        return math.factorial(ints[0]) if 0 <= ints[0] <= MAX_FACTORIAL else None
    if name == "double_factorial":
        return math.prod(range(ints[0], 0, -2)) if 0 <= ints[0] <= MAX_FACTORIAL else None
    if name in ("gcd", "lcm"):
        return math.gcd(*ints) if name == "gcd" else math.lcm(*ints)
    return _of_two(name, *ints) if len(ints) == 2 else None


def _of_two(name: str, a: int, b: int) -> int | None:
    if name == "mod":
        return a % b if b else None
    if name == "binom":
        return math.comb(a, b) if 0 <= b <= a <= MAX_FACTORIAL else None
    if name == "log" and a > 0 and b > 1:
        power = round(math.log(a, b))
        return power if 0 <= power <= poly.MAX_BITS and b**power == a else None
    return None


__all__ = ["Atom", "Form", "NoFormError", "TooLargeError", "form", "formed", "ratio", "same"]
