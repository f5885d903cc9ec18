"""A symbolic proof that two expressions are equal; runs in a child of the guard only.

sympy may take any time and memory, which is why nothing here is called in the host's process.
"""

from __future__ import annotations

from typing import Any

from vtdata.verify.algebra.points import WHOLE_NAMES
from vtdata.verify.algebra.tree import BOUND, Node, dumps, loads


def prove(gold: str, pred: str) -> bool | None:
    """True where the difference of two expressions is zero, False where it is another number.

    None where neither is shown.

    Called after random points did not tell them apart, so a failure to prove is no verdict.
    Symbols are positive real numbers, and n, k, m and the like whole ones: at all others the
    points have looked.

    Args:
        gold: an expression, from ``tree.dumps``.
        pred: the other.
    """
    import sympy

    symbols: dict[str, Any] = {}
    try:
        apart = _sympy(loads(gold), symbols) - _sympy(loads(pred), symbols)
    except (ArithmeticError, TypeError, ValueError, NotImplementedError, KeyError):
        return None
    for simplify in (
        sympy.expand,
        lambda e: sympy.radsimp(sympy.together(e)),
        lambda e: sympy.expand_log(sympy.expand_trig(sympy.expand(e)), force=True),
        sympy.simplify,
        lambda e: sympy.simplify(sympy.expand_func(e.rewrite(sympy.gamma))),
        sympy.sqrtdenest,
        lambda e: sympy.simplify(e.rewrite(sympy.exp)),
        lambda e: 0 if _algebraic_zero(e) else e,
    ):
        try:
            found = simplify(apart)
            if found == 0:
                return True
            if getattr(found, "is_Rational", False):
                return False
        except (ArithmeticError, AttributeError, TypeError, ValueError, NotImplementedError):
            continue
    return None


def warm() -> None:
    """Fill sympy's caches before children are forked."""
    x = ("s", "x")
    twice = dumps(("f", "sin", (("*", (("n", 2), x)),)))
    prove(twice, dumps(("*", (("n", 2), ("f", "sin", (x,)), ("f", "cos", (x,))))))
    prove(dumps(("f", "root", (("n", 7), ("n", 2)))), dumps(("n", 2)))


def _algebraic_zero(apart: Any) -> bool:
    """Whether a number is zero by its minimal polynomial."""
    import sympy

    if apart.free_symbols or not apart.is_algebraic:
        return False
    x = sympy.Dummy("x")
    return sympy.minimal_polynomial(apart, x) == x


def _sympy(node: Node, symbols: dict[str, Any]) -> Any:
    import sympy

    kind = node[0]
    if kind == "n":
        return sympy.Rational(node[1].numerator, node[1].denominator)
    if kind == "s":
        name = node[1]
        if name not in symbols:
            known = {"positive": True} | ({"integer": True} if name in WHOLE_NAMES else {})
            if name.startswith(BOUND):
                known = {"integer": True} if name[1:] in WHOLE_NAMES | {"i"} else {"real": True}
            symbols[name] = sympy.Symbol(f"s{len(symbols)}", **known)
        return symbols[name]
    if kind == "k":
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "oo": sympy.oo}[node[1]]
    if kind == "+":
        return sympy.Add(*(_sympy(part, symbols) for part in node[1]))
    if kind == "*":
        return sympy.Mul(*(_sympy(part, symbols) for part in node[1]))
    if kind == "^":
        return sympy.Pow(_sympy(node[1], symbols), _sympy(node[2], symbols))
    if kind == "deg":
        return _sympy(node[1], symbols) * sympy.pi / 180
    arguments = [_sympy(part, symbols) for part in node[2]]
    if node[1].startswith("@"):
        unknown: Any = sympy.Function(node[1][1:])
        return unknown(*arguments)
    if node[1] in _CALCULUS:
        return _CALCULUS[node[1]](sympy, *arguments)
    return _FUNCTIONS[node[1]](sympy, *arguments)


def _root(sympy: Any, inside: Any, index: Any) -> Any:
    if index == 2:
        return sympy.sqrt(inside)
    odd = index.is_integer and index % 2 == 1
    return sympy.real_root(inside, index) if odd and inside.is_real else sympy.root(inside, index)


_CALCULUS: dict[str, Any] = {
    "sum": lambda sympy, body, k, low, high: sympy.Sum(body, (k, low, high)).doit(),
    "prod": lambda sympy, body, k, low, high: sympy.Product(body, (k, low, high)).doit(),
    "integral": lambda sympy, body, x, low, high: sympy.Integral(body, (x, low, high)).doit(),
    "limit": lambda sympy, body, x, to: sympy.limit(body, x, to),
    "derivative": lambda sympy, body, x: sympy.diff(body, x),
}
_NAMES = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arccot": "acot",
    "ln": "log",
    "abs": "Abs",
    "ceil": "ceiling",
    "binom": "binomial",
    "double_factorial": "factorial2",
    "mod": "Mod",
    "max": "Max",
    "min": "Min",
    "Re": "re",
    "Im": "im",
    "sgn": "sign",
}
_SAME_NAMES = (
    "sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan arccot ln log abs ceil "
    "floor factorial double_factorial binom mod gcd lcm max min Re Im arg sgn sign"
)
_FUNCTIONS: dict[str, Any] = {
    name: (lambda sympy, *args, name=name: getattr(sympy, _NAMES.get(name, name))(*args))
    for name in _SAME_NAMES.split()
} | {"root": _root}
