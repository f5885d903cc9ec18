"""The forms in which options are named, by label and by text, and the ones that name none."""

from __future__ import annotations

import itertools
import time

import pytest

from tests.factories import query
from vtdata.records import Verifier
from vtdata.verify import equal, verify
from vtdata.verify.choice import check, find, pick

UNITS = ["5 m/s", "10 m/s", "20 m/s", "None of these"]
WORDS = ["Mitochondria", "The nucleus", "Ribosomes", "All of the above"]
CHINESE = ["光合作用", "呼吸作用", "蒸腾作用", "以上都不对"]
NUMBERED = ["(1) up", "(2) down", "(3) 4", "(4) 2"]
ROMAN = ["I. up", "II. down", "III. left", "IV. right"]
CIRCLED = ["① up", "② down", "③ left"]
SETS = ["alpha", "beta", "gamma", "Both A and C"]
FRACTIONS = ["1/2", "1/3", r"\frac{3}{4}", "2"]


@pytest.mark.parametrize(
    ("answer", "options", "picked"),
    [
        # labels
        ("Option (B)", WORDS, {1}),
        ("The correct answer is option B", WORDS, {1}),
        ("B is correct", WORDS, {1}),
        ("选B", CHINESE, {1}),
        ("故选：AC", CHINESE, {0, 2}),
        ("（Ｂ）", CHINESE, {1}),
        ("A、C", CHINESE, {0, 2}),
        ("A和C", CHINESE, {0, 2}),
        ("A, B, and C", WORDS, {0, 1, 2}),
        ("both A and C", WORDS, {0, 2}),
        ("A & C", WORDS, {0, 2}),
        ("ABD", WORDS, {0, 1, 3}),
        ("(A)(C)", WORDS, {0, 2}),
        ("a and c", WORDS, {0, 2}),
        ("['A', 'C']", WORDS, {0, 2}),
        (r"\text{A and C}", WORDS, {0, 2}),
        (r"$\textbf{(B)}$", WORDS, {1}),
        # label and text
        ("B. The nucleus", WORDS, {1}),
        ("(B) nucleus", WORDS, {1}),
        ("B: the nucleus, because it holds DNA", WORDS, {1}),
        ("B, since it holds DNA", WORDS, {1}),
        ("B. There is no other with DNA", WORDS, {1}),  # a reason may deny something else
        ("b) the nucleus", WORDS, {1}),
        ("The nucleus (B)", WORDS, {1}),
        ("10 m/s (option B)", UNITS, {1}),
        (r"\textbf{(B)}\ 10 m/s", UNITS, {1}),
        ("A) Mitochondria, C) Ribosomes", WORDS, {0, 2}),
        ("A. Mitochondria\nC. Ribosomes", WORDS, {0, 2}),
        # texts
        ("the mitochondria", WORDS, {0}),
        ("NUCLEUS", WORDS, {1}),
        ("呼吸作用", CHINESE, {1}),
        ("Mitochondria and ribosomes", WORDS, {0, 2}),
        ("10 m/s", UNITS, {1}),
        ("0.5", FRACTIONS, {0}),
        (r"\frac12", FRACTIONS, {0}),
        ("0.75", FRACTIONS, {2}),
        ("C) 0.75", FRACTIONS, {2}),
        ("1/2, 0.75", FRACTIONS, {0, 2}),
        # all and none
        ("none of the above", UNITS, {3}),
        ("None", UNITS, {3}),
        ("None of the options is correct", UNITS, {3}),
        ("D. none of the above", UNITS, {3}),
        ("all of the above", WORDS, {3}),
        ("All of these", WORDS, {3}),
        ("all of the above", FRACTIONS, {0, 1, 2, 3}),  # in words, no option of its own
        ("以上选项都不对", CHINESE, {3}),
        ("A and C", SETS, {3}),  # the option that says so
        ("D", SETS, {3}),
        # labels of their own
        ("(2)", NUMBERED, {1}),
        ("1 and 3", NUMBERED, {0, 2}),
        ("(3) 4", NUMBERED, {2}),
        ("B", NUMBERED, {1}),  # letters by order stay
        ("down", NUMBERED, {1}),
        ("II", ROMAN, {1}),
        ("II and IV", ROMAN, {1, 3}),
        ("iv. right", [option.lower() for option in ROMAN], {3}),
        ("②", CIRCLED, {1}),
        ("①③", CIRCLED, {0, 2}),
        ("C", ["C. 1/2", "A. 1/3", "B. 1/4"], {0}),  # shuffled with their labels
        ("0.5", ["C. 1/2", "A. 1/3", "B. 1/4"], {0}),
        ("A. B", ["A", "B", "AB"], set()),  # the letter is one, the text another
        ("2:1", ["1:2", "2:1"], {1}),  # no labels, though it looks like them
        ("2.5", ["1.5", "2.5"], {1}),
        # nothing
        ("A or B", WORDS, set()),
        ("A/B", WORDS, set()),
        ("either A or B", WORDS, set()),
        ("A或B", CHINESE, set()),
        ("5 m/s or 10 m/s", UNITS, set()),
        ("not B", WORDS, set()),
        ("(B) is incorrect", WORDS, set()),
        ("all but B", WORDS, set()),
        ("不是B", CHINESE, set()),
        ("neither A nor B", WORDS, set()),
        ("none of the above", FRACTIONS, set()),
        ("Golgi apparatus", WORDS, set()),
        ("F", WORDS, set()),
        ("AF", WORDS, set()),
        ("B. Ribosomes", WORDS, set()),
        ("Ribosomes (B)", WORDS, set()),
        ("B) 20 m/s", UNITS, set()),
        ("B) 11 m/s", UNITS, set()),  # no option's value, and certainly not B's
        ("A) Mitochondria, C) The nucleus", WORDS, set()),
        ("TRUE", [], set()),
        ("NOT B", [], set()),
    ],
)
def test_an_answer_names_options(answer: str, options: list[str], picked: set[int]) -> None:
    assert set(pick(answer, options).indices) == picked


