"""A full disk and a small limit of open files: a sentence, and a run that goes on afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_server import Handle
from tests.runs import PROGRAM, cli, environment, full_recipe, run_here, sent, shard_bytes

FULL_DISK = (
    "vtdata: No space left on device: free some space and run again: what is finished is kept"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB, which the test may enlarge."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("a small file system can't be mounted here: that needs root on Linux")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def enlarge(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


def test_a_full_disk_is_a_sentence_and_the_run_goes_on_with_room(
    tmp_path: Path, original: Path, small_disk: Path, fake: Handle
) -> None:
    recipe = full_recipe(tmp_path)
    for size in ("8k", "64k", "300k"):
        enlarge(small_disk, size)
        done = cli(
            "run", recipe, "--out", small_disk / "run", "--workers", 1, cwd=tmp_path, fake=fake
        )
        assert done.returncode == 1
        last = done.stderr.strip().splitlines()[-1]
        full = f"vtdata: store file {small_disk}/run/store/"
        assert last == FULL_DISK or (last.startswith(full) and "database or disk is full; " in last)
    enlarge(small_disk, "64m")
    run_here(recipe, out=small_disk / "run")
    assert shard_bytes(small_disk / "run") == shard_bytes(original / "run")
    assert sent(fake) - fake.counters()["repeated"] == 60


@pytest.mark.parametrize("size", ["40k", "140k", "240k"])
def test_a_disk_that_fills_up_in_mid_run(
    tmp_path: Path, original: Path, small_disk: Path, fake: Handle, size: str
) -> None:
    """The store is elsewhere, so that parts, spills and manifests are what finds no room."""
    recipe = full_recipe(tmp_path)
    enlarge(small_disk, size)
    options = ("--out", small_disk / "run", "--store", tmp_path / "store", "--workers", 1)
    done = cli("run", recipe, *options, cwd=tmp_path, fake=fake)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == FULL_DISK
    enlarge(small_disk, "64m")
    run_here(recipe, out=small_disk / "run", store=tmp_path / "store")
    assert shard_bytes(small_disk / "run") == shard_bytes(original / "run")
    assert fake.counters()["repeated"] == 0


@pytest.mark.parametrize("limit", [24, 64, 100])
def test_too_few_open_files_are_a_sentence(
    tmp_path: Path, original: Path, fake: Handle, limit: int
) -> None:
    recipe = full_recipe(tmp_path)
    done = subprocess.run(
        ["sh", "-c", f'ulimit -n {limit}; exec "$0" "$@"', PROGRAM, "run", recipe, "--out", "run", "--workers", "1"],
        cwd=tmp_path,
        env=environment(fake),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(("vtdata: Too many open files (", "vtdata: store file "))
    assert last.endswith(
        (
            "): raise the limit of open files (ulimit -n) or lower the concurrency",
            ": unable to open database file; free space or mend the disk and run again, nothing "
            "that was committed is lost",
        )
    )
    run_here(recipe)
    assert shard_bytes(tmp_path / "run") == shard_bytes(original / "run")
    assert fake.counters()["repeated"] <= 8, "what was in flight"
