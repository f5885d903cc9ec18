"""What changes a block's fingerprint, and what doesn't."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.runs import FULL, sum_row, write_recipe, write_rows
from vtdata.errors import ConfigError
from vtdata.queries.length import Length
from vtdata.recipe.fingerprint import fingerprints
from vtdata.recipe.plan import load_plan

BLOCKS = [next(iter(block)) for block in FULL["stages"]]


def prints(folder: Path, recipe: dict[str, Any], limit: int | None = None) -> dict[str, str]:
    plan = load_plan(write_recipe(folder / "r.yaml", recipe))
    return fingerprints(plan, limit=limit, revisions={})


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    write_rows(tmp_path / "sums.jsonl", [sum_row(n) for n in range(3)])
    (tmp_path / "shots.yaml").write_text("messages: [{role: user, content: a}]")
    found = copy.deepcopy(FULL)
    settings(found, "rollouts", "sample")["prompt"] = "shots.yaml"
    return found


def settings(recipe: dict[str, Any], block: str, step: str) -> dict[str, Any]:
    body = next(item[block] for item in recipe["stages"] if block in item)
    return next(item[step] for item in body if isinstance(item, dict) and step in item)


def first_changed(before: dict[str, str], after: dict[str, str]) -> str | None:
    """The first block with another fingerprint; all behind it must have another, too."""
    changed = [name for name in before if before[name] != after[name]]
    if not changed:
        return None
    assert changed == BLOCKS[BLOCKS.index(changed[0]) :]
    return changed[0]


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({"temperature": 0.5}, "rollouts"),
        ({"top_p": 0.5}, "rollouts"),
        ({"revision": "r9"}, "rollouts"),
        ({"max_tokens": 65}, "rollouts"),
        ({"model": "other"}, "rollouts"),
        ({"stop": ["x"]}, "rollouts"),
        ({"extra_body": {"a": 1}}, "rollouts"),
        ({"temperature": 1.0, "top_p": 0.95, "top_k": -1, "stop": []}, None),  # defaults
        ({"url": "http://elsewhere/v1"}, None),
        ({"concurrency": 3}, None),
        ({"price": {"input": 1.0, "output": 1.0}}, None),
        ({"api_key_env": "KEY"}, None),
        ({"headers": {"X-Team": "ours"}}, None),
        ({"stream": True, "attempts": 9, "idle_timeout_s": 5.0}, None),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_models(
    tmp_path: Path, recipe: dict[str, Any], change: dict[str, Any], first: str | None
) -> None:
    before = prints(tmp_path, recipe)
    recipe["models"]["teacher"].update(change)
    assert first_changed(before, prints(tmp_path, recipe)) == first


@pytest.mark.parametrize(
    ("block", "step", "change", "first"),
    [
        ("queries", "length", {"min_chars": 4}, "queries"),
        ("queries", "length", {"max_chars": Length().max_chars}, None),  # written-out default
        ("rollouts", "sample", {"n": 5}, "rollouts"),
        ("rollouts", "sample", {"draw": "", "instruction": "", "as": None}, None),
        ("rollouts.reference", "sample", {"n": 3}, "rollouts.reference"),
        ("selections", "cap", {"max": 7}, "selections"),
        ("corpora", "jsonl", {"license": "MIT"}, "corpora"),
    ],
)
def test_settings(
    tmp_path: Path,
    recipe: dict[str, Any],
    block: str,
    step: str,
    change: dict[str, Any],
    first: str | None,
) -> None:
    before = prints(tmp_path, recipe)
    settings(recipe, block, step).update(change)
    assert first_changed(before, prints(tmp_path, recipe)) == first


@pytest.mark.parametrize(
    ("key", "value", "first"),
    [
        ("seed", 4, "corpora"),
        ("name", "other", "shards"),
        ("description", "for tests", "shards"),
        ("budget", {"max_tokens": 5}, None),
        ("max_failed_share", 0.5, None),
    ],
)
def test_top_level(
    tmp_path: Path, recipe: dict[str, Any], key: str, value: object, first: str | None
) -> None:
    before = prints(tmp_path, recipe)
    recipe[key] = value
    assert first_changed(before, prints(tmp_path, recipe)) == first


def test_limit(tmp_path: Path, recipe: dict[str, Any]) -> None:
    before = prints(tmp_path, recipe)
    assert first_changed(before, prints(tmp_path, recipe, limit=2)) == "corpora"
    assert prints(tmp_path, recipe, limit=2) != prints(tmp_path, recipe, limit=3)


def test_the_content_of_files_counts_and_their_age_does_not(
    tmp_path: Path, recipe: dict[str, Any]
) -> None:
    before = prints(tmp_path, recipe)
    (tmp_path / "sums.jsonl").touch()
    assert prints(tmp_path, recipe) == before
    write_rows(tmp_path / "sums.jsonl", [sum_row(n) for n in range(4)])
    assert first_changed(before, prints(tmp_path, recipe)) == "corpora"


def test_the_content_of_a_prompt_counts(tmp_path: Path, recipe: dict[str, Any]) -> None:
    before = prints(tmp_path, recipe)
    (tmp_path / "shots.yaml").write_text("messages: [{role: user, content: b}]")
    assert first_changed(before, prints(tmp_path, recipe)) == "rollouts"
    (tmp_path / "shots.yaml").unlink()
    with pytest.raises(ConfigError, match=r"shots\.yaml can't be read: No such file"):
        prints(tmp_path, recipe)


def test_files_of_one_name_in_two_folders_both_count(
    tmp_path: Path, recipe: dict[str, Any]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_rows(tmp_path / name / "rows.jsonl", [sum_row(1)])
    settings(recipe, "corpora", "jsonl")["path"] = ["a/rows.jsonl", "b/rows.jsonl"]
    before = prints(tmp_path, recipe)
    for name in ("a", "b"):
        write_rows(tmp_path / name / "rows.jsonl", [sum_row(2)])
        after = prints(tmp_path, recipe)
        assert first_changed(before, after) == "corpora"
        before = after


def test_a_step_version_counts(
    tmp_path: Path, recipe: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prints(tmp_path, recipe)
    monkeypatch.setattr(Length, "version", Length.version + 1)
    assert first_changed(before, prints(tmp_path, recipe)) == "queries"


def test_other_verdicts_are_other_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recipe: dict[str, Any]
) -> None:
    before = prints(tmp_path, recipe)
    monkeypatch.setattr("vtdata.recipe.fingerprint.VERSION", 999)
    assert first_changed(before, prints(tmp_path, recipe)) == "corpora"