@pytest.mark.parametrize(
    ("answer", "options", "reason"),
    [
        ("A or B", WORDS, "hedged"),
        ("Mitochondria or ribosomes", WORDS, "hedged"),
        ("not B", WORDS, "negated"),
        ("B) is wrong", WORDS, "negated"),
        ("It is not (B)", WORDS, "negated"),
        ("I don't think it is (B)", WORDS, "negated"),
        ("B. Ribosomes", WORDS, "letter_text_conflict"),
        ("Ribosomes (B)", WORDS, "letter_text_conflict"),
        ("2", NUMBERED, "ambiguous"),  # the second, or the value of the fourth
        ("5", ["5 m", "5 kg"], "ambiguous"),
        ("none of the above", FRACTIONS, "no_such_option"),
    ],
)
def test_what_names_none_says_why(answer: str, options: list[str], reason: str) -> None:
    assert pick(answer, options).reason == reason


@pytest.mark.parametrize(
    ("response", "options", "found"),
    [
        ("<think>A?</think>Option B is correct.", WORDS, "B"),
        ("Option B is incorrect. Option **C** is the correct answer.", WORDS, "C"),
        ("Not A. I would choose (C), as it fits.", WORDS, "C"),
        ("Do not choose A. It must be B.", WORDS, "B"),
        ("The answer is B. 10 m/s", UNITS, "B"),
        ("The answer is B. 20 m/s", UNITS, "B. 20 m/s"),  # in conflict: kept to be seen
        ("The answer is B. I hope it is correct.", UNITS, "B"),
        ("**Answer: B) The nucleus**", WORDS, "B) The nucleus"),
        ("It holds the DNA.\n\n**B**", WORDS, "**B**"),
        ("It holds the DNA.\n\nB. The nucleus", WORDS, "B. The nucleus"),
        ("A. Mitochondria\nB. The nucleus", WORDS, None),  # the options once more
        ("The nucleus", WORDS, "The nucleus"),
        ("因为……，所以选B。", CHINESE, "B"),
        ("Here is a plan. A cell has many parts.", WORDS, None),
        ("I can't choose A.", WORDS, None),
        ("It is B \\boxed{C}", WORDS, "C"),  # a box wins
        ("It is B \\boxed{C", WORDS, None),
    ],
)
def test_a_response_gives_a_choice(response: str, options: list[str], found: str | None) -> None:
    assert find(response, options) == found


