r"""Which options an answer names: by label, by text, or both."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vtdata.verify.math import LIMIT_S
from vtdata.verify.menu import Menu, clean, folded, menu_of

MAX_CHARS = 2_000
"""Longer answers name nothing (ours)."""
_MAX_LIST = 200
_LAST_OF_MANY = "J"
"""Without options, letters up to this one may stand together: "TRUE" is no list of four (ours)."""
_AND = re.compile(r"(?<![A-Za-z])(?:and|both|only)(?![A-Za-z])|[和与及]", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s,;&+()\[\]{}.:\"'、]+")
_INTRO = re.compile(
    r"(?:(?:the\s+)?(?:(?:correct|right|best|final)\s+)?(?:answers?|options?|choices?|statements?)"
    r"(?![A-Za-z])\s*(?:is|are|:)?\s*:?|(?:故|应|正确)?(?:选项|选择|答案|选)\s*(?:是|为)?\s*:?)\s*",
    re.IGNORECASE,
)
_OUTRO = re.compile(
    r"\s+(?:is|are)\s+(?:the\s+)?(?:correct|right|best|true|answer)(?:\s+(?:answer|option|choice)s?)?",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:it(?:'s|\s+is)\s+)?(?:not|isn't|neither|never|nor)(?![A-Za-z])"
    r"|(?:all|everything|anything|any|every one)\s+(?:but|except)(?![A-Za-z])|except\s"
    r"|不(?:是|选)|除"
    r"|\(?[A-Z]\)?\s+(?:is|are)(?:\s+not|n't|\s+(?:incorrect|wrong|false|ruled out))(?![A-Za-z])",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"(?:is|are|was|can)?(?:\s*n['’]t|\s*not)?\s*(?:incorrect|wrong|false|ruled out)(?![A-Za-z])"
    r"|(?:is|are|was|can)(?:n['’]t|\s*not)(?![A-Za-z])|不(?:对|正确)|错误"
    r"|i\s+(?:do\s+not|don['’]t)\s+(?:think|believe)(?![A-Za-z])"
    r"|(?:it|the answer)\s*(?:is(?:\s+not|n['’]t)|can(?:not|['’]t) be)\s*\Z",
    re.IGNORECASE,
)
_OR = re.compile(r"(?<![A-Za-z])(?:either|or)(?![A-Za-z])|[或/]", re.IGNORECASE)
_NONE = re.compile(
    r"(?:none|neither|not any|no one)(?:\s+of)?(?:\s+(?:the|these|those|them))?"
    r"(?:\s+(?:above|below|other|others|given|listed|options?|choices?|answers?|statements?))*"
    r"(?:\s+(?:is|are)\s+(?:correct|right|true))?"
    r"|no\s+(?:correct\s+)?(?:option|choice|answer)(?:\s+is\s+(?:correct|given|listed))?"
    r"|(?:以上|上述)?(?:选项|答案)?(?:都|均|皆|全)(?:不|非|错)(?:对|是|正确|成立)?"
    r"|(?:以上|上述)(?:选项)?(?:没有|无)(?:正确|一个)?(?:的|选项|答案|正确)*|没有正确(?:选项|答案)",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"(?:all|every one)(?:\s+of)?(?:\s+(?:the|these|those|them))?"
    r"(?:\s+(?:above|four|five|three|given|listed|options?|choices?|answers?|statements?))*"
    r"(?:\s+(?:is|are)\s+(?:correct|right|true))?"
    r"|(?:以上|上述)?(?:选项|答案)?(?:都|均|皆|全部?)(?:对|是|正确|成立)|全选",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"[\s,(]*(?:because|since|as|so|,|due to|因为)(?![A-Za-z])", re.IGNORECASE)
_SPLIT = re.compile(r"\s*(?:[,;、，；]\s*(?:and\s+)?|\s(?:and|和|与)\s+|&)\s*")
_VALUE = re.compile(r"[0-9\\]")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")


@dataclass(frozen=True, slots=True)
class Picked:
    """Which options an answer names; ``reason`` where that is none, or not clear which."""

    indices: frozenset[int]
    reason: str = ""
    others: frozenset[int] = frozenset()
    """Every reading of an ambiguous or undecided answer."""


_NOTHING: frozenset[int] = frozenset()


def pick(answer: str, options: Sequence[str], *, limit_s: float = LIMIT_S) -> Picked:
    r"""Read an answer as a choice among ``options``; without options, as letters.

    A label, several ("A,C", "AC", "A and C", "(1), (3)"), or an option's text, whatever the
    spelling: texts are compared by ``vtdata.verify.equal`` too. Letters follow the order of the
    options, unless the options carry labels of their own. "B) 42" must name the same option by
    both. "None of the above" in words is the option that says so in other words.

    Returns:
        Picked with the indices, or with reason ``no_such_option``, ``ambiguous`` (the letter A
        may be the first option or the text of another; two texts are equal), ``undecided`` (it
        may be one, and finding out was cut short), ``letter_text_conflict``, ``hedged``
        ("A or B") or ``negated`` ("not B").

    >>> options = ["41", "42", "0.5"]
    >>> [sorted(pick(a, options).indices) for a in ("(b)", "B. 42", r"\text{B}", "1/2", "A, C")]
    [[1], [1], [1], [2], [0, 2]]
    >>> pick("B) 41", options).reason, pick("D", options).reason, pick("A or B", options).reason
    ('letter_text_conflict', 'no_such_option', 'hedged')
    """
    return _pick(answer, tuple(options), limit_s)


@functools.lru_cache(maxsize=4_096)  # the rollouts of one query repeat its answers
def _pick(answer: str, options: tuple[str, ...], limit_s: float) -> Picked:
    menu = menu_of(options, limit_s)
    text = clean(answer)
    if not text or len(text) > MAX_CHARS:
        return Picked(_NOTHING, "no_such_option")
    plain = _without_intro(text)
    named = menu.spelled(answer) or menu.spelled(plain)
    if not named and (of_all := _said_of_all(plain, menu)) is not None:
        return of_all
    if not named and _NEGATED.match(plain):
        return Picked(_NOTHING, "negated")
    head = menu.head.match(plain)
    if head and not named and menu.spelled(plain[head.end() :]):
        return _headed(plain, answer, menu) or Picked(_NOTHING, "no_such_option")
    labels = labels_in(plain, menu)
    is_label_or_value = menu.numbered and plain.isdecimal() and not named
    if is_label_or_value or (named and _VALUE.search(plain)):
        named |= menu.named(plain)  # a label "2" may be another option's value, "42" be two
    if labels or named:
        return _one_reading(labels, named, menu)
    for read in (_hedged, _headed, _tailed, _valued):
        if (picked := read(plain, answer, menu)) is not None:
            return picked
    unsure = menu.unsure(answer)
    return Picked(_NOTHING, "undecided" if unsure else "no_such_option", unsure)


def _without_intro(text: str) -> str:
    for _ in range(3):
        bare = _INTRO.sub("", text, count=1) if _INTRO.match(text) else text
        if not bare or bare == text:
            break
        text = bare
    found = _OUTRO.search(text)
    return text[: found.start()] if found and found.end() == len(text) else text


def labels_in(text: str, menu: Menu) -> frozenset[int]:
    """Read "b", "(B)", "AC", "A, C", "a and c", "(1), (3)"; nothing where it is no such list."""
    if len(text) > _MAX_LIST:
        return _NOTHING
    tokens = _TOKEN.findall(_AND.sub(" ", text))
    if not tokens or (menu.numbered and re.search(r"[0-9]\.[0-9]", text)):
        return _NOTHING
    if all(len(token) == 1 and token.isascii() and token.islower() for token in tokens):
        tokens = [token.upper() for token in tokens]
    if len(tokens) == 1 and tokens[0] not in menu.labels:
        tokens = [] if tokens[0].isdecimal() else list(tokens[0])  # "AC", "①③"; "13" is a number
        if not menu.texts and not all("A" <= char <= _LAST_OF_MANY for char in tokens):
            return _NOTHING
    indices = [menu.labels.get(token, -1) for token in tokens]
    if -1 in indices or len(set(indices)) < len(indices):
        return _NOTHING
    return frozenset(indices)


def _one_reading(labels: frozenset[int], named: frozenset[int], menu: Menu) -> Picked:
    if len(named) == 1 and (len(labels) != 1 or labels == named):
        return Picked(named)
    if named:
        return Picked(_NOTHING, "ambiguous", labels | named)
    if len(labels) > 1:
        same = [i for i, text in enumerate(menu.texts) if labels_in(text, menu) == labels]
        if len(same) == 1:
            return Picked(frozenset(same))  # an option that reads "both A and C"
    return Picked(labels)


def _said_of_all(text: str, menu: Menu) -> Picked | None:
    """Read "none of the above", "all of the above", in whatever words the option has."""
    words = folded(text)
    for pattern in (_NONE, _ALL):
        if not pattern.fullmatch(words):
            continue
        said = frozenset(i for i, o in enumerate(menu.texts) if pattern.fullmatch(folded(o)))
        if len(said) == 1:
            return Picked(said)
        if said:
            return Picked(_NOTHING, "ambiguous", said)
        if pattern is _ALL and menu.texts:
            return Picked(frozenset(range(len(menu.texts))))
        return Picked(_NOTHING, "no_such_option")
    return None


def _hedged(text: str, answer: str, menu: Menu) -> Picked | None:
    """Read "A or B", "41 or 42": no choice was made."""
    if menu.named(answer):
        return None
    parts = [part.strip(" ,") for part in _OR.split(text)] if _OR.search(text) else []
    parts = [part for part in parts if part]
    if len(parts) > 1 and all(_names_one(part, menu) for part in parts):
        return Picked(_NOTHING, "hedged")
    return None


def _names_one(part: str, menu: Menu) -> bool:
    bare = _without_intro(part)
    return bool(labels_in(bare, menu) or menu.named(bare) or _headed(bare, bare, menu))


def _headed(text: str, answer: str, menu: Menu) -> Picked | None:
    """Read "B) 42", "B because ...", "A. 41, C. 0.5": labels, each with what stands behind it."""
    del answer
    first = menu.head.match(text)
    if first is None:
        return None
    heads = [first]
    if not _BECAUSE.match(text, first.end()):
        heads += menu.more.finditer(text, first.end())
    indices: set[int] = set()
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        rest = text[head.end() : after.start() if after else None].strip(" ,;")
        index = menu.labels.get(head["label"], menu.labels.get(head["label"].upper()))
        if index is None:
            return Picked(_NOTHING, "no_such_option")
        if (problem := _problem(rest, index, menu)) is not None:
            return problem
        indices.add(index)
    return Picked(frozenset(indices))


def _tailed(text: str, answer: str, menu: Menu) -> Picked | None:
    """Read "42 (B)", "42, which is option B"."""
    del answer
    tail = menu.tail.search(text)
    if tail is None:
        return None
    index = menu.labels[tail["label"]]
    if (problem := _problem(text[: tail.start()].strip(" ,;"), index, menu)) is not None:
        return problem
    return Picked(frozenset({index}))


def _problem(rest: str, index: int, menu: Menu) -> Picked | None:
    """What is wrong with the text beside a label: reasons may stand there, another's text not."""
    if not rest or _BECAUSE.match(rest):
        return None
    named = menu.named(rest)
    if named:
        return None if index in named else Picked(_NOTHING, "letter_text_conflict")
    if _DENIES.match(rest):
        return Picked(_NOTHING, "negated")
    is_value = bool(_VALUE.search(rest)) and len(_WORD.findall(rest)) <= 2
    conflict = is_value and menu.texts and menu.differs(index, rest)
    return Picked(_NOTHING, "letter_text_conflict") if conflict else None


def _valued(text: str, answer: str, menu: Menu) -> Picked | None:
    """Read the text of an option, or a list of them, as an equal value."""
    named = menu.named(answer) or menu.named(text)
    if len(named) > 1:
        return Picked(_NOTHING, "ambiguous", named)
    if named:
        return Picked(named)
    parts = [part for part in _SPLIT.split(text) if part]
    if not 1 < len(parts) <= len(menu.texts):
        return None
    each = [menu.named(part) for part in parts]
    if any(len(found) != 1 for found in each):
        return None
    return Picked(frozenset().union(*each))
