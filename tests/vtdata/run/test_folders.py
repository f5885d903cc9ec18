"""Folders that hold something of somebody else, and runs in places where another one was."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.fake_server import Handle
from tests.runs import cli, full_recipe, manifest_of, run_here, write_recipe
from vtdata import api
from vtdata.errors import ConfigError, RunError


def test_a_folder_that_holds_something_else_is_no_run_folder(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, 2, until="queries")
    recipe = recipe.rename(tmp_path / "recipe.yaml")
    (tmp_path / ".gitignore").write_text("mine\n")
    before = recipe.read_text()
    done = cli("run", "recipe.yaml", "--out", ".", cwd=tmp_path, fake=fake)
    assert done.returncode == 2
    assert "is no run's folder and not empty (it holds .gitignore)" in done.stderr
    assert (recipe.read_text(), (tmp_path / ".gitignore").read_text()) == (before, "mine\n")
    assert not (tmp_path / "lease.json").exists()


def test_a_folder_with_a_store_alone_becomes_a_run(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, 2, until="rollouts")
    run_here(recipe)
    (tmp_path / "new").mkdir()
    (tmp_path / "run" / "store").rename(tmp_path / "new" / "store")
    fake.reset()
    run_here(recipe, out=tmp_path / "new")
    assert fake.counters().get("chat", 0) == 0
    assert manifest_of(tmp_path / "new", "rollouts").rows == 2


def test_removing_a_store_leaves_what_else_is_in_its_folder(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, 2, until="rollouts")
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "notes.txt").write_text("mine")
    run_here(recipe, store=shared)
    assert api.clean_store(tmp_path / "run", remove=True)["answers"] == 8
    assert [path.name for path in shared.iterdir()] == ["notes.txt"]


def test_only_needs_what_comes_before(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, 2)
    with pytest.raises(ConfigError, match="block 'corpora' before it is not finished"):
        run_here(recipe, only="rollouts")
    run_here(recipe, only="corpora")
    assert manifest_of(tmp_path / "run", "corpora").rows == 2


def test_another_model_may_take_a_name_between_two_runs_of_one_process(
    tmp_path: Path, fake: Handle
) -> None:
    recipe = full_recipe(tmp_path, 2, until="rollouts")
    run_here(recipe)
    fake.configure(model="other")
    try:
        result = run_here(
            recipe, settings=["models.teacher.model=other", "models.teacher.revision=r9"]
        )
    finally:
        fake.configure(model="fake")
    assert result.outcomes[-1].manifest.models["teacher"]["sent"] == 8


def test_a_set_is_made_once(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, 2, until="rollouts")
    run_here(recipe)
    again = [{"rollouts": [{"sample": {"by": "reference", "n": 1, "as": "teacher"}}]}]
    data = yaml.safe_load(recipe.read_text())
    begins = [{"from": {"run": "run", "block": "rollouts"}}]
    second = write_recipe(tmp_path / "second.yaml", {**data, "stages": begins + again})
    with pytest.raises(RunError, match="has rollouts of a set 'teacher' already, from the run"):
        run_here(second, out=tmp_path / "second")
    data["stages"].append({"rollouts.more": again[0]["rollouts"]})
    with pytest.raises(ConfigError, match="a set 'teacher' is made before: name this one with"):
        run_here(write_recipe(recipe, data))


def test_a_folder_may_have_any_name(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, 3)
    done = cli(
        *("run", recipe, "--out", "öut [1] *", "--store", "a store", "--workers", 1),
        cwd=tmp_path,
        fake=fake,
    )
    assert done.returncode == 0, done.stderr
    assert manifest_of(tmp_path / "öut [1] *", "shards").sets == ["sft.stage1", "rl"]