@pytest.mark.parametrize(
    ("response", "gold", "options", "reward", "reason"),
    [
        (r"\boxed{A or C}", "A,C", WORDS, 0.0, "hedged"),  # a hedge names neither
        (r"\boxed{A}, \boxed{C}", "C and A", WORDS, 1.0, "correct"),
        (r"\boxed{A} or \boxed{C}", "A", WORDS, 0.0, "hedged"),
        (r"\boxed{not B}", "B", WORDS, 0.0, "negated"),
        (r"\boxed{C}", "A,C", WORDS, 0.0, "wrong"),  # one of two
        (r"\boxed{none of the above}", "D", UNITS, 1.0, "correct"),
        (r"\boxed{B. 42}", "B", [], 1.0, "correct"),  # letters are all there is
        (r"\boxed{42}", "B", [], None, "no_options"),  # its text may be right
        (r"\boxed{C}", "B", [], 0.0, "wrong"),
        (r"\boxed{BA}", "AB", [], 1.0, "correct"),
        (r"\boxed{A}", "A or B", WORDS, None, "bad_reference"),
        (r"\boxed{A}", "B. Ribosomes", WORDS, None, "bad_reference"),
        (r"\boxed{A}", "5", ["5 m", "5 kg"], None, "bad_reference"),
        (r"\boxed{A}", "2", NUMBERED, None, "bad_reference"),
    ],
)
def test_a_choice_is_judged(
    response: str, gold: str, options: list[str], reward: float | None, reason: str
) -> None:
    verdict = check(response, gold, {}, options)
    assert (verdict.reward, verdict.reason) == (reward, reason)


def test_a_text_follows_its_option_when_options_are_shuffled() -> None:
    for order in itertools.permutations(UNITS):
        options = list(order)
        letter = "ABCD"[options.index("10 m/s")]
        assert check(rf"\boxed{{{letter}}}", "10 m/s", {}, options).reward == 1.0
        assert check(r"\boxed{10 m/s}", letter, {}, options).reward == 1.0
        none = "ABCD"[options.index("None of these")]
        assert check(r"\boxed{None of the above}", none, {}, options).reward == 1.0
        assert check(r"\boxed{A}", "10 m/s", {}, options).reward == float(letter == "A")


def test_every_option_names_itself_and_no_other() -> None:
    for options in (UNITS, WORDS, CHINESE, ROMAN, CIRCLED, SETS, FRACTIONS):
        for at, option in enumerate(options):
            assert set(pick(option, options).indices) == {at}, option
            assert set(pick("ABCD"[at], options).indices) == {at}


def test_texts_are_compared_as_answers_are() -> None:
    options = [r"2\sqrt{3}", r"\sqrt{10}"]
    same = equal(options[0], r"\sqrt{12}") is True
    assert set(pick(r"\sqrt{12}", options).indices) == ({0} if same else set())


def test_a_vote_to_come_keeps_the_choice() -> None:
    asked = query(verifier=Verifier("vote"), answer=None, options=WORDS)
    assert verify("Option B is correct.", asked).answer == "B"


@pytest.mark.parametrize(
    "unit", ["A, ", "A or ", "(A) ", "B. x, ", "not ", "none of the ", "选A", " (B"]
)
def test_a_long_answer_takes_no_time(unit: str) -> None:
    start = time.process_time()
    pick(unit * (100_000 // len(unit)), WORDS)
    find(unit * (100_000 // len(unit)), WORDS)
    pick(unit * (1_900 // len(unit)), WORDS)
    assert time.process_time() - start < 1.0


def test_a_comparison_that_was_cut_short_is_no_wrong_answer() -> None:
    options = [r"\int_0^1 e^{x^2} dx", "no solution"]
    series = r"\boxed{\sum_{n=0}^{\infty} \frac{1}{n!(2n+1)}}"
    verdicts = [check(series, gold, {}, options, limit_s=0.2) for gold in ("A", "B")]
    assert [(v.reward, v.reason) for v in verdicts] == [(None, "undecided"), (0.0, "wrong")]
