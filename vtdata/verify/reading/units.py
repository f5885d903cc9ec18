r"""Units: what they measure, and how much of it.

A unit that isn't in the table is a label: it is compared as text, and converted into nothing.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from fractions import Fraction

from vtdata.verify.algebra.tree import Node, num, over, times


@dataclass(frozen=True, slots=True)
class Unit:
    """What is measured, as powers of base quantities, and the factor to the base units."""

    dims: tuple[tuple[str, int], ...]
    factor: Node
    label: str = ""
    """The text of a unit that isn't in the table; its ``dims`` are empty."""


PERCENT = Unit((("percent", 1),), num(Fraction(1, 100)))
DEGREE = Unit((("angle", 1),), over(("k", "pi"), num(180)))
_RADIAN = Unit((("angle", 1),), num(1))


def label(text: str) -> Unit:
    """A unit that nobody knows, by its text in the singular."""
    words = [
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in text.lower().split()
    ]
    return Unit((), num(1), " ".join(words))


def _table() -> dict[str, tuple[str, Fraction]]:
    lines = {
        "length": "mm millimeter millimetre 毫米=1/1000; cm centimeter centimetre 厘米 公分=1/100; "
        "dm decimeter 分米=1/10; m meter metre 米=1; km kilometer kilometre 千米 公里=1000; "
        "in inch inches 英寸=254/10000; ft foot feet 英尺=3048/10000; yd yard=9144/10000; "
        "mi mile 英里=1609344/1000; 里=500",
        "mass": "mg milligram 毫克=1/1000000; g gram 克=1/1000; kg kilogram 千克 公斤=1; "
        "ton tonne 吨=1000; lb lbs pound=45359237/100000000; oz ounce=45359237/1600000000",
        "time": "ms millisecond 毫秒=1/1000; s sec second 秒=1; min minute 分钟=60; "
        "h hr hour 小时=3600; day 天 日=86400; week 周 星期=604800; year 年=31557600",
        "volume": "mL ml milliliter millilitre 毫升=1/1000000; L l liter litre 升=1/1000; "
        "cc=1/1000000",
        "dollar": "dollar USD usd 美元=1; cent=1/100",
        "yuan": "yuan RMB rmb 元 块=1; 角=1/10",
        "euro": "euro EUR=1",
        "pound_sterling": "GBP=1",
        "force": "N newton 牛=1; kN=1000",
        "energy": "J joule 焦耳=1; kJ=1000; cal=4184/1000; kcal=4184",
        "power": "W watt 瓦=1; kW=1000",
        "pressure": "Pa pascal=1; kPa=1000; atm=101325",
        "voltage": "V volt 伏=1",
        "frequency": "Hz hertz=1; kHz=1000",
        "amount": "mol mole=1",
    }
    table = {}
    for quantity, text in lines.items():
        for entry in text.split("; "):
            names, _, factor = entry.partition("=")
            for name in names.split():
                table[name] = (quantity, Fraction(factor))
    return table


_TABLE = _table()
_DIMS = {"volume": ("length", 3)}
_SINGLE = frozenset(["m", "s", "g", "h", "L", "l", "N", "J", "W", "V"])
_WORD = re.compile(
    r"(?P<power>square|sq\.?|cubic|cu\.?|平方|立方)?\s*(?P<name>[A-Za-z]+|[\u4e00-\u9fff]+)"
    r"(?:\^\{?(?P<exponent>-?[1-4])\}?|\s(?P<after>squared|cubed))?"
)
_JOINER = re.compile(r"\s*(?P<sign>/|\bper\b|每|\\cdot|\*|\s)\s*")
_POWERS = {"square": 2, "sq": 2, "sq.": 2, "平方": 2, "squared": 2}
_SYMBOLS = {"$": "dollar", "￥": "yuan", "¥": "yuan", "€": "euro", "£": "GBP"}
_RATES = {"mph": "mile/hour", "kph": "km/h", "kmh": "km/h"}
_ANGLES = {"degree": DEGREE, "degrees": DEGREE, "deg": DEGREE, "度": DEGREE}
_ANGLES |= {"rad": _RADIAN, "radian": _RADIAN, "radians": _RADIAN, "弧度": _RADIAN}
_PERCENTS = frozenset({"%", r"\%", "percent", "per cent", "pct", "百分之"})
_MAX_CHARS = 60


@functools.lru_cache(maxsize=2_048)
def unit(text: str) -> Unit:
    """Read a unit; a label where it isn't in the table.

    >>> unit("km/h").dims, unit("square cm").dims, unit("apples").label
    ((('length', 1), ('time', -1)), (('length', 2),), 'apple')
    """
    text = _RATES.get(text.strip(), text.strip().rstrip("."))
    if text in _PERCENTS:
        return PERCENT
    if text.lower() in _ANGLES:
        return _ANGLES[text.lower()]
    if text in _SYMBOLS:
        text = _SYMBOLS[text]
    if len(text) > _MAX_CHARS:
        return label(text)
    found = _compound(text)
    return found if found is not None else label(text)


def is_single(letter: str) -> bool:
    """Whether a letter behind a number and a space is a unit: 5 m, but not 5 x."""
    return letter in _SINGLE


def _compound(text: str) -> Unit | None:
    dims: dict[str, int] = {}
    factor = Fraction(1)
    at, sign = 0, 1
    while True:
        match = _WORD.match(text, at)
        if match is None:
            return None
        entry = _entry(match["name"])
        if entry is None:
            return None
        power = _POWERS.get(
            match["power"] or match["after"] or "", 3 if match["power"] or match["after"] else 1
        )
        exponent = sign * power * int(match["exponent"] or 1)
        quantity, times_base = entry
        base, per = _DIMS.get(quantity, (quantity, 1))
        dims[base] = dims.get(base, 0) + exponent * per
        factor *= times_base**exponent
        at = match.end()
        if at == len(text):
            break
        joiner = _JOINER.match(text, at)
        if joiner is None or joiner.end() == at:
            return None
        sign = -1 if joiner["sign"] in ("/", "per", "每") else 1
        at = joiner.end()
    return Unit(tuple(sorted((k, v) for k, v in dims.items() if v)), num(factor))


def _entry(name: str) -> tuple[str, Fraction] | None:
    for spelling in (name, name.lower(), name.removesuffix("s"), name.lower().removesuffix("s")):
        if spelling in _TABLE and (len(spelling) > 1 or spelling == name):
            return _TABLE[spelling]
    if name[:2] in ("平方", "立方"):
        inner = _TABLE.get(name[2:])
        if inner is not None and inner[0] == "length":
            power = 2 if name[:2] == "平方" else 3
            return ("volume", inner[1] ** 3) if power == 3 else ("area", inner[1] ** 2)
    return None


_DIMS["area"] = ("length", 2)


def scaled(node: Node, of: Unit) -> Node:
    """The expression in base units."""
    return times(node, of.factor)
