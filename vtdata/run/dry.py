"""``vtdata run --dry-run``: what a run would ask of its models, before anything is asked.

Blocks without model calls are really run, in a temporary folder, so that the first block with
calls is counted exactly: it would send just so many. What later blocks ask depends on answers
that nobody has yet; their count is an upper bound and says so.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from vtdata.corpora.unite import Unite
from vtdata.llm import Ledger, open_store
from vtdata.llm.plan import ModelPlan, estimate
from vtdata.llm.plan import Plan as Calls
from vtdata.recipe.fingerprint import fingerprints
from vtdata.recipe.plan import Block, Plan, PlannedStep, load_plan
from vtdata.records import Query
from vtdata.records.parts import read_parts
from vtdata.run.engine import Engine, Input, start_input
from vtdata.run.executor import Pool
from vtdata.run.flow import station, through
from vtdata.run.folder import find_block
from vtdata.run.session import found_revisions
from vtdata.seeds import NUM_BUCKETS, NUM_RANGES
from vtdata.steps import Async, Context, Global, Request


def dry_run(
    recipe: Path,
    *,
    out: Path | None,
    settings: list[str],
    limit: int | None,
    store: Path | None,
    code: bool,
) -> list[dict[str, Any]]:
    """Return, per block and step that asks a model, the calls it would send.

    Returns:
        One entry per step: block, step, ``exact`` (False: an upper bound), ``bound`` (what the
        step says about it), ``unknown`` (queries of which nobody can tell yet) and ``models``,
        with requests, in_store, to_send, tokens and usd by the model's name in the recipe.
    """
    plan = load_plan(recipe, settings, code=code)
    run = out or Path("runs") / plan.recipe.name
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vtdata-dry-")))
        ledger = stack.enter_context(Ledger(scratch / "ledger.bin", NUM_RANGES))
        given = start_input(plan, find_block)
        engine = Engine(
            plan=plan,
            run=scratch,
            prints=fingerprints(
                plan,
                limit=limit,
                revisions=found_revisions(plan),
                start=given.manifest.fingerprint if given else None,
            ),
            store=scratch / "store",
            pool=stack.enter_context(Pool(1)),
            tasks=1,
            ledger=ledger,
            limit=limit,
        )
        return _Count(plan, engine, run, store or run / "store").blocks(given)


class _Count:
    """Goes through the blocks, running what asks nobody and counting what asks."""

    def __init__(self, plan: Plan, engine: Engine, run: Path, store: Path) -> None:
        self._plan, self._engine, self._run, self._store = plan, engine, run, store
        self._revisions = engine.revisions or found_revisions(plan)

    def blocks(self, given: Input | None) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = []
        at, exact = given, True
        for block in self._plan.blocks:
            asking = [p for p in block.steps if isinstance(p.step, Async)]
            done = self._finished(block, at) if exact else None
            for position, planned in enumerate(asking if at is not None else []):
                assert at is not None
                known = exact and position == 0 and not _crosses(block, planned)
                entries.append(self._count(block, planned.name, at, exact=known))
            exact = exact and (done is not None or not asking)
            if done:
                at = done
            elif exact:
                outcome = self._engine.go(block, at)
                at = Input(outcome.folder, outcome.manifest)
        return entries

    def _finished(self, block: Block, at: Input | None) -> Input | None:
        """A finished block of the real run saves running it here."""
        real = Engine(
            plan=self._plan,
            run=self._run,
            prints=self._engine.prints,
            store=self._store,
            pool=self._engine.pool,
            tasks=1,
            ledger=self._engine.ledger,
        )
        manifest = real.finished(block, at)
        return Input(real.folder(block), manifest) if manifest else None

    def _count(self, block: Block, name: str, at: Input, *, exact: bool) -> dict[str, Any]:
        planned = next(p for p in block.steps if p.name == name)
        step = planned.step
        assert isinstance(step, Async)
        ctx = Context(seed=self._plan.recipe.seed, folder=self._plan.folder)
        step.open(ctx)
        unknown = 0

        def asked() -> Iterator[Request]:
            nonlocal unknown
            for query in self._queries(block, name, at, ctx, exact=exact):
                requests = step.requests(query, ctx)
                unknown += requests is None
                yield from requests or ()

        models = {model.name: _as_data(model) for model in self._estimate(asked()).models}
        return {
            "block": block.name,
            "step": name,
            "exact": exact and step.bound is None and not unknown,
            "bound": step.bound,
            "unknown": unknown,
            "models": models,
        }

    def _estimate(self, asked: Iterator[Request]) -> Calls:
        if not self._store.exists():
            return estimate(asked, self._plan.models, None, revisions=self._revisions)
        with open_store(self._store, range(NUM_RANGES), read_only=True) as store:
            return estimate(asked, self._plan.models, store, revisions=self._revisions)

    def _queries(
        self, block: Block, name: str, at: Input, ctx: Context, *, exact: bool
    ) -> Iterator[Query]:
        stream = read_parts(at.folder, at.manifest.parts, range(NUM_BUCKETS))
        if not exact:
            yield from stream
            return
        before = []
        for planned in block.steps:
            if planned.name == name:
                break
            before.append(station(planned, ctx))
        yield from through(before, stream, _forget)


def _as_data(model: ModelPlan) -> dict[str, Any]:
    return {
        "requests": model.requests,
        "in_store": model.stored,
        "to_send": model.to_send,
        "prompt_tokens": model.prompt_tokens,
        "completion_tokens_max": model.most_completion_tokens,
        "usd": model.usd_most,
        "usd_expected": model.usd_expected,
    }


def _crosses(block: Block, planned: PlannedStep) -> bool:
    """True where a step is behind a point that all queries must pass first: not counted exactly."""
    before = block.steps[: block.steps.index(planned)]
    return any(isinstance(p.step, Global | Unite) for p in before)


def _forget(_query: Query) -> None:
    """A dry run keeps no rejects."""
