"""Cutting the training sets of a shards block, once every rank has left its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vtdata.recipe.fingerprint import model_identity
from vtdata.recipe.plan import Block, Plan
from vtdata.run.books import Books
from vtdata.run.decontaminated import benchmarks_of
from vtdata.run.folder import Manifest, clear, load_manifest
from vtdata.shards.card import write_card
from vtdata.shards.cut import cut
from vtdata.shards.manifest import write_manifest
from vtdata.steps import Cut

if TYPE_CHECKING:
    from vtdata.run.engine import Engine


def cut_sets(
    engine: Engine, block: Block, folder: Path, work: Path, manifest: Manifest
) -> list[str]:
    """Write every set of the block with its manifest, and the dataset card.

    Returns:
        The names of the sets' folders.
    """
    plan = engine.plan
    steps = [entry for other in plan.blocks for entry in _steps(engine, other, block, manifest)]
    spent = engine.ledger.total().usd if any(m.price for m in plan.models.values()) else None
    benchmarks = benchmarks_of(engine, block, manifest)
    names = []
    for planned in block.cuts:
        step = planned.step
        assert isinstance(step, Cut)
        home = folder / step.folder
        clear(home)
        home.mkdir(parents=True)
        spills = sorted(work.glob(f"spill-*-{planned.name}.bin"))
        files = cut(spills, home, step.schema, seed=plan.recipe.seed)
        write_manifest(
            home,
            files,
            step.schema,
            name=step.folder,
            recipe=plan.recipe.name,
            fingerprint=engine.prints[block.name],
            seed=plan.recipe.seed,
            steps=steps,
            models=_identities(plan, engine),
            cost_usd=spent,
            benchmarks=benchmarks,
        )
        names.append(step.folder)
    write_card(folder, names, description=plan.recipe.description)
    return names


def _steps(engine: Engine, other: Block, block: Block, manifest: Manifest) -> list[dict[str, Any]]:
    found = manifest if other is block else load_manifest(engine.folder(other))
    if found is None:
        return []
    entries = []
    for entry in found.steps:
        books = Books.load(entry["books"])
        entries.append(
            {
                "block": other.name,
                "step": entry["name"],
                "entered": books.entered,
                "created": books.created,
                "kept": books.kept,
                "rejected": dict(books.rejected),
                "rollouts_entered": books.rollouts_entered,
                "rollouts_created": books.rollouts_created,
                "rollouts_kept": books.rollouts_kept,
                "rollouts_dropped": dict(books.rollouts_dropped),
                "rollouts_rejected": books.rollouts_rejected,
            }
        )
    return entries


def _identities(plan: Plan, engine: Engine) -> dict[str, Any]:
    asked = {name for block in plan.blocks for p in block.steps for name in p.step.model_names()}
    return {
        name: model_identity(plan.models[name], engine.revisions.get(name))
        for name in sorted(asked)
    }
