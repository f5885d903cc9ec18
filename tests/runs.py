"""Small recipes on disk, and runs of them: in this process, or in one of their own.

``full_recipe`` goes through all six stages with two rollout sets, a vote, a global step and both
kinds of shards, so that a test of runs needs no other.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from tests.fake_server import Handle
from vtdata import api
from vtdata.run.folder import MANIFEST, Manifest, load_manifest
from vtdata.run.session import Result

ROOT = Path(__file__).parents[1]
PROGRAM = str(Path(sys.executable).parent / "vtdata")
URL = "VTDATA_TEST_URL"
"""The environment variable that recipes here read their server's url from."""

MODEL = {"model": "fake", "revision": "r1", "url": "${env:VTDATA_TEST_URL}", "max_tokens": 64}
FULL: dict[str, Any] = {
    "name": "full",
    "seed": 3,
    "models": {
        "teacher": {**MODEL, "concurrency": 8},
        "reference": {**MODEL, "revision": "r2", "top_p": 0.9, "concurrency": 8},
    },
    "stages": [
        {
            "corpora": [
                {
                    "jsonl": {
                        "path": "sums.jsonl",
                        "license": "Apache-2.0",
                        "verifier": "math",
                        "columns": {"question": "question", "answer": "answer"},
                    }
                }
            ]
        },
        {"queries": [{"length": {"min_chars": 3}}]},
        {"rollouts": [{"sample": {"by": "teacher", "n": 4}}]},
        {"scores": ["verify", {"vote": {}}]},
        {"rollouts.reference": [{"sample": {"by": "reference", "n": 2}}]},
        {"scores.reference": [{"verify": {"of": "reference"}}]},
        {
            "selections": [
                {"verified": {"of": "teacher", "into": "sft.stage1"}},
                {"pass_rate": {"of": "reference", "truncated": "wrong", "into": "rl"}},
                {"cap": {"into": "rl", "per": "domain", "max": 1000}},
            ]
        },
        {
            "shards": [
                {"sft": {"set": "sft.stage1", "of": "teacher"}},
                {"rl": {"set": "rl", "rate_of": "reference"}},
            ]
        },
    ],
}


def sum_row(number: int, note: str = "") -> dict[str, str]:
    a, b = number * 7 % 97 + 3, number * 13 % 89 + 4
    question = f"What is {a} + {b}? (case {number}){note}"
    return {"question": question, "answer": str(a + b)}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def full_recipe(folder: Path, num_queries: int = 10, until: str | None = None) -> Path:
    """Write the recipe and its questions; ``until`` names its last block."""
    write_rows(folder / "sums.jsonl", [sum_row(n) for n in range(num_queries)])
    recipe = copy.deepcopy(FULL)
    if until:
        names = [next(iter(block)) for block in recipe["stages"]]
        recipe["stages"] = recipe["stages"][: names.index(until) + 1]
    return write_recipe(folder / "full.yaml", recipe)


def write_recipe(path: Path, recipe: Mapping[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(dict(recipe), sort_keys=False))
    return path


def run_here(recipe: Path, **options: Any) -> Result:
    """Run in this process, in the folder ``run`` beside the recipe."""
    return api.run(recipe, **{"out": recipe.parent / "run", "workers": 1, **options})


def environment(fake: Handle | None = None, **more: str) -> dict[str, str]:
    known = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    return {**known, URL: fake.url} if fake else known


def cli(
    *arguments: object, cwd: Path, fake: Handle | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Call the command line to its end."""
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        cwd=cwd,
        env=environment(fake, **more),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def start_cli(
    *arguments: object, cwd: Path, fake: Handle | None = None, **more: str
) -> subprocess.Popen[str]:
    """Start the command line in a process group of its own."""
    return subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        cwd=cwd,
        env=environment(fake, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kill_group(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    """Send a signal to the whole group, and wait for its first process."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    process.communicate(timeout=60)


def wait_until(
    condition: Callable[[], object], seconds: float = 60.0, pause_s: float = 0.01
) -> bool:
    """Wait until ``condition`` holds; False where it never did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(pause_s)
    return False


def sent(fake: Handle) -> int:
    """Calls that the server got, without those of preflights."""
    counts = fake.counters()
    return counts.get("chat", 0) - counts.get("probe", 0)


def folder_of(run: Path, block: str) -> Path:
    """The one finished folder of a block."""
    found = [
        path.parent
        for path in run.glob(f"*/{MANIFEST}")
        if path.parent.name.split("-", 1)[1].rpartition("-")[0] == block
    ]
    assert len(found) == 1, f"{block}: {found}"
    return found[0]


def manifest_of(run: Path, block: str) -> Manifest:
    manifest = load_manifest(folder_of(run, block))
    assert manifest is not None
    return manifest


def shard_bytes(run: Path) -> dict[str, str]:
    """The sha256 of every shard file."""
    folder = folder_of(run, "shards")
    files = sorted(path for path in folder.glob("*/*.parquet") if path.parent.name != "rejects")
    return {
        f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def block_rows(run: Path, block: str, kind: str = "parts") -> list[dict[str, Any]]:
    """The rows that a block's manifest lists."""
    folder = folder_of(run, block)
    inside = "rejects" if kind == "rejects" else ""
    rows = []
    for part in getattr(manifest_of(run, block), kind):
        rows += pq.read_table(folder / inside / part.file).to_pylist()
    return rows


def stage_rows(run: Path) -> dict[str, Counter[str]]:
    """Per block and kind, the multiset of its rows: what no kill may change."""
    found = {}
    for path in sorted(run.glob(f"*/{MANIFEST}")):
        block = path.parent.name.split("-", 1)[1].rpartition("-")[0]
        for kind in ("parts", "rejects"):
            rows = block_rows(run, block, kind)
            found[f"{block} {kind}"] = Counter(json.dumps(row, sort_keys=True) for row in rows)
    return found
