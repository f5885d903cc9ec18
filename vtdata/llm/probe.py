"""Which engine a store folder gets: tried on the folder's own file system, then written down."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from vtdata.errors import ConfigError, RunError
from vtdata.llm.database import Database
from vtdata.llm.row import pack

NOTE = "store.json"
FORMAT = 1
ENGINES = ("sqlite", "segments")
REMOTE = frozenset(
    {"nfs", "nfs3", "nfs4", "lustre", "cifs", "smb3", "smbfs", "9p", "beegfs", "ceph", "gpfs",
     "afs", "glusterfs", "pvfs2", "orangefs", "panfs", "wekafs", "virtiofs"}
)  # fmt: skip
"""File systems that several machines share: a lock that holds here proves nothing there (ours)."""


def engine_of(folder: Path, wanted: str | None = None) -> tuple[str, str | None]:
    """Return the folder's engine and, where SQLite was tried and fails, a sentence that says so.

    Reads ``store.json``; writes it on first use, whole and by one process only.

    Args:
        folder: the store, which must exist.
        wanted: ``sqlite`` or ``segments`` to ask for one; None to find out.

    Raises:
        ConfigError: the folder has another engine than the wanted one.
        RunError: ``store.json`` can't be read.
    """
    note = read_note(folder)
    if note is None:
        why = None if wanted else why_not_sqlite(folder)
        engine = wanted or ("segments" if why else "sqlite")
        note = _write_note(folder, {"format": FORMAT, "engine": engine, "why": why})
    if wanted and note["engine"] != wanted:
        raise ConfigError(
            f"store {folder} has the engine {note['engine']}, asked for {wanted}: "
            "use another folder"
        )
    said = note.get("why")
    return note["engine"], said and f"store {folder}: append-only segments, since {said}"


def read_note(folder: Path) -> dict[str, Any] | None:
    """What ``store.json`` says; None where there is none."""
    path = folder / NOTE
    try:
        note = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise RunError(f"{path} is damaged ({error}): restore it from a copy") from error
    if not isinstance(note, dict):
        raise RunError(f"{path} is damaged (it holds {note!r}): restore it from a copy")
    if note.get("format") != FORMAT or note.get("engine") not in ENGINES:
        raise RunError(
            f"{path} asks for format {note.get('format')} and engine {note.get('engine')!r}; this "
            f"vtdata knows format {FORMAT} and {list(ENGINES)}: use the version that wrote it"
        )
    return note


def why_not_sqlite(folder: Path) -> str | None:
    """Try what the store needs of SQLite in ``folder``; return what fails, or None."""
    kind = file_system_of(folder)
    if kind in REMOTE or (kind or "").startswith("fuse."):
        return f"the file system is {kind}, where SQLite's locks do not hold between machines"
    trial = Path(tempfile.mkdtemp(prefix=".probe-", dir=folder))
    try:
        _try_sqlite(trial / "probe.sqlite")
    except (RunError, OSError) as error:
        return f"SQLite fails here ({error})"
    finally:
        shutil.rmtree(trial, ignore_errors=True)
    return None


def _try_sqlite(path: Path) -> None:
    """Commit, look at the lock from outside, then read back what was committed."""
    rows = [pack(bytes([n]) * 32, b"x" * 10_000, final=True) for n in range(8)]
    first = Database(path)
    try:
        first.put(rows)
        first.sync()
        try:
            Database(path, read_only=True).close()
        except RunError:
            pass  # locked out, as it should be
        else:
            raise RunError("a second opener was not kept out")
    finally:
        first.close()
    again = Database(path)
    try:
        if sorted(again.get([r.key for r in rows]), key=lambda r: r.key) != rows:
            raise RunError("what was committed was not there when opened again")
    finally:
        again.close()


def file_system_of(folder: Path) -> str | None:
    """The type of the file system that holds ``folder``; None where /proc doesn't tell."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return None
    here = str(folder.resolve())
    best, kind = "", None
    for line in mounts:
        left, _, right = line.partition(" - ")
        point = left.split()[4].replace("\\040", " ")
        inside = here == point or here.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split()[0]
    return kind


def _write_note(folder: Path, note: dict[str, Any]) -> dict[str, Any]:
    """Write ``store.json`` unless another process was first; return what is there."""
    new = folder / f"{NOTE}.{os.getpid()}"
    new.write_text(json.dumps(note, sort_keys=True) + "\n")
    try:
        os.link(new, folder / NOTE)  # fails where a rename would replace
    except FileExistsError:
        pass
    except OSError:  # no hard links on this file system
        new.replace(folder / NOTE)
    finally:
        new.unlink(missing_ok=True)
    return read_note(folder) or note
