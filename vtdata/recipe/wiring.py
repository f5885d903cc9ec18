"""What steps have of the steps before them: a rollout set, benchmarks, and what they read."""

from __future__ import annotations

import dataclasses

from vtdata.errors import ConfigError
from vtdata.recipe.source import spell
from vtdata.steps import Step
from vtdata.text import nearest

_WHO_WRITES = {
    "rollouts": "a 'rollouts' block",
    "verdicts": "a 'scores' block",
    "vote": "a 'scores' block",
    "into": "a 'selections' block",
    "contamination": "a 'decontaminate' step",
}


def fill_set(step: Step, sets: list[str], where: str) -> Step:
    """Fill in ``of``, where there is only one rollout set.

    Raises:
        ConfigError: there are several, or not the one that is named.
    """
    of = getattr(step, "of", None)
    if not {"rollouts", "verdicts"} & set(step.needs) or not hasattr(step, "of"):
        return step
    if of is None and len(sets) > 1:
        raise ConfigError(
            f"{where}: there are several rollout sets ({', '.join(sets)}): say which with 'of'"
        )
    if of is not None and of not in sets:
        raise ConfigError(
            f"{where}: no rollout set '{of}';{nearest(of, sets)} there is: "
            f"{', '.join(sets) or 'none yet'}"
        )
    return dataclasses.replace(step, of=of or sets[0]) if sets else step  # ty: ignore


def fill_against(step: Step, benchmarks: list[str]) -> Step:
    """Fill in the benchmarks that the steps before it marked against, where it names none.

    ``benchmarks`` grows by those of a step that marks.
    """
    against = getattr(step, "against", None)
    if "contamination" in step.gives and against:
        benchmarks += [word for word in against if word not in benchmarks]
    if "contamination" in step.needs and against == [] and benchmarks:
        return dataclasses.replace(step, against=list(benchmarks))  # ty: ignore
    return step


def facet(step: Step, fact: str, made: str | None) -> str:
    """Return what a step needs or gives, with the rollout set that it is about."""
    if fact in ("rollouts", "verdicts"):
        return f"{fact}:{made or getattr(step, 'of', None)}"
    return fact


def check_needs(step: Step, there: set[str], where: str) -> None:
    """See that what a step reads is there.

    Raises:
        ConfigError: nothing before it writes that.
    """
    for fact in step.needs:
        found = facet(step, fact, None)
        if found not in there:
            writer = _WHO_WRITES.get(fact, f"a '{fact}' block")
            raise ConfigError(
                f"{where} reads {spell([found])} and nothing before it writes that: put {writer} "
                "that does before it"
            )
