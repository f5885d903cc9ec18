"""``vtdata benchmarks``: tables for people, JSON for programs, a wrong column seen at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs import cli
from vtdata import api
from vtdata.errors import ConfigError

SECRET = "How many cups are three cups?"


def call(*arguments: object, cwd: Path) -> Any:
    return cli("benchmarks", *arguments, cwd=cwd, XDG_CONFIG_HOME=str(cwd / "config"))


def bench(folder: Path) -> Path:
    path = folder / "mine.jsonl"
    rows = [{"task_id": n, "problem": f"{SECRET} No. {n}"} for n in range(10, 14)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_add_list_and_show(tmp_path: Path) -> None:
    bench(tmp_path)
    done = call(
        *("add", "mine", "mine.jsonl", "--field", "problem", "--key", "task_id"),
        *("--rows", "task_id: [11, 12]", "--license", "mit", "--published", "2026-02"),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "")
    lines = done.stderr.splitlines()
    assert any(
        line.startswith("loads: 2 items of 2 rows, text in problem, sha256 ") for line in lines
    )
    assert lines[-2:] == [
        f"first item, row 1, 'problem': \"{SECRET} No. 11\"",
        "'mine' is written to benchmarks.yaml",
    ]
    listed = json.loads(call("list", "--json", cwd=tmp_path).stdout)
    assert len(listed) == 18
    (mine,) = [one for one in listed if one["name"] == "mine"]
    assert mine["origin"] == str(tmp_path / "benchmarks.yaml")
    assert (mine["published"], mine["license"], mine["num_items"]) == ("2026-02", "mit", 2)
    shown = json.loads(call("show", "MINE", "--json", cwd=tmp_path).stdout)
    assert shown["load"]["ok"]
    assert {k: shown["load"][k] for k in ("num_items", "fields", "revision", "said")} == {
        "num_items": 2,
        "fields": ["problem"],
        "revision": None,
        "said": [],
    }
    assert {k: v for k, v in shown.items() if k != "load"} == mine


def test_a_table_for_people(tmp_path: Path) -> None:
    done = call("list", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    head, *rows = done.stderr.splitlines()
    assert head.split() == ["name", "items", "published", "license", "source", "revision", "from"]
    assert len(rows) == 17
    gpqa = next(row for row in rows if row.startswith("gpqa-diamond"))
    assert gpqa.split()[1:5] == ["198", "2023-11", "cc-by-4.0,", "gated"]


def test_what_is_gated_is_not_shown(tmp_path: Path) -> None:
    bench(tmp_path)
    for more in ((), ("--json", "--replace")):
        done = call("add", "mine", "./mine.jsonl", "--gated", *more, cwd=tmp_path)
        assert done.returncode == 0
        assert SECRET not in done.stdout + done.stderr
    assert json.loads(done.stdout)["first_item"] == {
        "index": 0,
        "field": "problem",
        "key": "10",
        "date": None,
        "sha256": "a7ab8e958dae463894b0cc3971a360a9cc1d84f8775d4f736250f5486bfed448",
    }
    assert SECRET not in (tmp_path / "benchmarks.yaml").read_text()
    assert SECRET not in call("show", "mine", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("add", "mine", "mine.jsonl", "--field", "problm"),
            "mine.jsonl has no 'problm'; did you mean 'problem'? its columns are task_id, problem",
        ),
        (
            ("add", "mine", "mine.jsonl", "--rows", "task_id"),
            "--rows 'task_id' names no column; write 'task_id: [11, 510]'",
        ),
        (
            ("add", "mine", "mine.jsonl", "--published", "soon"),
            "mine.jsonl: mine.published: date 'soon' can't be read (no such form): write YYYY, "
            "YYYY-MM or YYYY-MM-DD",
        ),
        (
            ("add", "aime24", "mine.jsonl"),
            "'aime24' is taken (aime24 of vtdata); choose another name, or give --replace",
        ),
        (
            ("show", "aimee24"),
            "no benchmark is called 'aimee24'; did you mean 'aime24'? vtdata benchmarks list shows "
            "all; a file is named by its path, such as ./my_bench.jsonl",
        ),
    ],
)
def test_wrong_input_is_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    bench(tmp_path)
    done = call(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"vtdata: {says}\n")
    assert not (tmp_path / "benchmarks.yaml").exists()


def test_show_says_why_it_can_not_be_loaded(tmp_path: Path) -> None:
    bench(tmp_path)
    (tmp_path / "benchmarks.yaml").write_text("gone: {file: gone.jsonl}\n")
    done = call("show", "gone", cwd=tmp_path)
    assert done.returncode == 0
    last = done.stderr.splitlines()[-1]
    assert last.startswith("can't be loaded now: gone: ")
    assert last.endswith("gone.jsonl is not there; the registry names it as its file")


def test_the_same_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    bench(tmp_path)
    done = api.benchmarks_add("mine", "mine.jsonl", license="mit")
    assert done["first_item"]["text"] == f"{SECRET} No. 10"
    assert api.benchmarks_show("mine")["load"]["num_items"] == 4
    assert "mine" in [one["name"] for one in api.benchmarks_list()]
    with pytest.raises(ConfigError, match="there is no such key; did you mean 'license'"):
        api.benchmarks_add("other", "mine.jsonl", licence="mit")
