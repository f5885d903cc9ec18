r"""Definite integrals, sums, products, limits and derivatives, read as functions of their parts.

A bound variable is renamed, so that it is no symbol of the expression: ``\sum_{k=1}^n k`` is a
function of n. What has no bounds, or a one-sided limit, is not read.
"""

from __future__ import annotations

from collections.abc import Callable

from vtdata.verify.algebra.scanner import END, Scanner
from vtdata.verify.algebra.tokens import Token, UnreadableError
from vtdata.verify.algebra.tree import BOUND, Node, call, num, replaced

Parse = Callable[[list[Token]], Node]


def bound(body: Node, name: str) -> tuple[Node, Node]:
    """The body with its variable renamed, and the new name."""
    variable = ("s", f"{BOUND}{name}")
    return replaced(body, ("s", name), variable), variable


def integral(scanner: Scanner, parse: Parse) -> Node:
    """What stands behind an integral sign: bounds, body, differential."""
    low, high = _limits(scanner, parse)
    start, depth = scanner.at, 0
    while scanner.peek() is not END:
        kind, name, _ = scanner.peek()
        depth += (kind in ("(", "{")) - (kind in (")", "}"))
        behind = scanner.tokens[scanner.at + 1 : scanner.at + 2]
        if not depth and (kind, name) == ("symbol", "d") and behind and behind[0].kind == "symbol":
            inside = scanner.tokens[start : scanner.at]
            scanner.at += 2
            body = parse(inside) if any(t.kind != "space" for t in inside) else num(1)
            body, variable = bound(body, behind[0].text)
            return call("integral", body, variable, low, high)
        scanner.at += 1
    raise UnreadableError


def _limits(scanner: Scanner, parse: Parse) -> tuple[Node, Node]:
    found: dict[str, Node] = {}
    while scanner.peek().kind in ("_", "^"):
        which = scanner.peek().kind
        scanner.at += 1
        found[which] = parse(group(scanner))
    if len(found) != 2:
        raise UnreadableError
    return found["_"], found["^"]


def group(scanner: Scanner) -> list[Token]:
    """The tokens of a braced group, or the one token that LaTeX takes without braces."""
    if not scanner.take("{"):
        negative = [scanner.peek()] if scanner.take("-") else []
        token = scanner.peek()
        scanner.at += 1
        if token.kind not in ("number", "symbol", "constant"):
            raise UnreadableError
        return [*negative, token]
    start, depth = scanner.at, 1
    while depth:
        token = scanner.peek()
        if token is END:
            raise UnreadableError
        depth += (token.kind == "{") - (token.kind == "}")
        scanner.at += 1
    return scanner.tokens[start : scanner.at - 1]


def series(scanner: Scanner, name: str, parse: Parse, term: Callable[[], Node]) -> Node:
    """What stands behind a sum or product sign: ``_{k=1}^{n}`` and a term."""
    if not scanner.take("_"):
        raise UnreadableError
    below = group(scanner)
    if len(below) < 3 or below[0].kind != "symbol" or below[1].kind != "=":
        raise UnreadableError
    if not scanner.take("^"):
        raise UnreadableError
    high = parse(group(scanner))
    body, variable = bound(term(), below[0].text)
    return call(name, body, variable, parse(below[2:]), high)


def limit(scanner: Scanner, parse: Parse, term: Callable[[], Node]) -> Node:
    r"""What stands behind ``\lim``: where to, and a term."""
    if not scanner.take("_"):
        raise UnreadableError
    below = [token for token in group(scanner) if token.kind != "space"]
    arrow = [token.text for token in below[1:2]]
    one_sided = len(below) > 3 and below[-1].kind in ("+", "-", "}")
    if below[0].kind != "symbol" or arrow not in (["to"], ["rightarrow"]) or one_sided:
        raise UnreadableError
    body, variable = bound(term(), below[0].text)
    return call("limit", body, variable, parse(below[2:]))


def derivative(scanner: Scanner, term: Callable[[], Node]) -> Node | None:
    r"""``\frac{d}{dx}`` in front of a term; None where it is another fraction."""
    kinds = [token.text for token in scanner.tokens[scanner.at : scanner.at + 7]]
    if len(kinds) < 7 or kinds[:5] != ["{", "d", "}", "{", "d"] or kinds[6] != "}":
        return None
    scanner.at += 7
    # The variable stays free: the derivative is a function of it.
    return call("derivative", term(), ("s", kinds[5]))
