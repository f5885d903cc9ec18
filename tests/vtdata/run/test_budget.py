"""A dry run counts what a run sends; a budget ends a run near its limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.fake_server import Handle, start_fake
from tests.runs import cli, full_recipe, run_here, sent
from vtdata import api
from vtdata.errors import Stopped
from vtdata.records import Query
from vtdata.steps import Context, Global, step

CONCURRENCY = 8


@step
class Odd(Global):
    """Drops the queries of odd buckets, with a view of all of them."""

    reasons = ("odd",)

    def observe(self, query: Query, ctx: Context) -> tuple[Any, ...]:
        return ()

    def decide(self, table: pl.DataFrame, ctx: Context) -> pl.DataFrame:
        return table

    def apply(self, query: Query, row: dict[str, Any] | None, ctx: Context) -> None:
        if query.bucket % 2:
            query.drop("odd", "odd")


def to_send(recipe: Path, **options: object) -> dict[str, tuple[int, bool]]:
    plan = api.plan_calls(recipe, out=recipe.parent / "run", **options)  # ty: ignore
    return {
        entry["block"]: (sum(m["to_send"] for m in entry["models"].values()), entry["exact"])
        for entry in plan
    }


def test_a_dry_run_counts_what_a_run_sends(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path)
    planned = to_send(recipe)
    assert planned == {"rollouts": (40, True), "rollouts.reference": (20, False)}
    assert fake.counters().get("chat", 0) == 0, "a dry run asks nobody"
    assert not (tmp_path / "run").exists()
    run_here(recipe)
    assert sent(fake) == 60
    assert to_send(recipe) == {"rollouts": (0, True), "rollouts.reference": (0, True)}
    fake.reset()
    more = ["stages.rollouts.sample.n=6", "stages.queries.length.min_chars=25"]
    planned = to_send(recipe, settings=more)
    run_here(recipe, settings=more)
    exact, _ = planned["rollouts"]
    assert exact == 16, "two of the ten questions are shorter"
    assert sent(fake) == exact


def test_a_dry_run_with_a_limit_and_a_price(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, until="rollouts")
    price = "models.teacher.price={input: 1000000.0, output: 0.5}"
    plan = api.plan_calls(recipe, out=tmp_path / "run", limit=3, settings=[price])
    calls = plan[0]["models"]["teacher"]
    assert (calls["requests"], calls["in_store"], calls["to_send"]) == (12, 0, 12)
    assert calls["completion_tokens_max"] == 12 * 64
    assert calls["usd"] == pytest.approx(calls["prompt_tokens"] + 12 * 64 * 0.5 / 1e6)
    done = cli("run", recipe, "--dry-run", "--json", "--limit", 3, cwd=tmp_path, fake=fake)
    assert json.loads(done.stdout)[0]["models"]["teacher"]["to_send"] == 12
    shown = cli("run", recipe, "--dry-run", cwd=tmp_path, fake=fake, COLUMNS="200")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert "40 requests, 0 answered by the store, 40 to send" in shown.stderr


def test_a_dry_run_behind_a_global_step_is_an_upper_bound(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, until="rollouts")
    data = yaml.safe_load(recipe.read_text())
    data["stages"][2]["rollouts"].insert(0, {"use": f"{__name__}:Odd"})
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))
    assert to_send(recipe) == {"rollouts": (40, False)}
    run_here(recipe)
    assert 0 < sent(fake) < 40


def limit(recipe: Path, **budget: object) -> None:
    data = yaml.safe_load(recipe.read_text())
    data["budget"] = budget
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))


@pytest.mark.slow
def test_a_budget_is_overshot_by_what_is_in_flight(tmp_path: Path) -> None:
    with start_fake(answer="sum", latency_s=0.2) as fake:
        recipe = full_recipe(tmp_path, 40, until="rollouts")
        limit(recipe, max_requests=50)
        done = cli("run", recipe, "--workers", 2, cwd=tmp_path, fake=fake)
        assert done.returncode == 3
        assert sent(fake) > 0, done.stderr
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("vtdata: budget: sent ")
        assert last.endswith(" of max_requests=50")
        assert 50 <= sent(fake) <= 50 + CONCURRENCY
        before = sent(fake)
        assert cli("run", recipe, "--workers", 2, cwd=tmp_path, fake=fake).returncode == 3
        assert sent(fake) == before, "the budget is the run's, not the call's"
        limit(recipe)
        assert cli("run", recipe, "--workers", 2, cwd=tmp_path, fake=fake).returncode == 0
        assert sent(fake) == 160
        assert fake.counters()["repeated"] == 0


def test_a_budget_in_dollars(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, 40, until="rollouts")
    data = yaml.safe_load(recipe.read_text())
    for model in data["models"].values():
        model["price"] = {"input": 0.0, "output": 1_000_000.0}
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))
    limit(recipe, max_usd=300.0)
    with pytest.raises(Stopped, match=r"^budget: spent \d+\.\d{4} USD of max_usd=300$"):
        run_here(recipe)
    longest = 16  # words of an answer of the fake server
    assert sent(fake) * 6 <= 300 + (CONCURRENCY + 6) * longest
