"""What a recipe says about a model: what is asked of it, and where it lives."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]


class ModelSpec(BaseModel):
    """One entry of a recipe's ``models``.

    Everything is semantic, and so part of fingerprints and store keys, but the fields named in
    ``OPERATIONAL``: those say where and how fast, never what.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )

    model: str
    """The served model's id, or ``embedded`` for the small model that ships with a package."""
    revision: str | None = None
    """A commit or the sha256 of the weights; ``unpinned`` must be written out."""
    max_tokens: Annotated[int, Field(ge=1)]
    """Largest number of tokens in a response; mandatory, since a forgotten one costs money."""
    temperature: Annotated[float, Field(ge=0)] = 1.0
    """Sampling temperature (evaluation setting of 3B p.7; for distillation ours)."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 0.95
    """Nucleus (evaluation setting of 3B p.7; for distillation ours)."""
    top_k: int = -1
    """-1 is off, on the wire as in vLLM (3B p.7)."""
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    """0 is off (ours)."""
    repetition_penalty: Annotated[float, Field(gt=0)] = 1.0
    """1 is off (ours)."""
    stop: list[str] = []
    """Strings that end a response."""
    extra_body: dict[str, Any] = {}
    """Further keys of the request body, an adapter's name for example."""
    url: str | list[str] | None = None
    """Base URL ending in ``/v1``, several, or ``file:PATH`` with one per line, read again while
    running. ``${env:NAME}`` is filled in when a call is made and is never written anywhere."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""
    headers: dict[str, str] = {}
    """Further headers; ``${env:NAME}`` is filled in when a call is made."""
    concurrency: Annotated[int, Field(ge=1)] = 32
    """Calls in flight for the whole run, split over its workers (ours)."""
    price: Price | None = None
    """What it costs; needed for a budget in dollars."""
    stream: bool = False
    """Ask for a stream, for proxies that cut silent connections."""
    idle_timeout_s: Annotated[float, Field(gt=0)] = 3600.0
    """Longest silence on an open response; there is no total limit (ours)."""
    attempts: Annotated[int, Field(ge=1)] = 6
    """Tries per request and run before it is ``failed`` (ours)."""

    @model_validator(mode="after")
    def _revision_is_said(self) -> ModelSpec:
        if self.model != "embedded" and not self.revision:
            raise ValueError(
                f"model '{self.model}' needs a revision: a commit, the sha256 of its weights, or "
                "the word unpinned; without it another checkpoint under the same name would be "
                "answered from this one's store"
            )
        return self


OPERATIONAL = frozenset(
    {
        "url",
        "api_key_env",
        "headers",
        "concurrency",
        "price",
        "stream",
        "idle_timeout_s",
        "attempts",
    }
)
"""Fields that say where and how fast: never in a fingerprint, never in a store key."""
