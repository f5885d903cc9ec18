"""The sandbox of a run: one for each worker, open while its rank runs programs."""

from __future__ import annotations

from contextlib import ExitStack

from vtdata.recipe.plan import Plan, Segment
from vtdata.recipe.rules import wants_sandbox
from vtdata.run.fused import Loop
from vtdata.sandbox import Sandbox, load


def find_sandbox(plan: Plan) -> Sandbox | None:
    """Return the recipe's sandbox, not entered; None where no step runs programs.

    Raises:
        ConfigError: it is nowhere.
    """
    wanted = any(wants_sandbox(planned.step) for block in plan.blocks for planned in block.steps)
    if not wanted or plan.recipe.sandbox is None:
        return None
    return load(plan.recipe.sandbox, plan.folder)


def open_sandbox(plan: Plan, segment: Segment, loop: Loop, stack: ExitStack) -> Sandbox | None:
    """Enter the sandbox on the loop of a rank whose segment runs programs; ``stack`` leaves it.

    Raises:
        ConfigError: it is nowhere, or nothing safe works on this machine.
    """
    if plan.recipe.sandbox is None or not any(wants_sandbox(p.step) for p in segment.steps):
        return None
    sandbox = load(plan.recipe.sandbox, plan.folder)
    loop.enter(sandbox)
    stack.callback(lambda: loop.leave(sandbox))
    return sandbox
