from __future__ import annotations

import json
from typing import Any

import pytest

from vtdata.corpora.checks import Check
from vtdata.records import Origin, Provenance, Query, Turn, Verifier
from vtdata.steps import Context


def checked(
    question: str,
    answer: str | None,
    kind: str = "math",
    options: list[str] | None = None,
    spec: str = "{}",
    **settings: Any,
) -> Query:
    query = Query(
        id="q",
        prompt=[Turn("user", question)],
        verifier=Verifier(kind, spec),
        source="src",
        license="MIT",
        provenance=Provenance("q", origins=[Origin("src", "x:1", "MIT")]),
        options=options or [],
        answer=answer,
    )
    (same,) = Check(**settings).process(query, Context(seed=1))
    assert same is query
    return query


@pytest.mark.parametrize(
    ("question", "answer", "kind", "reason"),
    [
        ("What is 6 * 7?", "42", "math", None),
        ("", "42", "math", "empty_question"),
        (" \n", "42", "math", "empty_question"),
        ("What is 6 * 7?", None, "math", "no_answer"),
        ("What is 6 * 7?", " ", "math", "no_answer"),
        ("What is 6 * 7?", "...", "math", "no_answer"),
        ("What is 6 * 7?", "-", "math", "no_answer"),
        ("What is 6 * 7?", "?", "vote", None),
        ("What is 6 * 7?", "-1", "math", None),
        ("What is 6 * 7?", None, "choice", "no_answer"),
        ("Write a poem.", None, "none", None),  # said so by the source
        ("Write a poem.", None, "rubric", None),
        ("What is 6 * 7?", None, "vote", None),  # a label to come
        ("Write f.", None, "code", None),
    ],
)
def test_a_seed_has_a_question_and_what_its_verifier_needs(
    question: str, answer: str | None, kind: str, reason: str | None
) -> None:
    assert checked(question, answer, kind).drop_reason == reason


@pytest.mark.parametrize(
    ("options", "answer", "reason", "detail"),
    [
        (["3", "4"], "B", None, None),
        (["3", "4"], "4", None, None),  # a text names its option
        (["3"], "A", "bad_options", "a choice needs at least 2 options, found 1"),
        ([], "A", "bad_options", "a choice needs at least 2 options, found 0"),
        (["3", " "], "A", "bad_options", "option 2 is blank"),
        (["3", "4", " 3"], "A", "bad_options", "options 1 and 3 are alike: '3'"),
        (["x", "X"], "A", None, None),  # case tells variables apart
        (["3", "4"], "C", "bad_options", "answer 'C' among 2 options: no_such_option"),
        (["3", "4"], "7", "bad_options", "answer '7' among 2 options: no_such_option"),
        (["B", "A"], "A", "bad_options", "answer 'A' among 2 options: ambiguous"),
    ],
)
def test_options(options: list[str], answer: str, reason: str | None, detail: str | None) -> None:
    query = checked("Which?", answer, "choice", options)
    assert (query.drop_reason, query.drop_detail) == (reason, detail)


def test_the_passage_that_leaks_is_shown() -> None:
    query = checked("What is 6 * 7 and not 42.0? The Answer is:  42.", "42")
    assert query.drop_detail == "the question holds 'Answer is: 42'"


def test_a_question_that_repeats_its_answer_is_searched_fast() -> None:
    assert checked("1" * 200_000, "1" * 100_000).drop_reason != "answer_in_question"
    assert checked("42 " * 10_000, "42").live


