r"""Two expressions at the same points: where they differ once, they are refuted.

Evaluated with mpmath at 60 digits, again at 200 where the difference is small. Only points count
at which both sides are real, unless i is written in one of them: an answer over the real numbers
says nothing of what its root does elsewhere, so ``\sqrt{1/n}`` is ``1/\sqrt n``, but
``\sqrt{x^2}`` is not ``x``. Agreement is no proof and is never taken for one.
"""

from __future__ import annotations

import functools
import random
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from vtdata.verify.algebra.tree import Node, Rational, expanded, has, symbols, walk

DIGITS, MORE_DIGITS = 60, 200
MAX_NODES = 400
MAX_SYMBOLS = 12
MAX_MAGNITUDE = 1 << 20
"""Largest size of a value, as a power of two (ours)."""
_AGREED_DIGITS, _APART_DIGITS = 160, 120
"""Of 200 digits so many must agree, or one of the first so many differ (ours)."""
_CLEAR = 1e-10
"""A relative difference above this is one; below it is looked at with more digits (ours)."""
_SMALL = 1e-20
_ENOUGH = (2, 1, 1, 2)
"""Points that must count: of positive, negative, mixed and whole coordinates (ours)."""
WHOLE_NAMES = frozenset({"n", "k", "m", "j", "l", "N", "K", "M"})
"""Symbols that stand for whole numbers beside a factorial, a floor and the like (ours)."""
_OF_WHOLE = frozenset(
    {"factorial", "double_factorial", "binom", "floor", "ceil", "mod", "gcd", "lcm"}
)
_TURNING = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
_MAX_TURNS = 200
"""Largest argument of those, as a power of two (ours)."""
_INTEGRAL_DIGITS = 20
_REAL = "%real"
"""In a point: only real values count."""
_WHOLE, _TRIES = 3, 8
"""The last kind, and how many points are tried where one has no real value (ours)."""
_GAMMA_MOST = 10_000


class UnknownError(Exception):
    """The expression has no value at this point, or one that is not worth its time."""


def agree(a: Node, b: Node) -> bool | None:
    """False where the two differ at a point, True where they agree at all that count, else None.

    >>> x = ("s", "x")
    >>> agree(("*", (x, x)), ("^", x, ("n", Fraction(2)))), agree(x, ("n", Fraction(2)))
    (True, False)
    """
    names = sorted(symbols(a) | symbols(b))
    size = sum(1 for _ in walk(a)) + sum(1 for _ in walk(b))
    if len(names) > MAX_SYMBOLS or size > MAX_NODES:
        return None
    anywhere = has(a, "k", "i") or has(b, "k", "i") or not names
    num_agreed = 0
    whole = bool(names) and WHOLE_NAMES.issuperset(names) and (_counts(a) or _counts(b))
    for kind, enough in enumerate(_ENOUGH):
        if whole and kind != _WHOLE:
            continue
        counted = 0
        for point in _points(len(names), kind):
            same = _at(a, b, dict(zip(names, point, strict=True)), anywhere=anywhere)
            if same is False:
                return False
            counted += same is True
            if counted == enough or not names:
                break
        num_agreed += counted
        if not names:
            break
    return True if num_agreed >= min(2, 1 + len(names)) else None


def _counts(node: Node) -> bool:
    """Whether the tree has a function that belongs to whole numbers."""
    return any(part[0] == "f" and part[1] in _OF_WHOLE for part in walk(node))


def value(node: Node) -> float | None:
    """The real value of an expression without symbols, or None."""
    try:
        found = _evaluate(node, {}, _context(DIGITS))
        found = found.real if _is_real(found) else None
        return None if found is None else float(found)
    except (UnknownError, OverflowError):
        return None


def _points(num_names: int, kind: int) -> Iterator[tuple[Fraction, ...]]:
    """Points with positive coordinates, with negative ones, of either sign, and whole ones."""
    dice = random.Random(4 * num_names + kind)
    for _ in range(_TRIES):
        if kind == _WHOLE:
            yield tuple(Fraction(dice.randrange(2, 12)) for _ in range(num_names))
            continue
        signs = {0: (1,), 1: (-1,)}.get(kind, (-1, 1))
        yield tuple(
            Fraction(dice.choice(signs) * dice.randrange(200, 6_000), 997) for _ in range(num_names)
        )


