"""Steps of somebody else that lose, double or rename, and what a run says to them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import factories
from tests.runs import cli, full_recipe
from vtdata.errors import RunError, Stopped
from vtdata.recipe.plan import PlannedStep
from vtdata.records import Query
from vtdata.run.flow import Station, station
from vtdata.run.fused import fatal_first
from vtdata.seeds import bucket_of
from vtdata.steps import Context, Keep, Map, step


@step
class Plain(Map):
    """Does to a query what its test says."""

    def process(self, query: Query, ctx: Context) -> list[Query]:
        del ctx
        return ACTIONS[query.domain](query)


@step
class Creating(Plain):
    creates = True


@step
class Filter(Keep):
    def why_drop(self, query: Query, ctx: Context) -> str | None:
        del ctx
        return ACTIONS[query.domain](query)


def derived(query: Query) -> Query:
    new = copy.deepcopy(query)
    assert new.bucket == bucket_of(query.id)
    new.id = "f" * 32
    return new


def swap(query: Query) -> list[Query]:
    query.rollouts.pop()
    query.rollouts.append(dataclasses.replace(query.rollouts[0], sample_idx=9))
    return [query]


def replace(query: Query) -> list[Query]:
    query.rollouts = [dataclasses.replace(rollout, marks=["seen"]) for rollout in query.rollouts]
    return [query]


ACTIONS: dict[str, Callable[[Query], Any]] = {
    "none": lambda query: None,
    "one": lambda query: query,
    "twice": lambda query: [query, query],
    "made": lambda query: [query, derived(query)],
    "swap": swap,
    "replace": replace,
    "false": lambda query: False,
    "blank": lambda query: "",
}


def at(cls: type[Map | Keep]) -> Station:
    return station(PlannedStep("own", cls(), f"own:{cls.__name__}", foreign=True), Context(seed=1))


def handle(cls: type[Map | Keep], action: str) -> list[Query]:
    return at(cls).handle(factories.query(1, 0, None, domain=action))


@pytest.mark.parametrize(
    ("cls", "action", "message"),
    [
        (Plain, "none", r"step 'own' returned NoneType for query \w+: return the list"),
        (Plain, "one", r"step 'own' returned Query for query \w+: return the list"),
        (Plain, "twice", r"step 'own' made 1 queries of query \w+, and does not say so"),
        (Plain, "made", r"step 'own' made 1 queries of query \w+, and does not say so"),
        (Creating, "twice", r"step 'own' returned one query twice for \w+"),
        (Plain, "swap", r"step 'own' removed rollout 2 of set 'teacher' of query \w+: mark it"),
        (Filter, "false", r"step 'own': why_drop returned False: return a reason, or None"),
        (Filter, "blank", r"step 'own': why_drop returned '': return a reason, or None"),
    ],
)
def test_what_a_step_may_not_do_is_a_sentence(
    cls: type[Map | Keep], action: str, message: str
) -> None:
    with pytest.raises(RunError, match=message):
        handle(cls, action)


def test_a_step_may_put_changed_copies_of_rollouts_in_their_places() -> None:
    (query,) = handle(Plain, "replace")
    assert [rollout.marks for rollout in query.rollouts] == [["seen"]] * 3


def test_a_copy_that_became_another_query_is_in_the_bucket_of_its_own_id() -> None:
    first, second = handle(Creating, "made")
    assert (first.bucket, second.bucket) == (bucket_of(first.id), bucket_of("f" * 32))


EXITING = """
from vtdata.steps import Map, step

@step
class Exit(Map):
    def process(self, query, ctx):
        raise SystemExit(0)

@step
class Print(Map):
    def process(self, query, ctx):
        print("hello")
        return [query]
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_step_that_ends_the_program_is_no_success(tmp_path: Path, workers: int) -> None:
    recipe = full_recipe(tmp_path, 4, until="queries")
    recipe.write_text(recipe.read_text() + "  - use: own:Exit\n")
    (tmp_path / "own.py").write_text(EXITING)
    done = cli("run", recipe, "--workers", workers, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "vtdata: a step called sys.exit(0): mend it" in done.stderr
    assert not list((tmp_path / "runs" / "full").glob("02-*/manifest.json"))


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_step_prints_is_not_data(tmp_path: Path, workers: int) -> None:
    recipe = full_recipe(tmp_path, 4, until="queries")
    recipe.write_text(recipe.read_text() + "  - use: own:Print\n")
    (tmp_path / "own.py").write_text(EXITING)
    done = cli(
        "run", recipe, "--workers", workers, "--json", cwd=tmp_path, PYTHONPATH=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("{")
    assert "hello" in done.stderr


def test_of_an_error_and_the_stop_that_it_asked_for_the_error_ends_the_run() -> None:
    def stream() -> Iterator[Query]:
        yield factories.query()
        raise Stopped("the run was asked to stop")

    with pytest.raises(RunError, match="the disk is gone"):
        list(fatal_first(stream(), lambda: RunError("the disk is gone")))
    with pytest.raises(Stopped, match="was asked to stop"):
        list(fatal_first(stream(), lambda: None))
