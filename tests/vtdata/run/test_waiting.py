from __future__ import annotations

import asyncio
from pathlib import Path

import yaml

from tests.runs import full_recipe
from vtdata import api
from vtdata.records import Query
from vtdata.steps import Async, Context, step

HERE = "tests.vtdata.run.test_waiting"
most = 0


@step
class Wait(Async):
    """Waits for nothing in particular, as a remote sandbox would make it wait."""

    async def process(self, query: Query, ctx: Context) -> list[Query]:
        global most
        del ctx
        waiting.add(query.id)
        most = max(most, len(waiting))
        await asyncio.sleep(0.02)
        waiting.discard(query.id)
        return [query]


waiting: set[str] = set()


def test_an_async_step_needs_no_model(tmp_path: Path) -> None:
    recipe = full_recipe(tmp_path, 100, until="queries")
    data = yaml.safe_load(recipe.read_text())
    data["stages"][1]["queries"].append({"use": f"{HERE}:Wait"})
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))
    result = api.run(recipe, out=tmp_path / "run", workers=1)
    assert result.outcomes[-1].manifest.rows == 100
    assert 8 <= most <= 4 * 32 + 2, "many wait at once, bounded by the window"
    assert api.status(tmp_path / "run")["blocks"][1]["queries"] == 100
