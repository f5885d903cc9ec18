"""What a run has spent, in a file that all its worker processes share.

A memory-mapped page: reading the total or the stop flag is a memory read, and what was spent
survives SIGKILL, because the pages belong to the kernel. Each slot has one writer, so nothing is
locked. The budget is the run's: a resumed run goes on from where the last one ended.

    0     magic and number of slots
    16    stop flag (one number), then the reason's length and text
    512   slot 0, slot 1, ...: four numbers of eight bytes each, padded to a cache line
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from vtdata.errors import ConfigError, RunError
from vtdata.llm.model import ModelSpec

MAGIC = 0x31474C4454565F31
_HEAD = 512
_SLOT = 64
_FLAG = 2  # in words of 8 bytes
_LENGTH = 3
_TEXT = 32  # in bytes


class Budget(BaseModel):
    """Limits of a run; whichever is reached first stops it, cleanly and resumably."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )

    max_usd: Annotated[float, Field(ge=0)] | None = None
    """US dollars, by the models' ``price``."""
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    """Tokens, prompt and completion together."""
    max_requests: Annotated[int, Field(ge=0)] | None = None
    """Calls sent, repeated ones included."""

    def check(self, models: Mapping[str, ModelSpec]) -> None:
        """A budget in dollars needs the price of every model that somebody else serves."""
        unpriced = sorted(n for n, m in models.items() if m.price is None and m.model != "embedded")
        if self.max_usd is not None and unpriced:
            raise ConfigError(
                f"budget: max_usd={self.max_usd:g} needs a price for every model, and "
                f"{unpriced} have none: add price: {{input: USD, output: USD}} per million tokens "
                "(0 for a server of your own), or use max_tokens"
            )


@dataclass(frozen=True, slots=True)
class Spent:
    """Sums over a run."""

    usd: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    requests: int = 0


class Writer:
    """The one writer of one slot."""

    def __init__(self, dollars: memoryview[float], counts: memoryview[int], at: int) -> None:
        self._dollars = dollars
        self._counts = counts
        self._at = at

    def spend(
        self,
        *,
        usd: float = 0.0,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
        requests: int = 0,
    ) -> None:
        """Add to the slot."""
        at = self._at
        self._dollars[at] += usd
        self._counts[at + 1] += prompt_tokens
        self._counts[at + 2] += completion_tokens
        self._counts[at + 3] += requests


