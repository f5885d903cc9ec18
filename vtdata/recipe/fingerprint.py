"""What decides a block's rows, as one hash.

In: the semantic settings that differ from their defaults, each step's ``version``, the content of
files, prompts and benchmarks, the version of the verifiers, the models' semantic settings, the
sandbox of steps that run programs, the seed, ``--limit`` and the fingerprint of the input. Defaults
are left out, so that a new option doesn't change every hash; a *changed* default raises the step's
version. Out: where, how wide, how fast and on which machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from vtdata.errors import ConfigError
from vtdata.llm.model import OPERATIONAL, ModelSpec
from vtdata.recipe.plan import Block, Plan
from vtdata.recipe.rules import wants_sandbox
from vtdata.records import SCHEMA_VERSION
from vtdata.verify import VERSION

JUDGING = ("corpora", "scores")
"""Kinds of block whose rows depend on verdicts: the gold check, and everything that scores."""


def settings_of(step: Any) -> dict[str, Any]:
    """Return the settings of a step that differ from their defaults, inner ones likewise.

    >>> from vtdata.selections.cap import Cap
    >>> settings_of(Cap(into="rl", per="domain", max=3))
    {'into': 'rl', 'max': 3, 'per': 'domain'}
    """
    given: dict[str, Any] = {}
    for name, info in step.__pydantic_fields__.items():
        value = getattr(step, name)
        if info.is_required() or value != info.get_default(call_default_factory=True):
            inner = hasattr(value, "__pydantic_fields__")
            given[name] = settings_of(value) if inner else value
    return given


@lru_cache(maxsize=1024)
def _sha256(path: str, size: int, mtime_ns: int) -> str:
    del size, mtime_ns  # in the cache's key only
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's content.

    Raises:
        ConfigError: it is not there.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise ConfigError(f"file {path} can't be read: {error.strerror}") from None
    return _sha256(str(path.resolve()), stat.st_size, stat.st_mtime_ns)


def model_identity(spec: ModelSpec, revision: str | None) -> dict[str, Any]:
    """Return a model's semantic settings, with the revision that was found for the embedded one."""
    identity = spec.model_dump(exclude=set(OPERATIONAL), exclude_defaults=True)
    return {**identity, "revision": spec.revision or revision}


def fingerprints(
    plan: Plan, *, limit: int | None, revisions: Mapping[str, str], start: str | None = None
) -> dict[str, str]:
    """Return the fingerprint of each block by name, 64 hexadecimal digits.

    Args:
        plan: the recipe.
        limit: ``--limit``.
        revisions: revisions by model name, for those that the recipe leaves to us.
        start: fingerprint of the block that a recipe begins ``from``.
    """
    found: dict[str, str] = {}
    before = start
    for block in plan.blocks:
        before = found[block.name] = _fingerprint(plan, block, before, limit, revisions)
    return found


def _fingerprint(
    plan: Plan, block: Block, before: str | None, limit: int | None, revisions: Mapping[str, str]
) -> str:
    steps = []
    for planned in block.steps:
        step = planned.step
        files = [(path.name, sha256_of(path)) for path in step.files(plan.folder)]
        models = {
            name: model_identity(plan.models[name], revisions.get(name))
            for name in step.model_names()
        }
        found = {
            "step": planned.target,
            "version": step.version,
            "settings": settings_of(step),
            "files": files,
            "models": models,
        }
        if resolved := step.resolved(plan.folder):
            found["resolved"] = resolved
        steps.append(found | ({"sandbox": plan.recipe.sandbox} if wants_sandbox(step) else {}))
    content = {
        "schema": SCHEMA_VERSION,
        "kind": block.kind,
        "steps": steps,
        "seed": plan.recipe.seed,
        "verdicts": VERSION if block.kind in JUDGING else None,
        "limit": limit if block.kind == "corpora" else None,
        "name": plan.recipe.name if block.kind == "shards" else None,
        "description": plan.recipe.description if block.kind == "shards" else None,
        "input": before,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump()
    return str(value)
