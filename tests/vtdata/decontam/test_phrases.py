"""What carries no evidence, on whichever side it stands."""

from __future__ import annotations

from itertools import chain

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vtdata.decontam.hits import bench
from vtdata.decontam.index import build
from vtdata.decontam.normal.phrases import LIGHT, void, weights
from vtdata.decontam.normal.tokens import words
from vtdata.decontam.profile import judge, profile

INSTRUCTIONS = [
    r"Please reason step by step, and put your final answer within \boxed{}.",
    "Let's think step by step.",
    "Think step by step before answering.",
    r"Please think carefully step by step and put the answer in \boxed{}",
    r"Put your final answer within $\boxed{}$.",
    "**PUT YOUR FINAL ANSWER WITHIN BOXED**",
    "Solve the following math problem efficiently and clearly.",
    "Solve the following math problem step by step.",
    "Write your answer as a single integer between 0 and 999.",
    "The answer is an integer between 000 and 999, inclusive.",
    r"Your answer should be in \boxed{}.",
    r"Enclose the final answer in \boxed{}.",
    "Please provide your final answer in a box.",
    "You are a helpful assistant.",
    "You are an expert mathematician.",
    "Answer the following multiple choice question.",
    "Here is a math problem",
    "Only return the code without explanation.",
    r"Explain your reasoning step by step, then give the final answer in \boxed{}.",
    "Work through the problem step by step.",
    "Express your answer as an integer.",
    r"Think about it step by step and end with the answer in \boxed{}.",
    "请逐步推理。",
    "请一步一步地思考",
    r"请把答案填在\boxed{}里",
    r"请一步一步地思考，并将最终答案写在\boxed{}中。",
    r"Return your final response within \boxed{}.",
    r"Present the answer in LaTeX format: \boxed{Your answer}",
    r"Make sure to put the answer (and only answer) inside \boxed{}.",
    "Remember to box your final answer.",
    "Show your work step by step.",
    "Below is an instruction that describes a task.",
    "The last line of your response should be of the form Answer: $Answer (without quotes) where "
    "$Answer is the answer to the problem.",
]

QUESTION = (
    "Seventeen hedgehogs cross the marble bridge at dawn, each of them carrying nine lanterns; "
    "how many lanterns reach the other side?"
)


def weighed(text: str) -> dict[str, float]:
    tokens = words(text, "evidence")
    return dict(zip(tokens, weights(tokens), strict=True))


def evidence(text: str) -> list[str]:
    tokens = words(text, "evidence")
    return [word for word, weight in zip(tokens, weights(tokens), strict=True) if weight]


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_instructions_carry_no_evidence(instruction: str) -> None:
    assert evidence(instruction) == []


def test_an_apostrophe_less_is_the_same() -> None:
    tokens = words("Let's think step by step.", "paper")
    assert weights(tokens) == [0.0] * len(tokens) == [0.0] * 5


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
@pytest.mark.parametrize("form", ["{i}\n\n{q}", "{q} {i}", "{q}\n{i}"])
def test_an_instruction_beside_a_question_changes_none_of_its_words(
    instruction: str, form: str
) -> None:
    assert evidence(form.format(q=QUESTION, i=instruction)) == evidence(QUESTION)


