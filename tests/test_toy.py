"""The toy recipe, end to end: a real model over HTTP, real shards, real readers."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from vtdata import api
from vtdata.run.folder import need_manifest
from vtdata.shards.manifest import shard_files

RECIPE = Path(__file__).parents[1] / "recipes" / "toy-sft.yaml"
MINUTES = 10


def test_the_recipe_is_valid_and_as_large_as_it_says() -> None:
    plan = api.show(RECIPE)
    assert [block.name for block in plan.blocks] == [
        "corpora",
        "queries",
        "rollouts",
        "scores",
        "selections",
        "shards",
    ]
    assert api.check(RECIPE)
    gym = next(p.step for p in plan.blocks[0].steps if p.name.startswith("reasoning_gym"))
    assert len(gym.families) >= 6
    own = [
        json.loads(line)
        for path in (RECIPE.parent / "data").glob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert sum("note" not in row for row in own) >= 40


@pytest.mark.slow
@pytest.mark.timeout(60 * 2 * MINUTES)
def test_the_toy_recipe_ends_in_shards(tmp_path: Path) -> None:
    started = time.monotonic()
    result = api.run(RECIPE, out=tmp_path / "toy")
    assert time.monotonic() - started < 60 * MINUTES
    assert result.shards is not None
    sft = pl.concat([pl.read_parquet(f) for f in shard_files(result.shards / "sft.stage1")])
    rl = pl.concat([pl.read_parquet(f) for f in shard_files(result.shards / "rl")])
    assert len(sft) > 0
    assert len(rl) > 0
    for messages in sft["messages"].to_list():
        assert [turn["role"] for turn in messages] == ["user", "assistant"]
        assert "14 + 27" not in messages[0]["content"]  # the few-shot prompt is for sampling only
        assert "double(x)" not in messages[0]["content"]
    rates, programs = Counter(), Counter()
    for outcome in result.outcomes:
        if outcome.block.name == "scores":
            for part in outcome.manifest.parts:
                frame = pl.read_parquet(
                    outcome.folder / part.file,
                    columns=["n_correct", "n_scored", "isolation", "domain"],
                )
                for correct, scored, isolation, domain in frame.iter_rows():
                    rates["mixed" if 0 < correct < scored else "one-sided"] += 1
                    if domain == "code":
                        programs["solved" if correct else "unsolved"] += 1
                        programs[isolation] += 1
    assert rates["mixed"] >= 10
    assert programs["solved"] >= 3
    assert (
        programs["namespaces"] + programs["landlock"] == programs["solved"] + programs["unsolved"]
    )
    assert need_manifest(result.shards).sets == ["sft.stage1", "rl"]
    queries = next(o.manifest.books() for o in result.outcomes if o.block.name == "queries")
    assert queries["decontaminate"].rejected == {"contaminated": 1}
    assert queries["decontaminate"].notes == {"toy-bench exact": 1, "toy-bench template": 1}

    again = api.run(RECIPE, out=tmp_path / "toy")
    assert all(outcome.reused for outcome in again.outcomes)
    assert api.replay(tmp_path / "toy")["same"]
