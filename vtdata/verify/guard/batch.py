"""Jobs given to children and their replies, with the clock that kills what is late."""

from __future__ import annotations

import math
import select
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from vtdata.verify.guard.link import Child, HelperLost, Link

REQUEST_BYTES = 16 * 2**20
"""Largest request, in bytes of JSON (ours)."""
_TRIES = 2


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a job; ``value`` is None unless ``reason`` is ok."""

    value: Any
    reason: str
    """ok, timeout, memory, died (the process ended) or error (the job raised)."""
    ms: float
    """Milliseconds of work, without waiting and start-up."""
    detail: str = ""
    """For error the exception, for died the signal or exit status."""


@dataclass(slots=True)
class _Work:
    """A child at work on request ``n``."""

    child: Child
    n: int
    begin: float


class Batch:
    """Requests for one job, and the replies so far.

    Args:
        job: its name.
        frames: the packed requests.
        limit_s: seconds for each.
        children: how many may work at a time.
    """

    def __init__(self, job: str, frames: list[bytes], limit_s: float, children: int) -> None:
        self.replies: list[Reply | None] = [None] * len(frames)
        self._job = job
        self._frames = frames
        self._limit_s = limit_s
        self._children = children
        self._todo = deque(range(len(frames)))
        self._busy: dict[int, _Work] = {}
        self._losses = [0] * len(frames)
        self._poll = select.poll()

    def done(self) -> bool:
        return not self._todo

    def work(self, link: Link) -> None:
        """Get all replies.

        Raises:
            HelperLost: it ended; what its children held is to do again, or has ``died``.
        """
        self._poll = select.poll()  # a lost helper leaves its children's sockets in the last one
        try:
            while self._todo or self._busy:
                while self._todo and len(self._busy) < self._children:
                    self._give(link, self._todo.popleft())
                if self._busy:
                    self._wait(link)
            while len(link.idle) > self._children:
                link.discard(link.idle.pop())
        except HelperLost:
            for work in self._busy.values():
                self._lose(work.n)
            self._busy.clear()
            raise

    def _give(self, link: Link, n: int) -> None:
        if len(self._frames[n]) > REQUEST_BYTES:
            detail = f"the request has {len(self._frames[n])} bytes, at most {REQUEST_BYTES}"
            self.replies[n] = Reply(None, "error", 0.0, detail)
            return
        try:
            child = self._hand_over(link, self._frames[n])
        except HelperLost:
            self._lose(n)
            raise
        if isinstance(child, str):
            self.replies[n] = Reply(None, "error", 0.0, child)
            return
        self._busy[child.sock.fileno()] = _Work(child, n, time.monotonic())
        self._poll.register(child.sock, select.POLLIN)

    def _hand_over(self, link: Link, frame: bytes) -> Child | str:
        """Send a request to a child; one that died while idle isn't this request's doing."""
        while True:
            was_idle = bool(link.idle)
            child = link.child(self._job)
            if isinstance(child, str):
                return child
            child.sock.settimeout(self._limit_s)
            try:
                child.sock.sendall(frame)
            except (BrokenPipeError, ConnectionResetError):
                if was_idle:
                    link.discard(child)
                    continue
            except TimeoutError:
                pass  # it doesn't read: the clock will say so
            return child

    def _wait(self, link: Link) -> None:
        first = min(work.begin for work in self._busy.values()) + self._limit_s
        for fd, _ in self._poll.poll(max(0, math.ceil((first - time.monotonic()) * 1e3))):
            self._hear(link, fd)
        late = time.monotonic() - self._limit_s
        for fd in [fd for fd, work in self._busy.items() if work.begin <= late]:
            self._finish(link, fd, "timeout")

    def _hear(self, link: Link, fd: int) -> None:
        try:
            messages = self._busy[fd].child.inbox.read()
        except EOFError:
            self._finish(link, fd, "died")
            return
        for reason, value, detail, ms, leaves in messages:
            work = self._busy.pop(fd)
            self._poll.unregister(fd)
            self.replies[work.n] = Reply(value, reason, ms, detail)
            if leaves:
                link.discard(work.child)
            else:
                link.idle.append(work.child)

    def _finish(self, link: Link, fd: int, reason: str) -> None:
        """End a child that has no reply to give."""
        work = self._busy[fd]
        self._poll.unregister(fd)
        taken = (time.monotonic() - work.begin) * 1e3
        how = link.discard(work.child)
        del self._busy[fd]
        self.replies[work.n] = Reply(None, reason, taken, how if reason == "died" else "")

    def _lose(self, n: int) -> None:
        self._losses[n] += 1
        if self._losses[n] < _TRIES:
            self._todo.append(n)
        else:
            self.replies[n] = Reply(None, "died", 0.0, f"the helper ended, {_TRIES} times")