def _at(a: Node, b: Node, point: dict[str, Fraction], *, anywhere: bool) -> bool | None:
    if not anywhere:
        point = {**point, _REAL: Fraction(1)}
    try:
        low = _context(DIGITS)
        left, right = _evaluate(a, point, low), _evaluate(b, point, low)
        if not anywhere and not (_is_real(left) and _is_real(right)):
            return None
        size, apart = max(abs(left), abs(right)), abs(left - right)
        if size > _SMALL and apart > _CLEAR * size:
            return False
        if has(a, "f", "integral") or has(b, "f", "integral"):
            return True if apart <= _CLEAR * size else None
        high = _context(MORE_DIGITS)
        left, right = _evaluate(a, point, high), _evaluate(b, point, high)
        return _close(abs(left - right), max(abs(left), abs(right)), size, high)
    except UnknownError:
        return None


def _close(apart: Any, size: Any, before: Any, context: Any) -> bool | None:
    """Whether two values are the same, given their size with fewer digits before."""
    if apart <= context.mpf(10) ** -_AGREED_DIGITS * size:
        return True
    if size <= context.mpf(10) ** -(MORE_DIGITS - 2 * DIGITS) * before:
        return True  # a zero shrinks with more digits
    return False if apart > context.mpf(10) ** -_APART_DIGITS * size else None


def _is_real(found: Any) -> bool:
    return abs(found.imag) <= 1e-30 * (1 + abs(found.real))


@functools.lru_cache(maxsize=4)
def _context(digits: int) -> Any:
    """A context of our own: the precision of mpmath's global one belongs to others."""
    import mpmath

    context = mpmath.MPContext()
    context.dps = digits
    return context


def _evaluate(node: Node, point: dict[str, Fraction], context: Any) -> Any:
    found = _EVALUATE[node[0]](node, point, context)
    if not context.isfinite(found):
        raise UnknownError
    if found and abs(context.mag(found)) > MAX_MAGNITUDE:
        raise UnknownError
    return found


def _number(node: Node, _point: dict[str, Fraction], context: Any) -> Any:
    return _mpf(node[1], context)


def _mpf(number: Rational, context: Any) -> Any:
    if abs(number.numerator.bit_length() - number.denominator.bit_length()) > MAX_MAGNITUDE:
        raise UnknownError
    return context.mpf(number.numerator) / number.denominator


def _symbol(node: Node, point: dict[str, Fraction], context: Any) -> Any:
    found = point.get(node[1])
    if found is None:
        raise UnknownError
    return _mpf(found, context) if isinstance(found, (int, Fraction)) else found


def _constant(node: Node, _point: dict[str, Fraction], context: Any) -> Any:
    if node[1] == "oo":
        raise UnknownError
    return {"pi": +context.pi, "e": +context.e, "i": context.mpc(0, 1)}[node[1]]


def _sum(node: Node, point: dict[str, Fraction], context: Any) -> Any:
    return context.fsum(_evaluate(part, point, context) for part in node[1])


def _product(node: Node, point: dict[str, Fraction], context: Any) -> Any:
    total = context.mpf(1)
    for part in node[1]:
        total *= _evaluate(part, point, context)
    return total


def _power(node: Node, point: dict[str, Fraction], context: Any) -> Any:
    base, exponent = (_evaluate(part, point, context) for part in node[1:])
    if not base:
        if _is_real(exponent) and exponent.real > 0:
            return context.mpf(0)
        raise UnknownError
    if abs(exponent) * abs(context.log(abs(base), 2)) > MAX_MAGNITUDE:
        raise UnknownError
    return _kept_real(context.power(base, exponent), point)


def _degrees(node: Node, point: dict[str, Fraction], context: Any) -> Any:
    return _evaluate(node[1], point, context) * context.pi / 180


def _function(node: Node, point: dict[str, Fraction], context: Any) -> Any:
    name = node[1]
    if name in ("sum", "prod") and (terms := expanded(node)) is not None:
        joined = ("+", tuple(terms)) if name == "sum" else ("*", tuple(terms))
        return _evaluate(joined, point, context)
    if name == "integral":
        return _integral(node, point, context)
    if name.startswith("@"):
        values = [_evaluate(part, point, context) for part in node[2]]
        return _generic(context, name, values)
    apply = _FUNCTIONS.get(node[1])
    if apply is None:
        raise UnknownError
    values = [_evaluate(part, point, context) for part in node[2]]
    if name in _TURNING and context.mag(values[0]) > _MAX_TURNS:
        raise UnknownError  # its remainder takes as many digits as it has
    try:
        found = apply(context, *values)
    except (ValueError, ZeroDivisionError, TypeError, OverflowError) as error:
        raise UnknownError from error
    return _kept_real(found, point)


def _kept_real(found: Any, point: dict[str, Fraction]) -> Any:
    """A value, unless it leaves the real numbers where only those count."""
    if _REAL in point and not _is_real(found):
        raise UnknownError
    return found


