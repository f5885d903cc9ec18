r"""What makes a seed reliable: a question, a reference that its own verifier accepts, no leak."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from vtdata.corpora.rows import NEEDS_ANSWER
from vtdata.records import Query
from vtdata.steps import Context, Map, step
from vtdata.text import collapse
from vtdata.verify import gold_check
from vtdata.verify.choice import pick

_NOTHING_TO_CHECK = frozenset({"no_verifier", "label_to_come"})
_GIVEN_AWAY = re.compile(
    r"(?:\banswer\s*(?:is|:|=)\s*:?\s*\$?|\\(?:boxed|fbox)\s*\{\s*|####\s*)"
    r"(?:\\boxed\s*\{\s*)?$",
    re.IGNORECASE,
)
_BEFORE_CHARS = 60
_JOINTS = ".,/^"
"""Between two digits or letters these make a longer number or term."""
_PLACEHOLDER = " \t\r\n-\u2013\u2014_.\u2026?"
"""What a source writes where it has no answer."""
_COMMAND = re.compile(r"\\[a-zA-Z]+")


@step
class Check(Map):
    r"""Reject seeds whose supervision can't be relied on.

    The gold check runs the query's verifier on its own reference answer: a reference that it would
    not accept from a model would make every rollout of the query wrong. Reads the query alone.

    A question leaks its answer where it says "the answer is 42", "Answer: 42", ``\boxed{42}`` or
    ``#### 42``, or where an answer of at least ``min_leak_chars`` characters that holds words or
    variables stands in it verbatim. A number as such is given data and no leak, and neither is a
    short answer. Choice questions state their answers by design, and what a generator's own scorer
    judges may stand in its text (find the name in the story), so these two are not searched.

    Drops: ``empty_question``; ``no_answer``; ``bad_options`` (fewer than two, a blank one, two
    alike, or the answer is none of them); ``answer_in_question``; ``bad_reference``.

    Source: gold check ours, after verifiers' ``validate``; ``answer_in_question`` after
    DeepMath-103K, where 48 questions leaked their answers; 3B p.4 asks for "explicit and credible
    final answers" without saying how.
    """

    min_leak_chars: int = 12
    """Shortest answer, in characters, whose mere presence in the question is a leak (ours)."""

    reasons: ClassVar[tuple[str, ...]] = (
        "answer_in_question",
        "bad_options",
        "bad_reference",
        "empty_question",
        "no_answer",
    )

    def process(self, query: Query, ctx: Context) -> list[Query]:
        del ctx
        found = self._problem(query)
        if found:
            query.drop("check", *found)
        return [query]

    def _problem(self, query: Query) -> tuple[str, str] | None:
        kind, answer = query.verifier.kind, query.answer
        if not query.question.strip():
            return "empty_question", "the last turn is blank"
        if kind in NEEDS_ANSWER and not (answer or "").strip(_PLACEHOLDER):
            return "no_answer", f"verifier '{kind}' needs a reference answer, found {answer!r}"
        if kind == "choice":
            problem = options_problem(query.options) or _answer_problem(query)
            if problem:
                return "bad_options", problem
        if answer and kind not in ("choice", "reasoning_gym", "code", "none"):
            leak = leaked(query.question, answer, self.min_leak_chars)
            if leak:
                return "answer_in_question", f"the question holds {leak[:100]!r}"
        return _reference_problem(query)


def options_problem(options: list[str]) -> str | None:
    """Return what is wrong with the options of a choice question.

    >>> options_problem(["1", "2", " 1"])
    "options 1 and 3 are alike: '1'"
    """
    if len(options) < 2:
        return f"a choice needs at least 2 options, found {len(options)}"
    seen: dict[str, int] = {}
    for at, option in enumerate(map(collapse, options), 1):
        if not option:
            return f"option {at} is blank"
        if option in seen:
            return f"options {seen[option]} and {at} are alike: {option!r}"
        seen[option] = at
    return None


def leaked(question: str, answer: str, min_chars: int) -> str | None:
    r"""Return the passage of the question that gives the answer away, or None.

    >>> leaked("What is 6 * 7? (Answer: 42)", "42", 12)
    'Answer: 42'
    >>> leaked("What is 42 + 0?", "42", 12) is None
    True
    """
    asked, bare = collapse(question), collapse(answer).strip("$ ")
    places = list(_places(asked.lower(), bare.lower()))
    for start, end in places:
        stated = _GIVEN_AWAY.search(asked, max(0, start - _BEFORE_CHARS), start)
        if stated:
            return asked[stated.start() : end]
    if not places or len(bare) < min_chars:
        return None
    is_number = not any(c.isalpha() for c in _COMMAND.sub("", bare))
    return None if is_number else asked[slice(*places[0])]


def _places(asked: str, bare: str) -> Iterator[tuple[int, int]]:
    """Yield where ``bare`` stands in ``asked`` and isn't part of a longer word or number.

    Places of a long one don't overlap: a megabyte of ones would take hours.
    """
    start = asked.find(bare) if bare else -1
    while start >= 0:
        end = start + len(bare)
        before, after = asked[start - 1 : start], asked[end : end + 2]
        goes_on = _is_word(after[:1]) or (after[:1] in _JOINTS and _is_word(after[1:]))
        if not (_is_word(bare[0]) and _is_word(before)) and not (_is_word(bare[-1]) and goes_on):
            yield start, end
        start = asked.find(bare, start + 1 if len(bare) <= _BEFORE_CHARS else end)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _answer_problem(query: Query) -> str | None:
    picked = pick(query.answer or "", query.options)
    if picked.indices:
        return None
    return f"answer {query.answer!r} among {len(query.options)} options: {picked.reason}"


def _reference_problem(query: Query) -> tuple[str, str] | None:
    if query.answer is None and query.verifier.kind == "reasoning_gym":
        return None  # families that know a right answer when they see one
    verdict = gold_check(query)
    if verdict.reward == 1.0 or verdict.reason in _NOTHING_TO_CHECK:
        return None
    return "bad_reference", (
        f"verifier '{query.verifier.kind}' on its own reference {(query.answer or '')[:100]!r} "
        f"says {verdict.reward}: {verdict.reason}"
    )
