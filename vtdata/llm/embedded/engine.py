"""The decode loop: one thread, one batch, rows that join and leave while others decode."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from tokenizers.decoders import DecodeStream

from vtdata.llm.embedded.load import Loaded
from vtdata.llm.embedded.sampling import Draw, Sampling, pick
from vtdata.llm.embedded.slots import Slots

MAX_ROWS = 32
"""Rows that decode together (ours): as many as a recipe keeps in flight by default."""

KV_BYTES = 2 << 30
"""What keys and values may take; further rows wait (ours)."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The log probability of one token, and of the likeliest ones in its place."""

    token: int
    logprob: float
    rank: int
    """1 is the likeliest."""
    top: tuple[tuple[int, float], ...]


@dataclass(slots=True)
class Row:
    """One response in the making. ``deliver`` is called on the engine's thread."""

    prompt: list[int]
    sampling: Sampling
    seed: int
    deliver: Callable[[Row, str], None]
    """Called with each new piece of text where ``stream``, and once when ``finish`` is set."""
    stream: bool = False
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    finish: str | None = None
    """stop or length; error where the engine ended first; None while it decodes."""
    scored: list[Scored] = field(default_factory=list)
    prompt_scored: list[Scored] = field(default_factory=list)
    canceled: bool = False
    """Set by the server when the client has gone."""
    draw: Draw = field(init=False)
    decoder: Any = field(init=False)
    sent: int = 0

    def __post_init__(self) -> None:
        self.draw = Draw(self.sampling, self.seed, self.prompt)
        self.decoder = DecodeStream(skip_special_tokens=True)

    @property
    def reach(self) -> int:
        """The most tokens it can come to hold."""
        return len(self.prompt) + self.sampling.max_tokens