def _generic(c: Any, name: str, values: list[Any]) -> Any:
    """A fixed function without any symmetry, in place of one that nobody knows."""
    start = c.mpf(zlib.crc32(name.encode()) % 997) / 991
    total = sum((c.mpf(3 + 2 * at) / 7 * value for at, value in enumerate(values)), start)
    if c.mag(total) > _MAX_TURNS:
        raise UnknownError
    return c.sin(total) + total * total / 11 + start


def _integral(node: Node, point: dict[str, Fraction], context: Any) -> Any:
    """A definite integral over a finite interval, to half of the few digits asked for."""
    body, variable, low, high = node[2]
    ends = [_evaluate(end, point, context) for end in (low, high)]
    coarse = _context(_INTEGRAL_DIGITS)

    def at(x: Any) -> Any:
        return _evaluate(body, {**point, variable[1]: x}, coarse)

    try:
        found, error = coarse.quad(at, [coarse.mpf(end.real) for end in ends], error=True)
    except (ValueError, ZeroDivisionError, TypeError, OverflowError) as problem:
        raise UnknownError from problem
    if not error <= 1e-12 * (1 + abs(found)):
        raise UnknownError
    return found


def _unknown(_node: Node, _point: dict[str, Fraction], _context: Any) -> Any:
    raise UnknownError


_EVALUATE: dict[str, Callable[[Node, dict[str, Fraction], Any], Any]] = {
    "n": _number,
    "s": _symbol,
    "k": _constant,
    "+": _sum,
    "*": _product,
    "^": _power,
    "f": _function,
    "deg": _degrees,
    "pm": _unknown,
}


def _root(c: Any, inside: Any, index: Any) -> Any:
    """The real root where there is one, else the principal one."""
    if not inside:
        return c.mpf(0)
    if _is_real(inside) and inside.real < 0 and _is_real(index) and index.real % 2 == 1:
        return -c.power(-inside.real, 1 / index)
    return c.power(inside, 1 / index)


def _real(number: Any) -> Any:
    if not _is_real(number):
        raise UnknownError
    return number.real


def _whole(c: Any, number: Any) -> int:
    real = _real(number)
    nearest = c.nint(real)
    if abs(real - nearest) > 1e-30 or abs(nearest) > 1e15:
        raise UnknownError
    return int(nearest)


def _factorial(c: Any, n: Any) -> Any:
    if abs(n) > _GAMMA_MOST or (_is_real(n) and n.real < 0):
        raise UnknownError
    return c.gamma(n + 1)


def _double_factorial(c: Any, n: Any) -> Any:
    if abs(n) > _GAMMA_MOST or (_is_real(n) and n.real < 0):
        raise UnknownError
    return c.fac2(_whole(c, n))  # between whole numbers there are several


def _binomial(c: Any, n: Any, k: Any) -> Any:
    if abs(n) > _GAMMA_MOST or abs(k) > _GAMMA_MOST:
        raise UnknownError
    return c.binomial(n, k)


def _floor(c: Any, number: Any) -> Any:
    """The floor, unless rounding may have decided it."""
    real = _real(number)
    nearest = c.nint(real)
    if nearest != real and abs(real - nearest) < 1e-30:
        raise UnknownError
    return c.floor(real)


def _modulo(c: Any, a: Any, b: Any) -> Any:
    return c.mpf(_whole(c, a) % _whole(c, b))


def _gcd(c: Any, *values: Any) -> Any:
    import math

    return c.mpf(math.gcd(*(_whole(c, value) for value in values)))


def _lcm(c: Any, *values: Any) -> Any:
    import math

    return c.mpf(math.lcm(*(_whole(c, value) for value in values)))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: (lambda c, x, name=name: getattr(c, name)(x))
    for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth")
} | {
    "arcsin": lambda c, x: c.asin(x),
    "arccos": lambda c, x: c.acos(x),
    "arctan": lambda c, x: c.atan(x),
    "arccot": lambda c, x: c.pi / 2 - c.atan(x),
    "ln": lambda c, x: c.log(x),
    "log": lambda c, x, base=None: c.log(x) if base is None else c.log(x) / c.log(base),
    "abs": lambda c, x: abs(x),
    "root": _root,
    "factorial": _factorial,
    "double_factorial": _double_factorial,
    "binom": _binomial,
    "floor": _floor,
    "ceil": lambda c, x: -_floor(c, -x),
    "mod": _modulo,
    "gcd": _gcd,
    "lcm": _lcm,
    "max": lambda c, *xs: max(_real(x) for x in xs),
    "min": lambda c, *xs: min(_real(x) for x in xs),
    "Re": lambda c, x: c.re(x),
    "Im": lambda c, x: c.im(x),
    "arg": lambda c, x: c.arg(x),
    "sgn": lambda c, x: c.sign(_real(x)),
    "sign": lambda c, x: c.sign(_real(x)),
}
