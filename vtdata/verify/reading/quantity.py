r"""An expression with a unit behind it, or money before it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vtdata.verify.algebra.parse import parse
from vtdata.verify.algebra.tokens import CONSTANTS, FUNCTIONS, GREEK, UnreadableError
from vtdata.verify.algebra.tree import Node, minus, num, plus, times
from vtdata.verify.reading import words
from vtdata.verify.reading.units import DEGREE, PERCENT, Unit, is_single, scaled, unit
from vtdata.verify.reading.values import Scalar

_MONEY = re.compile(r"(?P<sign>-?)(?:\\?\$|[￥¥€£]|RMB|USD)\s*(?P<rest>.+)", re.DOTALL)
_PERCENT = re.compile(r"(?P<rest>.+?)\s*(?:\\?%|\bper\s?cent|\bpct)", re.DOTALL)
_TEMPERATURE = re.compile(r"(?P<rest>.+?)\s*(?:\^\{?\\circ\}?|℃)\s*(?P<scale>[CF]?)", re.DOTALL)
_START = re.compile(
    r"(?<![\\A-Za-z])[A-Za-z]{2,}|[\u4e00-\u9fff]|(?<=[ })])[A-Za-z](?![A-Za-z0-9(])"
)
_PIECE = re.compile(r"\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]+|[\u4e00-\u9fff]+)\s*")
_ABOUT = re.compile(r"^(?:about|approximately|roughly|exactly|only|约|共|有)\s*", re.IGNORECASE)
_TAIL = re.compile(
    r"[0-9})](?P<space> ?)(?P<name>[A-Za-z]+)(?:\^\{?[23]\}?)?"
    r"(?P<per>/[A-Za-z]+(?:\^\{?[23]\}?)?)?$"
)
_SAYS_MORE = re.compile(
    r"[0-9=<>]|\b(?:not|no|but|or|and|if|except|unless|when|more|less|than|least|most|otherwise|is"
    r"|are|was|for|where|with)\b|不|或|若|如果",
    re.IGNORECASE,
)
"""What makes words behind a number more than its unit: "5 but not 6"."""
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "万": 10**4, "亿": 10**8}
_SCALE = re.compile(r"(?:thousand|million|billion)(?![A-Za-z])|[万亿]")
_MAX_STARTS = 6


def quantity(text: str, node: Node | None) -> Scalar | None:
    """Read ``text``; ``node`` is it as an expression, where it is one."""
    if node is not None:
        if node[0] == "deg":
            return Scalar(node[1], DEGREE)
        if (
            node[0] == "*"
            and node[1][1:]
            and node[1][-1][0] == "deg"
            and node == minus(node[1][-1])
        ):
            return Scalar(minus(node[1][-1][1]), DEGREE)
    if "%" in text and (match := _PERCENT.fullmatch(text)):
        return _with(match["rest"], PERCENT)
    if "circ" in text or "℃" in text:
        match = _TEMPERATURE.fullmatch(text)
        if match and (match["scale"] or "℃" in text):
            return _with(match["rest"], unit(f"degree {match['scale'] or 'C'}"))
    if (node is None or "$" in text) and (match := _MONEY.fullmatch(text)):
        return _money(text, match)
    if node is not None and _tail(text) is None:
        return Scalar(node)
    found = _worded(_ABOUT.sub("", text))
    return found or (Scalar(node) if node is not None else None)


def _with(text: str, of: Unit) -> Scalar | None:
    try:
        node = parse(text)
    except UnreadableError:
        number = words.number_word(words.plain(text))
        return None if number is None else Scalar(parse(str(number)), of)
    return Scalar(node, of)


def _money(text: str, match: re.Match[str]) -> Scalar | None:
    symbol = next(char for char in text if char in "$￥¥€£RU")
    found = _with(match["rest"], unit({"R": "RMB", "U": "USD"}.get(symbol, symbol)))
    if found is None:  # "$5 dollars", "$3 per hour"
        inner = _worded(match["rest"])
        found = None if inner is None else Scalar(inner.node, inner.unit)
    if found is None or not match["sign"]:
        return found
    return Scalar(minus(found.node), found.unit)


def _tail(text: str) -> int | None:
    """Where the unit begins of what reads as a product: ``25 m^2``, ``5 cm``; ``5m`` has none."""
    match = _TAIL.search(text) if text[-1:].isalnum() or text[-1:] == "}" else None
    if match is None:
        return None
    name = match["name"]
    if name in FUNCTIONS or name in CONSTANTS or name in GREEK:
        return None
    if len(name) == 1 and not ((match["space"] or match["per"]) and is_single(name)):
        return None
    return None if unit(text[match.start("name") :]).label else match.start("name")


def _worded(text: str) -> Scalar | None:
    """The longest expression that a unit in words can stand behind: first come."""
    if (compound := _compound(text)) is not None:
        return compound
    tail = _tail(text)
    for at in _starts(text) if tail is None else (tail,):
        before = text[:at].strip()
        try:
            node = parse(before)
        except UnreadableError:
            number = words.number_word(words.plain(before))
            if number is None:
                continue
            node = parse(str(number))
        node, rest = _scaled(node, text[at:].strip())
        if not rest:
            return Scalar(node)
        of = unit(rest)
        if of.label and _SAYS_MORE.search(rest):
            return None
        return Scalar(node, None if of.label.startswith(("base", "or ", "and ")) else of)
    return None


def _scaled(node: Node, rest: str) -> tuple[Node, str]:
    """``3 million``: the number, and what stands behind the word."""
    match = _SCALE.match(rest)
    if match is None:
        return node, rest
    return times(node, num(_SCALES[match.group()])), rest[match.end() :].strip()


def _starts(text: str) -> Iterator[int]:
    count = 0
    for match in _START.finditer(text):
        word = match.group()
        if word in FUNCTIONS or word in CONSTANTS or word in GREEK or not match.start():
            continue
        if len(word) == 1 and word.isascii() and not is_single(word):
            continue
        yield match.start()
        count += 1
        if count == _MAX_STARTS:
            return


def _compound(text: str) -> Scalar | None:
    """``1 hour 30 minutes``, in base units."""
    pieces, at = [], 0
    while at < len(text):
        match = _PIECE.match(text, at)
        if match is None:
            return None
        pieces.append(match)
        at = match.end()
    found = [unit(piece["unit"]) for piece in pieces]
    if len(pieces) < 2 or any(of.label or of.dims != found[0].dims for of in found):
        return None
    parts = [scaled(parse(piece["number"]), of) for piece, of in zip(pieces, found, strict=True)]
    return Scalar(plus(*parts), Unit(found[0].dims, ("n", parse("1")[1])))
