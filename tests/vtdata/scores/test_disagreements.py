"""Answers about which the stages of the rules contradict each other are logged, once each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.factories import query, rollout
from vtdata.records import Verdict
from vtdata.scores.disagreements import DISAGREEMENTS, contradicted, cut, disagreement
from vtdata.scores.verify import Verify
from vtdata.steps import Context


def verified(*answers: str, reference: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def log(table: str, row: dict[str, Any]) -> None:
        assert table == "disagreements"
        rows.append(row)

    rollouts = [
        rollout(sample_idx=at, content=rf"So \boxed{{{text}}}.") for at, text in enumerate(answers)
    ]
    Verify().process(query(rollouts=rollouts, answer=reference), Context(seed=1, log=log))
    return rows


def test_what_points_and_math_verify_say_differently_is_one_row() -> None:
    answer = r"\arcsin x+\arccos x"
    (row,) = verified("2", answer, answer, reference=r"\frac{\pi}{2}")
    assert set(row) == set(DISAGREEMENTS.names)
    del row["query_id"]
    assert row == {
        "set": "teacher",
        "sample_idx": 1,
        "rollouts": 2,
        "reference": r"\frac{\pi}{2}",
        "answer": answer,
        "rules": "undecided",
        "points": "equal",
        "forward": "different",
        "backward": "different",
        "proof": "unknown",
        "judge": None,
        "agreement": None,
        "reward": None,
        "reason": "undecided",
    }


def test_what_one_stage_decides_is_no_disagreement() -> None:
    assert verified("1/2", "0.5", "x+1", "so what", reference="1/2") == []


@pytest.mark.parametrize(
    ("said", "is_logged"),
    [
        (None, False),
        ({}, False),
        ({"points": "equal", "forward": "equal", "backward": "equal"}, False),
        ({"points": "equal", "forward": "timeout"}, False),
        ({"points": "open", "forward": "different"}, False),
        ({"forward": "equal", "backward": "different"}, True),
        ({"points": "equal", "forward": "different", "backward": "different"}, True),
    ],
)
def test_only_opposite_words_contradict(said: dict[str, str] | None, *, is_logged: bool) -> None:
    one = rollout(verdict=Verdict(None, "undecided", "math", "x", said))
    other = rollout(verdict=Verdict(None, "undecided", "math", "y", said))
    assert contradicted([one, rollout(verdict=None), other]) == (
        [[one], [other]] if is_logged else []
    )


def test_long_texts_are_cut_and_say_so() -> None:
    assert cut(None) is None
    assert cut("x" * 2_000) == "x" * 2_000
    long = rollout(verdict=Verdict(0.0, "wrong", "math", "y" * 2_005))
    row = disagreement(query(answer="4"), [long], rules="wrong")
    assert row["answer"] == "y" * 2_000 + " ... and 5 characters"
