from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.corpora.answers import MAX_STATED_CHARS, final_answer, last_boxed


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"thus \boxed{42}", "42"),
        (r"first \boxed{1}." + "\n" + r"Corrected: \boxed{2}", "2"),  # the last one
        (r"\boxed{\frac{1}{\sqrt{2}}}", r"\frac{1}{\sqrt{2}}"),  # braces inside
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),  # escaped braces don't count
        (r"\boxed{\left\{ \right.}", r"\left\{ \right."),
        (r"\fbox{7}", "7"),  # a few of MATH's
        (r"\boxedtext{7}", None),
        (r"$\boxed 5$", "5"),  # MATH writes it without braces
        (r"\boxed 5 or so", None),
        (r"\boxed{5", None),  # never closed: never guess
        (r"\boxed{}", None),
        (r"\boxed", None),
        (r"$x=\boxed{1}$, $y=\boxed{2}$", None),  # two answers in one line
        (r"$x=\boxed{1}$, so \boxed{1}", "1"),  # said twice
        ("\\boxed{3}\n#### 4", "3"),  # a box outranks hashes
        ("so 9 * 2 = 18\n#### 18", "18"),
        ("#### 1,000\n\n", "1,000"),
        ("#### -3.5", "-3.5"),
        ("#### $12", "$12"),
        ("#### 3/4", "3/4"),
        ("#### 2\nand so on", None),  # a heading
        ("#### Conclusion", None),
        ("It works. The answer is 12.5.", "12.5"),
        ("The final answer is: **B**.", "B"),
        ("The answer is $\\frac{3}{4}$.", "\\frac{3}{4}"),
        ("the answer is $a$ and $b$", "$a$ and $b$"),
        ("The answer is 5. Hope this helps", None),  # not the end
        ("The answer is 5.\nHope this helps", None),
        ("The answer is ...", None),
        ("The answer is " + "x" * MAX_STATED_CHARS, "x" * MAX_STATED_CHARS),
        ("The answer is " + "x" * (MAX_STATED_CHARS + 1), None),
        ("so it is 5", None),
        ("", None),
        ("\n \n", None),
    ],
)
def test_how_a_solution_may_end(solution: str, answer: str | None) -> None:
    assert final_answer(solution) == answer


braces = st.recursive(
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=5),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda x: "{" + "".join(x) + "}"),
)


@given(braces, st.text(max_size=20))
def test_balanced_braces_come_back_whole(inside: str, before: str) -> None:
    assert last_boxed(before + "\n\\boxed{" + inside + "} done") == inside


@given(st.text(max_size=200))
def test_any_text_gives_an_answer_or_none(text: str) -> None:
    answer = final_answer(text)
    assert answer is None or answer
