"""Tables that steps log into: the same bytes however the work was split, and readable by people."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
import yaml

from tests.logging_steps import SEEN, TRAP, Lengths
from tests.runs import ROOT, cli, folder_of, full_recipe, manifest_of, run_here, write_recipe
from vtdata import api
from vtdata.errors import ConfigError, RunError
from vtdata.recipe.plan import PlannedStep, load_plan
from vtdata.run import tables
from vtdata.run.tables import Tables, read_table
from vtdata.steps import Map

NUM_QUERIES = 12
WORDS = 7
"""Of a question of ``full_recipe``: What is 10 + 17? (case 1)."""


@pytest.fixture(autouse=True)
def _reach_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def logging_recipe(folder: Path, *steps: str) -> Path:
    recipe = full_recipe(folder, NUM_QUERIES, until="queries")
    data = yaml.safe_load(recipe.read_text())
    data["stages"][-1]["queries"] += [{"use": f"tests.logging_steps:{name}"} for name in steps]
    return write_recipe(recipe, data)


def seen(run: Path) -> list[dict[str, Any]]:
    return list(read_table(folder_of(run, "queries"), manifest_of(run, "queries").tables["seen"]))


@pytest.mark.slow
def test_rows_are_the_same_bytes_however_the_work_was_split(tmp_path: Path) -> None:
    recipe = logging_recipe(tmp_path, "Lengths", "Waits")
    files = []
    for workers, tasks in ((1, 1), (1, 3), (2, 5)):
        run_here(recipe, workers=workers, tasks=tasks, resume="never")
        found = manifest_of(tmp_path / "run", "queries").tables
        assert found["never"] == []
        files += found["seen"]
    rows = seen(tmp_path / "run")
    assert len(rows) == NUM_QUERIES * (WORDS + 1)
    assert {row["step"] for row in rows} == {"lengths", "waits"}
    assert rows == sorted(rows, key=lambda r: (r["query_id"], r["length"], r["word"] or "\0"))
    assert files == [files[0]] * 3
    assert (files[0].file, files[0].rows) == ("tables/seen/part-00000.parquet", len(rows))
    path = folder_of(tmp_path / "run", "queries") / files[0].file
    assert files[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_small_runs_and_parts_hold_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = logging_recipe(tmp_path, "Lengths")
    run_here(recipe, out=tmp_path / "whole")
    monkeypatch.setattr(tables, "HELD_BYTES", 400)
    monkeypatch.setattr(tables, "PART_BYTES", 3_000)
    run_here(recipe, out=tmp_path / "split")
    assert len(manifest_of(tmp_path / "split", "queries").tables["seen"]) > 1
    assert seen(tmp_path / "split") == seen(tmp_path / "whole")


@pytest.mark.slow
def test_a_rank_that_is_done_again_logs_each_row_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = logging_recipe(tmp_path, "Lengths")
    monkeypatch.setattr(tables, "HELD_BYTES", 400)
    monkeypatch.setenv(TRAP, str(tmp_path / "trap"))
    (tmp_path / "trap").touch()
    with pytest.raises(RuntimeError, match="the trap is set"):
        run_here(recipe, tasks=3)
    assert list((tmp_path / "run").glob("02-*/.work/*/table-*"))  # what the first try left
    (tmp_path / "trap").unlink()
    run_here(recipe, tasks=3)
    assert len(seen(tmp_path / "run")) == NUM_QUERIES * WORDS
    run_here(recipe, tasks=2, start="queries")
    assert len(seen(tmp_path / "run")) == NUM_QUERIES * WORDS


@pytest.mark.parametrize(
    ("table", "row", "message"),
    [
        (
            "sene",
            {},
            "step 'own' logs into table 'sene' and does not declare it: add it to 'tables' of own:Own",
        ),
        (
            "seen",
            {"lenght": 1},
            "step 'own' logs 'lenght' into table 'seen', which has no such column; did you mean "
            "'length'? there is: query_id, length, word",
        ),
        ("seen", {"length": "long"}, "column 'length' is int32 and can't hold 'long'"),
        ("seen", {"length": 2**40}, "column 'length' is int32 and can't hold 1099511627776"),
        ("seen", {"length": 1.5}, "column 'length' is int32 and can't hold 1.5"),
        ("seen", {"word": 3}, "column 'word' is string and can't hold 3"),
        ("seen", {"word": "\ud800"}, "column 'word' is string and can't hold '\\ud800'"),
    ],
)
def test_a_row_that_does_not_fit_is_a_sentence(
    tmp_path: Path, table: str, row: dict[str, Any], message: str
) -> None:
    class Own(Map):
        tables: ClassVar[dict[str, pa.Schema]] = {"seen": SEEN}

    log = Tables(tmp_path, 0).logger(PlannedStep("own", Own(), "own:Own"))
    with pytest.raises(RunError) as caught:
        log(table, row)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (("Lengths", "Other"), "step 'other': table 'seen' has other columns before it"),
        (("Nested",), "table 'lists' has column 'all': columns hold text, numbers and booleans"),
    ],
)
def test_tables_are_checked_before_anything_runs(
    tmp_path: Path, steps: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        load_plan(logging_recipe(tmp_path, *steps))


def test_a_person_reads_a_table_without_tools(tmp_path: Path) -> None:
    recipe = logging_recipe(tmp_path, "Lengths", "Waits")
    done = cli("run", recipe, "--workers", 1, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run"
    block = folder_of(run, "queries")
    told = f"queries: table seen has 96 rows; read it with: vtdata inspect run/{block.name} --table"
    assert told in done.stderr
    assert "table never" not in done.stderr
    assert [entry["tables"] for entry in api.status(run)["blocks"]] == [
        {},
        {"never": 0, "seen": 96},
    ]
    assert "seen 96" in cli("status", "run", cwd=tmp_path, COLUMNS="200").stderr
    rows = seen(run)
    shown = cli("inspect", "run", "--table", "seen", cwd=tmp_path).stdout.splitlines()
    assert [json.loads(line) for line in shown] == rows[:50]
    only: dict[str, Any] = {"query": rows[-1]["query_id"], "limit": 99, "table": "seen"}
    assert api.inspect(block, **only) == rows[-8:]
    assert api.inspect(block, table="never") == []
    text = cli("inspect", "run", "--table", "seen", "--markdown", "--limit", 3, cwd=tmp_path).stdout
    assert text.splitlines() == [
        "| query_id | length | word | step |",
        "|---|---|---|---|",
        f"| {rows[0]['query_id']} | -1 |  | waits |",
        f"| {rows[1]['query_id']} | 1 |  | lengths |",
        f"| {rows[2]['query_id']} | 2 | {rows[2]['word']} | lengths |",
    ]


def test_what_is_wrong_with_a_table_is_a_sentence(tmp_path: Path) -> None:
    run_here(logging_recipe(tmp_path, "Lengths"))
    with pytest.raises(ConfigError, match=r"no table 'sen'; did you mean 'seen'\? there is: seen"):
        api.inspect(tmp_path / "run", table="sen")
    done = cli("inspect", "run", "--markdown", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "vtdata: --markdown is for tables: name one with --table\n",
    )
    block = folder_of(tmp_path / "run", "queries")
    file = block / manifest_of(tmp_path / "run", "queries").tables["seen"][0].file
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(RunError, match="is gone or changed: delete the folder 02-queries-"):
        api.inspect(block, table="seen")


def test_a_rank_holds_no_more_than_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "HELD_BYTES", 4_000)
    planned = PlannedStep("lengths", Lengths(), "tests.logging_steps:Lengths")
    logged = Tables(tmp_path, 3)
    log = logged.logger(planned)
    for number in reversed(range(100)):
        log("seen", {"query_id": f"{number:03d}", "word": "x" * 100})
    held = len(list(tmp_path.glob("table-00003-seen-*.parquet")))
    assert held >= 5
    assert len(logged.close([planned])["seen"]) == held + 1
    runs = {"seen": sorted(tmp_path.glob("table-*"))}
    found = tables.merge(tmp_path, runs, tables.declared([planned]))
    rows = list(read_table(tmp_path, found["seen"]))
    assert [row["query_id"] for row in rows] == [f"{number:03d}" for number in range(100)]
