"""Functions and their arguments, as the parser reads them."""

from __future__ import annotations

from abc import abstractmethod

from vtdata.verify.algebra.scanner import Scanner
from vtdata.verify.algebra.tokens import Token, UnreadableError
from vtdata.verify.algebra.tree import MINUS_ONE, Node, call, num, over, plus, symbols, times

CALLED = frozenset(["f", "g", "h", "F", "G", "H", "P", "Q", "phi", "Phi", "zeta", "Gamma", "psi"])
"""Symbols that are functions when brackets follow: f(2x) is not 2xf."""
CLOSERS = {"(": ")", "[": "]", "{": "}"}
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot"}
_ARITY = {"binom": 2, "cis": 1}
_LISTS = frozenset({"gcd", "lcm", "max", "min", "binom", "log"})
_ARGUMENT_MORE = frozenset({"symbol", "constant", "command", "function"})
"""What may follow the first factor of an argument without parentheses: ``\\sin 2x``."""


class Functions(Scanner):
    """The rules for functions; the others are the parser's."""

    @abstractmethod
    def sum(self) -> Node: ...

    @abstractmethod
    def power(self) -> Node: ...

    @abstractmethod
    def exponent(self) -> Node: ...

    @abstractmethod
    def group(self, opener: str) -> Node: ...

    @abstractmethod
    def braced(self) -> Node: ...

    @abstractmethod
    def opens_factor(self, token: Token) -> bool: ...

    def function(self, name: str) -> Node:
        if name in ("sqrt", "cbrt"):
            return self.root(name)
        base = exponent = None
        while self.peek().kind in ("_", "^"):
            if self.take("_"):
                base = self.base()
            elif self.take("^"):
                exponent = self.exponent()
        if exponent == MINUS_ONE and name in _INVERSE:
            name, exponent = _INVERSE[name], None
        node = self.applied(name, base)
        return node if exponent is None else ("^", node, exponent)

    def base(self) -> Node:
        if self.take("{"):
            return self.group("{")
        token = self.peek()
        self.at += 1
        if token.kind not in ("number", "symbol", "constant"):
            raise UnreadableError
        return plain(token)

    def applied(self, name: str, base: Node | None) -> Node:
        arguments = self.arguments(name)
        if name == "cis":
            return plus(call("cos", *arguments), times(("k", "i"), call("sin", *arguments)))
        if len(arguments) != _ARITY.get(name, len(arguments)):
            raise UnreadableError
        if name == "exp":
            return ("^", ("k", "e"), arguments[0])
        if name == "lg":
            return call("log", arguments[0], num(10))
        if name == "log" and base is not None:
            return call("log", arguments[0], base)
        if base is not None:
            raise UnreadableError
        return call(name, *arguments)

    def arguments(self, name: str) -> tuple[Node, ...]:
        self.skip()
        for opener in ("(", "{"):
            if self.take(opener):
                return self.listed(name, opener)
        node = None
        while True:
            self.skip()
            token = self.peek()
            if token.kind == "function" and token.text != "sqrt":
                break
            if not self.opens_factor(token) or (node and token.kind not in _ARGUMENT_MORE):
                break
            if node and token.kind == "number":
                break
            node = self.power() if node is None else times(node, self.power())
        if node is None:
            raise UnreadableError
        if not symbols(node) and self.peek().kind == "/":  # sin pi/6, but sin x/2 is a half
            below = self.tokens[self.at + 1]
            if below.kind == "number":
                self.at += 2
                node = over(node, plain(below))
        return (node,)

    def listed(self, name: str, opener: str) -> tuple[Node, ...]:
        bars, self.bars = self.bars, 0
        found = [self.sum()]
        self.skip()
        while name in _LISTS and self.take(","):
            found.append(self.sum())
            self.skip()
        self.expect(CLOSERS[opener])
        self.bars = bars
        return tuple(found)

    def root(self, name: str) -> Node:
        index = num(3 if name == "cbrt" else 2)
        if self.take("["):
            index = self.sum()
            self.expect("]")
        return call("root", self.braced(), index)

    def called(self, name: str, at: int) -> Node:
        """A function that nobody knows, applied; ``C(10,3)`` is a number."""
        found = [self.sum()]
        self.skip()
        while self.take(","):
            found.append(self.sum())
            self.skip()
        self.expect(")")
        if name != "C":
            return call(f"@{name}", *found)
        if len(found) == 2 and all(part[0] == "n" for part in found):
            return call("binom", *found)
        self.at = at  # a factor in front of brackets
        return ("s", name)


def plain(token: Token) -> Node:
    """The node of a number, a symbol or a constant by itself."""
    if token.kind == "number":
        return ("n", token.value)
    return ("k" if token.kind == "constant" else "s", token.text)
