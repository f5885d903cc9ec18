"""SIGKILL at any moment: nothing is lost, doubled, bought twice or readable too early."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fake_server import Handle, start_fake
from tests.runs import (
    cli,
    full_recipe,
    kill_group,
    run_here,
    sent,
    shard_bytes,
    stage_rows,
    start_cli,
    wait_until,
)
from vtdata.run.folder import MANIFEST

NUM_QUERIES, CALLS, CONCURRENCY = 60, 360, 8


class Reader:
    """Reads every manifest over and over, and notes what one lists that isn't there whole."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.wrong: list[str] = []
        self.num_read = 0
        self._known: set[str] = set()
        self._ended = threading.Event()

    def watch(self) -> None:
        while not self._ended.wait(0.002):
            for path in self.run.glob(f"0*/{MANIFEST}"):
                self.look(path)

    def look(self, path: Path) -> None:
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return
        self.num_read += 1
        for kind, folder in (("parts", path.parent), ("rejects", path.parent / "rejects")):
            for part in json.loads(raw)[kind]:
                wrong = self._check(folder / part["file"], part)
                # Gone with its marker is fine: the block is being made anew.
                if wrong and path.exists() and path.read_bytes() == raw:
                    self.wrong.append(wrong)

    def _check(self, path: Path, part: dict) -> str | None:
        try:
            if path.stat().st_size != part["bytes"]:
                return f"{path} has {path.stat().st_size} bytes, not {part['bytes']}"
            if part["sha256"] not in self._known:
                if hashlib.sha256(path.read_bytes()).hexdigest() != part["sha256"]:
                    return f"{path} has another content than listed"
                self._known.add(part["sha256"])
        except FileNotFoundError:
            return f"{path} is listed and not there"
        return None

    def stop(self) -> None:
        self._ended.set()


@contextmanager
def reading(run: Path) -> Iterator[Reader]:
    reader = Reader(run)
    thread = threading.Thread(target=reader.watch, daemon=True)
    thread.start()
    try:
        yield reader
    finally:
        reader.stop()
        thread.join()


@pytest.fixture(scope="module")
def slow_fake() -> Iterator[Handle]:
    with start_fake(answer="sum", latency_s=0.03, own_process=True) as fake:
        yield fake


