"""Sample a set of rollouts for every query."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field

from vtdata.errors import ConfigError, RunError
from vtdata.records import Query, Rollout, Turn
from vtdata.seeds import derive_seed
from vtdata.steps import Async, Context, Generation, Request, step


@step
class Sample(Async):
    """Ask a model for ``n`` responses to each query.

    Sample ``i`` of a query has a seed derived from the recipe's seed, the query's id, ``draw`` and
    ``i``: so a store that several recipes share answers the same question once, and a larger ``n``
    asks only for what is missing. Every rollout is kept, whatever became of it: a truncated or
    failed one is counted, and what it means is the consumer's choice.

    Reads the prompt. Writes the rollout set ``as``. Holds one query's rollouts in memory.

    Notes: ``identical`` counts completions of one query that are equal to an earlier one: a server
    that ignores the seed is found out by it.

    Raises:
        ConfigError: the prompt file is not there or is no list of messages.
        RunError: the query has such a set already, which another run's block gave it.

    Source: multi-path distillation, 3B p.4, which gives neither the number of paths nor sampling
    parameters; eight reference rollouts, 3B p.5.
    """

    by: str
    """The entry of the recipe's ``models`` that is asked."""
    n: Annotated[int, Field(ge=1)] = 8
    """Responses per query (3B p.5 for reference rollouts; for teachers ours)."""
    as_: Annotated[str | None, Field(alias="as")] = None
    """Name of the rollout set; None takes the model's name in the recipe."""
    draw: str = ""
    """Names an independent draw: two sets from one model need two names, or they'd be equal."""
    prompt: str | None = None
    """YAML file with ``messages`` that stand before the query's own turns, for sampling only."""
    instruction: str = ""
    """Text appended to the last user turn, for sampling only; options are listed before it."""

    gives = ("rollouts",)

    def rollout_set(self) -> str | None:
        return self.as_ or self.by

    def model_names(self) -> list[str]:
        return [self.by]

    def files(self, folder: Path) -> list[Path]:
        return [folder / self.prompt] if self.prompt else []

    def open(self, ctx: Context) -> None:
        if self.prompt:
            read_messages(ctx.folder / self.prompt)

    def requests(self, query: Query, ctx: Context) -> list[Request]:
        before = read_messages(ctx.folder / self.prompt) if self.prompt else ()
        messages = (*before, *query.prompt[:-1], self._asked(query))
        return [
            Request(
                model=self.by,
                messages=messages,
                seed=derive_seed(ctx.seed, "rollout", self.draw, query.id, index),
                bucket=query.bucket,
            )
            for index in range(self.n)
        ]

    def _asked(self, query: Query) -> Turn:
        last = query.prompt[-1]
        lines = [f"{chr(65 + index)}. {text}" for index, text in enumerate(query.options)]
        text = "\n".join([last.content, *lines])
        return Turn(last.role, text + self.instruction)

    async def process(self, query: Query, ctx: Context) -> list[Query]:
        assert ctx.models is not None
        name = self.rollout_set() or self.by
        if any(rollout.set == name for rollout in query.rollouts):
            raise RunError(
                f"query {query.id} has rollouts of a set '{name}' already, from the run that this "
                "recipe begins with: name this one with 'as'"
            )
        requests = self.requests(query, ctx)
        answers = await asyncio.gather(*(ctx.models.generate(request) for request in requests))
        for index, (request, answer) in enumerate(zip(requests, answers, strict=True)):
            query.rollouts.append(_rollout(name, index, request.seed, answer))
        texts = Counter((a.reasoning, a.content) for a in answers if a.state == "ok")
        identical = sum(count - 1 for count in texts.values())
        if identical:
            ctx.note("identical", identical)
        for state, count in Counter(answer.state for answer in answers).items():
            if state != "ok":
                ctx.note(state, count)
        return [query]


def _rollout(name: str, index: int, seed: int, answer: Generation) -> Rollout:
    return Rollout(
        set=name,
        sample_idx=index,
        seed=seed,
        model=answer.model,
        revision=answer.revision,
        sampling=answer.sampling,
        reasoning=answer.reasoning,
        content=answer.content,
        think_source=answer.think_source,
        finish_reason=answer.finish_reason,
        state=answer.state,
        n_prompt_tokens=answer.n_prompt_tokens,
        n_completion_tokens=answer.n_completion_tokens,
    )


_cache: dict[tuple[str, int], tuple[Turn, ...]] = {}


def read_messages(path: Path) -> tuple[Turn, ...]:
    """Read ``messages: [{role, content}]`` from a YAML file.

    Raises:
        ConfigError: it is not there, or holds something else.
    """
    try:
        key = (str(path), path.stat().st_mtime_ns)
        if key not in _cache:
            _cache[key] = _parse(path, yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"prompt file {path} can't be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"prompt file {path} is not valid YAML: {error}") from None
    return _cache[key]


def _parse(path: Path, data: object) -> tuple[Turn, ...]:
    messages = data.get("messages") if isinstance(data, dict) else None
    if not isinstance(messages, list) or not messages:
        raise ConfigError(f"prompt file {path} needs 'messages:', a list of role and content")
    for index, message in enumerate(messages):
        ok = (
            isinstance(message, dict)
            and set(message) == {"role", "content"}
            and message["role"] in ("system", "user", "assistant")
            and isinstance(message["content"], str)
        )
        if not ok:
            raise ConfigError(
                f"prompt file {path}: messages[{index}] is {message!r}; it needs a role (system, "
                "user or assistant) and a content, both text"
            )
    return tuple(Turn(message["role"], message["content"]) for message in messages)
