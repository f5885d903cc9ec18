"""Which steps a recipe can name: one explicit table, so that a name is found by reading."""

from __future__ import annotations

import importlib

from vtdata.errors import ConfigError
from vtdata.steps import Step
from vtdata.text import nearest

STAGES = ("corpora", "queries", "rollouts", "scores", "selections", "shards")

STEPS: dict[str, dict[str, str]] = {
    "corpora": {
        "jsonl": "vtdata.corpora.files:Jsonl",
        "parquet": "vtdata.corpora.files:Parquet",
        "csv": "vtdata.corpora.files:Csv",
        "hub": "vtdata.corpora.hub:Hub",
        "reasoning_gym": "vtdata.corpora.reasoning_gym:ReasoningGym",
    },
    "queries": {
        "length": "vtdata.queries.length:Length",
        "check_tests": "vtdata.queries.check_tests:CheckTests",
    },
    "rollouts": {
        "sample": "vtdata.rollouts.sample:Sample",
    },
    "scores": {
        "verify": "vtdata.scores.verify:Verify",
        "run_tests": "vtdata.scores.run_tests:RunTests",
        "vote": "vtdata.scores.vote:Vote",
        "calibrate": "vtdata.scores.calibrate:Calibrate",
        "judge_answers": "vtdata.scores.judge:JudgeAnswers",
    },
    "selections": {
        "verified": "vtdata.selections.verified:Verified",
        "pass_rate": "vtdata.selections.pass_rate:PassRate",
        "hard": "vtdata.selections.hard:Hard",
        "cap": "vtdata.selections.cap:Cap",
    },
    "shards": {
        "sft": "vtdata.shards.sft:Sft",
        "rl": "vtdata.shards.rl:Rl",
    },
}

ANYWHERE: dict[str, str] = {
    "decontaminate": "vtdata.queries.decontaminate:Decontaminate",
    "judge_suspects": "vtdata.queries.judge_suspects:JudgeSuspects",
}
"""Steps that may stand in a block of any kind."""


def named(stage: str) -> dict[str, str]:
    """Return the steps that a block of a kind may name."""
    return STEPS[stage] | ANYWHERE


def find(target: str) -> type[Step]:
    """Import ``package.module:Class``.

    Raises:
        ConfigError: it can't be imported, or is no step.
    """
    module_name, colon, class_name = target.partition(":")
    if not colon or not module_name or not class_name:
        raise ConfigError(f"'{target}': write a step as package.module:Class")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(
            f"step '{target}' can't be imported: {error}; put its folder on PYTHONPATH or install "
            "its package"
        ) from error
    found = getattr(module, class_name, None)
    if found is None:
        raise ConfigError(
            f"step '{target}': module {module_name} has no {class_name};"
            f"{nearest(class_name, vars(module))}"
        )
    if not (isinstance(found, type) and issubclass(found, Step)):
        raise ConfigError(f"step '{target}' is no subclass of vtdata.steps.Step")
    return found


def lookup(stage: str, name: str) -> type[Step]:
    """Return the step that a recipe calls ``name`` in ``stage``.

    Raises:
        ConfigError: there is none; says the nearest spelling and where else it is.
    """
    target = named(stage).get(name)
    if target is None:
        elsewhere = [other for other in STAGES if name in STEPS[other]]
        hint = (
            f" it belongs to the {elsewhere[0]} stage"
            if elsewhere
            else nearest(name, named(stage)) or f" there is: {', '.join(named(stage))}"
        )
        raise ConfigError(f"no step '{name}' in the {stage} stage:{hint}")
    return find(target)
