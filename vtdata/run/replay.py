"""Rebuild a run's shards offline, and compare."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from vtdata.errors import ConfigError, RunError
from vtdata.recipe.fingerprint import sha256_of
from vtdata.run.folder import need_manifest
from vtdata.run.look import run_plan, run_status
from vtdata.run.session import Options, run_recipe
from vtdata.shards.manifest import read_manifest


def replay_run(run: Path, *, workers: int | None = None) -> dict[str, Any]:
    """Run the recipe again from the store alone, and compare the shards byte by byte.

    No server is asked: a call that is not in the store ends the replay.

    Returns:
        ``same`` (bool), and per file its two sha256.

    Raises:
        ConfigError: the run has no finished shards.
        RunError: a call is missing in the store.
    """
    plan, note = run_plan(run)
    last = run_status(run)["blocks"][-1]
    if not plan.blocks[-1].cuts or last["state"] != "finished":
        raise ConfigError(f"run {run} has no finished shards to compare with: run it to its end")
    old = shard_hashes(run / last["folder"])
    store = (run / note["store"]).resolve()
    with tempfile.TemporaryDirectory(prefix="vtdata-replay-") as folder:
        again = run_recipe(
            Options(
                recipe=run / "recipe.yaml",
                base=plan.folder,
                out=Path(folder) / "run",
                limit=note["limit"],
                workers=workers,
                store=store,
                offline=True,
            )
        )
        if again.shards is None:
            raise RunError(f"the replay of {run} made no shards")
        new = shard_hashes(again.shards)
    files = {name: {"run": old.get(name), "replay": new.get(name)} for name in sorted({*old, *new})}
    return {"run": str(run), "same": old == new, "files": files}


def shard_hashes(folder: Path) -> dict[str, str | None]:
    """Return the sha256 of every shard file of a shards block, by set and name.

    Of the file as it is now: a manifest would vouch for a file that was changed since. None for
    one that is gone.
    """
    manifest = need_manifest(folder)
    found: dict[str, str | None] = {}
    for name in manifest.sets:
        for entry in read_manifest(folder / name).files:
            path = folder / name / entry.name
            found[f"{name}/{entry.name}"] = sha256_of(path) if path.exists() else None
    return found