@pytest.mark.parametrize(
    "instruction",
    [
        *INSTRUCTIONS,
        "Give the result at the end.",
        "Put your response on a new line.",
        "Write the solution on a separate line.",
        "Express the value as an integer.",
        "Report the result as a number.",
        "Give the result as a single integer.",
        "State the value as an arabic numeral.",
        "The value is an integer between 0 and 999.",
        "The result will be a three-digit integer from 0 to 999.",
        "Give the result using sympy.",
    ],
)
def test_an_instruction_is_one_whatever_other_words_the_text_has(instruction: str) -> None:
    others = "The answer, carefully boxed, is in the following code."
    assert evidence(instruction) == []
    assert evidence(f"{QUESTION} {instruction}") == evidence(QUESTION)
    tokens = words(instruction, "evidence")
    assert weights([*words(others, "evidence"), *tokens])[-len(tokens) :] == weights(tokens)


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_an_instruction_on_either_side_leaves_the_item_exact(instruction: str) -> None:
    for item, text in [
        (f"{QUESTION} {instruction}", QUESTION),
        (QUESTION, f"{instruction}\n\n{QUESTION}"),
        (f"{QUESTION} {instruction}", f"{QUESTION}\n{INSTRUCTIONS[0]}"),
    ]:
        index = build([bench("b", item, "What else is there?")], profile("evidence"))
        found = judge(index.scan(pa.array([text]), "prompt"), profile("evidence"))
        assert found["verdict"].to_pylist() == ["exact"], (item, text)


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_an_instruction_alone_matches_no_item_that_ends_with_it(instruction: str) -> None:
    index = build([bench("b", f"{QUESTION} {instruction}")], profile("evidence"))
    assert index.scan(pa.array([instruction]), "prompt").num_rows == 0


@pytest.mark.parametrize(
    "text",
    [
        "How many steps does the staircase have?",
        "Tom puts 12 red balls in a box and 7 in another.",
        "Which of the following numbers is prime?",
        "Reason about the shape of the bridge.",
        "She writes a letter to the editor of the paper.",
        "小明把书放在桌子上。",
        "The solution contains 30 percent salt.",
    ],
)
def test_words_of_a_question_keep_their_weight(text: str) -> None:
    assert set(weighed(text).values()) == {1.0}


@pytest.mark.parametrize(
    "phrase",
    [
        "where m and n are relatively prime positive integers. Find m + n.",
        "where $p$ and $q$ are relatively prime positive integers. Find $p+q$.",
        r"can be written in the form $\frac{r}{s}$",
        "Find the remainder when $N$ is divided by 1000.",
        "WHERE A AND B ARE POSITIVE INTEGERS",
    ],
)
def test_contest_boilerplate_is_light_with_any_letters(phrase: str) -> None:
    assert set(weighed(phrase).values()) == {LIGHT}
    found = weighed(f"The seventeen hedgehogs {phrase}")
    assert [found["seventeen"], found["hedgehogs"]] == [1.0, 1.0]


def test_boilerplate_of_more_than_one_letter_is_not_meant() -> None:
    assert set(weighed("where cats and dogs are relatively prime").values()) == {1.0}


def test_a_whole_phrase_is_needed() -> None:
    assert weighed("relatively prime")["prime"] == 1.0


@pytest.mark.parametrize(
    "drawing",
    [
        '[asy] draw((0,0)--(3,4)); label("$A$", (0,0), SW); [/asy]',
        "[asy]\nsize(100);\nfor (int i=0; i<4; ++i) { dot((i, i)); }\n[/asy]",
    ],
)
def test_drawing_code_is_silent(drawing: str) -> None:
    before, after = "What is the area of the shaded region?", "Give it in square meters."
    assert evidence(f"{before} {drawing} {after}") == evidence(f"{before} {after}")


def test_text_between_two_drawings_counts() -> None:
    one = "[asy] draw((0,0)--(1,1)); [/asy]"
    assert evidence(f"{one} find the angle {one}") == ["find", "the", "angle"]


def test_drawing_code_that_does_not_end_counts() -> None:
    assert "draw" in evidence("[asy] draw((0,0)--(1,1));")


SOME_WORDS = st.lists(
    st.sampled_from(
        [
            "please",
            "put",
            "your",
            "answer",
            "in",
            "boxed",
            "step",
            "by",
            "asy",
            "m",
            "答",
            "案",
            "请",
        ]
    )
)


@given(SOME_WORDS)
def test_a_word_weighs_1_or_little_or_nothing(tokens: list[str]) -> None:
    found = weights(tokens)
    assert len(found) == len(tokens)
    assert set(found) <= {0.0, LIGHT, 1.0}
    silent = set(chain.from_iterable(range(*one) for one in void(tokens)))
    assert {at for at, weight in enumerate(found) if weight == 0.0} == silent
    assert silent <= set(range(len(tokens)))
