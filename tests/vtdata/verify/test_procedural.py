from __future__ import annotations

import json

import pytest
import reasoning_gym

from tests.factories import query
from vtdata.records import Query, Verifier
from vtdata.verify import gold_check, verify
from vtdata.verify.procedural import UNSAFE, check


def made(family: str, **config: int) -> Query:
    entry = reasoning_gym.create_dataset(family, size=1, seed=3, **config)[0]
    spec = json.dumps({"family": family, "entry": entry, "config": config}, default=str)
    verifier = Verifier("reasoning_gym", spec)
    return query(question=entry["question"], verifier=verifier, answer=entry["answer"])


@pytest.mark.parametrize(
    "family", ["chain_sum", "gcd", "leg_counting", "basic_arithmetic", "simple_equations"]
)
def test_a_family_accepts_its_own_answer(family: str) -> None:
    question = made(family)
    assert gold_check(question).reward == 1.0
    assert verify(r"\boxed{-987654321}", question).reward == 0.0
    assert verify("no idea", question).reason == "no_answer"


@pytest.mark.parametrize(("answer", "reward"), [(None, 1.0), ("-987654321", 0.0)])
def test_the_gold_is_the_querys_answer_or_else_the_entrys(
    answer: str | None, reward: float
) -> None:
    question = made("gcd")
    question.answer = answer
    assert gold_check(question).reward == reward


def test_a_scorer_accepts_another_right_answer() -> None:
    entry = {"answer": "1 + 2 * 3", "metadata": {"numbers": [1, 2, 3], "target": 7}}
    spec = {"family": "countdown", "entry": entry}
    assert check(r"\boxed{3*2 + 1}", None, spec, []).reward == 1.0
    assert check(r"\boxed{3*2*1}", None, spec, []).reason == "partial_credit"


def test_partial_credit_is_no_verdict() -> None:
    spec = {"family": "chain_sum", "entry": {"answer": "12", "metadata": {}}}
    verdict = check(r"\boxed{12 or so}", None, spec, [])
    assert (verdict.reward, verdict.reason) == (0.0, "partial_credit")


@pytest.mark.parametrize(
    ("family", "answer"),
    [
        ("countdown", "__import__('os').system('true')"),
        ("countdown", "9**9**9"),
        ("puzzle24", "9* *9"),
        ("n_queens", "open('x','w')"),
        ("binary_matrix", "[[0]*9999999999]"),
        ("spiral_matrix", "(lambda: 1)()"),
    ],
)
def test_no_scorer_runs_what_a_model_wrote(family: str, answer: str) -> None:
    spec = {"family": family, "entry": {"answer": "1", "metadata": {}}}
    verdict = check(rf"\boxed{{{answer}}}", None, spec, [])
    assert (verdict.reward, verdict.reason) == (0.0, "bad_form")


@pytest.mark.parametrize("family", sorted(UNSAFE))
def test_families_that_evaluate_algebra_are_not_judged(family: str) -> None:
    spec = {"family": family, "entry": {"answer": "x", "metadata": {}}}
    assert check(r"\boxed{x}", None, spec, []).reason == "scorer_unsafe"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({}, "bad_spec"),
        ({"family": "gcd"}, "bad_spec"),
        ({"family": "no_such_family", "entry": {"answer": "1"}}, "bad_spec"),
        ({"family": "gcd", "entry": {"answer": "1"}, "config": {"no_such": 1}}, "bad_spec"),
        ({"family": "gcd", "entry": {}}, "scorer_error"),  # the scorer raises KeyError
    ],
)
def test_what_is_our_fault_is_none(spec: dict[str, object], reason: str) -> None:
    verdict = check(r"\boxed{1}", None, spec, [])
    assert (verdict.reward, verdict.reason) == (None, reason)