@pytest.fixture(scope="module")
def whole(slow_fake: Handle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run without a kill."""
    recipe = full_recipe(tmp_path_factory.mktemp("whole"), NUM_QUERIES)
    done = cli("run", recipe, "--out", "run", "--workers", 1, cwd=recipe.parent, fake=slow_fake)
    assert done.returncode == 0
    return recipe.parent / "run"


def start(recipe: Path, fake: Handle, workers: int, tasks: int) -> subprocess.Popen[str]:
    return start_cli(
        "run", recipe, "--out", "run", "--workers", workers, "--tasks", tasks,
        cwd=recipe.parent, fake=fake,
    )  # fmt: skip


def finish(recipe: Path, fake: Handle, workers: int, tasks: int) -> None:
    process = start(recipe, fake, workers, tasks)
    _, told = process.communicate(timeout=150)
    assert process.returncode == 0, told


def same(run: Path, whole: Path) -> None:
    assert shard_bytes(run) == shard_bytes(whole)
    assert stage_rows(run) == stage_rows(whole)
    assert not list(run.glob("0*/.work")), "a finished block keeps no work files"
    assert not list(run.glob("0*/**/*.tmp"))


def grown_log(run: Path) -> bool:
    """A store's log has just grown: the next commit is under way."""
    sizes = {p: p.stat().st_size for p in run.glob("store/*-wal")}
    time.sleep(0.002)
    return any(p.stat().st_size != size for p, size in sizes.items() if p.exists())


def lacks(run: Path, block: str, pattern: str) -> bool:
    """Something of a block is there, and its manifest isn't."""
    return any(
        any(folder.glob(pattern)) and not (folder / MANIFEST).exists()
        for folder in run.glob(f"0*-{block}-*")
    )


MOMENTS: dict[str, Callable[[Path], bool]] = {  # in the order in which a run comes to them
    "inside a store commit": lambda run: any(run.glob("03-*")) and grown_log(run),
    "between rename and manifest": lambda run: lacks(run, "rollouts", "part-*.parquet"),
    "rename to manifest of a filter": lambda run: lacks(run, "scores", "part-*.parquet"),
    "inside a global step": lambda run: lacks(run, "selections", ".work/segment-0/observed-*"),
    "after a global decision": lambda run: lacks(run, "selections", "decisions/*"),
    "while shards are spilled": lambda run: lacks(run, "shards", ".work/segment-0/spill-*"),
    "while shards are cut": lambda run: lacks(run, "shards", "sft.stage1"),
}


def killed_at(
    recipe: Path, fake: Handle, moment: Callable[[Path], bool], workers: int, tasks: int
) -> bool:
    """Start the run and kill its group as soon as ``moment`` holds; False where it never did."""
    process = start(recipe, fake, workers, tasks)
    met = False
    while process.poll() is None and not met:
        try:
            met = moment(recipe.parent / "run")
        except FileNotFoundError:  # a file that was listed and then renamed
            continue
        time.sleep(0.0005)
    kill_group(process)
    return met and process.returncode == -signal.SIGKILL


def kill_twice(
    tmp_path: Path, fake: Handle, whole: Path, moments: list[str], workers: int, tasks: int
) -> None:
    recipe = full_recipe(tmp_path, NUM_QUERIES)
    fake.reset()
    num_killed = 0
    with reading(tmp_path / "run") as reader:
        for name in moments:
            for _ in range(2):
                num_killed += killed_at(recipe, fake, MOMENTS[name], workers, tasks)
        finish(recipe, fake, workers, tasks)
    assert num_killed == 2 * len(moments)
    assert reader.num_read > 0
    assert reader.wrong == []
    assert sent(fake) - fake.counters()["repeated"] == CALLS
    assert fake.counters()["repeated"] <= CONCURRENCY * num_killed
    same(tmp_path / "run", whole)


def test_killed_where_a_block_is_half_done(tmp_path: Path, slow_fake: Handle, whole: Path) -> None:
    kill_twice(tmp_path, slow_fake, whole, ["between rename and manifest"], 1, 3)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_every_watched_moment(
    tmp_path: Path, slow_fake: Handle, whole: Path, workers: int
) -> None:
    kill_twice(tmp_path, slow_fake, whole, list(MOMENTS), workers, 3)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_twenty_random_moments(tmp_path: Path, slow_fake: Handle, whole: Path) -> None:
    recipe = full_recipe(tmp_path, NUM_QUERIES)
    run = tmp_path / "run"
    dice = random.Random(20)
    num_killed = num_finished = num_since = 0
    slow_fake.reset()
    with reading(run) as reader:
        while num_killed < 20:
            process = start(recipe, slow_fake, 1 + num_killed % 2, 3)
            # Counted from the first sign of life, so that no kill is wasted on imports.
            wait_until(
                lambda: (run / "lease.json").exists() and (run / "lease.json").stat().st_size
            )
            try:
                process.wait(timeout=dice.uniform(0.0, 6.0))
            except subprocess.TimeoutExpired:
                num_killed += 1
            kill_group(process)
            # A kill adds at most what was in flight to what has to be sent again; when that is
            # sent is up to the runs that follow, which may be killed before they get there.
            num_since += process.returncode != 0
            assert slow_fake.counters().get("repeated", 0) <= CONCURRENCY * num_since
            if process.returncode == 0:
                num_finished += 1
                same(run, whole)
                shutil.rmtree(run)
                slow_fake.reset()
                num_since = 0
        finish(recipe, slow_fake, 2, 3)
    assert reader.wrong == []
    assert sent(slow_fake) - slow_fake.counters()["repeated"] == CALLS
    same(run, whole)


def test_a_marker_without_its_parts_is_not_trusted(finished: Path) -> None:
    """Another number of tasks, or another input, makes what was begun worthless."""
    run = finished.parent / "run"
    before = shard_bytes(run)
    for path in run.glob("0[3-8]-*"):
        shutil.rmtree(path)
    folder = next(run.glob("02-*"))
    (folder / MANIFEST).unlink()
    work = folder / ".work" / "segment-0"
    work.mkdir(parents=True)
    (work / "plan.json").write_text(json.dumps({"world": 3, "parts": []}))
    (work / "rank-00000-of-00003.json").write_text("{}")
    (folder / "part-00002-00000.parquet").write_bytes(b"left by another plan")
    said: list[str] = []
    from vtdata.run.session import Hooks

    run_here(finished, hooks=Hooks(say=said.append))
    assert "segment 0 was begun with other tasks or input: done again" in said
    assert not (folder / "part-00002-00000.parquet").exists()
    assert shard_bytes(run) == before
    assert (folder / MANIFEST).exists()
