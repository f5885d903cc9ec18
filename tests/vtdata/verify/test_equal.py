from __future__ import annotations

import json
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.factories import query
from tests.vtdata.verify.pairs import DIFFERENT, EQUAL, OPEN
from vtdata.errors import ConfigError
from vtdata.records import Verifier
from vtdata.verify import equal, verify
from vtdata.verify.cascade import opposed
from vtdata.verify.math import check, compare
from vtdata.verify.policy import Policy

CASES = Path(__file__).parents[3] / ".." / "shared" / "cases" / "equivalence.jsonl"


def judged(gold: str, pred: str) -> bool | None:
    found = equal(gold, pred)
    assert equal(pred, gold) is found, "not symmetric"
    return found


@pytest.mark.parametrize(("gold", "pred"), EQUAL)
def test_the_same_answer(gold: str, pred: str) -> None:
    assert judged(gold, pred) is True


@pytest.mark.parametrize(("gold", "pred"), DIFFERENT)
def test_another_answer(gold: str, pred: str) -> None:
    assert judged(gold, pred) is False


@pytest.mark.parametrize(("gold", "pred"), OPEN)
def test_what_nobody_can_decide_is_left_open(gold: str, pred: str) -> None:
    assert judged(gold, pred) is None


@pytest.mark.skipif(not CASES.exists(), reason="../shared/cases is not here")
def test_shared_cases() -> None:
    outcomes: Counter[str] = Counter()
    wrong = []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["form"] == "response":
            reward = check(case["pred"], case["gold"], {}, []).reward
            found = None if reward is None else bool(reward)
        else:
            found = judged(case["gold"], case["pred"])
        if found is not case["equal"]:
            wrong.append((case["id"], found))
        outcomes[case["basis"]] += found is case["equal"]
        assert not (found and not case["equal"] and case["basis"] == "reasoning"), case
    assert outcomes.total() >= 150, wrong


@pytest.mark.parametrize(
    ("policy", "gold", "pred", "same"),
    [
        ({"percent": "hundredth"}, "28%", "28", False),
        ({"percent": "hundredth"}, "28%", "0.28", True),
        ({"percent": "unit"}, "28%", "28", True),
        ({"percent": "unit"}, "28%", "0.28", False),
        ({"units": "strict"}, "5 cm", "5", False),
        ({"units": "strict"}, "5 cm", "50 mm", True),
        ({"names": "strict"}, "x=3", "3", False),
        ({"order": "kept"}, "1,2", "2,1", False),
        ({"order": "kept"}, "1,2", "1,2", True),
        ({"bases": "strict"}, "2516_8", "2516", False),
    ],
)
def test_conventions_are_settings(
    policy: dict[str, str], gold: str, pred: str, *, same: bool
) -> None:
    assert equal(gold, pred, policy=Policy.of(policy)) is same
    verdict = check(rf"\boxed{{{pred}}}", gold, {"policy": policy}, [])
    assert verdict.reward == float(same)


def test_a_policy_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"percent=.half..*hundredth"):
        Policy.of({"percent": "half"})
    with pytest.raises(ConfigError, match="colour"):
        Policy.of({"colour": "red"})
    assert check(r"\boxed{1}", "1", {"policy": {"percent": 3}}, []).reason == "bad_spec"


@pytest.mark.parametrize(
    ("gold", "pred", "stage", "said"),
    [
        ("1/2", "0.5", "key", {}),
        ("(x+1)^2", "x^2+2x+1", "key", {}),
        (r"\sin x", r"\cos x", "points", {"points": "different"}),
        (r"\sin 2x", r"2\sin x\cos x", "symbolic", {"points": "equal", "proof": "equal"}),
        (r"\int_0^1 x dx", r"\frac12", "symbolic", {"points": "equal", "proof": "equal"}),
    ],
)
def test_the_cascade_says_who_decided(
    gold: str, pred: str, stage: str, said: dict[str, str]
) -> None:
    finding = compare(gold, pred)
    assert finding.stage == stage
    assert said.items() <= finding.said.items()
    assert not opposed(finding.said)


