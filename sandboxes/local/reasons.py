"""Why a machine refuses to isolate programs, and what a person can do about it."""

from __future__ import annotations

import errno
from collections.abc import Sequence

_CAUSES = {
    errno.EPERM: "a container's seccomp profile, or AppArmor "
    "(sysctl kernel.apparmor_restrict_unprivileged_userns), forbids it",
    errno.EACCES: "AppArmor or SELinux forbids it, or a folder on the way to the interpreter or to "
    "TMPDIR is closed to others",
    errno.EAGAIN: "this user has as many processes as he may (ulimit -u, or a cgroup's pids.max)",
    errno.ENOMEM: "this machine or this cgroup is out of memory",
    errno.ENOSPC: "user namespaces are switched off (sysctl user.max_user_namespaces)",
    errno.EUSERS: "too many nested user namespaces (sysctl user.max_user_namespaces)",
    errno.ENOSYS: "the kernel or this machine's architecture does not have it",
    errno.EINVAL: "the kernel was built without it, or is older than Linux 5.12",
}


def no_way(refused: Sequence[object]) -> str:
    """Say in one line what was tried, the likely cause, and the three ways out."""
    causes = [_CAUSES.get(getattr(error, "number", 0), "") for error in refused]
    likely = "; ".join(dict.fromkeys(cause for cause in causes if cause))
    tried = "; ".join(str(error) for error in refused)
    return (
        f"sandbox 'local' can't isolate programs here: {tried}"
        + (f". Likely cause: {likely}" if likely else "")
        + ". Ways out: allow user namespaces on this machine (docker run --security-opt "
        "seccomp=unconfined, or the sysctl above), run them elsewhere (sandbox: e2b or container), "
        "or accept no isolation at all (sandbox: unsafe)"
    )
