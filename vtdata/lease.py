"""A lease says who is using a folder or a store range, and survives the death of its holder.

Two signs are looked at, because neither is enough. ``flock`` is the kernel's word, released by any
death, but it is silent about other machines on some shared file systems. The file's content (host,
pid, the process's start time, the machine's boot) and its age tell the rest.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import weakref
from pathlib import Path
from types import TracebackType
from typing import Any

from vtdata.errors import RunError

HEARTBEAT_S = 15.0
"""How often a holder touches its leases (ours)."""
STALE_S = 60.0
"""A lease of another machine that was not touched for this long is dead (ours)."""
DYING_S = 0.5
"""How long to try again: a killed process keeps its locks for a moment (ours)."""


class Lease:
    """Hold ``path`` for this process from ``with`` to its end.

    Reads and writes the one file. It stays there afterwards, empty: to delete it would let two
    processes lock two files of one name.

    Args:
        path: the lease file; its folder must exist.
        what: what is held, in words for people.

    Raises:
        RunError: somebody alive holds it.
    """

    def __init__(self, path: Path, what: str = "run folder") -> None:
        self.path = path
        self.what = what
        self.taken_over: str | None = None
        """A sentence about the dead holder that it was taken from; None where there was none."""
        self._fd: int | None = None

    def __enter__(self) -> Lease:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._lock(fd)
            self._judge(fd)
            _write(fd, _myself())
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        _HELD.add(self)
        _start_heart()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def release(self) -> None:
        """Give it back; does nothing the second time."""
        _HELD.discard(self)
        fd, self._fd = self._fd, None
        if fd is not None:
            os.ftruncate(fd, 0)  # an empty lease is a clean end
            os.close(fd)

    def beat(self) -> None:
        """Touch the file, which says that the holder lives."""
        if (fd := self._fd) is not None:
            os.utime(fd)

    def forget(self) -> None:
        """Close it in a forked child, which must not keep the parent's lock alive."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _lock(self, fd: int) -> None:
        deadline = time.monotonic() + DYING_S
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise self._refused(_read(fd)) from None
                time.sleep(0.02)
            else:
                return

    def _judge(self, fd: int) -> None:
        """The lock is ours; what the file says may still be somebody who lives."""
        holder = _read(fd)
        if not holder:
            return
        why = _died_here(holder)
        if why is None:
            age = self._clock() - os.fstat(fd).st_mtime
            if holder.get("host") == socket.gethostname() or age <= STALE_S:
                raise self._refused(holder)
            why = f"its last sign of life is {age:.0f} s old"
        self.taken_over = (
            f"{self.what} {self.path.parent}: took over the lease of process {holder.get('pid')} "
            f"on {holder.get('host')}, held since {holder.get('since')}: {why}"
        )

    def _clock(self) -> float:
        """The time as the file system tells it, whose clock may differ from ours."""
        probe = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        probe.touch()
        try:
            return probe.stat().st_mtime
        finally:
            probe.unlink()

    def _refused(self, holder: dict[str, Any] | None) -> RunError:
        if not holder:
            return RunError(
                f"{self.what} {self.path.parent} is in use: another process holds "
                f"{self.path.name}; wait until it ends"
            )
        return RunError(
            f"{self.what} {self.path.parent} is in use by process {holder.get('pid')} on "
            f"{holder.get('host')} since {holder.get('since')}: wait until it ends, or end it "
            f"there (kill {holder.get('pid')}) and try again"
        )


def in_use(path: Path) -> dict[str, Any] | None:
    """The living holder of a lease, without taking it; None where there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        holder = _read(fd)
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder or {}
    finally:
        os.close(fd)
    return None


def _read(fd: int) -> dict[str, Any] | None:
    try:
        holder = json.loads(os.pread(fd, 4096, 0) or b"null")
    except ValueError:  # its writer died while it wrote
        return None
    return holder if isinstance(holder, dict) else None


def _write(fd: int, holder: dict[str, Any]) -> None:
    text = json.dumps(holder, sort_keys=True).encode()
    os.pwrite(fd, text, 0)
    os.ftruncate(fd, len(text))


def _myself() -> dict[str, Any]:
    pid = os.getpid()
    return {
        "host": socket.gethostname(),
        "pid": pid,
        "started": _started(pid),
        "boot": _boot(),
        "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _died_here(holder: dict[str, Any]) -> str | None:
    """Why a holder of this machine is surely dead; None if it lives or is of another machine."""
    if holder.get("host") != socket.gethostname():
        return None
    if holder.get("boot") != _boot():
        return "the machine was started again since"
    pid = holder.get("pid")
    if not isinstance(pid, int) or not _alive(pid):
        return "that process is gone"
    if holder.get("started") != _started(pid):
        return "another process has that number now"
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _state(pid) != "Z"  # a zombie holds nothing


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the third on; empty where there is no /proc (macOS)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name before it may hold spaces


def _state(pid: int) -> str | None:
    fields = _stat(pid)
    return fields[0] if fields else None


def _started(pid: int) -> str | None:
    fields = _stat(pid)
    return fields[19] if fields else None


def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


_HELD: weakref.WeakSet[Lease] = weakref.WeakSet()
_heart: threading.Thread | None = None


def _start_heart() -> None:
    global _heart
    if _heart is None or not _heart.is_alive():
        _heart = threading.Thread(target=_beat, name="lease-heartbeat", daemon=True)
        _heart.start()


def _beat() -> None:
    while True:
        time.sleep(HEARTBEAT_S)
        for lease in list(_HELD):
            try:
                lease.beat()
            except OSError:  # released meanwhile, or the disk is away: the next beat tells
                continue


def _forget_all() -> None:
    for lease in list(_HELD):
        lease.forget()
    _HELD.clear()


os.register_at_fork(after_in_child=_forget_all)