def test_a_disagreement_is_recorded_and_decides_nothing() -> None:
    """Equal at every point, which math-verify denies and sympy can't show."""
    finding = compare(r"\arcsin x+\arccos x", r"\frac{\pi}{2}")
    assert (finding.same, finding.reason) == (None, "undecided")
    assert finding.said["points"] == "equal"
    assert finding.said["forward"] == "different"
    assert opposed(finding.said)


PIECES = st.sampled_from(
    ["1", "2", "34", "0.5", "x", "y", "n", "+", "-", "*", "/", "^", "(", ")", "[", "]", "{", "}", ",",
     "=", "<", r"\frac", r"\sqrt", r"\pi", r"\sin ", r"\{", r"\}", r"\pm ", r"\cup ", r"\in ", " ",
     "%", "cm", "or", "yes", "Evan", r"\text", "½", "（", "，", "甲", "!", "|", "_", r"\le ", ":",
     r"\begin{pmatrix}", r"\end{pmatrix}", r"\\", "&", "e", "i", r"\infty", "$", ".", "'", "°"]
)  # fmt: skip
ANSWERS = st.one_of(st.lists(PIECES, max_size=9).map("".join), st.text(max_size=40))


@settings(max_examples=300, deadline=None)
@given(ANSWERS, ANSWERS)
def test_no_text_breaks_it_and_order_means_nothing(left: str, right: str) -> None:
    found = compare(left, right, limit_s=0.2)
    again = compare(right, left, limit_s=0.2)
    if "timeout" not in (found.reason, again.reason):
        assert found.same is again.same


@settings(max_examples=300, deadline=None)
@given(ANSWERS)
def test_an_answer_is_itself(answer: str) -> None:
    assert equal(answer, answer) is not False
    assert equal(answer, f" {answer} ", limit_s=0.2) is not False


@settings(max_examples=100, deadline=None)
@given(st.fractions(), st.fractions())
def test_fractions_in_any_spelling(left: Fraction, right: Fraction) -> None:
    spelled = rf"$\dfrac{{{right.numerator}}}{{{right.denominator}}}$"
    assert equal(f"{left.numerator}/{left.denominator}", spelled) is (left == right)


@pytest.mark.parametrize(
    "hostile",
    [
        "9^9^9^9", "2^{99999999}", "1e99999", "1" * 5_000, "1" * 100_000,
        "(2^{16000})^{16000}", "1" + ",111" * 3_000, "1" + " 111" * 2_400, "(" * 9_000,
        r"\frac{1}{" * 900, "1/" * 4_900 + "1", r"\text{" * 1_500 + "a" + "}" * 1_500,
        "9" + r"\times 9" * 1_200, "1e3999*" * 1_200 + "1", "²" * 9_000, "\\" * 9_000,
        "1" + " " * 9_000 + "1", r"\(" * 2_000 + "1" + r"\)" * 2_000, "-" * 9_000, "x" * 9_000,
        "+".join(f"x_{{{i}}}" for i in range(900)), "(x+1)^{60}(y+1)^{60}", "(" * 50 + "x" + ")^9" * 50,
        ",".join(["(1,2)"] * 900), "[" * 200 + "1,2" + "]" * 200, r"\sqrt{" * 60 + "2" + "}" * 60,
        "x^{x^{x^{x^{x^{x}}}}}", "100000!", "9" * 60 + "!", "1/" + "0" * 50, "|" * 999, "_" * 999,
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_a_hostile_answer_takes_no_time(hostile: str) -> None:
    start = time.process_time()
    assert compare(hostile, "2", limit_s=0.3).same in (None, False)
    assert compare(hostile, r"\sin x + 1", limit_s=0.3).same in (None, False)
    assert time.process_time() - start < 2.0


def test_verify_reads_the_policy_of_a_query() -> None:
    strict = query(answer="28%", verifier=Verifier("math", '{"policy": {"percent": "hundredth"}}'))
    assert verify(r"\boxed{28}", strict).reward == 0.0
    assert verify(r"\boxed{0.28}", strict).reward == 1.0
