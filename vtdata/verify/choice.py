r"""Multiple choice: letters or the text of an option, one or several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vtdata.records import Verdict
from vtdata.verify.exact import number
from vtdata.verify.extraction import extract
from vtdata.verify.normal import normal

_MAX_LETTERS = 200
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PREFIX = re.compile(r"(?:(?:option|choice|answer|选项|答案)\s*:?\s*)?", re.IGNORECASE)
_HEAD = re.compile(
    r"[(\[]?\s*(?P<letter>[A-Za-z])\s*(?:[)\].:,、-]|\s(?:because|since|as)\b)\s*(?P<text>.*)",
    re.DOTALL,
)
_TOKENS = re.compile(r"[^\s,;&+()\[\].:、]+")
_OPTION_LABEL = re.compile(r"\s*[(\[]?([A-Za-z])\s*[)\].:、]\s*(?=\S)")


@dataclass(frozen=True, slots=True)
class Picked:
    """Which options an answer names; ``reason`` where that is none, or not clear which."""

    indices: frozenset[int]
    reason: str = ""
    others: frozenset[int] = frozenset()
    """The second reading of an ambiguous answer."""


def pick(answer: str, options: Sequence[str]) -> Picked:
    r"""Read an answer as a choice among ``options``; without options, as letters.

    A letter, several letters ("A,C", "AC", "A and C"), or an option's text, whatever the case and
    punctuation; "B) 42" must name the same option by both.

    Returns:
        Picked with reason ``no_such_option``, ``ambiguous`` (the letter A may be the first option
        or the text of another) or ``letter_text_conflict``; else the indices.

    >>> options = ["41", "42", "0.5"]
    >>> [sorted(pick(a, options).indices) for a in ("(b)", "B. 42", r"\text{B}", "1/2", "A, C")]
    [[1], [1], [1], [2], [0, 2]]
    >>> pick("B) 41", options).reason, pick("D", options).reason
    ('letter_text_conflict', 'no_such_option')
    """
    text = _PREFIX.sub("", normal(answer), count=1)
    texts = _texts(options)
    labeled = _labeled(text, texts)
    if labeled.indices and texts:
        return labeled
    by_letter = _by_letter(text, len(options))
    by_text = _named(texts, answer)
    if len(by_text) == 1 and (len(by_letter) != 1 or by_letter == by_text):
        return Picked(by_text)
    if by_text:
        return Picked(frozenset(), "ambiguous", by_letter | by_text)
    return Picked(by_letter) if by_letter else labeled


def _labeled(text: str, texts: Sequence[str]) -> Picked:
    """Read "B) 42": the letter, unless the text behind it is another option's."""
    head = _HEAD.fullmatch(text)
    index = _LETTERS.find(head.group("letter").upper()) if head else -1
    if head is None or (texts and index >= len(texts)):
        return Picked(frozenset(), "no_such_option")
    named = _named(texts, head.group("text"))
    if named and index not in named:
        return Picked(frozenset(), "letter_text_conflict")
    if not named and _by_letter(head.group("text"), len(texts)):
        return Picked(frozenset(), "no_such_option")  # "A, C" is a list of letters
    return Picked(frozenset({index}))


def _by_letter(text: str, num_options: int) -> frozenset[int]:
    """Read "b", "(B)", "AC", "A, C", "A and C"; nothing where it is no such list."""
    if len(text) > _MAX_LETTERS:
        return frozenset()
    tokens = [token for token in _TOKENS.findall(text) if token not in ("and", "和")]
    if len(tokens) == 1 and len(tokens[0]) == 1:
        tokens = [tokens[0].upper()]
    letters = "".join(tokens)
    indices = frozenset(map(_LETTERS.find, letters))
    if not letters or -1 in indices or len(indices) < len(letters):
        return frozenset()
    return indices if not num_options or max(indices) < num_options else frozenset()


def _named(texts: Sequence[str], answer: str) -> frozenset[int]:
    return frozenset(i for i, option in enumerate(texts) if _same(option, answer))


def _texts(options: Sequence[str]) -> list[str]:
    """The options' texts, without the labels "A. ", "B. " where every one has its own."""
    labels = [_OPTION_LABEL.match(option) for option in options]
    own = all(
        m is not None and _LETTERS.find(m.group(1).upper()) == i for i, m in enumerate(labels)
    )
    if own:
        return [option[m.end() :] for option, m in zip(options, labels, strict=True) if m]
    return list(options)


def _same(option: str, answer: str) -> bool:
    left, right = normal(option), normal(answer)
    if not left or not right:
        return False
    if left == right or left.casefold() == right.casefold():
        return True
    a, b = number(option), number(answer)
    return a is not None and b is not None and a.value == b.value


def check(
    response: str, answer: str | None, spec: dict[str, Any], options: Sequence[str]
) -> Verdict:
    r"""Judge a response by the option it names; the reference is a letter or an option's text.

    A response that is a letter and nothing else is an answer too. Several correct options must
    all be named, and no other.

    Reasons: ``correct``, ``wrong``, ``no_answer``, ``no_such_option``, ``letter_text_conflict``
    (0.0); ``bad_reference``, ``ambiguous`` (None: one of two readings is right).

    >>> check("The answer is (B).", "42", {}, ["41", "42"])
    Verdict(reward=1.0, reason='correct')
    >>> check(r"\boxed{A}", "B", {}, ["41", "42"])
    Verdict(reward=0.0, reason='wrong')
    """
    del spec
    found = extract(response)
    if found is None and len(_by_letter(response.strip(), len(options))) == 1:
        found = response.strip()
    gold = pick(answer, options) if answer else Picked(frozenset(), "no_such_option")
    if not gold.indices:
        return Verdict(None, "bad_reference", answer=found)
    if found is None:
        return Verdict(0.0, "no_answer")
    picked = pick(found, options)
    if picked.indices:
        right = picked.indices == gold.indices
        return Verdict(float(right), "correct" if right else "wrong", answer=found)
    if picked.reason == "ambiguous":
        if not picked.others & gold.indices:
            return Verdict(0.0, "wrong", answer=found)
        return Verdict(None, "ambiguous", answer=found)
    return Verdict(0.0, picked.reason, answer=found)
