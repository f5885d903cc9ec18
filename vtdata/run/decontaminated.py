"""What the queries of a block were checked against, on their whole way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from vtdata.decontam.candidate import UNFINDABLE, VERDICTS
from vtdata.recipe.plan import Block, Plan
from vtdata.run.folder import MANIFEST, Manifest, find_block, load_manifest, need_manifest

if TYPE_CHECKING:
    from vtdata.run.engine import Engine


def benchmarks_of(engine: Engine, block: Block, manifest: Manifest) -> list[dict[str, Any]]:
    """Return each benchmark of each step that decontaminated, with its hits by class.

    The blocks of the run, and those of the run that its recipe begins ``from``. No text of any
    item is among it.
    """
    own = [
        manifest if other is block else load_manifest(engine.folder(other))
        for other in engine.plan.blocks
    ]
    way = [*_before(engine.plan), *(found for found in own if found is not None)]
    return list(_entries(way))


def _entries(manifests: Iterable[Manifest]) -> Iterator[dict[str, Any]]:
    for manifest in manifests:
        for step in manifest.steps:
            resolved = step.get("resolved", {})
            if "profile" not in resolved:
                continue
            notes = step["books"]["notes"]
            for bench in resolved["benchmarks"]:
                counts = {
                    verdict: notes.get(f"{bench['name']} {verdict}", 0) for verdict in VERDICTS
                }
                yield {
                    **bench,
                    "block": manifest.block,
                    "step": step["name"],
                    "profile": resolved["profile"]["label"],
                    "drop": resolved["profile"]["drop"],
                    "unfindable": notes.get(f"{bench['name']} {UNFINDABLE}", 0),
                    "hits": {verdict: count for verdict, count in counts.items() if count},
                }


def _before(plan: Plan) -> list[Manifest]:
    """The finished blocks of another run that led to the one this recipe begins from."""
    if plan.start is None:
        return []
    run = plan.folder / plan.start.run
    last = need_manifest(find_block(run, plan.start.block))
    there = [need_manifest(path.parent) for path in sorted(run.glob(f"*/{MANIFEST}"))]
    way = [last]
    while (given := way[0].input) is not None:
        before = next((one for one in there if one.digest == given and one not in way), None)
        if before is None:
            break
        way.insert(0, before)
    return way
