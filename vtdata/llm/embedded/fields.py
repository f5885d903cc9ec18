"""What a request may say. A field that nobody reads is refused by name, never ignored."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vtdata.llm.embedded.sampling import Sampling
from vtdata.text import nearest

MAX_CHOICES = 128
MAX_TOP = 20
"""Alternatives per token that may be asked for, as in the OpenAI and vLLM servers."""


class Refused(Exception):
    """The request is wrong: a 400 (or 404), with the value found and the limit."""

    def __init__(self, message: str, *, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message, self.param, self.status = message, param, status


class StreamOptions(BaseModel):
    """What a stream ends with."""

    model_config = ConfigDict(extra="forbid", strict=True)

    include_usage: bool = False


class _Common(BaseModel):
    """The fields of both endpoints. Off is said as in vLLM: top_k -1 or 0, min_p 0, penalty 1."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str | None = None
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**64)] | None = None
    stop: str | list[str] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=100)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(ge=-1)] = -1
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    repetition_penalty: Annotated[float, Field(gt=0, le=100)] = 1.0
    ignore_eos: bool = False
    prompt_logprobs: Annotated[int, Field(ge=0, le=MAX_TOP)] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None

    def num_top(self) -> int | None:
        """Return how many alternatives to report per token; None reports no log probability."""
        raise NotImplementedError

    def stops(self) -> tuple[str, ...]:
        listed = [self.stop] if isinstance(self.stop, str) else self.stop or []
        if "" in listed:
            raise Refused(
                "stop holds an empty string, which would end every response", param="stop"
            )
        return tuple(listed)

    def sampling(self, num_prompt_tokens: int, max_model_len: int) -> Sampling:
        """Return the rules for a prompt of this length, in a model that holds so many tokens."""
        left = max_model_len - num_prompt_tokens
        asked = left if self.max_tokens is None else self.max_tokens
        if left < 1 or asked > left:
            raise Refused(
                f"the prompt has {num_prompt_tokens} tokens and max_tokens is {self.max_tokens}; "
                f"together they may be at most {max_model_len} (max_model_len): shorten the prompt "
                "or ask for fewer tokens",
                param="max_tokens" if left >= 1 else "prompt",
            )
        return Sampling(
            max_tokens=asked,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            min_p=self.min_p,
            repetition_penalty=self.repetition_penalty,
            stop=self.stops(),
            ignore_eos=self.ignore_eos,
            logprobs=self.num_top(),
            prompt_logprobs=self.prompt_logprobs,
        )


class Message(BaseModel):
    """One turn of a chat."""

    model_config = ConfigDict(extra="forbid", strict=True)

    role: Literal["system", "user", "assistant"]
    content: str


class ChatBody(_Common):
    """POST /v1/chat/completions."""

    messages: Annotated[list[Message], Field(min_length=1)]
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_TOP)] | None = None

    def num_top(self) -> int | None:
        if self.top_logprobs is not None and not self.logprobs:
            raise Refused(
                f"top_logprobs is {self.top_logprobs} but logprobs is false: set logprobs to true",
                param="top_logprobs",
            )
        return self.top_logprobs or 0 if self.logprobs else None


class CompletionBody(_Common):
    """POST /v1/completions."""

    prompt: str | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    """Text, or token ids."""
    max_tokens: Annotated[int, Field(ge=1)] | None = 16
    logprobs: Annotated[int, Field(ge=0, le=MAX_TOP)] | None = None

    def num_top(self) -> int | None:
        return self.logprobs


def parse(raw: bytes, kind: type[ChatBody] | type[CompletionBody]) -> ChatBody | CompletionBody:
    """Return the request's body, checked.

    Raises:
        Refused: it isn't JSON, or a field is unknown, missing or out of its range.
    """
    try:
        body = json.loads(raw)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"the body is not JSON: {error}") from error
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        raise Refused(
            "; ".join(_sentence(p, kind) for p in problems[:5]),
            param=".".join(map(str, problems[0]["loc"])) or None,
        ) from error


def _sentence(problem: Any, kind: type[BaseModel]) -> str:
    place = ".".join(map(str, problem["loc"])) or "body"
    if problem["type"] == "extra_forbidden":
        known = "" if "." in place else nearest(place, kind.model_fields)
        return f"unknown field '{place}', which this server would ignore:{known or ' leave it out'}"
    if problem["type"] == "missing":
        return f"'{place}' is missing"
    found = json.dumps(problem["input"], default=str)
    return f"{place} is {found[:80]}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
