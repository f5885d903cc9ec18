"""A cursor over tokens: what every rule of the parser needs."""

from __future__ import annotations

from vtdata.verify.algebra.tokens import Token, UnreadableError

END = Token("end", "")


class Scanner:
    """Knows where in the tokens it is; the last token is ``END``."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = [*found, END]
        self.at = 0
        self.depth = 0
        self.bars = 0

    def peek(self) -> Token:
        return self.tokens[self.at]

    def skip(self) -> None:
        while self.tokens[self.at][0] == "space":
            self.at += 1

    def take(self, kind: str, text: str | None = None) -> bool:
        token = self.tokens[self.at]
        if token[0] == kind and (text is None or token[1] == text):
            self.at += 1
            return True
        return False

    def expect(self, kind: str, text: str | None = None) -> None:
        if not self.take(kind, text):
            raise UnreadableError

    def degree(self) -> bool:
        at = self.at
        braced = self.take("{")
        if self.take("command", "circ") and (not braced or self.take("}")):
            return True
        self.at = at
        return False

    def subscript(self) -> str:
        """The text of a subscript, as it is written."""
        if not self.take("{"):
            token = self.peek()
            self.at += 1
            if token.kind in ("number", "symbol", "constant"):
                return token.text
            raise UnreadableError
        depth, parts = 1, []
        while depth:
            token = self.peek()
            self.at += 1
            depth += (token.kind == "{") - (token.kind == "}")
            if token is END:
                raise UnreadableError
            parts.append(token.text)
        return "".join(parts[:-1]).strip()

    def letters(self) -> str:
        """The points that name an angle or a triangle."""
        self.skip()
        if self.peek().kind == "{":
            return self.subscript()
        text = ""
        while self.peek().kind == "symbol":
            text += self.peek().text
            self.at += 1
        if not text and self.peek().kind == "number":
            text = self.peek().text
            self.at += 1
        if not text:
            raise UnreadableError
        return text
