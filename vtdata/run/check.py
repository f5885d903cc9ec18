"""What can be found wrong with a recipe without running it."""

from __future__ import annotations

import json
from typing import Any

from vtdata.errors import ConfigError
from vtdata.recipe.plan import Plan, PlannedStep
from vtdata.records import Origin, Provenance, Query, Turn, Verifier, query_id
from vtdata.run.sandboxes import find_sandbox
from vtdata.run.session import check_imports
from vtdata.steps import Context, Keep


def check_recipe(plan: Plan) -> list[str]:
    """Open every step's files, run the tests of filters, rebuild the plan as a worker would.

    Raises:
        ConfigError: the first thing that is wrong.
    """
    ctx = Context(seed=plan.recipe.seed, folder=plan.folder, recipe=plan.recipe.name)
    done = []
    for block in plan.blocks:
        num_tests = 0
        for planned in block.steps:
            try:
                planned.step.open(ctx)
            except ConfigError as error:
                raise ConfigError(f"block '{block.name}', step '{planned.name}': {error}") from None
            num_tests += _run_tests(block.name, planned, ctx)
        tested = f", {num_tests} filter tests" if num_tests else ""
        word = "step" if len(block.steps) == 1 else "steps"
        done.append(f"{block.name}: {len(block.steps)} {word}{tested}")
    if find_sandbox(plan) is not None:
        done.append(f"sandbox {plan.recipe.sandbox}: found; it is tried when it is needed")
    if plan.foreign:
        check_imports(plan)
        done.append(f"{', '.join(plan.foreign)}: can be rebuilt in a fresh interpreter")
    return done


def _run_tests(block: str, planned: PlannedStep, ctx: Context) -> int:
    step = planned.step
    for number, test in enumerate(planned.tests):
        place = f"block '{block}', step '{planned.name}', tests[{number}]"
        if not isinstance(test, dict) or set(test) != {"row", "keep"}:
            raise ConfigError(f"{place}: a test is {{row: ..., keep: true|false}}, found {test!r}")
        assert isinstance(step, Keep)
        why = step.why_drop(_query(test["row"], place), ctx)
        if (why is None) != test["keep"]:
            found = "is kept" if why is None else f"is dropped ({why})"
            wanted = "kept" if test["keep"] else "dropped"
            raise ConfigError(f"{place}: the row should be {wanted} and {found}: {test['row']!r}")
    return len(planned.tests)


def _query(row: Any, place: str) -> Query:
    if not isinstance(row, dict) or not isinstance(row.get("question"), str):
        raise ConfigError(f"{place}: a row needs 'question', found {row!r}")
    allowed = {"question", "answer", "options", "domain", "verifier", "spec", "extra"}
    if unknown := set(row) - allowed:
        raise ConfigError(f"{place}: unknown {sorted(unknown)}; a row may have {sorted(allowed)}")
    prompt = [Turn("user", row["question"])]
    options = list(row.get("options", []))
    number = query_id(prompt, options)
    return Query(
        id=number,
        prompt=prompt,
        verifier=Verifier(row.get("verifier", "math"), json.dumps(row.get("spec", {}))),
        source="test",
        license="Apache-2.0",
        provenance=Provenance(number, None, [], [Origin("test", "1", "Apache-2.0")]),
        options=options,
        answer=row.get("answer"),
        domain=row.get("domain", "math"),
        extra=dict(row.get("extra", {})),
    )
