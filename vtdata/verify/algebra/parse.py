r"""From tokens to an expression: recursive descent, bounded in depth.

Juxtaposition is a product; ``2\frac12`` and ``1 1/2`` are mixed numbers; ``a/bc`` is ``(a/b)c``;
``2^10`` has the exponent 10, as its writers mean it; ``\sin^{-1}`` is the inverse function.
"""

from __future__ import annotations

import re
from fractions import Fraction

from vtdata.verify.algebra import calculus
from vtdata.verify.algebra.functions import CALLED, CLOSERS, Functions, plain
from vtdata.verify.algebra.scanner import END
from vtdata.verify.algebra.tokens import Token, UnreadableError, tokens
from vtdata.verify.algebra.tree import (
    Node,
    call,
    minus,
    num,
    over,
    plus,
    replaced,
    symbols,
    times,
)

MAX_DEPTH = 60
"""Deepest nesting read (ours)."""

_SIGNS = {"pm": 1, "mp": -1}
_POSTFIX = frozenset({"!", "%", "'", "command"})
_TIMES = frozenset({"cdot", "times", "ast"})
_OPENING = frozenset(["number", "symbol", "constant", "function", "(", "{", "["])
_FACTORS = (
    "frac binom int sum prod lim lfloor lceil angle triangle overline vec hat bar tilde mathbb "
    "lvert"
)
_FACTOR_COMMANDS = frozenset(_FACTORS.split())
_MARKED = frozenset({"overline", "vec", "hat", "bar", "tilde", "mathbb"})
_CHOSEN = re.compile(r"([CA])_([0-9]{1,4})")


def parse(text: str) -> Node:
    r"""Read an expression in the spelling of ``normal``.

    Raises:
        UnreadableError: it is none, or one that isn't read here.
        ProseError: it has words.

    >>> parse("2x")
    ('*', (('n', 2), ('s', 'x')))
    """
    return parse_tokens(tokens(text))


def parse_tokens(found: list[Token]) -> Node:
    """Read an expression from its tokens; see ``parse``."""
    parser = Parser(found)
    node = parser.sum()
    parser.skip()
    if parser.peek() is not END:
        raise UnreadableError
    return node


