from __future__ import annotations

import subprocess
import sys

import pytest

from tests.factories import query
from vtdata.records import VERIFIER_KINDS, Verifier
from vtdata.verify import CHECKS, gold_check, verify


@pytest.mark.parametrize("kind", ["code", "constraints", "rubric", "none"])
def test_a_kind_without_a_verifier_is_unscored(kind: str) -> None:
    verdict = verify(r"\boxed{4}", query(verifier=Verifier(kind)))
    assert (verdict.reward, verdict.reason, verdict.kind) == (None, "no_verifier", kind)


def test_every_kind_of_the_table_is_a_kind() -> None:
    assert set(CHECKS) <= set(VERIFIER_KINDS)


def test_a_verdict_names_kind_and_answer() -> None:
    verdict = verify(r"\boxed{ 4 }", query())
    assert (verdict.reward, verdict.kind, verdict.answer) == (1.0, "math", "4")


@pytest.mark.parametrize(
    ("response", "options", "answer"),
    [
        (r"\boxed{5}", [], "5"),
        ("(B)", ["4", "5"], "(B)"),
        ("five", [], None),
    ],
)
def test_a_vote_to_come_keeps_the_answer(
    response: str, options: list[str], answer: str | None
) -> None:
    asked = query(verifier=Verifier("vote"), answer=None, options=options)
    verdict = verify(response, asked)
    assert (verdict.reward, verdict.reason, verdict.answer) == (None, "label_to_come", answer)


@pytest.mark.parametrize(
    ("response", "options", "reward"),
    [(r"\boxed{4.0}", [], 1.0), (r"\boxed{5}", [], 0.0), (r"\boxed{A}", ["4", "5"], 1.0)],
)
def test_a_label_judges(response: str, options: list[str], reward: float) -> None:
    verdict = verify(response, query(verifier=Verifier("vote"), answer="4", options=options))
    assert (verdict.reward, verdict.kind) == (reward, "vote")


def test_only_a_vote_waits_for_its_label() -> None:
    assert verify(r"\boxed{4}", query(answer=None)).reason == "bad_reference"


@pytest.mark.parametrize(
    ("kind", "spec", "answer", "options", "reward", "reason"),
    [
        ("math", "{}", "4", [], 1.0, "correct"),
        ("math", "{}", r"\frac{\pi}{2}", [], 1.0, "correct"),
        ("math", "{}", r"\boxed{4}", [], 1.0, "correct"),
        ("math", "{}", None, [], None, "bad_reference"),
        ("math", "{}", "", [], None, "bad_reference"),
        ("math", "{}", r"\frac{1}{2", [], None, "bad_reference"),
        ("math", "{", "4", [], None, "bad_spec"),
        ("math", "[]", "4", [], None, "bad_spec"),
        ("choice", "{}", "B", ["4", "5"], 1.0, "correct"),
        ("choice", "{}", "5", ["4", "5"], 1.0, "correct"),
        ("choice", "{}", "A, B", ["4", "5"], 1.0, "correct"),
        ("choice", "{}", "C", ["4", "5"], None, "bad_reference"),
        ("choice", "{}", None, ["4", "5"], None, "bad_reference"),
        ("code", "{}", None, [], None, "no_verifier"),
        ("vote", "{}", None, [], None, "label_to_come"),
        ("reasoning_gym", "{}", "4", [], None, "bad_spec"),
    ],
)
def test_the_gold_check(
    kind: str, spec: str, answer: str | None, options: list[str], reward: float, reason: str
) -> None:
    verdict = gold_check(query(verifier=Verifier(kind, spec), answer=answer, options=options))
    assert (verdict.reward, verdict.reason) == (reward, reason)


def test_the_verifiers_load_nothing_heavy() -> None:
    code = (
        "import sys, vtdata.verify, vtdata.scores.vote, vtdata.selections.cap\n"
        "heavy = {'reasoning_gym', 'sympy', 'polars', 'torch', 'math_verify'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
