r"""Answers that are numbers, compared exactly; everything else by spelling, or not at all.

Policies: percent is a hundredth (``33.5\%`` is 0.335; 50 beside ``50\%`` is not judged); decimals
are exact (0.333 is not 1/3); a dollar sign is dropped; ``2\frac12`` is a mixed number.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from vtdata.records import Verdict
from vtdata.verify.exact import INTEGER, number
from vtdata.verify.extraction import extract
from vtdata.verify.normal import normal

_OPPOSITES = (
    ({"yes", "true"}, {"no", "false"}),
    ({"odd"}, {"even"}),
    ({"是", "对"}, {"否", "错"}),
)


def equal(gold: str, pred: str) -> bool | None:
    r"""Say whether two bare answers mean the same; None where this can't be decided.

    True only where the exact values or the canonical spellings are the same, False only where
    both are numbers, or both are words that exclude each other. Symmetric.

    >>> equal("3/2", "1.5"), equal("3/2", "1.6"), equal(r"\sqrt{12}", r"2\sqrt{3}")
    (True, False, None)
    """
    return compare(gold, pred)[0]


def compare(gold: str, pred: str) -> tuple[bool | None, str]:
    """Return ``equal`` and why: correct, wrong, not_comparable, percent_unclear."""
    if INTEGER.fullmatch(gold) and INTEGER.fullmatch(pred):
        same = int(gold) == int(pred)
        return same, "correct" if same else "wrong"
    left, right = number(gold), number(pred)
    if left is not None and right is not None:
        if left.value == right.value:
            return True, "correct"
        ratio = left.value / right.value if right.value else 0
        if left.percent != right.percent and ratio in (100, Fraction(1, 100)):
            return None, "percent_unclear"
        return False, "wrong"
    a, b = normal(gold), normal(pred)
    if a == b and a:
        return True, "correct"
    if any((a in one and b in other) or (b in one and a in other) for one, other in _OPPOSITES):
        return False, "wrong"
    return None, "not_comparable"


def check(
    response: str, answer: str | None, spec: dict[str, Any], options: Sequence[str]
) -> Verdict:
    r"""Judge a response by its final answer.

    Reasons: ``correct``, ``wrong``, ``no_answer`` (0.0); ``bad_reference``, ``not_comparable``,
    ``percent_unclear`` (None: nobody could judge).

    >>> check(r"\boxed{\frac{3}{2}}", "1.5", {}, [])
    Verdict(reward=1.0, reason='correct')
    >>> check("I don't know.", "1.5", {}, [])
    Verdict(reward=0.0, reason='no_answer')
    """
    del spec, options
    found = extract(response)
    if not readable(answer):
        return Verdict(None, "bad_reference", answer=found)
    if found is None or not normal(found):
        return Verdict(0.0, "no_answer")
    same, reason = compare(answer or "", found)
    return Verdict(None if same is None else float(same), reason, answer=found)


def readable(answer: str | None) -> bool:
    r"""Whether a reference holds an answer at all: something is left, and its braces pair up.

    >>> readable(r"\frac{1}{2}"), readable(r"\frac{1}{2"), readable(" $ $ ")
    (True, False, False)
    """
    if answer is None or not normal(answer):
        return False
    return _balanced(answer) if "{" in answer or "}" in answer else True


def _balanced(text: str) -> bool:
    depth = 0
    for char in text.replace("\\\\", "").replace("\\{", "").replace("\\}", ""):
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return depth == 0
