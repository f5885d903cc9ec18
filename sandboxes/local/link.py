"""A running launcher: how it is started, told to run a program, and ended."""

from __future__ import annotations

import errno
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

_PROGRAM = Path(__file__).with_name("inside")
_START_S = 30.0
_END_S = 5.0
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/box",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # -I would ignore it, so the flags are given one by one
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "LD_BIND_NOW": "1",  # else every fork looks the same symbols up again
    "MALLOC_ARENA_MAX": "1",  # an arena per thread would take 64 MiB of the address space each
}
_SHOWN = ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache")


@dataclass(frozen=True, slots=True)
class Refused(Exception):
    """A level that can't be had here."""

    level: str
    number: int
    text: str

    def __str__(self) -> str:
        if not self.number:
            return f"{self.level}: {self.text}"
        name = errno.errorcode.get(self.number, str(self.number))
        return f"{self.level}: {name} ({self.text})"


class Link:
    """A launcher that reached a level.

    Args:
        level: namespaces or landlock.
        python: the interpreter that programs run under.
        folders: where numpy lies, see `numpy_folders`.
        numpy: import numpy once, for programs that want it; it makes every fork larger.
    """

    def __init__(self, level: str, python: str, folders: list[str], *, numpy: bool) -> None:
        self._level = level
        self._folder = _work_folder() if level == "landlock" else ""
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        in_main = threading.current_thread() is threading.main_thread()
        settings = {
            "level": level,
            "shown": [*shown(python), *folders],
            "work": self._folder,
            "site": str(Path(folders[0]).parent) if folders else "",
            "preload": numpy and bool(folders),
            # The kernel's rule is about the thread that starts a child, not about its process.
            # Under Landlock alone the launcher has a folder to remove, and sees our end itself.
            "watched": in_main and level == "namespaces",
        }
        with theirs:
            self._process = subprocess.Popen(
                [python, "-s", "-S", "-P", "-B", "-X", "utf8", str(_PROGRAM),
                 str(theirs.fileno()), json.dumps(settings)],
                env=_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd="/",
            )  # fmt: skip

    def wait(self) -> None:
        """Wait until it serves; blocks.

        Raises:
            Refused: the kernel said no, with its errno.
        """
        self._control.settimeout(_START_S)
        try:
            message = self._control.recv(65536)
        except (TimeoutError, ConnectionError) as error:
            raise Refused(self._level, errno.ETIMEDOUT, f"no answer: {error}") from error
        self._control.settimeout(None)
        if not message:
            raise Refused(self._level, errno.ECHILD, "the launcher ended without a word")
        answer = json.loads(message)
        if "error" in answer:
            raise Refused(self._level, answer["errno"] or 0, answer["error"])
        if self._level == "landlock" and not answer["landlock"]:
            raise Refused(self._level, errno.ENOSYS, "the kernel has no Landlock")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def open_cell(self) -> socket.socket:
        """Have a cell made; returns its channel, at whose end it ends.

        Raises:
            OSError: the launcher is gone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [b"c"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        ours.settimeout(0)
        return ours

    def close(self) -> None:
        """End the launcher and with it all programs; blocks until it is gone."""
        self._control.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _work_folder() -> str:
    """A folder for programs; the launcher of root gives it to the user that programs are.

    That user must be able to reach it, and root's ``TMPDIR`` may be closed to others.
    """
    place = tempfile.gettempdir()
    if os.geteuid() == 0:
        places = [place, "/tmp", "/var/tmp"]
        place = next((path for path in places if _open_to_others(path)), place)
    return tempfile.mkdtemp(prefix="vtdata-sandbox-", dir=place)


def _open_to_others(place: str) -> bool:
    path = Path(place).resolve()
    return path.is_dir() and all(up.stat().st_mode & 0o001 for up in (path, *path.parents))


def interpreter() -> str:
    """The Python that programs run under: the one below our virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def shown(python: str) -> list[str]:
    """What of this machine programs can read: libraries, the interpreter, numpy if it is there."""
    prefix = sys.base_prefix if python == interpreter() else str(Path(python).parents[1])
    return [path for path in (*_SHOWN, prefix) if Path(path).exists()]


@functools.cache
def numpy_folders(python: str) -> list[str]:
    """Where numpy lies, with the libraries beside it; empty where this Python can't import it.

    Empty, too, where it lies below ``/tmp``, which inside is each program's own folder.
    """
    asker = sys.executable if python == interpreter() else python
    asks = "import importlib.util as u; found = u.find_spec('numpy'); print(found.origin or '')"
    said = subprocess.run([asker, "-I", "-c", asks], capture_output=True, text=True, check=False)
    if said.returncode != 0 or not said.stdout.strip():
        return []
    package = Path(said.stdout.strip()).parent
    if package.is_relative_to("/tmp"):
        return []
    libraries = package.with_name("numpy.libs")
    return [str(path) for path in (package, libraries) if path.is_dir()]
