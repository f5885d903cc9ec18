from __future__ import annotations

import importlib
from fractions import Fraction

import pytest
import reasoning_gym

from vtdata.verify.algebra.tree import dumps
from vtdata.verify.guard import ask, jobs


@pytest.mark.parametrize(
    ("gold", "pred", "forward", "backward"),
    [
        ("1/2", "0.5", True, True),
        (r"2\sqrt{3}", r"\sqrt{12}", True, True),
        ("(x+1)^2", "x^2+2x+1", True, True),
        ("42", "43", False, False),
        (r"\sqrt{2}", r"\sqrt{3}", False, False),
        ("1,2", "(2,1)", True, False),  # math-verify isn't symmetric
        ("x<3", r"(-\infty,3)", True, True),  # with allow_set_relation_comp it is here
        (r"\frac{", "1", None, None),  # what can't be parsed isn't wrong
        ("1", "", None, None),
        ("", "", None, None),
        (r"\frac{", r"\frac{", True, True),  # unless it is the same
        ("9" * 5_000, "9" * 5_000, True, True),
    ],
)
def test_both_directions(gold: str, pred: str, forward: bool | None, backward: bool | None) -> None:
    reply = ask("math", [gold, pred])
    assert reply.reason == "ok"
    assert reply.value == {"forward": forward, "backward": backward}


def test_a_scorer_scores_and_an_unknown_family_has_none() -> None:
    entry = reasoning_gym.create_dataset("chain_sum", size=1, seed=5)[0]
    assert ask("score", ["chain_sum", "{}", entry["answer"], entry]).value == 1.0
    assert ask("score", ["chain_sum", "{}", "x", entry]).value == 0.0
    assert ask("score", ["no_such_family", "{}", "x", entry]).value is None
    assert ask("score", ["chain_sum", '{"no_such": 1}', "x", entry]).value is None
    assert ask("score", ["chain_sum", "{}", "x", {}]).detail == "KeyError: 'answer'"


def test_every_job_is_a_function_that_is_there() -> None:
    for target in list(jobs.JOBS.values()):
        module, _, name = target.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


def test_math_and_a_proof_after_it_start_no_thread_and_load_no_pyarrow() -> None:
    half = dumps(("n", Fraction(1, 2)))
    assert ask("math", ["1/2", "0.5"]).reason == "ok"
    assert ask("prove", [half, half]).value is True
    seen = ask("surroundings", []).value
    assert seen["threads"] == 1
    assert not {"pyarrow", "vtdata.records"} & set(seen["modules"])
