"""``vtdata verify code``: programs in, verdicts out, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs import cli
from vtdata import api
from vtdata.errors import ConfigError

PLAIN = "tests.vtdata.verify.code.plain_sandbox:PlainSandbox"
ADD = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
ROWS: list[dict[str, Any]] = [
    {"id": "a", "program": "print(sum(map(int, input().split())))", "tests": ADD, "equal": True},
    {"id": 2, "program": "Here:\n```python\nprint(3)\n```", **ADD, "equal": True},
    {"id": None, "program": "def f(x): return x", "inputs": [[1]], "outputs": [1], "fn_name": "f"},
    {"id": "d", "program": "It was cut:\n```python\nprint(", "tests": ADD},
    {"id": "e", "program": "f = lambda g: g(1)", "tests": {"test_list": ["assert f(lambda x: x)"]}},
]


def file_of(folder: Path, rows: list[Any]) -> Path:
    path = folder / "cases.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_verdicts_come_in_order(tmp_path: Path) -> None:
    path = file_of(tmp_path, ROWS)
    done = cli("verify", "code", path, "--sandbox", PLAIN, "--workers", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [list(row) for row in rows] == [
        ["id", "reward", "reason", "passed", "total", "verdicts", "isolation", "ms"]
    ] * 5
    assert [(r["id"], r["reward"], r["reason"], r["passed"], r["total"]) for r in rows] == [
        ("a", 1.0, "correct", 2, 2),
        (2, 0.0, "wrong_answer", 1, 2),
        (None, 1.0, "correct", 1, 1),
        ("d", 0.0, "no_program", 0, 2),
        ("e", None, "weak_evidence", 0, 1),
    ]
    assert [row["isolation"] for row in rows] == ["none", "none", "none", None, "none"]
    assert rows[1]["verdicts"] == ["ok", "wrong_answer"]
    assert "against 'equal' of 2: right 1, false positives 0, false negatives 1" in done.stderr


def test_the_function_does_the_same(tmp_path: Path) -> None:
    path = file_of(tmp_path, ROWS)
    out = tmp_path / "out.jsonl"
    seen: list[tuple[int, int]] = []
    api.verify_code(
        path, out=out, sandbox=PLAIN, weak=True, workers=1, progress=lambda *now: seen.append(now)
    )
    rewards = [json.loads(line)["reward"] for line in out.read_text().splitlines()]
    assert rewards == [1.0, 0.0, 1.0, 0.0, 1.0]
    assert seen == [(n, 5) for n in range(1, 6)]
    found = api.verify_code(path, sandbox=PLAIN)
    assert [row["id"] for row in found.results] == ["a", 2, None, "d", "e"]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"id": 1, "tests": ADD}, "cases.jsonl:2: no 'program' among id, tests"),
        ({"id": 1, "program": 5, **ADD}, "'program' is a number, 5: write it as it was spelled"),
        ({"id": 1, "program": ""}, "no tests among id, program"),
        (
            {"id": 1, "program": "", "tests": {"inputs": ["1"]}},
            "cases.jsonl:2: outputs is NoneType",
        ),
        ({"id": 1, "program": "", "form": "x", **ADD}, "'form' is a text, \"x\": write"),
        ({"id": [], "program": "", **ADD}, "'id' is a list, []: write a text"),
        (
            {"id": 1, "program": "", "equal": 1, **ADD},
            "'equal' is a number, 1: write true or false",
        ),
        ([1], "cases.jsonl:2: a list, [1]: write one object a line"),
    ],
)
def test_a_bad_line_is_refused_before_any_work(tmp_path: Path, row: Any, says: str) -> None:
    path = file_of(tmp_path, [ROWS[0], row])
    with pytest.raises(ConfigError) as caught:
        api.verify_code(path, sandbox="nowhere")
    assert says in str(caught.value)


def test_options_and_names_that_are_wrong(tmp_path: Path) -> None:
    path = file_of(tmp_path, ROWS)
    with pytest.raises(ConfigError, match="--workers must be at least 1, got 0"):
        api.verify_code(path, workers=0)
    with pytest.raises(ConfigError, match="sandbox 'nowhere' is not in"):
        api.verify_code(path, sandbox="nowhere")
    done = cli("verify", "math", path, "--sandbox", "local", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "vtdata: verify math: --sandbox and --weak are for code, which runs programs\n"
    )
    done = cli("verify", "code", path, "--limit-s", "3", cwd=tmp_path)
    assert done.returncode == 2
