"""The store's first engine: one SQLite database per range, in WAL mode.

A commit is an append to the log and no fsync, so SIGKILL loses nothing that was committed; the log
is brought to the disk once a second. Locking is exclusive, which needs no shared memory file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from vtdata.errors import RunError
from vtdata.llm.row import Row, broken

SUFFIX = ".sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, final INTEGER NOT NULL, size INTEGER NOT NULL,
    checksum INTEGER NOT NULL, value BLOB NOT NULL)
"""
_KEEP_FINAL = """
ON CONFLICT (key) DO UPDATE SET final = excluded.final, size = excluded.size,
    checksum = excluded.checksum, value = excluded.value WHERE answers.final = 0
"""
_CHUNK = 64
"""Rows per statement: each statement lets go of the interpreter once (ours)."""


class Database:
    """One range as a SQLite database."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._wal = path.with_name(path.name + "-wal")
        with self._explained():
            self._db = self._connect(read_only=read_only)
            try:
                (self._prepare_to_read if read_only else self._prepare_to_write)()
            except sqlite3.Error:
                self._db.close()
                raise

    def put(self, rows: list[Row]) -> None:
        with self._explained(), self._transaction():
            for chunk in _chunks(rows):
                values = ",".join(["(?,?,?,?,?)"] * len(chunk))
                self._db.execute(
                    f"INSERT INTO answers VALUES {values}{_KEEP_FINAL}",
                    [x for r in chunk for x in (r.key, r.final, r.size, r.check, r.value)],
                )

    def get(self, keys: list[bytes]) -> list[Row]:
        rows = []
        with self._explained():
            for i in range(0, len(keys), _CHUNK):
                chunk = keys[i : i + _CHUNK]
                marks = ",".join("?" * len(chunk))
                rows += self._rows(f"WHERE key IN ({marks})", chunk)
        return rows

    def sync(self) -> None:
        if self._wal.exists():
            fd = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def count(self) -> int:
        with self._explained():
            return self._db.execute("SELECT count(*) FROM answers WHERE final").fetchone()[0]

    def some(self, limit: int) -> list[Row]:
        with self._explained():
            return self._rows("WHERE final LIMIT ?", [limit])

    def close(self) -> None:
        with self._explained():
            self._db.close()

    def _rows(self, where: str, values: list[bytes] | list[int]) -> list[Row]:
        found = self._db.execute(
            f"SELECT key, final, size, checksum, value FROM answers {where}", values
        ).fetchall()
        return [Row(k, bool(final), size, check, value) for k, final, size, check, value in found]

    def _connect(self, *, read_only: bool) -> sqlite3.Connection:
        place = str(self.path)
        if read_only:
            # A log belongs to a writer, alive or dead; without one the file is at rest.
            mode = "mode=ro" if self._wal.exists() else "mode=ro&immutable=1"
            place = f"file:{quote(str(self.path.absolute()))}?{mode}"
        return sqlite3.connect(
            place, uri=read_only, timeout=1, isolation_level=None, check_same_thread=False
        )

    def _prepare_to_write(self) -> None:
        db = self._db
        db.execute("PRAGMA locking_mode = EXCLUSIVE")  # before WAL: then no -shm file is made
        mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise sqlite3.OperationalError(f"journal_mode is {mode!r}, not 'wal'")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA cache_size = -1024")
        db.execute("PRAGMA wal_autocheckpoint = 4000")
        db.execute("PRAGMA journal_size_limit = 33554432")
        db.execute(_SCHEMA)

    def _prepare_to_read(self) -> None:
        self._db.execute("PRAGMA cache_size = -1024")
        if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'answers'").fetchone():
            self._db.close()  # its writer was killed before it came to the table
            self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._db.execute(_SCHEMA)

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Say what SQLite found in words that name the file and the way out."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise RunError(
                f"store file {self.path}: {error}; free space or mend the disk and run again, "
                "nothing that was committed is lost"
            ) from error
        except sqlite3.DatabaseError as error:
            raise broken(self.path, str(error)) from error


def _chunks(rows: list[Row]) -> Iterator[list[Row]]:
    for i in range(0, len(rows), _CHUNK):
        yield rows[i : i + _CHUNK]
