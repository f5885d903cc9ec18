r"""An expression with a unit behind it, or money before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from vtdata.verify.algebra.parse import parse
from vtdata.verify.algebra.tokens import CONSTANTS, FUNCTIONS, GREEK, UnreadableError
from vtdata.verify.algebra.tree import Node, minus, num, plus, symbols, times
from vtdata.verify.reading import words
from vtdata.verify.reading.units import DEGREE, PERCENT, Unit, is_single, scaled, unit
from vtdata.verify.reading.values import Scalar

_MONEY = re.compile(r"(?P<sign>-?)(?:\\?\$|[￥¥€£]|RMB|USD)\s*(?P<rest>.+)", re.DOTALL)
_PERCENT = re.compile(r"(?P<rest>.+?)\s*(?:\\?%|\bper\s?cent|\bpct)", re.DOTALL)
_TEMPERATURE = re.compile(r"(?P<rest>.+?)\s*(?:\^\{?\\circ\}?|℃)\s*(?P<scale>[CF]?)", re.DOTALL)
_ARC = re.compile(
    r"(?P<degrees>[0-9]+)\^\{?\\circ\}? ?(?P<minutes>[0-9]{1,2})'(?: ?(?P<seconds>[0-9]{1,2})'')?"
)
_ORDINAL = re.compile(r"([0-9]+)(?:st|nd|rd|th)")
_START = re.compile(
    r"(?<![\\A-Za-z])[A-Za-z]{2,}|[\u4e00-\u9fff]|(?<=[ })])[A-Za-z](?![A-Za-z0-9(])"
)
_PIECE = re.compile(r"\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]+|[\u4e00-\u9fff]+)\s*")
_ABOUT = re.compile(
    r"^(?:about|approximately|roughly|exactly|only|\\therefore|约|共|有)\s*", re.IGNORECASE
)
_TAIL = re.compile(
    r"(?:[0-9})]|\\pi|(?<![A-Za-z])pi|\\sqrt\{[0-9]+\})(?P<space> ?)"
    r"(?P<name>(?!pi(?![A-Za-z]))[A-Za-z]+)"
    r"(?:\^\{?-?[1-3]\}?)?(?P<per>(?:/| |\\cdot ?)[A-Za-z]+(?:\^\{?-?[1-3]\}?)?)?$"
)
_SAYS_MORE = re.compile(
    r"[0-9=<>?()]|\b(?:not|no|but|or|and|if|except|unless|when|more|less|than|least|most|otherwise"
    r"|is|are|was|for|where|with|squared|cubed|factorial|half|halves|third|quarter|fifth|tenth"
    r"|hundredths?|thousandths?|millionths?|minus|plus|times|over|below|above|zero|to|vs|either"
    r"|maybe|wrong|mod|choose|dozens|hundreds|thousands|true|false|yes)s?\b"
    r"|[以不或若如倍半左右多分余十百千万亿]|平方$|立方$",
    re.IGNORECASE,
)
"""What makes words behind a number more than its unit: "5 but not 6"."""
_SCALES = words.SCALES | {"hundred": 100, "dozen": 12, "百": 100, "千": 1000, "万": 10**4}
_SCALES |= {"亿": 10**8}
_SCALE = re.compile(r"(?:hundred|dozen|thousand|million|billion|trillion)(?![A-Za-z])|[百千万亿]")
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
    if match := _ARC.fullmatch(text):
        minutes = Fraction(int(match["minutes"]) * 60 + int(match["seconds"] or 0), 3600)
        return Scalar(num(int(match["degrees"]) + minutes), DEGREE)
    if match := _ORDINAL.fullmatch(text):
        return Scalar(num(int(match[1])))
    if node is not None and _tail(text) is None:
        return Scalar(node)
    found = _worded(_ABOUT.sub("", text))
    return found or (Scalar(node) if node is not None else None)


def _with(text: str, of: Unit) -> Scalar | None:
    try:
        node = parse(text)
    except UnreadableError:
        number = words.number_word(words.plain(text))
        return None if number is None else Scalar(num(number), of)
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
            node = num(number)
        rest = text[at:].strip()
        if unit(rest).label:
            node, rest = _scaled(node, rest)
        if not rest:
            return Scalar(node)
        of = unit(rest)
        if of.label and (symbols(node) or _SAYS_MORE.search(rest)):
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
