r"""Math answers: whether two are the same, and the verdict on a response.

``equal`` decides by the cascade of ``compare``: an exact canonical form, values at random points,
algebra in a process that can be killed. Conventions that mathematics does not decide (percent, a
missing unit, the order of a list) are settings of ``Policy``. Decimals are exact: 0.333 is not 1/3.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vtdata.errors import ConfigError
from vtdata.records import Verdict
from vtdata.verify.compare import Comparison
from vtdata.verify.extraction import extract
from vtdata.verify.keys import key_of, key_of_value, settled
from vtdata.verify.normal import CACHED_CHARS, normal
from vtdata.verify.policy import DEFAULT, Policy
from vtdata.verify.reading.plain import plain_number
from vtdata.verify.reading.read import grouped, read
from vtdata.verify.reading.values import Group, Scalar
from vtdata.verify.symbolic import LIMIT_S, symbolic


@dataclass(frozen=True, slots=True)
class Finding:
    """What a comparison found."""

    same: bool | None
    reason: str
    """correct, wrong, or why nobody could decide."""
    stage: str = "key"
    """The stage that decided: key, points or symbolic; the last one asked where none did."""
    said: dict[str, str] = field(default_factory=dict)
    """What the stages said that were asked: points, forward, backward, proof."""


_SAME, _DIFFERENT = Finding(True, "correct"), Finding(False, "wrong")  # noqa: FBT003


def equal(
    gold: str, pred: str, *, policy: Policy = DEFAULT, limit_s: float = LIMIT_S
) -> bool | None:
    r"""Say whether two bare answers mean the same; None where this can't be decided.

    Symmetric: the order of the two changes nothing. Never raises on any text, and never takes
    much longer than three times ``limit_s``: what may not end runs in a process that is killed.

    Args:
        gold: the reference.
        pred: the answer.
        policy: the conventions.
        limit_s: seconds for each question to the symbolic stage.

    >>> equal("3/2", "1.5"), equal("3/2", "1.6"), equal(r"\sqrt{12}", r"2\sqrt{3}")
    (True, False, True)
    >>> equal("x=3", "3"), equal("x=3", "y=3"), equal(r"\{1,2\}", "(1,2)")
    (True, False, False)
    """
    return compare(gold, pred, policy=policy, limit_s=limit_s).same


def compare(gold: str, pred: str, *, policy: Policy = DEFAULT, limit_s: float = LIMIT_S) -> Finding:
    """Return ``equal`` with its reason, the stage that decided, and what the stages said.

    Reasons: ``correct``, ``wrong``; and for None ``not_comparable`` (prose, or types of which one
    is not understood), ``undecided`` (no stage could show it), ``unit_unclear``,
    ``time_or_ratio``, ``list_or_number``, ``interval_or_list``, ``too_long``, ``timeout``,
    ``memory``, ``outage``.
    """
    if (left := plain_number(gold)) is not None and (right := plain_number(pred)) is not None:
        return _SAME if left == right else _DIFFERENT
    if gold == pred:
        return _SAME if normal(gold) else Finding(None, "not_comparable")
    first, second = (gold, pred) if gold <= pred else (pred, gold)
    if len(gold) + len(pred) <= CACHED_CHARS and limit_s == LIMIT_S:
        try:
            return _compared(first, second, policy)
        except _PassingError as passing:
            return passing.finding
    return _compare(first, second, policy, limit_s)


class _PassingError(Exception):
    """Carries a finding past the cache: another time it may be another."""

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self.finding = finding


@functools.lru_cache(maxsize=16_384)
def _compared(a: str, b: str, policy: Policy) -> Finding:
    finding = _compare(a, b, policy, LIMIT_S)
    if finding.reason in ("timeout", "memory", "outage"):
        raise _PassingError(finding)
    return finding


def _compare(a: str, b: str, policy: Policy, limit_s: float) -> Finding:
    first, second = key_of(a), key_of(b)
    if first is None or second is None:
        return Finding(None, "not_comparable")
    if first.text == second.text and (policy.order == "ignored" or "list [" not in first.text):
        return _SAME
    if settled(first, second):
        return _DIFFERENT
    said: dict[str, str] = {}
    comparison = Comparison(policy, lambda *_: None, said=said)
    comparison.symbolic = symbolic(limit_s, said, comparison.open)
    left, right = read(a), read(b)
    letters = _letters(normal(a)), _letters(normal(b))
    if letters[0] and letters[1]:
        return _SAME if letters[0] == letters[1] else _DIFFERENT
    found = comparison.values(left, right)
    kinds = {type(left), type(right)}
    if found is False and kinds == {Scalar, Group} and _other_grouping(a, b):
        comparison.open("list_or_number")
        found = None
    if found is None:
        return Finding(None, comparison.reason or "not_comparable", comparison.stage, said)
    return Finding(found, "correct" if found else "wrong", comparison.stage, said)


_CHOICES = re.compile(r"[A-H](?:(?:[ ,;、]|and|和|\\text\{ and \})*[A-H])*")
_CHOICE = re.compile(r"\(?([A-H])\)?[.:]?|(?:[Oo]ption|[Cc]hoice|选项?)\s*\(?([A-H])\)?\.?")
_DECIMAL_COMMA = re.compile(r"(?<=^[0-9]),(?=[0-9]+$)|(?<=^[0-9]{2}),(?=[0-9]+$)")
_SPACED = re.compile(r"(?<=[0-9]),\s+(?=[0-9]{3}(?![0-9]))")


def _letters(answer: str) -> frozenset[str]:
    """The choices that an answer names, if it is nothing but their letters: ``A, C``, ``AC``."""
    one = _CHOICE.fullmatch(answer)
    if one is not None:
        return frozenset(one[1] or one[2])
    if _CHOICES.fullmatch(answer) is None:
        return frozenset()
    letters = re.findall("[A-H]", answer)
    return frozenset(letters) if len(set(letters)) == len(letters) else frozenset()


def _other_grouping(a: str, b: str) -> bool:
    """Whether a comma may group digits on one side and separate numbers on the other.

    ``100,200`` and ``100, 200``; ``1, 234`` and 1234; ``0,5`` and 0.5.
    """
    for one, other in ((a, b), (b, a)):
        again = grouped(one)
        second = key_of(other)
        if again is not None and isinstance(read(other), Group) and key_of_value(again) == second:
            return True
        for pattern, mark in ((_SPACED, ","), (_DECIMAL_COMMA, ".")):
            changed = pattern.sub(mark, one.strip())
            if (
                changed != one.strip()
                and isinstance(read(one), Group)
                and key_of(changed) == second
            ):
                return True
    return False


def check(
    response: str,
    answer: str | None,
    spec: dict[str, Any],
    options: Sequence[str],
    *,
    limit_s: float = LIMIT_S,
) -> Verdict:
    r"""Judge a response by its final answer.

    Args:
        response: the whole text.
        answer: the reference.
        spec: may hold ``policy``, the settings of ``Policy``.
        options: not read.
        limit_s: seconds for each question to the symbolic stage.

    Reasons: ``correct``, ``wrong``, ``no_answer`` (0.0); ``bad_reference``, ``bad_spec`` and those
    of ``compare`` (None: nobody could judge).

    >>> check(r"\boxed{\frac{3}{2}}", "1.5", {}, [])
    Verdict(reward=1.0, reason='correct')
    >>> check("I don't know.", "1.5", {}, [])
    Verdict(reward=0.0, reason='no_answer')
    """
    del options
    found = extract(response)
    if not readable(answer):
        return Verdict(None, "bad_reference", answer=found)
    if found is None or not normal(found):
        return Verdict(0.0, "no_answer")
    try:
        policy = Policy.of(spec["policy"]) if "policy" in spec else DEFAULT
    except ConfigError:
        return Verdict(None, "bad_spec", answer=found)
    finding = compare(answer or "", found, policy=policy, limit_s=limit_s)
    reward = None if finding.same is None else float(finding.same)
    return Verdict(reward, finding.reason, answer=found, said=finding.said)


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
