"""The place where programs run: a root of its own, built once, and one cell in it per program."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass

import kernel

_FIRST_USER = 0x7000_0000
"""Where we are root programs are this user plus the launcher's process id, so that no two sandboxes
share what the kernel counts per user. Above all that systemd gives out, and free in its plan."""
NOBODY = 64123
"""Who programs are where that is not mapped; ours: a number that is unlikely to be anyone's."""
WORK = "/box"
_STAGE = "/tmp"
_DEVICES = ("null", "zero", "urandom", "random")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
_INODES = 2048
_READ, _WRITE = 4 | 8, 2
_EVERYTHING = 0xFFFF & ~(1 | 1 << 6 | 1 << 11 | 1 << 15)
"""All that Landlock knows but running files and making devices."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the host asked for."""

    level: str
    """namespaces or landlock."""
    shown: list[str]
    """Folders and files that programs can read."""
    work: str
    """Where programs get their folders; unused with namespaces."""
    site: str
    """The folder that numpy is imported from; empty without it."""
    preload: bool
    """Import numpy before anything is forked."""


def user_to_become() -> int | None:
    """The user for programs where we are root; in a user namespace of one user there is none."""
    if os.geteuid() != 0:
        return None
    with open("/proc/self/uid_map") as file:
        spans = [[int(word) for word in line.split()] for line in file]
    for user in (_FIRST_USER + os.getpid(), NOBODY):
        if any(first <= user < first + count for first, _, count in spans):
            return user
    return None


def drop_root(work: str = "") -> None:
    """Become a user of no rights, where we are root: the kernel holds no limits against uid 0.

    Args:
        work: a folder that goes to that user.
    """
    user = user_to_become()
    if user is not None:
        if work:
            os.chown(work, user, user)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    kernel.set_dumpable(1)  # else the maps of the new namespace are root's


def open_to_all(plan: Plan) -> None:
    """Refuse to go on where programs can't reach what they need, as the user they are.

    Raises:
        OSError: EACCES, with the folder.
    """
    for path in plan.shown:
        if not os.access(path, os.R_OK):
            raise OSError(errno.EACCES, f"uid {os.geteuid()} can't read {path}")
    if not os.access(plan.work, os.R_OK | os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, f"uid {os.geteuid()} can't work in {plan.work}: set TMPDIR")


def tasks_of_others() -> int:
    """How many threads the kernel counts against our user that are no doing of a program of ours.

    In a user namespace of our own there are none. Without one a normal user's limit on threads
    counts his desktop and his other sandboxes.
    """
    user, found = f"\nUid:\t{os.getuid()}\t", 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{name}/status", errors="replace") as file:
            status = file.read()
            if user in status:
                found += int(status.partition("\nThreads:\t")[2].partition("\n")[0])
    return found


def separate(plan: Plan) -> None:
    """Enter new namespaces with a new root staged; the next fork is the first of its processes.

    As root the root is staged before the uid is dropped: an interpreter may lie in root's home.
    """
    spaces = kernel.NEWUSER | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWPID
    as_root = user_to_become() is not None
    if as_root:
        kernel.unshare(kernel.NEWNS)
        _stage(plan)
        drop_root()
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(spaces | kernel.NEWNS)
    _map(user, group)
    if not as_root:
        _stage(plan)


def _map(user: int, group: int) -> None:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _stage(plan: Plan) -> None:
    kernel.mount("none", "/", None, kernel.REC | kernel.PRIVATE)
    handles = {path: os.open(path, os.O_PATH) for path in _real(plan.shown)}
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in _DEVICES}
    old_mask = os.umask(0o022)
    kernel.mount("tmpfs", _STAGE, "tmpfs", kernel.NOSUID | kernel.NODEV, "mode=755,size=1m")
    for path, handle in handles.items():
        target = _STAGE + path
        if stat.S_ISDIR(os.stat(f"/proc/self/fd/{handle}").st_mode):
            os.makedirs(target, exist_ok=True)
        else:
            _touch(target)
        _bind(handle, target)
        kernel.lock_mounts(target, kernel.RDONLY | kernel.NOSUID | kernel.NODEV)
    for path in plan.shown:
        if os.path.islink(path) and not os.path.lexists(_STAGE + path):
            os.makedirs(os.path.dirname(_STAGE + path), exist_ok=True)
            os.symlink(os.readlink(path), _STAGE + path)
    for name, handle in devices.items():
        _touch(f"{_STAGE}/dev/{name}")
        _bind(handle, f"{_STAGE}/dev/{name}")
    for name, where in _LINKS.items():
        os.symlink(where, f"{_STAGE}/dev/{name}")
    for name in (WORK, "/proc"):
        os.mkdir(_STAGE + name)
    if not os.path.lexists(_STAGE + "/tmp"):  # else an interpreter or numpy lies below it
        os.symlink(WORK, _STAGE + "/tmp")
    os.umask(old_mask)