LONG = "the mitochondrion"


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        ("What is 6 * 7? (Answer: 42)", "42", "answer_in_question"),
        ("What is 6 * 7? The answer is 42.", "42", "answer_in_question"),
        ("What is 6 * 7? THE ANSWER IS: $42$", "42", "answer_in_question"),
        (r"What is 6 * 7? \boxed{42}", "42", "answer_in_question"),
        (r"What is 6 * 7? Answer: $\boxed{42}$", "42", "answer_in_question"),
        ("What is 6 * 7?\n#### 42", "42", "answer_in_question"),
        ("What is 6 * 7? The answer is 420.", "42", None),  # another number
        ("What is 6 * 7? The answer is 42.5.", "42", None),
        ("What is 6 * 7? The answer is 42/5.", "42", None),
        ("What is 6 * 7? The answer is 42,000.", "42", None),
        ("What is 6 * 7? The answer is -42.", "42", None),
        ("What is 42 + 0?", "42", None),  # given data
        ("The answer is a multiple of 7. What is 6 * 7?", "42", None),
        ("Simplify 1234567890123 * 1.", "1234567890123", None),  # long, and still a number
        (r"Let f(3) = \frac{10}{131415926}. Find f(3).", r"\frac{10}{131415926}", None),
        (r"Show that $x^2 + 2xy + 1 = z$; what is z?", "x^2 + 2xy + 1", "answer_in_question"),
        (r"Expand $x(x + 1)$.", "x^2 + x", None),
        ("Is x + 1 < x + 2?", "x + 1", None),  # short
    ],
)
def test_an_answer_that_stands_in_an_open_question(
    question: str, answer: str, reason: str | None
) -> None:
    query = checked(question, answer)
    assert query.drop_reason in (reason, "bad_reference" if reason is None else reason)
    assert (query.drop_reason == "answer_in_question") == (reason == "answer_in_question")


@pytest.mark.parametrize(
    ("question", "kind", "reason"),
    [
        (f"Ribosome or {LONG}: which makes ATP?", "vote", "answer_in_question"),
        ("Ribosome or The Mitochondrion: which makes ATP?", "vote", "answer_in_question"),
        ("Which organelle makes ATP, mitochondrion?", "vote", None),
        ("Of the mitochondrions, which makes ATP?", "vote", None),  # a word of its own
        (f"Ribosome or {LONG}: which makes ATP?", "none", None),
        (f"Name {LONG}.", "code", None),
    ],
)
def test_a_text_that_stands_verbatim(question: str, kind: str, reason: str | None) -> None:
    query = checked(question, LONG, kind)
    assert (query.drop_reason == "answer_in_question") == (reason == "answer_in_question")


@pytest.mark.parametrize(("min_chars", "leaks"), [(17, True), (18, False)])
def test_the_shortest_leak_is_a_setting(min_chars: int, leaks: bool) -> None:
    query = checked(f"Is it {LONG}?", LONG, "vote", min_leak_chars=min_chars)
    assert (query.drop_reason == "answer_in_question") == leaks


def test_choices_state_their_answers_by_design() -> None:
    assert checked(f"{LONG} or ribosome?", "A", "choice", [LONG, "ribosome"]).live


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("42", None), ("1/2", None), (r"\frac{1}{", "bad_reference"), ("42}", "bad_reference")],
)
def test_the_verifier_must_accept_its_own_reference(answer: str, reason: str | None) -> None:
    query = checked("What is it?", answer)
    assert query.drop_reason == reason
    if reason:
        assert (query.drop_detail or "").startswith(
            f"verifier 'math' on its own reference {answer!r} says "
        )


def test_a_generator_scores_its_own_answer() -> None:
    entry = {"question": "?", "answer": "2 + 2", "metadata": {"numbers": [2, 2], "target": 4}}
    good = json.dumps({"family": "countdown", "entry": entry})
    assert checked("Make 4 of 2 and 2.", "2 + 2", "reasoning_gym", spec=good).live
    entry["metadata"] = {"numbers": [2, 2], "target": 5}
    bad = json.dumps({"family": "countdown", "entry": entry})
    query = checked("Make 5 of 2 and 2.", "2 + 2", "reasoning_gym", spec=bad)
    assert query.drop_reason == "bad_reference"
    assert checked("Color it.", None, "reasoning_gym", spec="{}").live  # nothing to check
