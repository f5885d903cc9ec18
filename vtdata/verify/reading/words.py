r"""Answers in words: yes and no, numbers that are spelled out, and phrases for sets."""

from __future__ import annotations

import re
from fractions import Fraction

_ARTICLES = re.compile(r"\b(?:the|an?|are|is|be|of)\b\s*", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|any|every|each)\b\s*", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|no)\b", re.IGNORECASE)
_MIXED_CASE = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]")
_AFFIRMED = re.compile(r"(yes|no|true|false)\s*[,.;:].*", re.DOTALL)
_SPACE = re.compile(r"[\s_]+")
_ENDING = re.compile(r"[\s.!?。！？,;:\"'“”‘’]+$|^[\s\"'“”‘’]+")

YES = frozenset({"yes", "true", "是", "对", "正确"})
NO = frozenset({"no", "false", "否", "错", "不是", "不对", "错误"})
_OPPOSITES = (({"odd"}, {"even"}), ({"奇数"}, {"偶数"}), ({"prime"}, {"composite"}))
NOTHING = frozenset(
    {
        "no solution", "no solutions", "no real solution", "no real solutions", "none", "empty set",
        "无解", "空集", "there no solution", "there no solutions", "no real roots", "no roots",
    }
)  # fmt: skip
INFINITE = frozenset({"infinite", "infinity", "无穷", "无穷大", "正无穷"})
UNDEFINED = frozenset(
    {"dne", "does not exist", "doesn't exist", "undefined", "limit does not exist"}
)
REALS = frozenset(
    {
        "real numbers",
        "reals",
        "real number",
        "set real numbers",
        "全体实数",
        "实数",
        "任意实数",
        "实数集",
    }
)
_UNDER_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_UNITS: dict[str, int] = {word: n for n, word in enumerate(_UNDER_TWENTY.split())}
_TENS = {
    word: 10 * n
    for n, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4}
_PARTS |= {
    "fourths": 4,
    "fifth": 5,
    "fifths": 5,
    "sixth": 6,
    "sixths": 6,
    "eighth": 8,
    "eighths": 8,
}
_PARTS |= {"tenth": 10, "tenths": 10}
_CHINESE = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
_MAX_CHINESE = 20


def plain(text: str) -> str:
    """Prose in one form: one case, no articles, no final punctuation.

    >>> plain("All odd  n."), plain("The Evelyn")
    ('odd n', 'evelyn')
    """
    text = _ENDING.sub("", _SPACE.sub(" ", text))
    if _MIXED_CASE.search(text) is None:  # AaBb is a genotype
        text = text.casefold()
    affirmed = _AFFIRMED.fullmatch(text)
    if affirmed is not None:
        return affirmed[1]
    bare = _ARTICLES.sub("", text)
    if _DENIED.search(text) is None:
        bare = _ALL.sub("", bare)
    return _ENDING.sub("", bare) or text


def number_word(text: str) -> Fraction | None:
    """The number that words or a Chinese numeral name.

    >>> [str(number_word(text)) for text in ("twenty-one", "two thirds", "三十二", "many")]
    ['21', '2/3', '32', 'None']
    """
    words = [word for word in re.split(r"[\s-]+", text.lower()) if word not in ("a", "an", "and")]
    if words and words[0] in ("minus", "negative"):
        rest = number_word(" ".join(words[1:]))
        return None if rest is None else -rest
    if words and words[-1] in _PARTS:
        count = number_word(" ".join(words[:-1])) if len(words) > 1 else Fraction(1)
        return None if count is None else count / _PARTS[words[-1]]
    found = _english(words) if words else None
    return _chinese_number(text) if found is None else Fraction(found)


def _english(words: list[str]) -> int | None:
    total = section = 0
    for word in words:
        if word in _UNITS or word in _TENS:
            size = _UNITS.get(word) or _TENS.get(word, 0)
            if section % 100 and not (section % 100 >= 20 and section % 10 == 0 and size < 10):
                return None
            section += size
        elif word == "hundred":
            section = (section or 1) * 100
        elif word in SCALES:
            total += (section or 1) * SCALES[word]
            section = 0
        else:
            return None
    return total + section


def _chinese_number(text: str) -> Fraction | None:
    if text in ("一半", "半"):
        return Fraction(1, 2)
    if text.startswith("负"):
        rest = _chinese_number(text[1:])
        return None if rest is None else -rest
    below, parts, above = text.partition("分之")
    if parts:
        top, bottom = _chinese(above), 100 if below == "百" else _chinese(below)
        return None if top is None or not bottom else Fraction(top, bottom)
    whole = _chinese(text)
    return None if whole is None else Fraction(whole)


def _chinese(text: str) -> int | None:
    if not text or len(text) > _MAX_CHINESE:
        return None
    total = section = digit = 0
    for at, char in enumerate(text):
        if char in _CHINESE:
            if digit and at and text[at - 1] in _CHINESE:
                return None  # 一二 is no numeral of this kind
            digit = _CHINESE[char]
        elif char in _PLACES:
            section += (digit or 1) * _PLACES[char]
            digit = 0
        elif char in _MYRIADS:
            total += (section + digit) * _MYRIADS[char]
            section = digit = 0
        else:
            return None
    return total + section + digit


def same_words(a: str, b: str) -> bool | None:
    """Whether two plain texts mean the same; None where that takes understanding.

    Single words that differ are different answers; so are yes and no, odd and even. Phrases that
    differ may still say the same.

    >>> same_words("yes", "true"), same_words("evelyn", "evan"), same_words("odd n", "n odd")
    (True, False, None)
    """
    if a == b:
        return True
    for one, other in ((YES, NO), *_OPPOSITES):
        if (a in one and b in other) or (b in one and a in other):
            return False
    for one in (YES, NO, NOTHING, UNDEFINED):
        if a in one and b in one:
            return True
    if sorted(a.split()) == sorted(b.split()) or not (is_atomic(a) and is_atomic(b)):
        return None
    return False


def is_atomic(text: str) -> bool:
    """Whether a text is one word: a name, a day, a color."""
    if any("\u4e00" <= char <= "\u9fff" for char in text):
        return len(text) <= 4
    return " " not in text and "-" not in text and "\\" not in text
