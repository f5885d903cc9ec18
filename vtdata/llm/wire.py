"""What a request is: the canonical form that its key hashes, and the body that goes out.

The two are not the same. The key holds everything that decides an answer and nothing else; the
body adds how the answer should travel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from pydantic import ValidationError

from vtdata.errors import ConfigError
from vtdata.llm.model import ModelSpec
from vtdata.steps import Request
from vtdata.text import nearest

SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "max_tokens",
    "stop",
    "extra_body",
)
"""Always sent: a server fills what is left out from the model's own generation config."""
_RESERVED = frozenset({"messages", "model", "seed", "stream", "stream_options", "n"})


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical(value: object) -> str:
    """JSON with one spelling only, the same on every Python.

    >>> canonical({"b": 1.0, "a": "x"})
    '{"a":"x","b":1.0}'
    """
    return _encode(value)


@dataclass(frozen=True, slots=True)
class Sampling:
    """The sampling parameters of a request, complete."""

    values: dict[str, Any]
    text: str
    """Their canonical JSON."""


class Wire:
    """One model of a recipe, as requests to it are written.

    Args:
        name: the recipe's name of the model.
        spec: its entry.
        revision: what the embedded model's package says; else the entry's own.

    Raises:
        ConfigError: there is no revision, or ``extra_body`` names a key that is ours.
    """

    def __init__(self, name: str, spec: ModelSpec, revision: str | None = None) -> None:
        found = spec.revision or revision
        if not found:
            raise ConfigError(
                f"model '{name}' has no revision: say which weights answer, or write unpinned"
            )
        self.name = name
        self.spec = spec
        self.revision = found
        self._sampling_of = lru_cache(maxsize=256)(self._sampling)
        self._plain = self._sampling("{}")
        self._head = f'"model":{canonical(spec.model)},"revision":{canonical(found)}'

    def key(self, request: Request) -> str:
        """sha256 of messages, model, revision, sampling parameters and seed."""
        messages = canonical([{"role": t.role, "content": t.content} for t in request.messages])
        text = (
            f'{{"messages":{messages},{self._head},"sampling":{self._of(request).text},'
            f'"seed":{request.seed}}}'
        )
        return sha256(text.encode()).hexdigest()

    def sampling_of(self, request: Request) -> str:
        """Canonical JSON of every sampling parameter that is sent."""
        return self._of(request).text

    def body(self, request: Request) -> dict[str, Any]:
        """The body to post; a null in ``extra_body`` takes a key out, where a server refuses it."""
        values = dict(self._of(request).values)
        body: dict[str, Any] = {
            "model": self.spec.model,
            "messages": [{"role": t.role, "content": t.content} for t in request.messages],
            "seed": request.seed,
            **values,
        }
        extra = body.pop("extra_body")
        if not body["stop"]:
            del body["stop"]
        body = {k: v for k, v in {**body, **extra}.items() if v is not None}
        if self.spec.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    def max_tokens(self, request: Request) -> int:
        """The largest number of tokens that the answer may have."""
        return self._of(request).values["max_tokens"]

    def _of(self, request: Request) -> Sampling:
        if not request.overrides:
            return self._plain
        return self._sampling_of(canonical(dict(request.overrides)))

    def _sampling(self, overrides: str) -> Sampling:
        changed: dict[str, Any] = json.loads(overrides)
        for name in changed:
            if name not in SAMPLING:
                raise ConfigError(
                    f"model '{self.name}': {name!r} is no sampling parameter;"
                    f"{nearest(name, SAMPLING)} allowed are {list(SAMPLING)}"
                )
        try:
            spec = ModelSpec.model_validate(self.spec.model_dump() | changed)
        except ValidationError as error:
            what = "; ".join(f"{e['loc'][0]}: {e['msg']}" for e in error.errors())
            raise ConfigError(f"model '{self.name}': {what}, got {overrides}") from error
        if taken := sorted(_RESERVED & set(spec.extra_body)):
            raise ConfigError(f"model '{self.name}': extra_body may not set {taken}")
        values = {name: getattr(spec, name) for name in SAMPLING}
        for name in ("temperature", "top_p", "min_p", "repetition_penalty"):
            values[name] = float(values[name])  # 1 and 1.0 are one request
        return Sampling(values, canonical(values))


def wires_of(
    models: Mapping[str, ModelSpec], revisions: Mapping[str, str] | None = None
) -> dict[str, Wire]:
    """A wire for each model of a recipe."""
    given = revisions or {}
    return {name: Wire(name, spec, given.get(name)) for name, spec in models.items()}


def wire_for(wires: Mapping[str, Wire], request: Request) -> Wire:
    """The wire of a request's model.

    Raises:
        ConfigError: the recipe has no such model.
    """
    try:
        return wires[request.model]
    except KeyError:
        raise ConfigError(
            f"model {request.model!r} is not in the recipe's models, which are {sorted(wires)}:"
            f"{nearest(request.model, wires)} add it"
        ) from None