class Ledger:
    """The run's books and its stop flag.

    The process that starts a run keeps its ledger open for as long as the run lasts: a ledger that
    nobody has open belongs to an ended run, so the next one to open it clears the stop flag and
    keeps the sums.

    Args:
        path: the file, made where it isn't there.
        slots: number of writers, one per worker process.
        budget: the limits, or None.

    Raises:
        RunError: the file is something else, or is in use with another number of slots.
    """

    def __init__(self, path: Path, slots: int, budget: Budget | None = None) -> None:
        self.path = path
        self.slots = slots
        self.budget = budget or Budget()
        self._limited = self.budget != Budget()
        self._pid = os.getpid()
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._settle()
        except BaseException:
            os.close(self._fd)
            raise
        self._map = mmap.mmap(self._fd, _HEAD + (slots + 1) * _SLOT)
        view = memoryview(self._map)
        self._dollars = view.cast("d")
        self._counts = view.cast("q")

    def __reduce__(self) -> tuple[type[Ledger], tuple[Path, int, Budget]]:
        return Ledger, (self.path, self.slots, self.budget)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; the sums stay."""
        if self._fd >= 0:
            if os.getpid() == self._pid:  # a forked child shares the lock and must leave it
                fcntl.flock(self._fd, fcntl.LOCK_UN)  # the map has a copy of the descriptor
            os.close(self._fd)
            self._fd = -1

    def writer(self, slot: int) -> Writer:
        """The writer of ``slot``; two at once would lose each other's sums."""
        if not 0 <= slot < self.slots:
            raise RunError(f"ledger {self.path} has slots 0 to {self.slots - 1}, asked for {slot}")
        return Writer(self._dollars, self._counts, self._word(slot + 1))

    def total(self) -> Spent:
        """Sums over all slots and over the runs before."""
        start, step = _HEAD // 8, _SLOT // 8
        return Spent(
            usd=sum(self._dollars[start::step]),
            prompt_tokens=sum(self._counts[start + 1 :: step]),
            completion_tokens=sum(self._counts[start + 2 :: step]),
            requests=sum(self._counts[start + 3 :: step]),
        )

    def exceeded(self) -> str | None:
        """Which limit is reached, with the sum and the limit; None while there is room."""
        limits = self.budget
        if not self._limited:
            return None
        spent = self.total()
        tokens = spent.prompt_tokens + spent.completion_tokens
        if limits.max_usd is not None and spent.usd >= limits.max_usd:
            return f"budget: spent {spent.usd:.4f} USD of max_usd={limits.max_usd:g}"
        if limits.max_tokens is not None and tokens >= limits.max_tokens:
            return f"budget: used {tokens} tokens of max_tokens={limits.max_tokens}"
        if limits.max_requests is not None and spent.requests >= limits.max_requests:
            return f"budget: sent {spent.requests} of max_requests={limits.max_requests}"
        return None

    def request_stop(self, reason: str) -> None:
        """Ask every worker of the run to end; the first reason stays."""
        if self._counts[_FLAG]:
            return
        raw = reason.encode()[: _HEAD - _TEXT]
        self._map[_TEXT : _TEXT + len(raw)] = raw
        self._counts[_LENGTH] = len(raw)
        self._counts[_FLAG] = 1  # last: who sees it finds the text complete

    def stop_reason(self) -> str | None:
        """Why the run was asked to end; None while it wasn't."""
        if not self._counts[_FLAG]:
            return None
        raw = self._map[_TEXT : _TEXT + self._counts[_LENGTH]]
        return raw.decode(errors="ignore")

    def clear_stop(self) -> None:
        """Forget the stop flag."""
        self._counts[_FLAG] = 0

    @staticmethod
    def _word(slot: int) -> int:
        return (_HEAD + slot * _SLOT) // 8

    def _settle(self) -> None:
        """Lay the file out, unless other processes of the run have it open already."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(self._fd, fcntl.LOCK_SH)  # waits for one that is laying it out
            found = (os.fstat(self._fd).st_size - _HEAD) // _SLOT - 1
            if found != self.slots:
                raise RunError(
                    f"ledger {self.path} is in use by a run with {found} workers, asked for "
                    f"{self.slots}: wait until that run ends"
                ) from None
        else:
            self._lay_out()
            fcntl.flock(self._fd, fcntl.LOCK_SH)

    def _lay_out(self) -> None:
        """Keep the sums of the runs before in a slot of their own, and clear the flag."""
        old = os.pread(self._fd, 1 << 20, 0)
        head = memoryview(old.ljust(16, b"\0")[:16]).cast("q")
        if old.strip(b"\0") and head[0] != MAGIC:
            raise RunError(f"{self.path} is not a ledger: move it away and run again")
        body = old[_HEAD : _HEAD + (len(old) - _HEAD) // _SLOT * _SLOT] if len(old) > _HEAD else b""
        dollars, counts = memoryview(body).cast("d"), memoryview(body).cast("q")
        carried = bytearray(_SLOT)
        memoryview(carried).cast("d")[0] = sum(dollars[0::8])
        for i in (1, 2, 3):
            memoryview(carried).cast("q")[i] = sum(counts[i::8])
        new = bytearray(_HEAD + (self.slots + 1) * _SLOT)
        memoryview(new).cast("q")[0] = MAGIC
        memoryview(new).cast("q")[1] = self.slots
        new[_HEAD : _HEAD + _SLOT] = carried
        os.pwrite(self._fd, new, 0)
        os.ftruncate(self._fd, len(new))
