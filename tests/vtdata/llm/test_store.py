"""The store, on both engines: what was committed is there, whoever is killed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from vtdata.errors import ConfigError, RunError
from vtdata.llm import Store, open_store
from vtdata.llm import probe as probe_module
from vtdata.llm import segments as segments_module
from vtdata.llm.probe import engine_of

ENGINES = ("sqlite", "segments")
ROOT = Path(__file__).parents[3]
every_engine = pytest.mark.parametrize("engine", ENGINES)


def key(n: int) -> str:
    return sha256(str(n).encode()).hexdigest()


def payload(n: int) -> bytes:
    return json.dumps({"n": n, "text": "word " * (n % 400)}).encode()


def within(folder: Path, work: Callable[[Store], Any], **options: Any) -> Any:
    """Open the store, await ``work`` and close it."""

    async def inner() -> Any:
        with open_store(folder, options.pop("ranges", range(64)), **options) as store:
            return await work(store)

    return asyncio.run(inner())


async def put_all(store: Store, numbers: range) -> None:
    await asyncio.gather(*(store.put(n % 1024, key(n), payload(n)) for n in numbers))


async def get_all(store: Store, numbers: range) -> dict[int, bytes]:
    found = await asyncio.gather(*(store.get(n % 1024, [key(n)]) for n in numbers))
    return {n: got[key(n)] for n, got in zip(numbers, found, strict=True) if got}


@every_engine
def test_what_was_put_is_there_after_closing(tmp_path: Path, engine: str) -> None:
    numbers = range(3000)
    within(tmp_path, lambda store: put_all(store, numbers), engine=engine)
    found = within(tmp_path, lambda store: get_all(store, range(3100)))
    assert found == {n: payload(n) for n in numbers}


@every_engine
def test_a_final_answer_is_never_replaced_and_a_failed_one_is(tmp_path: Path, engine: str) -> None:
    async def work(store: Store) -> None:
        await store.put(0, key(1), b"failed", final=False)
        assert await store.get(0, [key(1)]) == {}
        assert await store.get(0, [key(1)], failed=True) == {key(1): b"failed"}
        assert (store.peek(0, [key(1)]), len(store)) == (set(), 0)
        await store.put(0, key(1), b"first")
        await store.put(0, key(1), b"second")
        await store.put(0, key(1), b"failed", final=False)
        assert await store.get(0, [key(1)], failed=True) == {key(1): b"first"}
        assert (store.peek(0, [key(1)]), len(store)) == ({key(1)}, 1)

    within(tmp_path, work, engine=engine)
    assert within(tmp_path, lambda store: store.get(0, [key(1)])) == {key(1): b"first"}


@every_engine
def test_read_only_takes_no_lease_and_writes_nothing(tmp_path: Path, engine: str) -> None:
    within(tmp_path, lambda store: put_all(store, range(100)), engine=engine)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    async def work(store: Store) -> None:
        assert store.peek(7, [key(7), key(1000)]) == {key(7)}
        assert store.count() == 100
        assert len(store.some(10)) >= 10
        with pytest.raises(RunError, match="open for reading only"):
            await store.put(0, key(0), b"")

    within(tmp_path, work, read_only=True)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_a_store_that_is_not_there_is_an_empty_one_to_a_reader(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        assert store.peek(0, [key(0)]) == set()
        assert store.count() == 0

    within(tmp_path / "no", work, read_only=True)
    assert not (tmp_path / "no").exists()


@every_engine
def test_an_answer_of_many_sizes_comes_back(tmp_path: Path, engine: str) -> None:
    sizes = [0, 1, 511, 512, 513, 100_000, 3_000_000]
    texts = {size: random.Random(size).randbytes(size // 2).hex().encode() for size in sizes}

    async def work(store: Store) -> None:
        await asyncio.gather(*(store.put(0, key(n), text) for n, text in texts.items()))
        assert await store.get(0, [key(n) for n in texts]) == {key(n): t for n, t in texts.items()}

    within(tmp_path, work, engine=engine)


@every_engine
def test_a_bucket_of_somebody_else_is_refused(tmp_path: Path, engine: str) -> None:
    async def work(store: Store) -> None:
        with pytest.raises(RunError, match=r"owns range\(0, 2\): bucket 32 of range 2"):
            await store.get(32, [key(1)])

    within(tmp_path, work, engine=engine, ranges=range(2))


@every_engine
def test_few_files_are_open_at_a_time(tmp_path: Path, engine: str) -> None:
    async def work(store: Store) -> int:
        await put_all(store, range(1024))
        names = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in range(1000)]
        return sum(name.startswith(str(tmp_path)) and "lease" not in name for name in names)

    assert within(tmp_path, work, engine=engine) <= 8 * 3


CHILD = """
import asyncio, sys
from pathlib import Path
from tests.vtdata.llm.test_store import key, payload
from vtdata.llm import open_store
from vtdata.llm import segments
segments.TAIL_ROWS = 500

