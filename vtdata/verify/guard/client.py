"""The host's side: ask, and the one helper that a process has."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vtdata.errors import ConfigError
from vtdata.verify.guard.batch import Batch, Reply
from vtdata.verify.guard.jobs import JOBS
from vtdata.verify.guard.link import HelperLost, Link
from vtdata.verify.guard.wire import pack

LIMIT_S = 4.0
"""Seconds for one job (ours): the slowest ordinary pair of 310 took 1.0 s, cold."""


@dataclass(slots=True)
class _State:
    lock: threading.Lock
    link: Link | None = None


_state = _State(threading.Lock())


def ask(job: str, args: Sequence[Any], *, limit_s: float = LIMIT_S) -> Reply:
    """Have a child do one job.

    Any thread may ask, an event loop's too (it waits); asks of several threads take turns.

    Args:
        job: a name in ``JOBS``.
        args: JSON values, the arguments of its function.
        limit_s: seconds of wall-clock time, after which the child is killed; the helper's start
            (0.2 s, and the job's imports) does not count.

    Raises:
        ConfigError: there is no such job.
        InfraError: the helper can't be started.
    """
    return ask_many(job, [args], limit_s=limit_s)[0]


def ask_many(
    job: str, args: Iterable[Sequence[Any]], *, limit_s: float = LIMIT_S, children: int = 1
) -> list[Reply]:
    """Have ``children`` children do jobs side by side; replies in the order of ``args``.

    See ``ask``. Holds all requests and replies in memory.
    """
    if job not in JOBS:
        raise ConfigError(f"no job '{job}'; there are {', '.join(sorted(JOBS))}")
    if limit_s <= 0 or children < 1:
        raise ConfigError(f"need limit_s > 0 and children >= 1, got {limit_s} and {children}")
    batch = Batch(job, [pack([job, limit_s, list(a)]) for a in args], limit_s, children)
    with _state.lock:
        while not batch.done():
            _attempt(batch)
    return [reply for reply in batch.replies if reply is not None]


def _attempt(batch: Batch) -> None:
    """Work on a batch with one helper; whatever cuts it short, no half exchange is left behind."""
    if _state.link is None:
        _state.link = Link()
    finished = False
    try:
        batch.work(_state.link)
        finished = True
    except HelperLost:
        return  # the caller's loop goes on with another one
    finally:
        if not finished:
            _drop()


def _drop() -> None:
    if _state.link is not None:
        link, _state.link = _state.link, None
        link.end()


def close() -> None:
    """End the helper and its children; the next ask starts another one."""
    with _state.lock:
        _drop()


def _forked() -> None:
    """Forget what a fork copied: the helper belongs to the process that started it."""
    if _state.link is not None:
        _state.link.forget()
        _state.link = None
    _state.lock = threading.Lock()


os.register_at_fork(after_in_child=_forked)
atexit.register(close)
