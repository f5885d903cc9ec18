"""Files of cases: what a line may be, what a bare answer is, and verdicts in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata import api
from vtdata.errors import ConfigError
from vtdata.records import Verdict
from vtdata.verify.cases import Case, Judged, form_of, judge, read_cases
from vtdata.verify.tally import Tally

EQUIVALENCE = Path(__file__).parents[3] / ".." / "shared" / "cases" / "equivalence.jsonl"


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def pair(gold: str, pred: str, **more: Any) -> dict[str, Any]:
    return {"id": 1, "gold": gold, "pred": pred, **more}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            '{"id": 1 "gold": "2"}',
            "no JSON (Expecting ',' delimiter: line 1 column 10 (char 9)) in "
            '{"id": 1 "gold": "2"}: write one object a line, '
            '{"id": 1, "gold": "1/2", "pred": "0.5"}',
        ),
        (
            "[1, 2]",
            'a list, [1, 2]: write one object a line, {"id": 1, "gold": "1/2", "pred": "0.5"}',
        ),
        (
            '{"id": 1, "answer": "2"}',
            'no \'gold\', \'pred\' among id, answer: write {"id": 1, "gold": "1/2", "pred": "0.5"}',
        ),
        (
            '{"id": 1, "gold": "2", "pred": "2", "gold": "3"}',
            "'gold' stands there twice: write it once",
        ),
        (
            '{"id": 1, "gold": 42, "pred": "42"}',
            "'gold' is a number, 42: write it as it was spelled, in quotes: \"42\"",
        ),
        ('{"id": 1, "gold": "42", "pred": null}', "'pred' is null: write a text"),
        (
            '{"id": [1], "gold": "42", "pred": "42"}',
            "'id' is a list, [1]: write a text, a finite number, true, false or null",
        ),
        (
            '{"id": 1, "gold": "A", "pred": "A", "options": {"A": "41"}}',
            '\'options\' is an object, {"A": "41"}: write a list of texts in their order, '
            '["41", "42"]',
        ),
        (
            '{"id": 1, "gold": "A", "pred": "A", "form": "reply"}',
            '\'form\' is a text, "reply": write "answer" or "response", or leave it out',
        ),
        (
            '{"id": 1, "gold": "A", "pred": "A", "equal": 1}',
            "'equal' is a number, 1: write true or false, or leave it out",
        ),
    ],
)
def test_a_malformed_line_is_refused_before_work_starts(
    tmp_path: Path, line: str, error: str
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{json.dumps(pair('1', '1'))}\n\n{line}\n")
    out = tmp_path / "out.jsonl"
    with pytest.raises(ConfigError) as raised:
        api.verify_cases("math", path, out=out)
    assert str(raised.value) == f"{path}:3: {error}"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\n",
        b'{"id": NaN, "gold": "", "pred": ""}\n',
        b'{"id": 1e999, "gold": "", "pred": ""}',
        b"[" * 100_000,
        b'{"id": 1, "gold": "", "pred": "", "a\\n": 1, "a\\n": 2}',
        b'{"id": ' + b"1" * 5_000 + b', "gold": "", "pred": ""}',
    ],
    ids=["utf-8", "nan", "infinite", "deep", "twice", "digits"],
)
def test_no_line_ends_in_anything_but_a_sentence(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(line)
    with pytest.raises(ConfigError, match=r"cases\.jsonl:1: "):
        list(read_cases(path))


@pytest.mark.parametrize(
    ("kind", "settings", "error"),
    [
        (
            "constraints",
            {},
            "verify constraints: choose math or choice; constraints are not there yet",
        ),
        ("maths", {}, "verify maths: choose math or choice"),
        ("math", {"workers": 0}, "--workers must be at least 1, got 0"),
        ("math", {"limit_s": 0.0}, "--limit-s must be more than 0, got 0.0"),
        ("math", {"out": "."}, "--out . is a folder: give another name"),
        (
            "math",
            {"out": "cases.jsonl"},
            "--out cases.jsonl is the file of the cases: give another name",
        ),
        (
            "math",
            {"out": "nowhere/out.jsonl"},
            "--out nowhere/out.jsonl can't be written: No such file or directory",
        ),
    ],
)
def test_a_wrong_option_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, settings: dict[str, Any], error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "cases.jsonl", pair("1", "1"))
    with pytest.raises(ConfigError) as raised:
        api.verify_cases(kind, "cases.jsonl", **settings)
    assert str(raised.value) == error


@pytest.mark.parametrize("given", [".", "nothing.jsonl"])
def test_a_file_that_is_none_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="give a JSON Lines file with lines such as"):
        api.verify_cases("math", given)


@pytest.mark.parametrize(
    ("pred", "form"),
    [
        ("42", "answer"),
        (r"\frac{1}{2}", "answer"),
        ("x = 3", "answer"),
        ("**42**", "answer"),
        ("(1, 2)", "answer"),
        ("5 or 6", "answer"),
        ("no solution", "answer"),
        ("St. Louis", "answer"),
        ("3:30 p.m. on Monday", "answer"),
        ("all real numbers", "answer"),
        (r"\boxed{5}", "response"),
        (r"\boxed 5", "response"),
        ("</think> 5", "response"),
        ("The answer is 5", "response"),
        ("Answer: 5", "response"),
        ("答案是5", "response"),
        ("#### 5", "response"),
        ("<answer>5</answer>", "response"),
        ("So x = 3.", "response"),
        ("We add two and three. That makes five apples.", "response"),
        ("We add.\n\n**73**", "response"),
    ],
)
def test_what_is_a_response(pred: str, form: str) -> None:
    assert form_of("math", Case(1, "", pred)) == form


@pytest.mark.parametrize(
    ("pred", "options", "form"),
    [
        ("B", (), "answer"),
        ("B. 42", ("41", "42"), "answer"),
        ("42", ("41", "42"), "answer"),
        ("A or B", ("41", "42"), "answer"),
        ("Option B is correct, since 6 * 7 = 42.", ("41", "42"), "response"),
        (r"B is wrong, so \boxed{A}", ("41", "42"), "response"),
    ],
)
def test_what_is_a_response_about_options(pred: str, options: tuple[str, ...], form: str) -> None:
    assert form_of("choice", Case(1, "", pred, options)) == form


@given(st.text(alphabet="ab1. =\n$\\{}答案是AB", max_size=40))
def test_an_answer_equals_itself_whatever_it_looks_like(answer: str) -> None:
    alone = judge("math", Case(1, answer, answer, form="answer")).verdict
    guessed = judge("math", Case(1, answer, answer)).verdict
    assert (guessed.reward, guessed.reason) == (alone.reward, alone.reason)


@pytest.mark.parametrize(
    ("kind", "row", "reward", "reason", "extracted"),
    [
        ("math", pair("1/2", "0.5"), 1.0, "correct", "0.5"),
        ("math", pair("1/2", r"so \boxed{0.5}."), 1.0, "correct", "0.5"),
        ("math", pair("1/2", "0.6"), 0.0, "wrong", "0.6"),
        ("math", pair("", "0.6"), None, "bad_reference", "0.6"),
        (
            "math",
            pair("1/2", "I have no idea at all. Sorry about that. " * 6),
            0.0,
            "no_answer",
            None,
        ),
        ("math", pair("1/2", "0.5", form="response"), 0.0, "no_answer", None),
        ("math", pair("8", r"<think>\boxed{8}"), 0.0, "no_answer", None),
        ("choice", pair("B", "42", options=["41", "42"]), 1.0, "correct", "42"),
        (
            "choice",
            pair("B", "I choose B, as 6 * 7 = 42.", options=["41", "42"]),
            1.0,
            "correct",
            "B",
        ),
        ("choice", pair("B", "A or B", options=["41", "42"]), 0.0, "hedged", "A or B"),
        ("choice", pair("B", "42"), None, "no_options", "42"),
    ],
)
def test_a_case_is_judged(
    tmp_path: Path,
    kind: str,
    row: dict[str, Any],
    reward: float | None,
    reason: str,
    extracted: str | None,
) -> None:
    found = api.verify_cases(kind, write(tmp_path / "cases.jsonl", row)).results
    assert [list(one) for one in found] == [["id", "reward", "reason", "extracted", "ms"]]
    assert found[0] | {"ms": 0} == {
        "id": 1,
        "reward": reward,
        "reason": reason,
        "extracted": extracted,
        "ms": 0,
    }
    assert 0 <= found[0]["ms"] < 10_000


def test_a_tally_counts_who_agrees() -> None:
    tally = Tally(seconds=2.0)
    for at, (equal, reward) in enumerate(
        [(True, 1.0), (False, 0.0), (True, 0.0), (False, 1.0), (True, None), (False, None)]
    ):
        tally.add(Judged(Case(at, "", "", equal=equal), Verdict(reward, "why"), 0.0))
    tally.add(Judged(Case("x", "", ""), Verdict(1.0, "correct"), 0.0))
    assert tally.data()["agreement"] == {
        "cases": 6,
        "right": 2,
        "false_positives": [3],
        "false_negatives": [2],
        "abstained": [4, 5],
        "abstained_equal": 1,
    }
    assert list(tally.lines()) == [
        "7 pairs in 2.0 s, 4/s, 1 worker",
        "  1.0         3  why 2, correct 1",
        "  0.0         2  why 2",
        "  null        2  why 2",
        "against 'equal' of 6: right 2, false positives 1, false negatives 1, abstained 2 (1 equal, "
        "1 different)",
        "  false positives: 3",
        "  false negatives: 2",
        "  abstained: 4, 5",
    ]


def test_the_choices_among_the_shared_cases(tmp_path: Path) -> None:
    if not EQUIVALENCE.exists():
        pytest.skip("../shared/cases/equivalence.jsonl is not here")
    rows = [json.loads(line) for line in EQUIVALENCE.read_text().splitlines()]
    chosen = [row for row in rows if row["kind"] in ("choice", "multi-choice")]
    agreement = api.verify_cases("choice", write(tmp_path / "c.jsonl", *chosen)).tally.data()
    assert agreement["agreement"]["right"] == len(chosen) == 6


def test_the_responses_among_the_shared_cases(tmp_path: Path) -> None:
    if not EQUIVALENCE.exists():
        pytest.skip("../shared/cases/equivalence.jsonl is not here")
    rows = [json.loads(line) for line in EQUIVALENCE.read_text().splitlines()]
    for form in ("given", "guessed"):
        whole = [row for row in rows if row["form"] == "response"]
        if form == "guessed":
            whole = [{k: v for k, v in row.items() if k != "form"} for row in whole]
        tally = api.verify_cases("math", write(tmp_path / "c.jsonl", *whole)).tally
        assert (tally.right, tally.pairs) == (len(whole), 14), form
