from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.verify import extract


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (r"so \boxed{41}", "41"),
        (r"\boxed{1} then \boxed{2}", "2"),  # the last one
        (r"\boxed{1} is for n=1. Then \boxed{2}.", "2"),
        (r"\boxed{\frac{1}{\sqrt{2}}}", r"\frac{1}{\sqrt{2}}"),
        (r"Thus \boxed{\{1,2\}} as desired", r"\{1,2\}"),
        (r"\boxed{\left\{ 1 \right.}", r"\left\{ 1 \right."),
        (r"\fbox{7}", "7"),
        (r"\boxed {7}", "7"),
        (r"\boxed{\boxed{5}}", r"\boxed{5}"),
        (r"\boxed{1, \fbox{2}}", r"1, \fbox{2}"),  # the outer one
        (r"\boxed{3} or in \boxed{}", "3"),  # an empty box is no answer
        (r"\boxed{}", None),
        (r"\boxed{5", None),  # cut off
        (r"\boxed{4} and so \boxed{5", None),  # what was meant was cut off
        (r"\boxed{\frac{1}{2}", None),
        (r"} \boxed{5} {", "5"),  # loose braces outside
        (r"the set {1, 2 \boxed{5}", "5"),
        (r"\boxedtext{7}", None),
        (r"\\boxed is not one, \boxed{2} is", "2"),
        (r"\\boxed{7}", None),  # a line break and a word
        (r"\\\boxed{7}", "7"),  # a line break and a box
        (r"\boxed{1}, \boxed{2} and \boxed{3}", "1, 2, 3"),  # side by side
        (r"\boxed{5} or \boxed{6}", "5 or 6"),  # a hedge stays one
        (r"\boxed{5}, \boxed{5}", "5"),
        (r"It is $\boxed{5}$; the answer is 6.", "5"),  # a box outranks a sentence
    ],
)
def test_the_last_box_is_the_answer(response: str, answer: str | None) -> None:
    assert extract(response) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("The answer is 42.", "42"),
        ("The answer is 14.5.", "14.5"),  # a point within a number ends no sentence
        ("the answer is: -3\nthat's all", "-3"),
        ("Answer: $13$", "$13$"),
        ("Final Answer: **73**", "73"),
        ("**Final Answer:** 73", "73"),
        ("**Final Answer**: 73", "73"),
        ("**Answer:**\n\n73", "73"),
        ("ANSWER: B", "B"),
        ("The correct option is (C).", "(C)"),
        ("The answer is 1. No: the answer is 2.", "2"),
        ("答案是42。", "42"),
        ("答案：42", "42"),
        ("所以答案为 3/4。完毕", "3/4"),
        ("The answer is not 5. It is 6.", None),
        ("The answer is", None),
        ("There are 3 of 7 left.", None),  # never the last number
        ("Answers vary: 5", None),
        ("", None),
    ],
)
def test_a_sentence_that_says_so_is_an_answer(response: str, answer: str | None) -> None:
    assert extract(response) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (r"<think>\boxed{7}</think> It is \boxed{8}", "8"),
        (r"<think>\boxed{7}</think> It is 8", None),  # a thought is no answer
        (r"<think>The answer is 7</think> It is 8", None),
        (r"\boxed{7} </think> \boxed{8}", "8"),  # only the closer
        (r"<think>a</think> \boxed{1} <think>b</think> \boxed{2}", "2"),
        (r"<think>\boxed{7}", None),  # unfinished
        (r"\boxed{7} <think> or \boxed{8}", None),
        (r"<think>a</think> \boxed{1} <think> wait", None),
    ],
)
def test_thoughts_hold_no_answers(response: str, answer: str | None) -> None:
    assert extract(response) == answer


@given(st.text(alphabet=r"\boxed{}<think>/ answer is:12$*.", max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    found = extract(text)
    assert found is None or found == found.strip() != ""


@given(st.integers())
def test_a_boxed_number_comes_back(number: int) -> None:
    assert extract(rf"first {number + 1}, so \boxed{{{number}}}.") == str(number)


@pytest.mark.parametrize(
    "hostile",
    [
        "\\boxed{" * 40_000,
        "\\boxed{" * 20_000 + "}" * 20_000,
        "\\boxed{1}, " * 20_000,
        "\\boxed{1}" + " " * 200_000 + "\\boxed{2}",
        "answer is " * 20_000,
        "answer is" + " *_" * 70_000,
        "<think>" * 30_000,
        "{" * 200_000,
    ],
    ids=lambda text: text[:10],
)
def test_a_huge_response_takes_no_time(hostile: str) -> None:
    start = time.process_time()
    extract(hostile)
    assert time.process_time() - start < 2.0
