"""Calls of the Linux kernel that Python has no function for.

Every function raises an OSError that names the call, and takes numbers as the kernel's headers do.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
from typing import NoReturn

MACHINE = platform.machine()
X86 = MACHINE == "x86_64"

NEWNS, NEWUTS, NEWIPC = 0x20000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
DETACH = 2

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP = 1, 4, 38, 24
_CLONE, _PIVOT_ROOT, _SECCOMP, _CAPSET = (56, 155, 317, 126) if X86 else (220, 41, 277, 91)
_LANDLOCK_CREATE, _LANDLOCK_RULE, _LANDLOCK_SELF, _MOUNT_SETATTR = 444, 445, 446, 442
_LAST_CAPABILITY = 63

_CAPABILITY_VERSION = struct.pack("=Ii", 0x20080522, 0)
_NO_CAPABILITIES = bytes(24)

_libc = ctypes.CDLL(None, use_errno=True)
_holding_gil = ctypes.PyDLL(None, use_errno=True)


def _fail(what: str) -> NoReturn:
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")


def told(error: OSError) -> dict[str, object]:
    """An error as the host is told of it."""
    where = f" '{error.filename}'" if error.filename else ""
    return {"errno": error.errno, "error": f"{error.strerror or error}{where}"}


def _syscall(what: str, number: int, *args: object) -> int:
    got = _libc.syscall(ctypes.c_long(number), *args)
    if got < 0:
        _fail(what)
    return got


def unshare(flags: int) -> None:
    """Leave the namespaces of the parent."""
    if _libc.unshare(ctypes.c_int(flags)):
        _fail(f"unshare({flags:#x})")


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount, bind or remount, as the flags say."""
    encoded = [os.fsencode(source), os.fsencode(target), kind.encode() if kind else None]
    if _libc.mount(*encoded, ctypes.c_ulong(flags), data.encode()):
        _fail(f"mount of {kind or source} on {target}")


def unmount(target: str) -> None:
    """Take a mount away at once, also where it is in use."""
    if _libc.umount2(os.fsencode(target), DETACH):
        _fail(f"umount of {target}")


def lock_mounts(target: str, flags: int) -> None:
    """Set read-only, nosuid and nodev on a mount and on all below it (Linux 5.12)."""
    attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
    recursive = 0x8000
    _syscall(
        f"mount_setattr of {target}",
        _MOUNT_SETATTR,
        -100,
        os.fsencode(target),
        recursive,
        attributes,
        32,
    )


def pivot_root_here() -> None:
    """Make the current folder the root, and let go of the old one."""
    _syscall("pivot_root", _PIVOT_ROOT, b".", b".")
    unmount(".")
    os.chdir("/")


def clone(flags: int) -> int:
    """Fork into new namespaces; returns 0 in the child.

    The interpreter's own bookkeeping around a fork is done as ``os.fork`` does it.
    """
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = _holding_gil.syscall(ctypes.c_long(_CLONE), flags | signal.SIGCHLD, 0, 0, 0, 0)
    number = ctypes.get_errno()
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(number, f"clone({flags:#x}): {os.strerror(number)}")
    return pid


def _prctl(what: str, option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), 0):
        _fail(what)


def die_with_parent() -> None:
    """Be killed when the thread that started this process ends."""
    _prctl("prctl(PDEATHSIG)", _PR_SET_PDEATHSIG, signal.SIGKILL)


def set_dumpable(value: int) -> None:
    """With 0, no process of the same user can read this one's memory or environment."""
    _prctl("prctl(DUMPABLE)", _PR_SET_DUMPABLE, value)


def no_new_privileges() -> None:
    """Make set-uid programs ordinary ones, for this process and its children."""
    _prctl("prctl(NO_NEW_PRIVS)", _PR_SET_NO_NEW_PRIVS, 1)


def drop_bounding() -> None:
    """Empty the bounding set: no program run from here on can gain a capability."""
    for capability in range(_LAST_CAPABILITY + 1):
        if _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0):
            return  # the kernel knows fewer


def drop_capabilities() -> None:
    """Give up all that root may do, inside the namespace too."""
    _syscall("capset", _CAPSET, _CAPABILITY_VERSION, _NO_CAPABILITIES)


def close_from(first: int) -> None:
    """Close all files from a number on."""
    if _libc.close_range(ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), 0):
        os.closerange(first, 4096)  # before Linux 5.9


def install_filter(program: bytes) -> None:
    """Put a seccomp filter on this thread; it can't be taken off."""
    address = ctypes.cast(ctypes.c_char_p(program), ctypes.c_void_p).value
    whole = struct.pack("@HP", len(program) // 8, address)
    _syscall("seccomp", _SECCOMP, 1, 0, whole)


def landlock_version() -> int:
    """The version of Landlock that the kernel offers; 0 for none."""
    return max(0, _libc.syscall(ctypes.c_long(_LANDLOCK_CREATE), None, 0, 1))


def landlock_ruleset(rules: list[tuple[str, int]]) -> int:
    """Make a ruleset that allows each path its accesses and nothing else; returns its fd."""
    version = landlock_version()
    files = 0x1FFF
    for since, bit in ((2, 0x2000), (3, 0x4000), (5, 0x8000)):
        files |= bit if version >= since else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = (ctypes.c_uint64 * 3)(files, 3, 3)
    ruleset = _syscall("landlock_create_ruleset", _LANDLOCK_CREATE, attributes, size, 0)
    for path, access in rules:
        where = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = (access & files).to_bytes(8, "little") + where.to_bytes(4, "little")
        _syscall(f"landlock_add_rule {path}", _LANDLOCK_RULE, ruleset, 1, rule, 0)
        os.close(where)
    return ruleset


def landlock_enforce(ruleset: int) -> None:
    """Put a ruleset on this thread; it can't be taken off."""
    _syscall("landlock_restrict_self", _LANDLOCK_SELF, ruleset, 0)
