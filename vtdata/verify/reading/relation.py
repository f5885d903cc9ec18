r"""Equations, inequalities, memberships and congruences."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from vtdata.verify.algebra.form import formed
from vtdata.verify.algebra.parse import parse
from vtdata.verify.algebra.points import agree
from vtdata.verify.algebra.tokens import UnreadableError
from vtdata.verify.algebra.tree import Node, minus, num, plus, signed, symbols
from vtdata.verify.reading.split import cut
from vtdata.verify.reading.union import as_reals, position, without
from vtdata.verify.reading.values import (
    Congruence,
    Foreign,
    Group,
    Named,
    Reals,
    Relation,
    Scalar,
    Span,
    Value,
    Words,
)

_OPERATORS = {
    "=": "=",
    "<": "<",
    ">": ">",
    r"\lt": "<",
    r"\gt": ">",
    "<=": "<=",
    ">=": ">=",
    r"\leq": "<=",
    r"\geq": ">=",
    r"\neq": "!=",
    "!=": "!=",
    r"\in": "in",
    r"\approx": "~",
    r"\equiv": "mod",
    r"\parallel": "parallel",
    "||": "parallel",
    r"\perp": "perp",
    r"\cong": "cong",
    r"\sim": "sim",
}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_SYMMETRIC = frozenset({"parallel", "perp", "cong", "sim"})
_OPERATOR = re.compile(
    r"\\(?:leq|geq|neq|lt|gt|in|approx|equiv|parallel|perp|cong|sim)(?![A-Za-z])|[<>]=|(?<![0-9)])!=|\|\||[=<>]"
)
_MODULUS = re.compile(
    r"\\pmod\s*\{?(?P<a>[^{}]+)\}?$|\(?\s*\\?b?mod\s*\{?(?P<b>[^{}()]+)\}?\s*\)?$"
)
_CALL = re.compile(r"[A-Za-z](?:_\{?\w+\}?)?'?\((?:[A-Za-z0-9](?:,[A-Za-z0-9])*|[A-Z]\S*)\)")
_LEIBNIZ = re.compile(r"\\frac\{d[^{}]*\}\{d[a-z](?:\^[0-9])?\}")
_PROPORTION = re.compile(r"[A-Za-z]+(?::[A-Za-z]+)+")
_INFINITY: Node = ("k", "oo")
_MAX_PARTS = 8


def is_relation(text: str) -> bool:
    """Whether a relation stands at the top level of the text."""
    return bool(_OPERATOR.search(text)) and len(cut(text, _OPERATOR)[0]) > 1


def relation(text: str, value_of: Callable[[str], Value]) -> Value:
    """Read a relation, or a chain of them."""
    parts, marks = cut(text, _OPERATOR)
    operators = [_OPERATORS[mark] for mark in marks]
    if len(parts) > _MAX_PARTS or not all(parts):
        return Foreign(text)
    if "~" in operators:  # what is written behind is an approximation of what is before
        at = text.index(marks[operators.index("~")])
        return value_of(text[:at].strip())
    if len(operators) == 1 and operators[0] in _SYMMETRIC:
        segments = operators[0] in ("parallel", "perp")
        sides = sorted("".join(sorted(p)) if segments and p.isupper() else p for p in parts)
        return Words(f"{sides[0]} {operators[0]} {sides[1]}")
    if operators[0] == "mod":
        found = congruence(parts[0], parts[1]) if len(parts) == 2 else None
        return found or Foreign(text)
    if operators == ["in"]:
        return _member(parts, text, value_of)
    if set(operators) == {"="}:
        return _equation(parts, text, value_of)
    try:
        return _inequality([parse(part) for part in parts], operators, text)
    except UnreadableError:
        return Foreign(text)


def congruence(name: str, text: str) -> Congruence | None:
    """Read what stands behind the sign of a congruence: ``3 (mod 7)``."""
    match = _MODULUS.search(text)
    if match is None or not text[: match.start()].strip("( "):
        return None
    try:
        residue = parse(text[: match.start()].strip().rstrip("(").strip())
        return Congruence(name, residue, parse(match["a"] or match["b"]))
    except UnreadableError:
        return None


def _member(parts: list[str], text: str, value_of: Callable[[str], Value]) -> Value:
    found = value_of(parts[1])
    if isinstance(found, Group) and found.shape == "set":
        return Named(parts[0], found)
    reals = found if isinstance(found, Reals) else as_reals(found)
    return Foreign(text) if reals is None else Reals(reals.spans, parts[0])


def _equation(parts: list[str], text: str, value_of: Callable[[str], Value]) -> Value:
    values = [value_of(part) for part in parts]
    nodes = [value.node if isinstance(value, Scalar) else None for value in values]
    named = _name(parts[0], nodes[0])
    if len(parts) > 2 and not _chain(values, nodes):
        return Foreign(text)
    last = values[-1]
    called = bool(_CALL.fullmatch(parts[0]))
    if named and (called or not _overlap(nodes[0], nodes[-1])):
        both = len(parts) == 2 and _name(parts[1], nodes[1])
        if not both:
            return Named(named, last)
    if len(parts) == 2 and nodes[0] is not None and not _name(parts[0], nodes[0]):
        name = _name(parts[1], nodes[1])
        if name and not _overlap(nodes[0], nodes[1]):
            return Named(name, values[0])
    titled = isinstance(values[0], Words) and not any(char.isdigit() for char in parts[0])
    if titled and len(parts) == 2 and not isinstance(last, (Words, Foreign)):
        return Named(parts[0], last)
    if isinstance(values[0], Group) and isinstance(last, Group) and _names(values[0]):
        return _system(values[0], last)
    if any(node is None for node in nodes):
        return Foreign(text)
    closed = [node for node in nodes if node is not None and not symbols(node)]
    if len(closed) == len(nodes):
        return _closed(parts, closed, last, text)
    left, right = nodes[0], nodes[-1]
    if left is None or right is None or len(parts) > 2:
        return Foreign(text)
    return Relation("=", left, right)


def _chain(values: list[Value], nodes: list[Node | None]) -> bool:
    """Whether what follows a name in ``x = a = b`` is one value, as far as can be seen."""
    if any(isinstance(value, (Words, Foreign)) for value in values[1:]):
        return False
    rest = [node for node in nodes[1:] if node is not None]
    return all(agree(node, rest[-1]) is not False for node in rest[:-1])


def _closed(parts: list[str], nodes: list[Node], last: Value, text: str) -> Value:
    """``5! = 120`` is 120; ``e = 2`` names something, and ``3 = 3`` says nothing."""
    if any(agree(node, nodes[-1]) is False for node in nodes[:-1]):
        return Named(parts[0], last) if len(parts) == 2 and nodes[0][0] == "k" else Foreign(text)
    return last if len(set(parts)) > 1 else Foreign(text)


def _system(names: Group, values: Group) -> Value:
    """``(x,y)=(1,2)``."""
    if len(names.items) != len(values.items):
        return Foreign("")
    pairs = zip(names.items, values.items, strict=True)
    return Group(
        "list",
        tuple(Named(n.node[1], v) for n, v in pairs if isinstance(n, Scalar)),
    )


def _names(group: Group) -> bool:
    return all(isinstance(item, Scalar) and item.node[0] == "s" for item in group.items)


def _name(text: str, node: Node | None) -> str:
    """The name that a side of an equation is; empty where it is none.

    A symbol, a function of symbols, the length ``|AB|``, a segment ``AB``, an angle.
    """
    if _CALL.fullmatch(text) or _LEIBNIZ.fullmatch(text) or _PROPORTION.fullmatch(text):
        return text
    if node is None:
        return ""
    if node[0] == "s":
        return node[1]
    if node[0] == "f" and node[1] == "abs":
        return text[1:-1] if text[1:-1].isupper() else text if node[2][0][0] == "s" else ""
    if text.startswith((r"m\angle", r"\overline{")):
        return text
    return text if text.isalpha() and text.isupper() else ""


def _overlap(left: Node | None, right: Node | None) -> bool:
    if left is None or right is None:
        return False
    return bool(symbols(left) & symbols(right))


def _inequality(nodes: list[Node], operators: list[str], text: str) -> Value:
    if operators == ["!="]:
        return _unequal(nodes)
    if any(operator not in _MIRRORED for operator in operators):
        return Foreign(text)
    if len({operator[0] for operator in operators}) > 1:
        return Foreign(text)
    variables = [i for i, node in enumerate(nodes) if node[0] == "s"]
    free = [i for i, node in enumerate(nodes) if symbols(node)]
    if len(nodes) == 2 and (found := _absolute(nodes, operators[0])) is not None:
        return found
    if len(nodes) == 2 and (len(variables) != 1 or (len(free) == 2 and _overlap(*nodes))):
        left, right = nodes
        if operators[0] in (">", ">="):
            left, right = right, left
        if (solved := _solved(left, right, operators[0].replace(">", "<"))) is not None:
            return solved
        return Relation(operators[0].replace(">", "<"), left, right)
    middle = _variable(nodes, variables)
    if middle is None:
        return Foreign(text)
    low, low_closed, high, high_closed = minus(_INFINITY), False, _INFINITY, False
    for (i, left), operator in zip(enumerate(nodes[:-1]), operators, strict=True):
        right = nodes[i + 1]
        bound, sign = (right, operator) if i == middle else (left, _MIRRORED[operator])
        if sign in ("<", "<="):
            high, high_closed = bound, sign == "<="
        else:
            low, low_closed = bound, sign == ">="
    return Reals((Span(low, low_closed, high, high_closed),), nodes[middle][1])


def _solved(left: Node, right: Node, operator: str) -> Reals | None:
    """A linear inequality in one symbol, ``left < right`` or ``left <= right``, solved for it."""
    found = formed(plus(left, minus(right)))
    names = symbols(left) | symbols(right)
    if found is None or len(names) != 1:
        return None
    (name,) = names
    slope = found.num.get((((name, 1), 1),))
    rest = {monomial for monomial in found.num if monomial not in ((), (((name, 1), 1),))}
    if slope is None or rest or set(found.den) != {()}:
        return None
    bound = num(-Fraction(found.num.get((), 0)) / slope)
    closed = operator == "<="
    if slope > 0:
        return Reals((Span(minus(_INFINITY), False, bound, closed),), name)  # noqa: FBT003
    return Reals((Span(bound, closed, _INFINITY, False),), name)  # noqa: FBT003


def _absolute(nodes: list[Node], operator: str) -> Reals | None:
    """``|x| < a`` and ``|x| > a``."""
    left, right = nodes
    if left[0] != "f":
        left, right, operator = right, left, _MIRRORED[operator]
    if left[0] != "f" or left[1] != "abs" or left[2][0][0] != "s" or symbols(right):
        return None
    closed, name = operator.endswith("="), left[2][0][1]
    if operator in ("<", "<="):
        return Reals((Span(minus(right), closed, right, closed),), name)
    below = Span(minus(_INFINITY), False, minus(right), closed)  # noqa: FBT003
    return Reals((below, Span(right, closed, _INFINITY, False)), name)  # noqa: FBT003


def _variable(nodes: list[Node], variables: list[int]) -> int | None:
    """Which part is bounded by the others: the middle one of three, the symbol of two."""
    if len(nodes) == 3:
        return 1 if nodes[1][0] == "s" else None
    return variables[0] if len(nodes) == 2 and len(variables) == 1 else None


def _unequal(nodes: list[Node]) -> Value:
    left, right = nodes
    if left[0] != "s" and right[0] == "s":
        left, right = right, left
    if left[0] == "s" and not _overlap(left, right):
        found: Reals | None = Reals((Span(minus(_INFINITY), False, _INFINITY, False),), left[1])  # noqa: FBT003
        for point in sorted(signed(right), key=lambda node: position(node) or 0.0):
            found = None if found is None else without(found, point)
        if found is not None:
            return found
    return Relation("!=", left, right)