class Parser(Functions):
    """Reads one expression; stops where it ends."""

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError
        parts = [self.term()]
        while True:
            self.skip()
            kind, name, _ = self.tokens[self.at]
            if kind == "+":
                self.at += 1
                parts.append(self.term())
            elif kind == "-":
                self.at += 1
                parts.append(minus(self.term()))
            elif kind == "command" and name in _SIGNS:
                self.at += 1
                parts.append(("pm", _SIGNS[name], self.term()))
            else:
                break
        self.depth -= 1
        return plus(*parts)

    def term(self) -> Node:
        node = self.unary()
        while True:
            self.skip()
            token = self.peek()
            if token.kind == "*" or (token.kind == "command" and token.text in _TIMES):
                self.at += 1
                node = times(node, self.unary())
            elif token.kind == "/" or (token.kind == "command" and token.text == "div"):
                self.at += 1
                node = over(node, self.unary())
            elif token.kind == "command" and token.text == "bmod":
                self.at += 1
                node = call("mod", node, self.unary())
            elif self.opens_factor(token):
                if token.kind == "number" and not self.multiplies():
                    raise UnreadableError  # "1 2" and "x2" are no products
                node = times(node, self.power())
            else:
                return node

    def multiplies(self) -> bool:
        """Whether a number here is a factor: ``(n-2)2^n``, ``2^a 3^b``."""
        before = [token.kind for token in self.tokens[max(0, self.at - 3) : self.at]]
        return before[-1] in (")", "}") or (
            before[-1] == "space" and (before[-2] in (")", "}") or before[:2] == ["^", "symbol"])
        )

    def opens_factor(self, token: Token) -> bool:
        if token.kind == "[":
            return False  # an interval, or a list
        if token.kind == "|":
            return not self.bars
        return token.kind in _OPENING or (
            token.kind == "command" and token.text in _FACTOR_COMMANDS
        )

    def unary(self) -> Node:
        self.skip()
        kind, name, _ = self.tokens[self.at]
        if kind == "-":
            self.at += 1
            return minus(self.unary())
        if kind == "+":
            self.at += 1
            return self.unary()
        if kind == "command" and name in _SIGNS:
            self.at += 1
            return ("pm", _SIGNS[name], self.unary())
        return self.power()

    def power(self) -> Node:
        node = self.postfix(self.atom())
        if self.take("^"):
            if self.degree():
                return ("deg", node)
            exponent = self.exponent()
            counted = _CHOSEN.fullmatch(node[1]) if node[0] == "s" else None
            if counted is not None and exponent[0] == "n":  # C_{10}^{3}, as it is written in China
                return _counted(counted[1], int(counted[2]), exponent)
            node = self.postfix(("^", node, exponent))
        return node

    def exponent(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError
        self.skip()
        if self.take("-"):
            node = minus(self.exponent())
        elif self.take("+"):
            node = self.exponent()
        else:
            token = self.peek()
            if token.kind == "number":  # no mixed number: x^2\frac12
                self.at += 1
                node = self.postfix(plain(token))
            else:
                node = self.postfix(self.atom())
            if self.take("^"):
                node = ("^", node, self.exponent())
        self.depth -= 1
        return node

    def postfix(self, node: Node) -> Node:
        while self.tokens[self.at][0] in _POSTFIX:
            if self.take("!"):
                node = call("double_factorial" if self.take("!") else "factorial", node)
            elif self.take("%") or self.take("command", "%"):
                node = over(node, num(100))
            elif node[0] == "s" and (self.take("'") or self.take("command", "prime")):
                node = ("s", node[1] + "'")
            else:
                break
        return node

    def atom(self) -> Node:
        self.skip()
        token = self.peek()
        if token is END:
            raise UnreadableError
        self.at += 1
        if token.kind == "number":
            return self.mixed(token)
        if token.kind in ("symbol", "constant"):
            return self.symbol(token)
        if token.kind in CLOSERS and token.kind != "[":
            return self.group(token.kind)
        if token.kind == "function":
            return self.function(token.text)
        if token.kind == "|":
            return self.absolute("|")
        if token.kind == "command":
            return self.command(token.text)
        raise UnreadableError

    def group(self, opener: str) -> Node:
        """What stands behind an opening bracket that was taken, and its closer."""
        bars, self.bars = self.bars, 0
        node = self.sum()
        self.skip()
        self.expect(CLOSERS[opener])
        self.bars = bars
        return node

    def braced(self) -> Node:
        """A group in braces or parentheses, or one token where LaTeX takes one."""
        self.skip()
        for opener in ("{", "("):
            if self.take(opener):
                return self.group(opener)
        token = self.peek()
        if token.kind in ("number", "symbol", "constant"):
            self.at += 1
            return plain(token)
        raise UnreadableError

    def mixed(self, token: Token) -> Node:
        """A number, and the proper fraction behind a whole one."""
        at, whole = self.at, token.text.isdigit()
        value = token.value
        if whole and self.take("command", "frac"):
            part = self.fraction()
            if (proper := _proper(part)) is not None:
                return num(value + proper)
            self.at = at
        elif whole and self.take("space"):
            kinds = [
                self.tokens[i].kind for i in range(self.at, min(self.at + 3, len(self.tokens)))
            ]
            if kinds == ["number", "/", "number"]:
                top, bottom = (self.tokens[self.at + i].value for i in (0, 2))
                if bottom and 0 < top < bottom:
                    self.at += 3
                    return num(value + Fraction(top) / bottom)
                raise UnreadableError
            self.at = at
        return ("n", value)

    def fraction(self) -> Node:
        top_at = self.at
        top, bottom = self.braced(), self.braced()
        first = self.tokens[top_at : top_at + 2]
        if _differential(bottom) and any(token.text == "d" for token in first):
            raise UnreadableError
        return over(top, bottom)

    def symbol(self, token: Token) -> Node:
        """A symbol with its subscript and primes, or a constant."""
        if token.kind == "constant" and self.peek().kind != "_":
            return ("k", token.text)
        name = token.text
        if self.take("_"):
            name += f"_{self.subscript()}"
        if name in CALLED or name == "C":
            at = self.at
            while self.take("'"):
                name += "'"
            if self.take("("):
                return self.called(name, at)
            self.at = at
            name = name.rstrip("'")
        return ("s", name)

    def absolute(self, closer: str) -> Node:
        self.bars += 1
        node = self.sum()
        self.skip()
        self.expect(closer)
        self.bars -= 1
        return call("abs", node)

    def command(self, name: str) -> Node:
        if name == "frac":
            found = calculus.derivative(self, self.term)
            return self.fraction() if found is None else found
        if name == "int":
            return calculus.integral(self, parse_tokens)
        if name in ("sum", "prod"):
            return calculus.series(self, name, parse_tokens, self.term)
        if name == "lim":
            return calculus.limit(self, parse_tokens, self.term)
        if name == "binom":
            return call("binom", self.braced(), self.braced())
        if name in ("lfloor", "lceil"):
            node = self.sum()
            self.skip()
            self.expect("command", "r" + name[1:])
            return call(name[1:], node)
        if name == "lvert":
            node = self.sum()
            self.expect("command", "rvert")
            return call("abs", node)
        if name in ("angle", "triangle"):
            points = self.letters()
            other = points[::-1] if name == "angle" else "".join(sorted(points))
            return ("s", f"{name} {min(points, other)}")
        if name in _MARKED:
            self.expect("{")
            self.at -= 1
            return self.marked(name)
        raise UnreadableError

    def marked(self, name: str) -> Node:
        """Under a bar or a hat: a segment is its length, a number its conjugate."""
        start = self.at + 1
        text = self.subscript()
        inside = self.tokens[start : self.at - 1]
        if name == "overline" and len(text) == 2 and text.isupper():
            return times(("s", text[0]), ("s", text[1]))
        if name == "overline" and any(token.text == "i" for token in inside):
            node = parse_tokens(inside)
            if not symbols(node):
                return replaced(node, ("k", "i"), minus(("k", "i")))
        return ("s", f"{name} {text}")


def _counted(what: str, n: int, k: Node) -> Node:
    """Combinations, or arrangements, of k things out of n."""
    chosen = call("binom", num(n), k)
    return chosen if what == "C" else times(chosen, call("factorial", k))


def _proper(node: Node) -> Fraction | None:
    """The value of a quotient of whole numbers between 0 and 1."""
    if node[0] != "*" or node[1][0][0] != "n" or node[1][1][1][0] != "n":
        return None
    top, bottom = node[1][0][1], node[1][1][1][1]
    if not bottom or top.denominator != 1 or bottom.denominator != 1:
        return None
    return Fraction(top, bottom) if 0 < top < bottom else None


def _differential(node: Node) -> bool:
    """Whether a denominator reads dx: the fraction is a derivative, which is left to others."""
    return node[0] == "*" and node[1][0] == ("s", "d") and node[1][1][0] == "s"
