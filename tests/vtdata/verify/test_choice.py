from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.verify.choice import check, pick

NUMBERS = ["41", "42", "1/2", "None of the above"]
BLOOD = ["A", "B", "AB", "O"]
TWISTED = ["B", "A", "neither"]


@pytest.mark.parametrize(
    ("answer", "options", "picked"),
    [
        ("B", NUMBERS, {1}),
        ("b", NUMBERS, {1}),
        ("(B)", NUMBERS, {1}),
        ("[b]", NUMBERS, {1}),
        ("B.", NUMBERS, {1}),
        ("B)", NUMBERS, {1}),
        ("**B**", NUMBERS, {1}),
        (r"\text{B}", NUMBERS, {1}),
        (r"\mathrm{(B)}", NUMBERS, {1}),
        ("option B", NUMBERS, {1}),
        ("Choice: B", NUMBERS, {1}),
        ("选项B", NUMBERS, {1}),
        ("B) 42", NUMBERS, {1}),
        ("B. $42$", NUMBERS, {1}),
        ("(B) 42.0", NUMBERS, {1}),
        ("B because 40 + 2", NUMBERS, {1}),
        ("B: the larger", NUMBERS, {1}),
        ("42", NUMBERS, {1}),
        ("0.5", NUMBERS, {2}),  # by value
        (r"\frac{1}{2}", NUMBERS, {2}),
        ("none of the above.", NUMBERS, {3}),
        ("A,C", NUMBERS, {0, 2}),
        ("CA", NUMBERS, {0, 2}),
        ("A and C", NUMBERS, {0, 2}),
        ("(A), (C)", NUMBERS, {0, 2}),
        ("A or C", NUMBERS, set()),  # a hedge
        ("AA", NUMBERS, set()),
        ("E", NUMBERS, set()),  # there are four
        ("E) 42", NUMBERS, set()),
        ("E) nothing", NUMBERS, set()),
        ("43", NUMBERS, set()),
        ("A bird", NUMBERS, set()),
        ("", NUMBERS, set()),
        ("AB", BLOOD, {2}),  # a text of its own, not two letters
        ("C. AB", BLOOD, {2}),
        ("O", BLOOD, {3}),
        ("B) 42", ["A. 41", "B. 42"], {1}),  # options with their letters
        ("42", ["A. 41", "B. 42"], {1}),
        ("A,C", [], {0, 2}),  # letters alone
        ("B. 42", [], {1}),
    ],
)
def test_an_answer_names_options(answer: str, options: list[str], picked: set[int]) -> None:
    assert set(pick(answer, options).indices) == picked


@pytest.mark.parametrize(
    ("answer", "options", "reason"),
    [
        ("A", TWISTED, "ambiguous"),  # the first option, or the second's text
        ("42", ["42", "42.0", "43"], "ambiguous"),
        ("A) 42", NUMBERS, "letter_text_conflict"),
        ("43", NUMBERS, "no_such_option"),
    ],
)
def test_an_unclear_answer_says_why(answer: str, options: list[str], reason: str) -> None:
    assert pick(answer, options).reason == reason


@pytest.mark.parametrize(
    ("response", "gold", "options", "reward", "reason"),
    [
        (r"\boxed{B}", "B", NUMBERS, 1.0, "correct"),
        (r"\boxed{B}", "42", NUMBERS, 1.0, "correct"),
        (r"\boxed{42}", "b", NUMBERS, 1.0, "correct"),
        ("The answer is (B).", "B", NUMBERS, 1.0, "correct"),
        ("B", "B", NUMBERS, 1.0, "correct"),  # nothing but a letter
        ("42", "B", NUMBERS, 1.0, "correct"),  # nothing but the text of an option
        ("44", "B", NUMBERS, 0.0, "no_answer"),
        (r"\boxed{A}", "B", NUMBERS, 0.0, "wrong"),
        (r"\boxed{43}", "B", NUMBERS, 0.0, "no_such_option"),
        (r"\boxed{B) 41}", "B", NUMBERS, 0.0, "letter_text_conflict"),
        ("Hard to say.", "B", NUMBERS, 0.0, "no_answer"),
        (r"\boxed{A,C}", "CA", NUMBERS, 1.0, "correct"),
        (r"\boxed{A}", "A,C", NUMBERS, 0.0, "wrong"),  # one of two
        (r"\boxed{A,B,C}", "A,C", NUMBERS, 0.0, "wrong"),  # one too many
        (r"\boxed{A}", "A) B", TWISTED, None, "ambiguous"),  # right by letter alone
        (r"\boxed{A}", "neither", TWISTED, 0.0, "wrong"),  # wrong by either reading
        (r"\boxed{B}", "43", NUMBERS, None, "bad_reference"),
        (r"\boxed{B}", "A", TWISTED, None, "bad_reference"),
        (r"\boxed{B}", None, NUMBERS, None, "bad_reference"),
    ],
)
def test_a_choice_is_judged(
    response: str, gold: str | None, options: list[str], reward: float | None, reason: str
) -> None:
    verdict = check(response, gold, {}, options)
    assert (verdict.reward, verdict.reason) == (reward, reason)


@given(st.text(max_size=40), st.lists(st.text(max_size=5), max_size=5))
def test_no_text_breaks_a_choice(answer: str, options: list[str]) -> None:
    picked = pick(answer, options)
    assert bool(picked.indices) is (picked.reason == "")
    assert all(0 <= index < max(26, len(options)) for index in picked.indices)