class Engine:
    """Decodes rows until it is closed."""

    def __init__(
        self, loaded: Loaded, *, max_rows: int = MAX_ROWS, kv_bytes: int = KV_BYTES
    ) -> None:
        self.loaded = loaded
        self.slots = Slots(loaded.net, max_rows)
        self._max_tokens = kv_bytes // self.slots.bytes_per_token()
        self._inbox: queue.SimpleQueue[Row | None] = queue.SimpleQueue()
        self._waiting: deque[Row] = deque()
        self._rows: list[Row] = []
        self._thread = threading.Thread(target=self._run, name="decode", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, row: Row) -> None:
        """Queue a row; its ``deliver`` hears of it. May be called from any thread."""
        self._inbox.put(row)

    def close(self) -> None:
        """Stop after the current step; unfinished rows end with ``error``."""
        self._inbox.put(None)
        self._thread.join()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            with torch.inference_mode():
                while self._collect():
                    self._leave()
                    self._join()
                    if self._rows:
                        self._step()
        finally:  # closed, or dying of an exception, which the log then shows
            for row in [*self._rows, *self._waiting]:
                if row.finish is None:
                    self._finish(row, "error")

    def _collect(self) -> bool:
        """Take in what has arrived, waiting only when there is nothing to do."""
        idle = not self._rows and not self._waiting
        while idle or not self._inbox.empty():
            row = self._inbox.get()
            if row is None:
                return False
            self._waiting.append(row)
            idle = False
        return True

    def _leave(self) -> None:
        for index in reversed(range(len(self._rows))):
            row = self._rows[index]
            if row.finish is None and not row.canceled:
                continue
            last = self._rows.pop()
            if index < len(self._rows):
                self._rows[index] = last
                self.slots.move(len(self._rows), index)

    def _join(self) -> None:
        while self._waiting and len(self._rows) < self.slots.num_slots:
            row = self._waiting[0]
            reach = max([row.reach, *(r.reach for r in self._rows)])
            if self._rows and reach * (len(self._rows) + 1) > self._max_tokens:
                return
            self._waiting.popleft()
            if row.canceled:
                continue
            self._prefill(row, len(self._rows))
            self._rows.append(row)

    def _prefill(self, row: Row, slot: int) -> None:
        """Bring all of a prompt but its last token into a slot: that one goes with the batch."""
        body = row.prompt[:-1]
        num_top = row.sampling.prompt_logprobs
        if num_top is None:
            self.slots.adopt(slot, body)
            self.slots.prefill(slot, body[len(self.slots.held[slot]) :])
            return

        def take(logits: torch.Tensor) -> None:
            done = 1 + len(row.prompt_scored)
            row.prompt_scored += score(logits, row.prompt[done : done + len(logits)], num_top)

        self.slots.held[slot] = []
        self.slots.prefill(slot, body, take)

    def _step(self) -> None:
        rows = self._rows
        logits = self.slots.step([(row.tokens or row.prompt)[-1] for row in rows])
        tokens = pick(logits, [row.draw for row in rows])
        for index, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            if row.sampling.logprobs is not None:
                row.scored += score(logits[index : index + 1], [token], row.sampling.logprobs)
            self._accept(row, token)

    def _accept(self, row: Row, token: int) -> None:
        row.tokens.append(token)
        at_end = token in self.loaded.eos and not row.sampling.ignore_eos
        if not at_end:
            piece = row.decoder.step(self.loaded.tokenizer.backend_tokenizer, token)
            row.text += piece or ""
        cut = _first(row.text, row.sampling.stop, row.sent)
        if cut is not None:
            row.text = row.text[:cut]
            self._finish(row, "stop")
        elif at_end or len(row.tokens) >= row.sampling.max_tokens:
            row.text += self._dangling(row, len(row.tokens) - at_end)
            self._finish(row, "stop" if at_end else "length")
        elif row.stream and not row.canceled:
            safe = len(row.text) - _held_back(row.text, row.sampling.stop)
            if safe > row.sent:
                piece, row.sent = row.text[row.sent : safe], safe
                row.deliver(row, piece)

    def _dangling(self, row: Row, num_tokens: int) -> str:
        """Return the bytes that never became a character, as the tokenizer writes them."""
        whole = self.loaded.tokenizer.decode(row.tokens[:num_tokens], skip_special_tokens=True)
        return whole[len(row.text) :] if whole.startswith(row.text) else ""

    def _finish(self, row: Row, why: str) -> None:
        row.finish = why
        if not row.canceled:
            piece, row.sent = row.text[row.sent :], len(row.text)
            row.deliver(row, piece)


def _first(text: str, stops: tuple[str, ...], sent: int) -> int | None:
    """Return where the first stop string begins, at or behind what was sent."""
    found = [at for at in (text.find(stop, sent) for stop in stops) if at >= 0]
    return min(found, default=None)


def _held_back(text: str, stops: tuple[str, ...]) -> int:
    r"""Return how many last characters might be the beginning of a stop string.

    >>> _held_back("4 apples.\n", ("\n\n", "Q:"))
    1
    """
    longest = max((len(stop) for stop in stops), default=1)
    for size in range(min(longest - 1, len(text)), 0, -1):
        if any(stop.startswith(text[-size:]) for stop in stops):
            return size
    return 0


def score(logits: torch.Tensor, targets: list[int], num_top: int) -> list[Scored]:
    """Return the log probabilities of ``targets`` under the model itself, before any sampling rule.

    Args:
        logits: float32 (T, V).
        targets: at most T token ids.
        num_top: likeliest alternatives to report for each.
    """
    logprobs = torch.log_softmax(logits[: len(targets)], dim=-1)
    own = logprobs.gather(1, torch.tensor(targets)[:, None])
    ranks = (logprobs > own).sum(-1) + 1
    top = logprobs.topk(num_top)
    rows = zip(
        targets,
        own[:, 0].tolist(),
        ranks.tolist(),
        top.indices.tolist(),
        top.values.tolist(),
        strict=True,
    )
    return [
        Scored(token, value, rank, tuple(zip(ids, values, strict=True)))
        for token, value, rank, ids, values in rows
    ]
