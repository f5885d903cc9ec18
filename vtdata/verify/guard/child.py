"""A child: does one job after the other until it is killed, replaced, or its helper is gone."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from vtdata.verify.guard.limits import GROWN_BYTES, confine, die_with, limit_cpu, peak_bytes
from vtdata.verify.guard.wire import Inbox, pack

Job = Callable[..., Any]

VALUE_BYTES = 1 << 16
"""Largest JSON a job may return."""
DETAIL_CHARS = 300
JOBS_PER_CHILD = 2_000
"""A child is replaced after so many, for what libraries leak (research measured none; ours)."""


def live(sock: socket.socket, helper: int, functions: dict[str, Job]) -> None:
    """Answer jobs with the warmed ``functions``; returns when its time is over.

    A request is ``[job, limit_s, args]``, a reply ``[reason, value, detail, ms, leaves]``.
    """
    die_with(helper)
    _silence()
    confine()
    born = peak_bytes()
    inbox = Inbox(sock)
    for done in range(1, JOBS_PER_CHILD + 1):
        try:
            job, limit_s, args = inbox.receive()
        except EOFError:
            return
        except MemoryError:
            sock.sendall(pack(["memory", None, "the arguments", 0.0, True]))
            return
        limit_cpu(limit_s)
        reason, value, detail, ms = run(functions[job], args)
        grown = peak_bytes() - born > GROWN_BYTES
        leave = reason == "memory" or grown or done == JOBS_PER_CHILD
        sock.sendall(pack([reason, value, detail, ms, leave]))
        if leave:
            return


def run(function: Job, args: list[Any]) -> tuple[str, Any, str, float]:
    """Call a job: reason, value, detail and the milliseconds it took."""
    begin = time.perf_counter()
    try:
        value = function(*args)
        size = len(json.dumps(value))
    except MemoryError:
        return "memory", None, "", _since(begin)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the boundary of a job: named, unscored)
        return "error", None, describe(error), _since(begin)
    if size > VALUE_BYTES:
        return "error", None, f"its value is {size} bytes, at most {VALUE_BYTES}", _since(begin)
    return "ok", value, "", _since(begin)


def describe(error: BaseException) -> str:
    """Return an exception's class and the start of its text."""
    try:
        text = str(error)
    except (ArithmeticError, RecursionError, TypeError, ValueError):
        text = "its text can't be printed"
    return f"{type(error).__name__}: {text}"[:DETAIL_CHARS]


def _since(begin: float) -> float:
    return (time.perf_counter() - begin) * 1e3


def _silence() -> None:
    """Send what the libraries print, on any of the three standard streams, nowhere."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)
