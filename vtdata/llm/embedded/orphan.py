"""A child process that ends with its parent, however the parent ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_LOOK_S = 0.5


def end_with_parent(parent: int) -> None:
    """Arrange that this process is killed once process ``parent`` is gone.

    On Linux the kernel does it, at once. The kernel's rule has a trap: it means the *thread* that
    started the child, so ``start`` asks for it by environment only from a thread that lives as
    long as its process. Everywhere a thread looks twice a second whether the parent has changed.
    """
    if sys.platform == "linux" and os.environ.pop("VTDATA_PARENT_THREAD", "") == "main":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent,), name="orphan", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGKILL)
