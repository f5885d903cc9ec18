"""What is asked again when a recipe or its input changes, and what is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.fake_server import Handle
from tests.runs import block_rows, folder_of, run_here, sent, shard_bytes, sum_row, write_rows
from vtdata import api
from vtdata.errors import ConfigError, RunError
from vtdata.run.replay import replay_run

NUM_QUERIES, TEACHER, REFERENCE = 10, 4, 2
ALL_CALLS = NUM_QUERIES * (TEACHER + REFERENCE)


def change(recipe: Path, **models: object) -> None:
    """Change both models' entries."""
    data = yaml.safe_load(recipe.read_text())
    for model in data["models"].values():
        model.update(models)
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))


def test_a_finished_run_has_nothing_to_do(finished: Path, fake: Handle) -> None:
    result = run_here(finished)
    assert all(outcome.reused for outcome in result.outcomes)
    assert fake.counters().get("chat", 0) == 0


@pytest.mark.parametrize(
    ("rows", "num_new"),
    [
        ([*range(10)][1:], 0),
        ([*range(10)][:-1], 0),
        ([*range(11)], 1),
        ([*range(10)][::-1], 0),
        ([3, 1, 11, 2, 12, 7], 2),
    ],
    ids=["first removed", "last removed", "one added", "moved", "all at once"],
)
def test_only_the_difference_of_the_input_is_asked(
    finished: Path, fake: Handle, rows: list[int], num_new: int
) -> None:
    write_rows(finished.parent / "sums.jsonl", [sum_row(number) for number in rows])
    run_here(finished)
    assert sent(fake) == num_new * (TEACHER + REFERENCE)
    api.clean(finished.parent / "run")
    questions = {
        row["prompt"][0]["content"] for row in block_rows(finished.parent / "run", "scores")
    }
    assert questions == {sum_row(number)["question"] for number in rows}


@pytest.mark.parametrize(
    "changes",
    [{"temperature": 0.7}, {"revision": "r3"}, {"max_tokens": 65}, {"stop": ["zzz"]}],
    ids=lambda changes: next(iter(changes)),
)
def test_another_sampling_reuses_nothing(
    finished: Path, fake: Handle, changes: dict[str, object]
) -> None:
    change(finished, **changes)
    run_here(finished)
    assert sent(fake) == ALL_CALLS


def test_another_model_reuses_nothing(finished: Path, fake: Handle) -> None:
    fake.configure(model="other")
    try:
        change(finished, model="other")
        run_here(finished)
        assert sent(fake) == ALL_CALLS
    finally:
        fake.configure(model="fake")


def test_four_more_rollouts_are_four_more_calls(finished: Path, fake: Handle) -> None:
    run_here(finished, settings=["stages.rollouts.sample.n=8"])
    assert sent(fake) == NUM_QUERIES * 4
    assert fake.counters()["repeated"] == 0
    api.clean(finished.parent / "run")
    for row in block_rows(finished.parent / "run", "rollouts"):
        assert [rollout["sample_idx"] for rollout in row["rollouts"]] == list(range(8))


@pytest.mark.parametrize(
    "changes",
    [
        {"concurrency": 3, "attempts": 2, "idle_timeout_s": 9.0, "stream": True},
        {"price": {"input": 1.0, "output": 2.0}},
        {"url": ["${env:VTDATA_TEST_URL}", "http://127.0.0.1:9/v1"]},
    ],
    ids=["width", "price", "url"],
)
def test_where_and_how_wide_changes_nothing(
    finished: Path, original: Path, fake: Handle, changes: dict[str, object]
) -> None:
    change(finished, **changes)
    result = run_here(finished)
    assert all(outcome.reused for outcome in result.outcomes)
    assert fake.counters().get("chat", 0) == 0
    assert shard_bytes(finished.parent / "run") == shard_bytes(original / "run")


@pytest.mark.parametrize(("workers", "tasks"), [(1, 1), (1, 3), (2, 7)])
def test_shards_are_the_same_bytes_for_any_number_of_tasks(
    finished: Path, original: Path, fake: Handle, workers: int, tasks: int
) -> None:
    run = finished.parent / "run"
    for folder in run.glob("0*"):
        shutil.rmtree(folder)
    run_here(finished, workers=workers, tasks=tasks)
    assert fake.counters().get("chat", 0) == 0, "the store was kept, so no request is sent"
    assert shard_bytes(run) == shard_bytes(original / "run")


def test_replay_gives_the_same_bytes(finished: Path, fake: Handle) -> None:
    found = replay_run(finished.parent / "run", workers=1)
    assert found["same"]
    assert {h["run"] for h in found["files"].values()} == set(
        shard_bytes(finished.parent / "run").values()
    )
    assert fake.counters().get("chat", 0) == 0


def test_replay_leaves_the_store_as_it_is(finished: Path) -> None:
    store = finished.parent / "run" / "store"
    before = {path.name: path.stat().st_mtime_ns for path in store.iterdir()}
    replay_run(finished.parent / "run", workers=1)
    assert {path.name: path.stat().st_mtime_ns for path in store.iterdir()} == before


def test_replay_without_the_answers_is_a_sentence(finished: Path) -> None:
    store = finished.parent / "run" / "store"
    for path in store.glob("*.sqlite"):
        path.unlink()
    with pytest.raises(
        RunError, match=r"^the store holds no answer to request [0-9a-f]{64} of mod"
    ):
        replay_run(finished.parent / "run", workers=1)


def test_replay_needs_finished_shards(finished: Path) -> None:
    shutil.rmtree(folder_of(finished.parent / "run", "shards"))
    with pytest.raises(ConfigError, match="has no finished shards to compare with: run it to its"):
        replay_run(finished.parent / "run", workers=1)


def test_from_runs_a_block_and_those_behind_it_again(finished: Path, fake: Handle) -> None:
    result = run_here(finished, start="scores.reference")
    assert [outcome.reused for outcome in result.outcomes] == [True] * 5 + [False] * 3
    assert fake.counters().get("chat", 0) == 0


def test_never_resuming_still_buys_nothing_twice(finished: Path, fake: Handle) -> None:
    result = run_here(finished, resume="never")
    assert not any(outcome.reused for outcome in result.outcomes)
    assert sent(fake) == 0


def test_always_resuming_refuses_other_settings(finished: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--resume always: block 'corpora' of .* was made with"):
        run_here(finished, resume="always", settings=["seed=4"])


def test_clean_removes_what_is_superseded_and_keeps_the_store(finished: Path) -> None:
    run = finished.parent / "run"
    before = {path.name for path in run.glob("0*")}
    run_here(finished, settings=["stages.queries.length.min_chars=4"])
    removed = {path.name for path in api.clean(run)}
    assert removed == {name for name in before if not name.startswith("01-")}
    assert len(list(run.glob("0*"))) == 8
    assert list((run / "store").glob("*.sqlite"))
    assert api.clean(run) == []
