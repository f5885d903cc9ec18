r"""Answers in words: yes and no, numbers that are spelled out, and phrases for sets."""

from __future__ import annotations

import re

_ARTICLES = re.compile(r"\b(?:the|an?|all|any|are|is|be|of|every|each)\b\s*", re.IGNORECASE)
_SPACE = re.compile(r"[\s_]+")
_ENDING = re.compile(r"[\s.!?。！？,;:\"'“”‘’]+$|^[\s\"'“”‘’]+")

YES = frozenset({"yes", "true", "correct", "right", "是", "对", "正确", "√"})
NO = frozenset({"no", "false", "incorrect", "wrong", "否", "错", "不是", "不对", "错误", "×"})
_OPPOSITES = (({"odd"}, {"even"}), ({"奇数"}, {"偶数"}), ({"prime"}, {"composite"}))
NOTHING = frozenset(
    {
        "no solution", "no solutions", "no real solution", "no real solutions", "none", "empty set",
        "no integer solution", "no integer solutions", "无解", "空集", "不存在", "no roots",
        "no real roots", "there no solution", "there no solutions", "no value", "no values",
    }
)  # fmt: skip
UNDEFINED = frozenset(
    {"dne", "does not exist", "doesn't exist", "undefined", "limit does not exist"}
)
REALS = frozenset(
    {"real numbers", "reals", "real", "real number", "r", "全体实数", "实数", "任意实数", "实数集"}
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
_CHINESE = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
_MAX_CHINESE = 20


def plain(text: str) -> str:
    """Prose in one form: one case, no articles, no final punctuation.

    >>> plain("All odd  n."), plain("The Evelyn")
    ('odd n', 'evelyn')
    """
    text = _ENDING.sub("", _SPACE.sub(" ", text)).casefold()
    bare = _ENDING.sub("", _ARTICLES.sub("", text))
    return bare or text


def number_word(text: str) -> int | None:
    """The number that a word or a Chinese numeral names.

    >>> number_word("twenty-one"), number_word("三十二"), number_word("many")
    (21, 32, None)
    """
    words = re.split(r"[\s-]+", text.lower())
    if len(words) == 1 and words[0] in _UNITS:
        return _UNITS[words[0]]
    if words[0] in _TENS and len(words) <= 2:
        rest = _UNITS.get(words[1], 99) if len(words) > 1 else 0
        return _TENS[words[0]] + rest if rest < 10 else None
    if words == ["one", "hundred"] or words == ["hundred"]:
        return 100
    return _chinese(text)


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