async def main():
    with open_store(Path(sys.argv[1]), range(64), engine=sys.argv[2]) as store:
        with open(sys.argv[3], "a", buffering=1) as done:
            async def put(n):
                await store.put(n % 1024, key(n), payload(n))
                done.write(f"{n}\\n")
            for start in range(0, 10**9, 50):
                await asyncio.gather(*(put(n) for n in range(start, start + 50)))

asyncio.run(main())
"""


@every_engine
def test_sigkill_loses_nothing_that_was_committed(tmp_path: Path, engine: str) -> None:
    dice = random.Random(1)
    done = tmp_path / "done"
    for _ in range(4):
        child = start_child(CHILD, tmp_path / "store", engine, done)
        wait_for(lambda: done.exists() and done.stat().st_size > 2000)
        time.sleep(dice.random() * 0.3)
        child.send_signal(signal.SIGKILL)
        child.wait()
        numbers = {int(line) for line in done.read_text().split("\n")[:-1]}
        everything = range(max(numbers) + 1)
        found = within(tmp_path / "store", lambda store, n=everything: get_all(store, n))
        assert numbers <= set(found)
        assert all(found[n] == payload(n) for n in found)
        done.unlink()


@every_engine
def test_a_second_opener_is_refused_and_the_next_one_takes_over(
    tmp_path: Path, engine: str
) -> None:
    done = tmp_path / "done"
    child = start_child(CHILD, tmp_path / "store", engine, done)
    wait_for(done.exists)

    async def nothing(store: Store) -> list[str]:
        return store.notes

    with pytest.raises(RunError, match=f"in use by process {child.pid} on "):
        within(tmp_path / "store", nothing, ranges=range(1))
    child.send_signal(signal.SIGKILL)
    child.wait()
    notes = within(tmp_path / "store", nothing)
    assert sum("took over the lease" in note for note in notes) == 64


@every_engine
def test_a_reader_is_told_who_writes(tmp_path: Path, engine: str) -> None:
    done = tmp_path / "done"
    child = start_child(CHILD, tmp_path / "store", engine, done)
    try:
        wait_for(lambda: done.exists() and done.stat().st_size > 2000)

        async def work(store: Store) -> None:
            with pytest.raises(RunError, match=f"in use by process {child.pid} on"):
                store.peek(0, [key(0)])

        within(tmp_path / "store", work, read_only=True)
    finally:
        child.kill()
        child.wait()


def start_child(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT)


def wait_for(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@every_engine
def test_a_damaged_file_is_named_with_a_way_out(tmp_path: Path, engine: str) -> None:
    within(tmp_path, lambda store: put_all(store, range(0, 30_000, 1024)), engine=engine)
    path = tmp_path / ("00.sqlite" if engine == "sqlite" else "00.log")
    raw = bytearray(path.read_bytes())
    at = raw.index(b'{"n": 5120')
    raw[at + 3 : at + 8] = b"XXXXX"
    path.write_bytes(raw)
    with pytest.raises(RunError, match=rf"{path.name} is damaged: .*move it away and run again"):
        within(tmp_path, lambda store: get_all(store, range(0, 30_000, 1024)))


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    within(tmp_path, lambda store: put_all(store, range(10)), engine="sqlite")
    (tmp_path / "00.sqlite").write_bytes(b"not a database at all" * 1000)
    with pytest.raises(RunError, match=r"00\.sqlite is damaged: file is not a database"):
        within(tmp_path, lambda store: store.get(0, [key(0)]))


@pytest.mark.parametrize("torn", [1, 20, 70, 75])
def test_a_torn_tail_is_cut_off_and_said(tmp_path: Path, torn: int) -> None:
    numbers = range(0, 20 * 1024, 1024)
    within(tmp_path, lambda store: put_all(store, numbers), engine="segments")
    path = tmp_path / "00.log"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:torn])

    async def work(store: Store) -> list[str]:
        assert len(await get_all(store, numbers)) == 20
        await store.put(0, key(-1), b"more")
        return store.notes

    notes = within(tmp_path, work)
    assert notes == [f"store file {path}: cut off {torn} bytes of a torn write"]
    assert within(tmp_path, lambda store: store.get(0, [key(-1)])) == {key(-1): b"more"}


def test_segments_index_their_log_and_forget_the_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_module, "TAIL_ROWS", 100)
    numbers = range(0, 1024 * 1000, 1024)

    async def work(store: Store) -> None:
        for start in range(0, 1000, 30):
            await put_all(store, numbers[start : start + 30])

    within(tmp_path, work, engine="segments")
    assert (tmp_path / "00.index").stat().st_size > 40 * 900
    assert len(within(tmp_path, lambda store: get_all(store, numbers))) == 1000
    (tmp_path / "00.index").unlink()  # the log alone is enough
    assert len(within(tmp_path, lambda store: get_all(store, numbers))) == 1000


def test_the_engine_is_probed_and_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine_of(tmp_path) == ("sqlite", None)
    with pytest.raises(ConfigError, match="has the engine sqlite, asked for segments"):
        engine_of(tmp_path, "segments")
    other = tmp_path / "nfs"
    other.mkdir()
    monkeypatch.setattr(probe_module, "file_system_of", lambda _folder: "nfs4")
    engine, said = engine_of(other)
    assert engine == "segments"
    assert said is not None
    assert "the file system is nfs4" in said
    monkeypatch.undo()
    assert engine_of(other) == (engine, said)  # it stays, and is said again
    assert sorted(path.name for path in other.iterdir()) == ["store.json"]


def test_a_folder_on_which_sqlite_fails_gets_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_path: Path, **_options: object) -> None:
        raise RunError("locking protocol")

    monkeypatch.setattr(probe_module, "Database", fails)
    engine, said = engine_of(tmp_path)
    assert engine == "segments"
    assert said == (
        f"store {tmp_path}: append-only segments, since SQLite fails here (locking protocol)"
    )


def test_a_full_disk_is_an_error_and_not_a_hang(tmp_path: Path) -> None:
    """A file size limit stands for the disk: the kernel refuses the write in the same place."""
    code = """
import asyncio, resource, signal, sys
from pathlib import Path
from tests.vtdata.llm.test_store import key
from vtdata.errors import RunError
from vtdata.llm import open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import os
async def main():
    with open_store(Path(sys.argv[1]), range(1), engine=sys.argv[2]) as store:
        await store.put(0, key(1), b"kept")
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        try:
            for n in range(2, 100):
                await store.put(0, key(n), os.urandom(20_000))
        except RunError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        await store.put(0, key(1000), b"after")
asyncio.run(main())
"""
    for engine in ENGINES:
        command = [sys.executable, "-c", code, str(tmp_path / engine), engine]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert "nothing that was committed is lost" in said.stdout
        found = within(tmp_path / engine, lambda store: store.get(0, [key(1), key(1000)]))
        assert found == {key(1): b"kept", key(1000): b"after"}
