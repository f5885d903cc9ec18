"""The command line: exit codes, what goes to stdout, how fast it answers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fake_server import Handle
from tests.runs import PROGRAM, cli, full_recipe, sum_row, write_rows
from vtdata.cli import seconds
from vtdata.errors import ConfigError

COMMANDS = ("run", "show", "check", "schema", "status", "inspect", "replay", "clean", "serve")


def ask(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return cli(*arguments, cwd=cwd)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["run", "--limits", "3"],
            "vtdata: No such option: --limits (Possible options: --limit); see vtdata --help",
        ),
        (["frobnicate"], "vtdata: No such command 'frobnicate'.; see vtdata --help"),
        (["run", "a.yaml"], "vtdata: recipe a.yaml is not there: give the path of a .yaml file"),
        (
            ["run", "a.yaml", "--stop-after", "soon"],
            "vtdata: duration 'soon': write 90s, 15m, 8h or 2d",
        ),
        (["run", "a.yaml", "--workers", "0"], "vtdata: --workers must be at least 1, got 0"),
        (
            ["run", "a.yaml", "--tasks", "65"],
            "vtdata: --tasks 65: at most 64, one per range of buckets",
        ),
        (
            ["run", "a.yaml", "--resume", "maybe"],
            "vtdata: --resume maybe: choose one of if-possible, always, never",
        ),
        (
            ["run", "a.yaml", "--executor", "slurm"],
            "vtdata: --executor slurm: only 'local' is there yet; ray and slurm follow",
        ),
        (["status", "."], "vtdata: . is no run folder: it has no recipe.yaml and recipe.json"),
        (
            ["inspect", "nothing"],
            "vtdata: nothing is not there: give a Parquet file, a block's or a set's folder",
        ),
        (["inspect", "."], "vtdata: . has no manifest.json: nothing in it is finished"),
    ],
)
def test_wrong_input_is_exit_code_2(tmp_path: Path, arguments: list[str], error: str) -> None:
    done = ask(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == error


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(tmp_path: Path, command: str) -> None:
    done = ask(command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert f"Example: vtdata {command}" in " ".join(done.stdout.split())


def test_help_lists_the_commands_and_no_other(tmp_path: Path) -> None:
    done = ask("--help", cwd=tmp_path)
    listed = done.stdout.partition("Commands:")[2].splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "]
    assert set(names) >= set(COMMANDS)


def best_of_three(command: list[str]) -> float:
    times = []
    for _ in range(3):
        began = time.monotonic()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.monotonic() - began)
    return min(times)


@pytest.mark.parametrize(
    ("command", "limit_s"),
    [([PROGRAM, "--help"], 0.7), ([sys.executable, "-c", "import vtdata"], 0.3)],
    ids=["--help", "import"],
)
def test_it_answers_at_once(command: list[str], limit_s: float) -> None:
    assert best_of_three(command) < limit_s


def test_import_loads_nothing_heavy() -> None:
    heavy = "('torch', 'transformers', 'vllm', 'pyarrow', 'polars', 'datasets', 'aiohttp')"
    program = f"import sys, vtdata, vtdata.api; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


def test_a_run_tells_people_on_stderr_and_programs_on_stdout(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path)
    done = cli("run", recipe, "--workers", 1, "--json", cwd=tmp_path, fake=fake)
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert [block["block"] for block in report["blocks"]] == [
        "corpora",
        "queries",
        "rollouts",
        "scores",
        "rollouts.reference",
        "scores.reference",
        "selections",
        "shards",
    ]
    assert report["spent"]["requests"] >= 60
    assert "01 corpora: 10 queries; " in done.stderr
    assert "08 shards: sft.stage1, rl; " in done.stderr
    status = json.loads(ask("status", "runs/full", "--json", cwd=tmp_path).stdout)
    assert {block["state"] for block in status["blocks"]} == {"finished"}
    block = tmp_path / "runs" / "full" / status["blocks"][3]["folder"]
    lines = ask("inspect", block, "--limit", 2, cwd=tmp_path).stdout.splitlines()
    assert [len(json.loads(line)["rollouts"]) for line in lines] == [4, 4]
    replayed = cli("replay", "runs/full", "--workers", 1, "--json", cwd=tmp_path, fake=fake)
    assert (replayed.returncode, json.loads(replayed.stdout)["same"]) == (0, True)


def test_show_check_and_schema(tmp_path: Path) -> None:
    recipe = full_recipe(tmp_path)
    shown = json.loads(ask("show", recipe, "--json", "--set", "seed=5", cwd=tmp_path).stdout)
    assert shown["seed"] == 5
    assert [block["passes"] for block in shown["blocks"]] == [2, 1, 1, 1, 1, 1, 2, 1]
    checked = ask("check", recipe, cwd=tmp_path)
    assert (checked.returncode, checked.stdout) == (0, "")
    assert "ok  corpora: 3 steps" in checked.stderr
    assert json.loads(ask("schema", cwd=tmp_path).stdout)["title"] == "vtdata recipe"
    (tmp_path / "sums.jsonl").unlink()
    assert ask("check", recipe, cwd=tmp_path).returncode == 2


def test_too_many_failed_calls_are_exit_code_4(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, until="rollouts")
    write_rows(tmp_path / "sums.jsonl", [sum_row(n, " [[500]]" if n < 2 else "") for n in range(9)])
    settings = ("--set", "models.teacher.attempts=1")
    done = cli("run", recipe, "--workers", 1, *settings, cwd=tmp_path, fake=fake)
    assert done.returncode == 4
    assert (
        done.stderr.strip()
        .splitlines()[-1]
        .startswith(
            "vtdata: 8 of 36 model calls failed after their retries, more than max_failed_share=0.01 "
            "allows (failed tries: "
        )
    )


@pytest.mark.parametrize(
    ("text", "value"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86400)]
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "s", "3w", "-1s", "1 h"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ConfigError, match=r"write 90s, 15m, 8h or 2d$"):
        seconds(text)
