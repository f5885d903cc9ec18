r"""Sines of the angles that every table has: multiples of 15 and of 18 degrees."""

from __future__ import annotations

from fractions import Fraction

from vtdata.verify.algebra.poly import Poly
from vtdata.verify.algebra.tree import Node, call, minus, num, over, plus, times


def _root(of: int) -> Node:
    return call("root", num(of), num(2))


_PI = ((("pi", 1), 1),)
_FIFTEEN = over(plus(_root(6), minus(_root(2))), num(4))
_SEVENTY_FIVE = over(plus(_root(6), _root(2)), num(4))
_SINES: dict[Fraction, Node] = {
    Fraction(0): num(0),
    Fraction(1, 12): _FIFTEEN,
    Fraction(1, 10): over(plus(_root(5), num(-1)), num(4)),
    Fraction(1, 6): num(Fraction(1, 2)),
    Fraction(1, 4): over(_root(2), num(2)),
    Fraction(3, 10): over(plus(_root(5), num(1)), num(4)),
    Fraction(1, 3): over(_root(3), num(2)),
    Fraction(5, 12): _SEVENTY_FIVE,
    Fraction(1, 2): num(1),
}
"""Sines between 0 and a right angle, by the angle over pi, that need square roots alone."""


def trigonometric(name: str, angle: Poly) -> tuple[Node, Node] | None:
    """The sine, cosine or tangent of a multiple of pi, over one; None where the table has none.

    Args:
        name: sin, cos or tan.
        angle: the angle in radians.

    Returns:
        Numerator and denominator.
    """
    if any(monomial != _PI for monomial in angle):
        return None
    turn = Fraction(angle.get(_PI, 0))
    sine, cosine = _sine(turn), _sine(turn + Fraction(1, 2))
    if name == "sin":
        return None if sine is None else (sine, num(1))
    if name == "cos":
        return None if cosine is None else (cosine, num(1))
    return None if sine is None or cosine is None else (sine, cosine)


def _sine(turn: Fraction) -> Node | None:
    turn %= 2
    if turn > 1:
        found = _sine(turn - 1)
        return None if found is None else minus(times(num(1), found))
    return _SINES.get(min(turn, 1 - turn))
