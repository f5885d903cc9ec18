r"""The options of a question: their labels, their texts, and which of them a text is."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

from vtdata.verify.math import LIMIT_S, compare

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_CIRCLED = tuple("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳")
_ARABIC = tuple(str(n) for n in range(1, 27))
_STYLES = (tuple(_LETTERS), _ROMAN, _ARABIC, _CIRCLED)
_OWN = re.compile(
    r"\s*(?:[(\[【]\s*(?P<in>[A-Za-z]{1,4}|[0-9]{1,2}|[①-⑳])\s*[)\]】][.:]?"
    r"|(?P<out>[A-Za-z]{1,4}(?=[).:、])|[0-9]{1,2}(?=[)、]|\.\s))[).:、]|(?P<circled>[①-⑳]))"
    r"\s*(?=\S)(?![①-⑳])"
)
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_TABLE = str.maketrans(_FULL_WIDTH | {0x3000: " ", 0x3002: ".", 0x3010: "[", 0x3011: "]"})
_MACRO = re.compile(r"\\(?:text\w*|math\w+|mbox|boxed|fbox|operatorname)\s*\{([^{}]*)\}")
_DRESS = re.compile(
    r"(?<!\\)\$|\\[()\[\]]|\*\*|`|\\(?:left|right)(?![A-Za-z])|\\[,;:! ]|\\q?quad(?![A-Za-z])"
)
_ARTICLE = re.compile(r"(?:it(?:'s| is)|they(?:'re| are)|the|an?|that)\s+")
_TEXT_CHARS = 200
_CUT_SHORT = frozenset({"timeout", "memory", "outage"})


@dataclass(frozen=True, slots=True)
class Menu:
    """Options as they are read; ``texts`` without the labels that they carry themselves."""

    texts: tuple[str, ...]
    labels: dict[str, int]
    """Label to index; where options carry other labels, letters by order stand beside them."""
    numbered: bool
    """Whether there are labels that may be read as values."""
    head: re.Pattern[str]
    """A label with its mark, at the start of an answer."""
    more: re.Pattern[str]
    """Another such label further on."""
    tail: re.Pattern[str]
    """A label behind a text."""
    folds: tuple[frozenset[str], ...] = field(repr=False)
    """How each option may be spelled: with a label of its own, and without."""
    limit_s: float = LIMIT_S
    """Seconds for one question to the symbolic stage."""

    def spelled(self, answer: str) -> frozenset[int]:
        """The options spelled so; a single letter in this case only."""
        bare = clean(answer)
        if len(bare) < 2:
            return frozenset(i for i, text in enumerate(self.texts) if clean(text) == bare)
        fold = folded(bare)
        return frozenset(i for i, other in enumerate(self.folds) if fold in other)

    def named(self, answer: str) -> frozenset[int]:
        """The options that are spelled so or have that value."""
        found = self.spelled(answer)
        if len(clean(answer)) < 2 and answer.strip().isalpha():
            return found
        return found | {i for i, text in enumerate(self.texts) if self._same(text, answer) is True}

    def unsure(self, answer: str) -> frozenset[int]:
        """The options whose comparison was cut short: a limit was hit, or the helper is broken."""
        return frozenset(
            i for i, text in enumerate(self.texts) if self._same(text, answer) == "cut short"
        )

    def differs(self, index: int, answer: str) -> bool:
        """Whether an option certainly has another value."""
        return self._same(self.texts[index], answer) is False

    def _same(self, text: str, answer: str) -> bool | str | None:
        if max(len(text), len(answer)) > _TEXT_CHARS:
            return None
        return _compared(text, answer, self.limit_s)


@functools.lru_cache(maxsize=8_192)  # an answer is looked at several times
def _compared(text: str, answer: str, limit_s: float) -> bool | str | None:
    finding = compare(text, answer, limit_s=limit_s)
    return "cut short" if finding.reason in _CUT_SHORT else finding.same


def clean(text: str) -> str:
    r"""Take off what dresses a label or a short text: math delimiters, emphasis, full width.

    >>> clean(r"$\text{（Ｂ）}$ **42**.")
    '(B) 42'
    """
    text = text.translate(_TABLE)
    for _ in range(3):
        text, changed = _MACRO.subn(r"\1", text)
        if not changed:
            break
    text = _DRESS.sub("", text).strip().replace("\n", "; ")
    return " ".join(text.split()).removesuffix(".").rstrip()


def folded(text: str) -> str:
    """Return how a text is compared with another: without case, articles and emphasis."""
    fold = clean(text).casefold().strip("_*\"' ")
    return _ARTICLE.sub("", fold, count=1) if _ARTICLE.match(fold) else fold


@functools.lru_cache(maxsize=1_024)
def menu_of(options: tuple[str, ...], limit_s: float = LIMIT_S) -> Menu:
    r"""Read the options of a question; without any, the letters are all there is.

    Labels of their own are read where every option has one and together they are the first of
    their kind, in any order: A to D, (1) to (4), I to IV, ① to ④.

    >>> menu_of(("(2) up", "(1) down")).labels["1"], menu_of(("1.5", "2.5")).texts
    (1, ('1.5', '2.5'))
    """
    own, texts = _own_labels(options)
    labels = dict(zip(_LETTERS, range(len(options) or len(_LETTERS)), strict=False))
    if own and own[0] in _LETTERS and len(own[0]) == 1 and set(own) <= set(_LETTERS[: len(own)]):
        labels = {}
    labels |= {label: index for index, label in enumerate(own)}
    numbered = any(label.isdigit() for label in own)
    marks = "|".join(sorted(map(re.escape, labels), key=len, reverse=True))
    cased = f"(?i:{marks})" if "II" in labels else marks
    label = rf"[(\[]?\s*(?P<label>{cased}|[A-Z]|[a-z](?=[).:]))\s*"
    mark = r"(?:[)\]]{1,2}[.:]?|[:、]|\.(?![0-9]))\s*"
    first = (
        rf"{label}(?:{mark}|,\s*|\s[–—]+\s+|(?<=[①-⑳])|(?=\s(?:because|since|as|so)(?![A-Za-z])))"
    )
    more = rf"(?:[,;]\s*(?:and\s+)?|\s(?:and|和)\s+){label}(?:{mark}|(?<=[①-⑳]))"
    tail = (
        r"(?:\s[(\[](?:option|choice|answer|选项)?\s*"
        r"|[,\s](?:i\.e\.,?|which is|that is)\s+(?:option|choice)?\s*\(?)"
        rf"(?P<label>{marks})[)\]]?\Z"
    )
    folds = tuple(frozenset(map(folded, both)) for both in zip(options, texts, strict=True))
    patterns = (re.compile(first), re.compile(more), re.compile(tail))
    return Menu(texts, labels, numbered, *patterns, folds, limit_s)


def _own_labels(options: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = [_OWN.match(option.translate(_TABLE)) for option in options]
    if len(options) < 2 or not all(found):
        return (), options
    labels = tuple((m["in"] or m["out"] or m["circled"]).upper() for m in found if m)
    if not any(set(labels) == set(style[: len(labels)]) for style in _STYLES):
        return (), options
    if len(set(labels)) < len(labels):
        return (), options
    return labels, tuple(option[m.end() :] for option, m in zip(options, found, strict=True) if m)
