"""``vtdata verify``: verdicts on stdout, the summary on stderr, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.runs import cli
from vtdata import api

LINES = [
    '{"id": "a", "gold": "1/2", "pred": "0.5", "equal": true}',
    '{"id": "b", "gold": "1/2", "pred": "so \\\\boxed{0.6}", "equal": true}',
]


def cases(folder: Path) -> Path:
    path = folder / "cases.jsonl"
    path.write_text("\n".join(LINES))
    return path


def test_verdicts_go_to_stdout_and_the_summary_to_people(tmp_path: Path) -> None:
    done = cli("verify", "math", cases(tmp_path), cwd=tmp_path)
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["id"], r["reward"], r["extracted"]) for r in rows] == [
        ("a", 1.0, "0.5"),
        ("b", 0.0, "0.6"),
    ]
    first, *rest = done.stderr.splitlines()
    assert first.startswith("2 pairs in ")
    assert rest == [
        "  1.0         1  correct 1",
        "  0.0         1  wrong 1",
        "  null        0",
        "against 'equal' of 2: right 1, false positives 0, false negatives 1, "
        "abstained 0 (0 equal, 0 different)",
        '  false negatives: "b"',
    ]


def test_a_summary_for_programs(tmp_path: Path) -> None:
    path = cases(tmp_path)
    done = cli("verify", "math", path, "--out", "out.jsonl", "--json", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert (summary["rewards"], done.stderr) == ({"1.0": 1, "0.0": 1, "null": 0}, "")
    assert summary["agreement"]["false_negatives"] == ["b"]
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


def test_wrong_input_is_exit_code_2(tmp_path: Path) -> None:
    path = cases(tmp_path)
    path.write_text('{"id": 1, "gold": "2"}')
    done = cli("verify", "math", "cases.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "vtdata: cases.jsonl:1: no 'pred' among id, gold: write "
        '{"id": 1, "gold": "1/2", "pred": "0.5"}\n'
    )
    assert cli("verify", "code", "cases.jsonl", cwd=tmp_path).returncode == 2


def test_help_has_an_example(tmp_path: Path) -> None:
    done = cli("verify", "--help", cwd=tmp_path)
    assert "Example: vtdata verify math" in " ".join(done.stdout.split())


def test_what_stages_contradict_each_other_about_is_a_file(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    rows = [
        {"id": "open", "gold": r"\arcsin x+\arccos x", "pred": r"\frac{\pi}{2}"},
        {"id": "plain", "gold": "1/2", "pred": "0.5"},
    ]
    cases.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = api.verify_cases("math", cases, disagreements=tmp_path / "d.jsonl")
    assert [row["reward"] for row in found.results] == [None, 1.0]
    (line,) = (tmp_path / "d.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert (row["id"], row["points"], row["forward"]) == ("open", "equal", "different")
