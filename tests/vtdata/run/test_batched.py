"""Steps that see some queries at a time: between others, on any number of ranks, nothing lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.factories import query
from tests.runs import block_rows, full_recipe, manifest_of, run_here
from vtdata.errors import RunError
from vtdata.recipe.plan import PlannedStep
from vtdata.records import Query
from vtdata.run.flow import BATCH_QUERIES, station, through
from vtdata.steps import Async, Batched, Context, Keep, step

HERE = "tests.vtdata.run.test_batched"
NUM_QUERIES = 600


@step
class Odd(Batched):
    """Drops questions whose last digit is odd, and notes how many it saw at a time."""

    reasons = ("odd",)

    def process(self, queries: Sequence[Query], ctx: Context) -> None:
        ctx.note("batches", 1)
        ctx.note("queries", len(queries))
        for one in queries:
            if int(one.answer or "0") % 2:
                one.drop("odd", "odd")


@step
class Late(Async):
    async def process(self, query: Query, ctx: Context) -> list[Query]:
        del ctx
        return [query]


@step
class Swap(Batched):
    """Breaks a rule: the query gets another id."""

    def process(self, queries: Sequence[Query], ctx: Context) -> None:
        del ctx
        queries[0].id = "f" * 32


def recipe_of(folder: Path, *names: str) -> Path:
    recipe = full_recipe(folder, NUM_QUERIES, until="queries")
    data = yaml.safe_load(recipe.read_text())
    data["stages"][1]["queries"] += [{"use": f"{HERE}:{name}"} for name in names]
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))
    return recipe


@pytest.mark.parametrize("names", [("Odd",), ("Late", "Odd", "Late"), ("Odd", "Late", "Odd")])
def test_a_batched_step_between_others(tmp_path: Path, names: tuple[str, ...]) -> None:
    recipe = recipe_of(tmp_path, *names)
    run_here(recipe)
    kept = block_rows(tmp_path / "run", "queries")
    assert {int(row["answer"]) % 2 for row in kept} == {0}
    gone = block_rows(tmp_path / "run", "queries", "rejects")
    assert {row["drop_reason"] for row in gone} == {"odd"}
    assert {row["dropped_by"] for row in gone} == {"odd"}
    assert len(kept) + len(gone) == NUM_QUERIES
    assert kept
    assert gone
    books = manifest_of(tmp_path / "run", "queries").books()["odd"]
    assert books.entered == books.notes["queries"] == NUM_QUERIES
    assert books.notes["batches"] == -(-NUM_QUERIES // BATCH_QUERIES)


def test_ranks_see_other_batches_and_make_the_same_rows(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, "Odd")
    run_here(recipe)
    first = manifest_of(tmp_path / "run", "queries")
    rows = sorted(row["id"] for row in block_rows(tmp_path / "run", "queries"))
    run_here(recipe, tasks=4, start="queries")
    again = manifest_of(tmp_path / "run", "queries")
    assert again.books()["odd"].notes["batches"] > first.books()["odd"].notes["batches"]
    assert sorted(row["id"] for row in block_rows(tmp_path / "run", "queries")) == rows


def test_a_batch_ends_at_its_bytes_and_the_books_see_each_query() -> None:
    at = station(PlannedStep("odd", Odd(), f"{HERE}:Odd"), Context(seed=1))
    asked = [query(question=f"{n} {'x' * 3_000_000}", answer=str(n)) for n in range(7)]
    gone: list[Query] = []
    kept = list(through([at], asked, gone.append))
    assert [one.answer for one in kept] == ["0", "2", "4", "6"]
    assert [one.answer for one in gone] == ["1", "3", "5"]
    assert at.books.notes["batches"] == 3  # a batch ends once it takes 8 MiB
    assert (at.books.entered, at.books.kept, at.books.rejected) == (7, 4, {"odd": 3})


def test_what_follows_sees_no_query_that_was_dropped() -> None:
    @step
    class Seen(Keep):
        def why_drop(self, query: Query, ctx: Context) -> str | None:
            ctx.note(query.answer or "", 1)
            return None

    stations = [
        station(PlannedStep("odd", Odd(), f"{HERE}:Odd"), Context(seed=1)),
        station(PlannedStep("seen", Seen(), f"{HERE}:Seen"), Context(seed=1)),
    ]
    asked = [query(question=f"{n}?", answer=str(n)) for n in range(4)]
    assert [one.answer for one in through(stations, asked, lambda _: None)] == ["0", "2"]
    assert stations[1].books.notes == {"0": 1, "2": 1}


def test_a_batched_step_that_renames_fails_the_run() -> None:
    at = station(PlannedStep("swap", Swap(), f"{HERE}:Swap"), Context(seed=1))
    with pytest.raises(RunError, match=r"step 'swap' returned f+ in place of query"):
        list(through([at], [query()], lambda _: None))
