"""Removing what a run no longer needs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from vtdata.errors import ConfigError
from vtdata.lease import Lease
from vtdata.llm import open_store, remove_store
from vtdata.recipe.plan import Plan
from vtdata.run.folder import clear
from vtdata.run.look import run_plan, run_status
from vtdata.seeds import NUM_RANGES

SAMPLE = 4_000
"""Answers that are looked into to tell what a store holds; the count is exact (ours)."""


def clean_run(run: Path, *, dry_run: bool = False) -> list[Path]:
    """Remove block folders that the run's present recipe supersedes, and their logs.

    The generation store is never touched.

    Returns:
        What was, or would be, removed.

    Raises:
        ConfigError: this is no run folder.
        RunError: the run is going on.
    """
    status = run_status(run)
    current = {block["folder"] for block in status["blocks"]}
    with Lease(run / "lease.json", what="run folder"):
        superseded = [
            path
            for path in sorted(run.iterdir())
            if path.is_dir() and path.name[:2].isdigit() and path.name not in current
        ]
        logs = [
            path
            for path in sorted((run / "logs").glob("[0-9][0-9]-*"))
            if path.name.rpartition("-")[0] not in current
        ]
        if not dry_run:
            for path in (*superseded, *logs):
                clear(path)
    return superseded


def clean_store(run: Path, *, remove: bool = False) -> dict[str, Any]:
    """Say what removing a run's generation store would cost to buy again, and remove it if asked.

    Of the folder only the store's own files are removed: it may be one that holds more.

    Args:
        run: the run's folder.
        remove: False only tells.

    Returns:
        ``store``, ``answers`` (exact), ``removed``, and per model of the store its answers and
        tokens, from a sample of at most ``SAMPLE``, and dollars by the recipe's prices.

    Raises:
        ConfigError: this is no run folder, or it has no store.
        RunError: the store is in use.
    """
    plan, note = run_plan(run)
    folder = (run / note["store"]).resolve()
    if not folder.is_dir():
        raise ConfigError(f"run {run} has no generation store at {folder}")
    with open_store(folder, range(NUM_RANGES), read_only=not remove) as store:
        count, sample = store.count(), store.some(SAMPLE)
    models = _bought(plan, count, [json.loads(payload) for payload in sample])
    if remove:
        remove_store(folder)
    return {"store": str(folder), "answers": count, "models": models, "removed": remove}


def _bought(plan: Plan, count: int, sample: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for answer in sample:
        counter = found[answer["model"], answer["revision"]]
        counter["answers"] += 1
        for name in ("prompt_tokens", "completion_tokens"):
            counter[name] += answer.get(name) or 0
    scale = count / len(sample) if sample else 0
    prices = {spec.model: spec.price for spec in plan.models.values()}
    rows = []
    for (model, revision), counter in sorted(found.items()):
        row = {name: round(value * scale) for name, value in counter.items()}
        price = prices.get(model)
        usd = None
        if price:
            tokens = (row["prompt_tokens"], row["completion_tokens"])
            usd = (tokens[0] * price.input + tokens[1] * price.output) / 1e6
        rows.append({"model": model, "revision": revision, **row, "usd": usd})
    return rows
