"""The keys and values of the rows that decode together.

B rows decode, S slots, L layers, H key-value heads, D features, Q new tokens.

The rows that decode stand in slots 0 to B-1, so that a step reads a view and copies nothing. A
slot keeps its keys and values after its row has left: a new prompt that begins like a slot's
tokens takes over that beginning. Requests of one run share their few-shot turns, and the samples
of one query share the whole prompt, which is then computed once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

PREFILL_CHUNK = 256
"""Prompt tokens per forward pass (ours): bounds the memory of their logits and mask."""

_GROWTH = 256

_WORTH = 32
"""Shared tokens from which on they are read once for all rows (ours)."""


class _Layer(CacheLayerMixin):
    """One layer's view of the slots, in the interface that transformers' models call."""

    is_sliding = False

    def __init__(self, slots: Slots, index: int) -> None:
        super().__init__()
        self.slots, self.index = slots, index

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        del key_states, value_states

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        del args, kwargs
        return self.slots.write(self.index, key_states, value_states)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        del query_length
        return self.slots.reach, 0

    def get_seq_length(self) -> int:
        return self.slots.reach

    def get_max_length(self) -> int:
        return -1


def _common(one: list[int], other: list[int]) -> int:
    """Return how many leading tokens two lists share.

    >>> _common([1, 2, 3], [1, 2, 4, 5]), _common([], [1])
    (2, 0)
    """
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    return next(i for i in range(limit) if one[i] != other[i])


def _zeros(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return zeros that take no memory until they are written, which ``torch.zeros`` does not do.

    Zeros and nothing else: a NaN in an unused place would survive being masked (0 * NaN).
    """
    raw = np.zeros((*shape[:-1], shape[-1] * dtype.itemsize), dtype=np.uint8)
    return torch.from_numpy(raw).view(dtype)


class Slots:
    """Keys and values of ``num_slots`` rows, and the forward passes that fill them."""

    def __init__(self, net: Any, num_slots: int) -> None:
        config = net.config
        self.net, self.num_slots = net, num_slots
        self.held: list[list[int]] = [[] for _ in range(num_slots)]
        """The tokens whose keys and values are in each slot."""
        self.reach = 0
        self._heads = config.num_key_value_heads
        self._features = getattr(config, "head_dim", None) or (
            config.hidden_size // config.num_attention_heads
        )
        self._layers = config.num_hidden_layers
        parameters = inspect.signature(net.forward).parameters.values()
        self._hints = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
        self._room = 0
        self._rows: slice = slice(0, 0)
        self._at: Tensor | slice = slice(0, 0)
        self._index = torch.arange(num_slots)
        self._cache = Cache(layers=[_Layer(self, i) for i in range(self._layers)])
        self._reserve(_GROWTH)

    def bytes_per_token(self) -> int:
        return 2 * self._layers * self._heads * self._features * self.net.dtype.itemsize

    def _reserve(self, room: int) -> None:
        if room <= self._room:
            return
        room = -(-max(room, self._room * 3 // 2) // _GROWTH) * _GROWTH
        shape = (self._layers, self.num_slots, self._heads, room, self._features)
        keys, values = _zeros(shape, self.net.dtype), _zeros(shape, self.net.dtype)
        for slot, ids in enumerate(self.held):
            if ids:
                keys[:, slot, :, : len(ids)] = self.keys[:, slot, :, : len(ids)]
                values[:, slot, :, : len(ids)] = self.values[:, slot, :, : len(ids)]
        self.keys, self.values, self._room = keys, values, room

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store new keys and values of shape (B, H, Q, D); return all that the step attends to."""
        for store, new in ((self.keys[layer], keys), (self.values[layer], values)):
            if isinstance(self._at, slice):
                store[self._rows, :, self._at] = new
            else:
                store[self._index[: len(new)], :, self._at] = new[:, :, 0]
        return (
            self.keys[layer, self._rows, :, : self.reach],
            self.values[layer, self._rows, :, : self.reach],
        )

    def _copy(self, source: int, target: int, num_tokens: int) -> None:
        if source != target:
            for store in (self.keys, self.values):
                store[:, target, :, :num_tokens] = store[:, source, :, :num_tokens]
        self.held[target] = self.held[source][:num_tokens]

    def move(self, source: int, target: int) -> None:
        """Put a row into another slot."""
        self._copy(source, target, len(self.held[source]))

    def adopt(self, slot: int, prompt: list[int]) -> None:
        """Make a slot hold the longest beginning of ``prompt`` that any slot holds."""
        shared = [_common(ids, prompt) for ids in self.held]
        best = max(shared)
        source = slot if shared[slot] == best else shared.index(best)
        self._copy(source, slot, best)

    def prefill(
        self, slot: int, tokens: list[int], take: Callable[[Tensor], None] | None = None
    ) -> None:
        """Write the tokens behind what a slot holds, ``PREFILL_CHUNK`` at a time.

        Args:
            slot: the row's slot.
            tokens: any number.
            take: called with the logits at every token of a chunk, float32 (Q, vocabulary).
        """
        for first in range(0, len(tokens), PREFILL_CHUNK):
            chunk = tokens[first : first + PREFILL_CHUNK]
            start = len(self.held[slot])
            end = start + len(chunk)
            self._reserve(end)
            self._rows, self._at, self.reach = slice(slot, slot + 1), slice(start, end), end
            positions = torch.arange(start, end)
            mask = torch.arange(end) <= positions[:, None]
            run = self.net.base_model if take is None else self.net
            out = run(
                input_ids=torch.tensor([chunk]),
                attention_mask=mask[None, None],
                position_ids=positions[None],
                cache=self._cache,
                use_cache=True,
            )
            self.held[slot].extend(chunk)
            if take is not None:
                take(out.logits[0].float())

    def _hint(self, num_rows: int) -> dict[str, int]:
        """Tell our attention how many tokens the first rows have in common, where that pays."""
        rows = self.held[:num_rows]
        count = min(_common(rows[0], row) for row in rows)
        return {"shared": count} if self._hints and num_rows > 1 and count >= _WORTH else {}

    def step(self, tokens: list[int]) -> Tensor:
        """Write one token behind each of the first slots; return float32 logits (B, vocabulary)."""
        lengths = [len(self.held[slot]) for slot in range(len(tokens))]
        self.reach = max(lengths) + 1
        self._reserve(self.reach)
        at = torch.tensor(lengths)
        self._rows, self._at = slice(0, len(tokens)), at
        mask = torch.arange(self.reach) <= at[:, None]
        out = self.net(
            input_ids=torch.tensor(tokens)[:, None],
            attention_mask=mask[:, None, None],
            position_ids=at[:, None],
            cache=self._cache,
            use_cache=True,
            **self._hint(len(tokens)),
        )
        for slot, token in enumerate(tokens):
            self.held[slot].append(token)
        return out.logits[:, -1].float()
