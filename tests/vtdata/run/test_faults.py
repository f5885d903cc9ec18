"""One run over everything that a server can do wrong, and what ends a run."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.fake_server import Handle, start_fake
from tests.runs import (
    URL,
    block_rows,
    folder_of,
    full_recipe,
    manifest_of,
    run_here,
    sent,
    sum_row,
    write_rows,
)
from vtdata.errors import RunError, TooManyFailures

STATES = {
    "": "ok",
    "429*1": "ok",
    "429-after*1": "ok",
    "500*1": "ok",
    "500": "failed",
    "502*1": "ok",
    "400": "refused",
    "hang*1": "ok",
    "hang": "failed",
    "drop*1": "ok",
    "drop": "failed",
    "slow": "ok",
    "null": "empty",
    "null*1": "ok",
    "empty": "empty",
    "usage-extra": "ok",
    "usage-none": "ok",
    "usage-null": "ok",
    "weird": "failed",
    "abort*1": "ok",
    "filter": "refused",
    "refusal": "refused",
    "repetition": "looped",
    "length": "truncated",
    "think-open": "truncated",
    "reasoning-content": "ok",
    "reasoning": "ok",
    "think": "ok",
    "think-closer": "ok",
    "parts": "ok",
    "half-pair": "ok",
    "error-200*1": "ok",
    "garbage*1": "ok",
    "no-choices": "failed",
}
THOUGHTS = {
    "reasoning-content": ("I thought in a field.", "field"),
    "reasoning": ("I thought in a field.", "field"),
    "think": ("I thought in tags.", "tags"),
    "think-closer": ("I thought unopened.", "closer"),
    "parts": ("I thought in parts.", "field"),
}
FAILED = sorted(name for name, state in STATES.items() if state == "failed")
PLAIN = 6


def faulty_recipe(folder: Path, *, max_failed_share: float) -> Path:
    recipe = full_recipe(folder)
    data = yaml.safe_load(recipe.read_text())
    data["max_failed_share"] = max_failed_share
    data["models"]["teacher"] |= {"attempts": 2, "idle_timeout_s": 1.0, "concurrency": 64}
    data["models"]["reference"] |= {"attempts": 2, "idle_timeout_s": 1.0, "concurrency": 64}
    data["stages"][2]["rollouts"][0]["sample"]["n"] = 1
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))
    faults = [name for name in STATES for _ in range(PLAIN if name == "" else 1)]
    notes = [f" [[{name}]]" if name else "" for name in faults]
    write_rows(folder / "sums.jsonl", [sum_row(n, note) for n, note in enumerate(notes)])
    return recipe


def fault_of(row: dict) -> str:
    text = row["prompt"][0]["content"]
    return text.partition("[[")[2].partition("]]")[0]


def test_one_run_over_every_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with start_fake(answer="sum", right_share=1.0, slow_s=0.6, retry_after_s=0.2) as fake:
        monkeypatch.setenv(URL, fake.url)
        recipe = faulty_recipe(tmp_path, max_failed_share=1.0)
        result = run_here(recipe)
        run = tmp_path / "run"
        rows = block_rows(run, "rollouts")
        assert len(rows) == len(STATES) + PLAIN - 1
        found = {fault_of(row): row["rollouts"][0] for row in rows}
        assert {name: rollout["state"] for name, rollout in found.items()} == STATES
        for name, (thought, source) in THOUGHTS.items():
            assert (found[name]["reasoning"], found[name]["think_source"]) == (thought, source)
            assert found[name]["content"].endswith("}.")
        assert found["half-pair"]["content"].endswith(" \ufffd")
        assert manifest_of(run, "rollouts").failed == len(FAILED)
        plain = [row["rollouts"][0] for row in rows if fault_of(row) == ""]
        assert [rollout["state"] for rollout in plain] == ["ok"] * PLAIN
        scores = {fault_of(row): row["rollouts"][0] for row in block_rows(run, "scores")}
        assert {scores[name]["verdict"]["reward"] for name in THOUGHTS} == {1.0}
        assert all(not (scores[n]["verdict"] or {}).get("reward") for n in (*FAILED, "400", "null"))
        assert result.shards is not None

        before = sent(fake)
        run_here(recipe)
        again = sent(fake) - before
        assert again == 3 * len(FAILED) * 2 - 3 * 1, "failed ones are tried anew, and no others"
        # three rollouts of each, twice; an unknown finish_reason is not worth a second try


@pytest.mark.parametrize("share", [0.01, 0.4])
def test_too_many_failures_keep_what_was_bought(tmp_path: Path, fake: Handle, share: float) -> None:
    recipe = full_recipe(tmp_path, until="rollouts")
    data = yaml.safe_load(recipe.read_text())
    data["models"]["teacher"]["attempts"] = 1
    data["max_failed_share"] = share
    recipe.write_text(yaml.safe_dump(data))
    write_rows(tmp_path / "sums.jsonl", [sum_row(n, " [[500]]" * (n < 5)) for n in range(10)])
    with pytest.raises(TooManyFailures, match=r"^20 of 40 model calls failed after their retries"):
        run_here(recipe)
    assert not list((tmp_path / "run").glob("03-*/manifest.json"))
    before = sent(fake)
    write_rows(tmp_path / "sums.jsonl", [sum_row(n) for n in range(10)])
    run_here(recipe)
    assert sent(fake) - before == 20, "five questions lost their fault; the others are stored"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("401", r"^model 'teacher' \(fake\) at .* answered 401: "),
        ("404", r"^model 'teacher' \(fake\) at .* answered 404: "),
        ("other-model", r"^model 'teacher' at .*: its model was 'fake' and is now 'another-model'"),
    ],
)
def test_what_no_request_can_survive_ends_the_run(
    tmp_path: Path, fake: Handle, fault: str, error: str
) -> None:
    recipe = full_recipe(tmp_path, until="rollouts")
    write_rows(tmp_path / "sums.jsonl", [sum_row(n, f" [[{fault}]]" * (n == 7)) for n in range(8)])
    with pytest.raises(RunError, match=error):
        run_here(recipe)
    assert not list((tmp_path / "run").glob("03-*/manifest.json"))


def test_a_model_that_changes_in_mid_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with start_fake(answer="sum", change_model_after=20) as fake:
        monkeypatch.setenv(URL, fake.url)
        recipe = full_recipe(tmp_path, until="rollouts")
        with pytest.raises(RunError, match="another model answers under the same name"):
            run_here(recipe)
        fake.configure(change_model_after=None)
        before = sent(fake)
        run_here(recipe)
        known = 20 - 6  # six of the first twenty calls are a preflight's
        assert 40 - known <= sent(fake) - before <= 40 - known + 8, "8 were in flight"
        rows = block_rows(tmp_path / "run", "rollouts")
        assert {r["model"] for row in rows for r in row["rollouts"]} == {"fake"}


def test_a_failed_block_is_tried_again_and_those_behind_it(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, 30)
    rows = [sum_row(n, " [[weird*1]]" * (n == 3)) for n in range(30)]
    write_rows(tmp_path / "sums.jsonl", rows)
    run_here(recipe, settings=["max_failed_share=0.5"])
    run = tmp_path / "run"
    first = folder_of(run, "shards").stat().st_ctime_ns
    assert manifest_of(run, "rollouts").failed > 0
    run_here(recipe, settings=["max_failed_share=0.5"])
    assert manifest_of(run, "rollouts").failed == 0
    assert folder_of(run, "shards").stat().st_ctime_ns != first
