"""Decontamination in whole runs: in every kind of block, with evidence, books and the card."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_server import Handle, start_fake
from tests.runs import (
    FULL,
    URL,
    block_rows,
    cli,
    folder_of,
    manifest_of,
    run_here,
    shard_bytes,
    stage_rows,
    sum_row,
    write_recipe,
    write_rows,
)
from tests.vtdata.queries.contaminated import (
    CHEST,
    FACTOR,
    ITEMS,
    OTHER_NUMBERS,
    register,
    write_bench,
)
from vtdata import api
from vtdata.errors import ConfigError
from vtdata.recipe.fingerprint import fingerprints
from vtdata.recipe.plan import load_plan
from vtdata.shards.manifest import read_manifest

CLEAN = 8
BLOCKS = tuple(next(iter(block)) for block in FULL["stages"])


@pytest.fixture
def teacher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Handle]:
    with start_fake(answer="sum") as fake:
        monkeypatch.setenv(URL, fake.url)
        yield fake


def recipe_of(
    folder: Path, *blocks: str, until: str = "shards", name: str = "full", **settings: Any
) -> Path:
    """The full recipe over sums and four questions of a benchmark, decontaminated in ``blocks``."""
    asked = [(CHEST, "343"), (FACTOR, "13"), (OTHER_NUMBERS, "midnight and 90 seconds")]
    leaks = [{"question": text, "answer": answer} for text, answer in asked]
    write_rows(folder / "sums.jsonl", [*(sum_row(n) for n in range(CLEAN)), *leaks])
    recipe = copy.deepcopy(FULL)
    recipe["stages"] = recipe["stages"][: BLOCKS.index(until) + 1]
    settings = {"against": [write_bench(folder)], **settings}
    for block in recipe["stages"]:
        ((kind, steps),) = block.items()
        if kind in blocks:
            at = 0 if kind == "shards" else len(steps)
            steps.insert(at, {"decontaminate": settings})
    return write_recipe(folder / f"{name}.yaml", recipe)


def test_it_stands_in_a_block_of_any_kind(tmp_path: Path, teacher: Handle) -> None:
    recipe = recipe_of(tmp_path, *BLOCKS)
    assert api.check(recipe)
    run_here(recipe)
    for block in BLOCKS:
        books = manifest_of(tmp_path / "run", block).books()["decontaminate"]
        first = block == BLOCKS[0]
        assert books.rejected == ({"contaminated": 2} if first else {})
        assert books.notes["mine template"] == 1
    card = (folder_of(tmp_path / "run", "shards") / "README.md").read_text()
    assert card.count("| mine |") == len(BLOCKS)


def test_a_run_says_what_it_dropped_and_why(tmp_path: Path, teacher: Handle) -> None:
    run_here(recipe_of(tmp_path, "queries"))
    run = tmp_path / "run"
    gone = block_rows(run, "queries", "rejects")
    assert {(row["dropped_by"], row["drop_reason"]) for row in gone} == {
        ("decontaminate", "contaminated")
    }
    assert {row["drop_detail"] for row in gone} == {
        "exact: item 2 of mine, in prompt[0].content",
        "short_exact: item 3 of mine, in prompt[0].content",
    }
    kept = block_rows(run, "queries")
    marks = [mark for row in kept for mark in row["contamination"]]
    assert [(mark["item"], mark["verdict"]) for mark in marks] == [(1, "template")]
    assert len(kept) == CLEAN + 1
    assert all(row["contamination"] is not None for row in block_rows(run, "scores"))
    rows = api.inspect(folder_of(run, "queries"), table="contamination", limit=99)
    assert {(row["verdict"], row["outcome"]) for row in rows} == {
        ("exact", "query dropped"),
        ("short_exact", "query dropped"),
        ("template", "reported"),
    }
    assert {row["step"] for row in rows} == {"decontaminate"}
    shown = cli("inspect", "run", "--table", "contamination", "--markdown", cwd=tmp_path)
    assert CHEST[:-1] in shown.stdout
    (step,) = (s for s in manifest_of(run, "queries").steps if s["name"] == "decontaminate")
    (bench,) = step["resolved"]["benchmarks"]
    assert (bench["name"], bench["items"], bench["license"]) == ("mine", len(ITEMS), None)


def test_the_shards_say_what_they_were_checked_against(tmp_path: Path, teacher: Handle) -> None:
    named = register(tmp_path, license="cc-by-nc-4.0", non_commercial=True)
    run_here(recipe_of(tmp_path, "queries", "scores", against=[named, "./mine.jsonl"]))
    shards = folder_of(tmp_path / "run", "shards")
    found = read_manifest(shards / "rl").benchmarks
    assert [(b["block"], b["name"]) for b in found] == [
        ("queries", "ours"),
        ("scores", "ours"),
    ]  # ./mine.jsonl holds the same items, and is taken once
    first = found[0]
    assert first["hits"] == {"exact": 1, "short_exact": 1, "template": 1}
    assert first["drop"] == ["exact", "near", "short_exact"]
    assert first["license"] == "cc-by-nc-4.0"
    assert first["items"] == 4
    assert first["profile"].startswith("evidence-")
    card = (shards / "README.md").read_text()
    row = next(line for line in card.splitlines() if line.startswith("| ours |"))
    told = f"| {first['sha256'][:12]} | cc-by-nc-4.0 | 4 | exact 1, short_exact 1, template 1 |"
    assert told in row
    assert "No hit means that this profile found none, not that there is none." in card
    shipped = card + "".join(path.read_text() for path in shards.glob("*/manifest.json"))
    assert not any(item[:40] in shipped for item in ITEMS)


def test_items_that_no_rule_finds_are_counted_once(tmp_path: Path, teacher: Handle) -> None:
    recipe = recipe_of(tmp_path, "queries")
    with (tmp_path / "mine.jsonl").open("a") as file:
        file.write(json.dumps({"question": r"Put your final answer within \boxed{}."}) + "\n")
    run_here(recipe, tasks=3)
    assert manifest_of(tmp_path / "run", "queries").books()["decontaminate"].notes == {
        "mine exact": 1,
        "mine short_exact": 1,
        "mine template": 1,
        "mine unfindable": 1,
    }
    shards = folder_of(tmp_path / "run", "shards")
    assert read_manifest(shards / "rl").benchmarks[0]["unfindable"] == 1
    assert "| 5, 1 of them not findable |" in (shards / "README.md").read_text()


def test_who_begins_from_another_run_keeps_what_it_was_checked_against(
    tmp_path: Path, teacher: Handle
) -> None:
    run_here(recipe_of(tmp_path, "queries", until="selections"))
    recipe = copy.deepcopy(FULL)
    start = {"from": {"run": "run", "block": "selections"}}
    recipe["stages"] = [start, recipe["stages"][-1]]
    run_here(write_recipe(tmp_path / "next.yaml", recipe), out=tmp_path / "next")
    found = read_manifest(folder_of(tmp_path / "next", "shards") / "rl").benchmarks
    assert [(b["block"], b["name"]) for b in found] == [("queries", "mine")]


def test_ranks_change_nothing(tmp_path: Path, teacher: Handle) -> None:
    recipe = recipe_of(tmp_path, "queries", "scores")
    run_here(recipe)
    first, tables = stage_rows(tmp_path / "run"), manifest_of(tmp_path / "run", "queries").tables
    shards = shard_bytes(tmp_path / "run")
    run_here(recipe, resume="never", tasks=3)
    assert stage_rows(tmp_path / "run") == first
    assert manifest_of(tmp_path / "run", "queries").tables == tables
    assert shard_bytes(tmp_path / "run") == shards


def test_a_benchmark_is_known_by_its_content(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, "queries", until="queries")

    def prints() -> dict[str, str]:
        return fingerprints(load_plan(recipe), limit=None, revisions={})

    before = prints()
    assert prints() == before
    with (tmp_path / "mine.jsonl").open("a") as file:
        file.write(json.dumps({"question": "One more?"}) + "\n")
    after = prints()
    assert after["corpora"] == before["corpora"]
    assert after["queries"] != before["queries"]


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"against": []}, r"against names no benchmark, so nothing would be found"),
        ({"against": ["aime1924"]}, "no benchmark is called 'aime1924'"),
        ({"against": ["./other.jsonl"]}, "benchmark ./other.jsonl is not there"),
        ({"against": ["./mine.jsonl:problem"]}, "has no 'problem'"),
        ({"profile": "papers"}, "found 'papers', expected 'evidence' or 'paper'"),
        ({"drop": ["nearly"]}, "found 'nearly', expected 'exact', 'near'"),
        ({"thresholds": {"near_shar": 0.5}}, "no threshold 'near_shar'; did you mean 'near_share'"),
        ({"released": {"m": "soon"}}, "date 'soon' can't be read"),
        ({"agianst": ["x"]}, "unknown key 'agianst'; did you mean 'against'"),
    ],
)
def test_what_is_wrong_is_said_before_the_first_row(
    tmp_path: Path, settings: dict[str, Any], error: str
) -> None:
    recipe = recipe_of(tmp_path, "queries", until="queries", **settings)
    with pytest.raises(ConfigError, match=error):
        run_here(recipe)
    assert not list((tmp_path / "run").glob("0*"))


def test_an_unknown_step_lists_it_everywhere(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, until="queries")
    recipe.write_text(recipe.read_text().replace("- length:", "- decontaminat:"))
    with pytest.raises(ConfigError, match="no step 'decontaminat' in the queries stage: did you"):
        api.show(recipe)
