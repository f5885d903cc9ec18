"""The JSON Schema says of a recipe what vtdata says of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.runs import FULL
from vtdata.recipe.catalog import ANYWHERE, STEPS
from vtdata.recipe.schema import recipe_schema

SCHEMA = recipe_schema()


def valid(recipe: dict[str, Any]) -> bool:
    return Draft202012Validator(SCHEMA).is_valid(recipe)


def test_it_is_a_schema_with_every_step() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    names = {f"{stage}.{name}" for stage, steps in STEPS.items() for name in steps}
    assert names | ANYWHERE.keys() <= set(SCHEMA["$defs"])


def test_a_good_recipe_is_valid() -> None:
    assert valid(FULL)


@pytest.mark.parametrize(
    ("block", "body"),
    [
        ("queries", ["length"]),
        ("queries", [{"length": None}]),
        (
            "queries",
            [{"length": {"min_chars": 3, "tests": [{"row": {"question": "a"}, "keep": True}]}}],
        ),
        ("queries", [{"use": "own.steps:Mine", "with": {"a": 1}}]),
        ("queries", [{"decontaminate": {"against": ["aime24"], "drop": ["exact"]}}]),
        ("scores", [{"decontaminate": {"against": ["./mine.jsonl"], "profile": "paper"}}]),
        ("rollouts", [{"judge_suspects": {"by": "teacher"}}]),
        ("rollouts", [{"sample": {"by": "teacher", "as": "other"}}]),
    ],
)
def test_forms_of_a_step(block: str, body: list[Any]) -> None:
    assert valid(with_block(block, body))


@pytest.mark.parametrize(
    ("block", "body"),
    [
        ("queries", [{"lenght": {}}]),
        ("queries", [{"length": {"min_char": 3}}]),
        ("queries", [{"length": {"min_chars": "3"}}]),
        ("queries", ["verify"]),
        ("queries", ["decontaminate"]),
        ("queries", [{"decontaminate": {"against": ["aime24"], "drop": ["exakt"]}}]),
        ("queries", [{"use": "no colon"}]),
        ("rollouts", [{"sample": {"n": 4}}]),
        ("rollouts", ["sample"]),
        ("queries", {"length": {}}),
    ],
)
def test_mistakes_in_a_step(block: str, body: Any) -> None:
    assert not valid(with_block(block, body))


@pytest.mark.parametrize(
    "change",
    [{"sede": 3}, {"seed": "3"}, {"stages": []}, {"stages": [{"score": []}]}, {"name": "A b"}],
)
def test_mistakes_at_the_top(change: dict[str, Any]) -> None:
    assert not valid({**FULL, **change})


def with_block(name: str, body: Any) -> dict[str, Any]:
    recipe = copy.deepcopy(FULL)
    recipe["stages"] = [{name: body} if name in block else block for block in recipe["stages"]]
    return recipe
