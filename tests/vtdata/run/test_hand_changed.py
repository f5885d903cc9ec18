"""Files of a run that somebody changed, marks that outlive their parts, columns of others."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fake_server import Handle
from tests.runs import block_rows, cli, folder_of, full_recipe, run_here, stage_rows, write_recipe
from vtdata import api
from vtdata.errors import RunError
from vtdata.run.rank import RankRun


class Killed(BaseException):
    """Ends a run where it stands, as a kill does."""


def run_until(
    recipe: Path, stop: Callable[[RankRun], bool], monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    go = RankRun.go

    def killed(self: RankRun) -> None:
        if stop(self):
            raise Killed
        go(self)

    with monkeypatch.context() as patch:
        patch.setattr(RankRun, "go", killed)
        with pytest.raises(Killed):
            run_here(recipe, tasks=tasks)


def test_no_mark_outlives_its_parts(
    tmp_path: Path, fake: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = full_recipe(tmp_path, 30, until="selections")
    run = tmp_path / "run"
    run_here(recipe, tasks=2)
    whole = stage_rows(run)
    shutil.rmtree(folder_of(run, "selections"))

    def selections(rank: RankRun) -> bool:
        return "selections" in rank.job.block_folder

    def near_the_end(rank: RankRun) -> bool:
        return selections(rank) and (rank.job.segment, rank.rank) == (1, 1)

    run_until(recipe, near_the_end, monkeypatch, tasks=2)
    run_until(recipe, selections, monkeypatch, tasks=3)
    run_here(recipe, tasks=2)
    assert stage_rows(run) == whole


def test_never_does_a_half_done_block_again(
    tmp_path: Path, fake: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = full_recipe(tmp_path, 10, until="queries")

    def second(rank: RankRun) -> bool:
        return "queries" in rank.job.block_folder and rank.rank == 1

    run_until(recipe, second, monkeypatch, tasks=2)
    (mark,) = (tmp_path / "run").glob("02-*/.work/*/rank-*")
    before = mark.stat().st_mtime_ns
    run_until(recipe, second, monkeypatch, tasks=2)
    assert mark.stat().st_mtime_ns == before
    with monkeypatch.context() as patch:
        seen: list[int] = []
        go = RankRun.go

        def counted(self: RankRun) -> None:
            seen.append(self.rank)
            go(self)

        patch.setattr(RankRun, "go", counted)
        run_here(recipe, tasks=2, only="queries", resume="never")
    assert seen == [0, 1]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"schema_version": 1}'])
def test_a_manifest_changed_by_hand_is_a_sentence(finished: Path, fake: Handle, text: str) -> None:
    folder = folder_of(finished.parent / "run", "rollouts")
    (folder / "manifest.json").write_text(text)
    with pytest.raises(RunError, match=r"manifest\.json .*delete its folder and run again"):
        run_here(finished)


def test_notes_changed_by_hand_are_sentences(finished: Path, fake: Handle) -> None:
    run = finished.parent / "run"
    (run / "store" / "store.json").write_text("[]")
    with pytest.raises(RunError, match=r"store\.json is damaged \(it holds \[\]\)"):
        run_here(finished, start="rollouts")
    (run / "recipe.json").write_text("{}")
    with pytest.raises(RunError, match=r"recipe\.json is not what a run writes there"):
        api.status(run)


def test_a_replay_looks_at_the_shards_as_they_are(finished: Path, fake: Handle) -> None:
    run = finished.parent / "run"
    shard = next(folder_of(run, "shards").glob("sft.stage1/*.parquet"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 255
    shard.write_bytes(content)
    assert not api.replay(run, workers=1)["same"]
    shard.unlink()
    found = api.replay(run, workers=1)
    assert not found["same"]
    assert found["files"][f"sft.stage1/{shard.name}"]["run"] is None


STEP = """
import pyarrow as pa
from vtdata.steps import Map, step

@step
class Score(Map):
    writes = {{"{column}": pa.float64()}}

    def process(self, query, ctx):
        query.extra["{column}"] = 1.5
        return [query]
"""


def scored_recipe(folder: Path, column: str) -> Path:
    recipe = full_recipe(folder, 4, until="queries")
    (folder / "own.py").write_text(STEP.format(column=column))
    text = recipe.read_text() + "  - use: own:Score\n"
    recipe.write_text(text)
    return recipe


def test_columns_of_another_recipe_are_kept(tmp_path: Path, fake: Handle) -> None:
    recipe = scored_recipe(tmp_path, "score")
    done = cli(
        "run", recipe, "--out", "run", "--workers", 1, cwd=tmp_path, PYTHONPATH=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    second = {
        "name": "second",
        "seed": 1,
        "stages": [
            {"from": {"run": "run", "block": "queries"}},
            {"queries": [{"length": {"min_chars": 4}}]},
            {"queries.again": [{"length": {"min_chars": 5}}]},
        ],
    }
    run_here(write_recipe(tmp_path / "second.yaml", second), out=tmp_path / "second")
    for block in ("queries", "queries.again"):
        assert [row["score"] for row in block_rows(tmp_path / "second", block)] == [1.5] * 4


def test_a_column_can_not_take_the_name_of_a_fixed_one(tmp_path: Path) -> None:
    recipe = scored_recipe(tmp_path, "answer")
    done = cli("check", recipe, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "every query has a column 'answer': rename yours" in done.stderr
