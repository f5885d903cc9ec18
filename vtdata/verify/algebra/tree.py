r"""Expressions as plain tuples, which compare, hash and pickle by themselves.

("n", Fraction)  ("s", symbol)  ("k", "pi" | "e" | "i" | "oo")
("+", (a, b, ...))  ("*", (a, b, ...))  ("^", base, exponent)
("f", function, (argument, ...))  ("pm", sign, a)  ("deg", a)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, TypeAlias

Node: TypeAlias = tuple[Any, ...]

Rational: TypeAlias = int | Fraction
"""An exact number; a whole one is an int, which is ten times as fast."""

BOUND = "%"
"""First character of the name of a bound variable, which is no symbol of its expression."""
MINUS_ONE: Node = ("n", -1)


def num(value: Rational) -> Node:
    """A number."""
    return ("n", whole(value))


def whole(value: Rational) -> Rational:
    """The same number, as an int where it is one."""
    return value.numerator if value.denominator == 1 else value


def plus(*parts: Node) -> Node:
    """A sum."""
    return parts[0] if len(parts) == 1 else ("+", parts)


def times(*parts: Node) -> Node:
    """A product."""
    return parts[0] if len(parts) == 1 else ("*", parts)


def minus(node: Node) -> Node:
    """The negative."""
    return ("n", -node[1]) if node[0] == "n" else ("*", (MINUS_ONE, node))


def over(top: Node, bottom: Node) -> Node:
    """A quotient."""
    return ("*", (top, ("^", bottom, MINUS_ONE)))


def call(name: str, *arguments: Node) -> Node:
    """A function of something."""
    return ("f", name, arguments)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below."""
    kind = node[0]
    if kind in ("+", "*"):
        return node[1]
    if kind == "^":
        return node[1:]
    if kind in ("f", "pm"):
        return node[2] if kind == "f" else (node[2],)
    return (node[1],) if kind == "deg" else ()


def walk(node: Node) -> Iterator[Node]:
    """Every node, the root first."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)


def symbols(node: Node) -> frozenset[str]:
    """The names of the free symbols.

    >>> sorted(symbols(("+", (("s", "x"), ("*", (("s", "y"), ("k", "pi")))))))
    ['x', 'y']
    """
    return frozenset(
        part[1] for part in walk(node) if part[0] == "s" and not part[1].startswith(BOUND)
    )


def has(node: Node, kind: str, name: str | None = None) -> bool:
    """Whether a node of this kind, and this name if there is one, is anywhere in the tree."""
    return any(part[0] == kind and (name is None or part[1] == name) for part in walk(node))


def replaced(node: Node, old: Node, new: Node) -> Node:
    """The tree with every ``old`` replaced."""
    if node == old:
        return new
    kind = node[0]
    if kind in ("+", "*"):
        return (kind, tuple(replaced(part, old, new) for part in node[1]))
    if kind == "^":
        return ("^", replaced(node[1], old, new), replaced(node[2], old, new))
    if kind == "f":
        return ("f", node[1], tuple(replaced(part, old, new) for part in node[2]))
    if kind == "pm":
        return ("pm", node[1], replaced(node[2], old, new))
    return ("deg", replaced(node[1], old, new)) if kind == "deg" else node


MAX_EXPANDED = 300
"""Most terms of a sum or product that is written out (ours)."""


def expanded(node: Node) -> list[Node] | None:
    """The terms of a sum or product between whole numbers; None where they are too many."""
    body, variable, low, high = node[2]
    ends = [_int(low), _int(high)]
    if ends[0] is None or ends[1] is None or not 0 <= ends[1] - ends[0] < MAX_EXPANDED:
        return None
    return [replaced(body, variable, num(n)) for n in range(ends[0], ends[1] + 1)]


def _int(node: Node) -> int | None:
    if node[0] == "n" and isinstance(node[1], int):
        return node[1]
    negative = node[0] == "*" and node[1][0] == MINUS_ONE and len(node[1]) == 2
    inner = _int(node[1][1]) if negative else None
    return None if inner is None else -inner


def signed(node: Node) -> tuple[Node, ...]:
    r"""Both readings of an expression with ``\pm``, upper signs first; else itself."""
    if not has(node, "pm"):
        return (node,)
    return _choose(node, 1), _choose(node, -1)


def _choose(node: Node, sign: int) -> Node:
    kind = node[0]
    if kind == "pm":
        inner = _choose(node[2], sign)
        return inner if node[1] * sign > 0 else minus(inner)
    if kind in ("+", "*"):
        return (kind, tuple(_choose(part, sign) for part in node[1]))
    if kind == "^":
        return ("^", _choose(node[1], sign), _choose(node[2], sign))
    if kind == "f":
        return ("f", node[1], tuple(_choose(part, sign) for part in node[2]))
    return ("deg", _choose(node[1], sign)) if kind == "deg" else node


def dumps(node: Node) -> str:
    """An expression as JSON text, for another process."""
    return json.dumps(node, default=str)


def loads(text: str) -> Node:
    """The expression that ``dumps`` wrote.

    >>> loads(dumps(("*", (("n", Fraction(1, 2)), ("s", "x")))))
    ('*', (('n', Fraction(1, 2)), ('s', 'x')))
    """
    return _node(json.loads(text))


def _node(found: Any) -> Any:
    if not isinstance(found, list):
        return found
    if found and found[0] == "n":
        return num(Fraction(found[1]))
    return tuple(_node(part) for part in found)