def _real(shown: list[str]) -> list[str]:
    """The folders behind the names; /lib is a link into /usr on most systems."""
    real = sorted({os.path.realpath(path) for path in shown})
    return [p for p in real if not any(p != q and p.startswith(q + "/") for q in real)]


def _touch(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def _bind(handle: int, target: str) -> None:
    kernel.mount(f"/proc/self/fd/{handle}", target, None, kernel.BIND | kernel.REC)
    os.close(handle)


def move_in() -> None:
    """Make the staged root the root. In the first process of the new namespaces.

    /proc is mounted while the old one can be seen: later the kernel would refuse.
    """
    kernel.mount(_STAGE, _STAGE, None, kernel.BIND | kernel.REC)
    kernel.lock_mounts(_STAGE, kernel.NOSUID)
    _mount_proc(_STAGE + "/proc")
    os.chdir(_STAGE)
    kernel.pivot_root_here()
    kernel.mount("none", "/", None, kernel.REMOUNT | kernel.BIND | _CLOSED)


_CLOSED = kernel.RDONLY | kernel.NOSUID | kernel.NODEV
_QUIET = kernel.NOSUID | kernel.NODEV | kernel.NOEXEC


def _mount_proc(target: str) -> None:
    """Mount the processes of this namespace, without the rest of /proc where the kernel can."""
    try:
        kernel.mount("proc", target, "proc", _QUIET, "subset=pid")
    except OSError:
        kernel.mount("proc", target, "proc", _QUIET)


class Cell:
    """Where one program after the other works, each in an empty folder.

    Args:
        plan: the level and the folders.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._size = 0
        self._ruleset: int | None = None
        self._untouched: tuple[int, ...] = ()
        self.others = tasks_of_others() if plan.level != "namespaces" else 0
        """Threads that count against the limit of a run."""
        self._folder = WORK
        if plan.level == "namespaces":
            _mount_proc("/proc")
        else:
            self._folder = f"{plan.work}/{os.getpid()}"
            os.mkdir(self._folder, 0o700)

    def furnish(self, disk_mib: int) -> None:
        """Have an empty folder of this size; held with namespaces only."""
        if disk_mib != self._size:
            self._renew(disk_mib)

    def clean(self) -> None:
        """Have an empty folder, if the last run touched its own."""
        if _look(".") != self._untouched:
            self._renew(self._size)

    def _renew(self, disk_mib: int) -> None:
        if self._ruleset is not None:
            os.close(self._ruleset)
            self._ruleset = None
        if self._plan.level != "namespaces":
            empty(self._folder)
        else:
            os.chdir("/")
            if self._size:
                kernel.unmount(WORK)
            limits = f"mode=700,size={disk_mib}m,nr_inodes={_INODES}"
            kernel.mount("tmpfs", WORK, "tmpfs", kernel.NOSUID | kernel.NODEV, limits)
        self._size = disk_mib
        os.chdir(self._folder)
        self._untouched = _look(".")
        if kernel.landlock_version():
            self._ruleset = kernel.landlock_ruleset(self._rules())

    def _rules(self) -> list[tuple[str, int]]:
        work = (self._folder, _EVERYTHING)
        if self._plan.level == "namespaces":
            return [("/", _READ), ("/dev", _READ | _WRITE), work]
        devices = [(f"/dev/{name}", 4 | _WRITE) for name in _DEVICES]
        shown = [(p, _READ if os.path.isdir(p) else 4) for p in self._plan.shown]
        return [*shown, *devices, work]

    def close(self) -> None:
        """Leave no folder; with namespaces it goes with the mount."""
        if self._plan.level != "namespaces":
            empty(self._folder)
            os.rmdir(self._folder)

    def lock(self) -> None:
        """Give up what a program must not have. In its own process, before the filter."""
        if self._plan.level != "namespaces":
            kernel.die_with_parent()  # with namespaces the kernel ends all of a cell anyway
        kernel.drop_capabilities()
        if self._ruleset is not None:
            kernel.landlock_enforce(self._ruleset)


def _look(folder: str) -> tuple[int, ...]:
    """What changes when anything is made in a folder; its time alone may lag by a tick."""
    seen = os.stat(folder)
    return (seen.st_mode, seen.st_size, seen.st_nlink, seen.st_ctime_ns, _entries(folder))


def _entries(folder: str) -> int:
    try:
        return len(os.listdir(folder))
    except PermissionError:
        return -1  # closed by the program


def empty(folder: str) -> None:
    """Remove what is in a folder that a hostile program filled; never follows a link."""
    with contextlib.suppress(OSError):
        os.chmod(folder, 0o700)
    stack = [folder]
    while stack:
        here = stack[-1]
        inner = []
        for entry in os.scandir(here):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)
                inner.append(entry.path)
            else:
                os.unlink(entry.path)
        if inner:
            stack += inner
        else:
            stack.pop()
            if here != folder:
                os.rmdir(here)
