"""From a recipe to the blocks, steps and segments that a run executes.

A **block** is one entry of ``stages``. It is cut into **segments** where all queries must have
passed before any may go on: behind a step that makes new ids (equal ids are then united) and
inside a global step (between its ``observe`` and its ``apply``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from vtdata.corpora.checks import Check
from vtdata.corpora.unite import Unite
from vtdata.errors import ConfigError
from vtdata.llm.model import ModelSpec
from vtdata.recipe.catalog import STAGES, find, lookup
from vtdata.recipe.explain import explain
from vtdata.recipe.model import From, RecipeModel
from vtdata.recipe.rules import (
    check_budget,
    check_means,
    check_tables,
    no_literal_secrets,
    no_twins,
)
from vtdata.recipe.source import Source, load_yaml, override
from vtdata.recipe.wiring import check_needs, facet, fill_against, fill_set
from vtdata.records import query_schema
from vtdata.steps import Cut, Global, Keep, Step
from vtdata.steps import Source as SourceStep
from vtdata.text import nearest

_FIXED = frozenset(query_schema().names)
_RESERVED = ("use", "with", "tests")


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of a block."""

    name: str
    """Unique in its block; what counters and reject files call it."""
    step: Step
    target: str
    """package.module:Class"""
    implied: bool = False
    """True where the recipe doesn't name it: uniting and checking seeds always happens."""
    foreign: bool = False
    """True where the recipe brought it in with ``use``."""
    tests: tuple[dict[str, Any], ...] = ()
    """Rows with what must happen to them, for ``vtdata check``."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What one pass over the queries does."""

    steps: tuple[PlannedStep, ...]
    applies: PlannedStep | None = None
    """The global step whose decision is applied first."""
    observes: PlannedStep | None = None
    """The global step that looks at each query last."""


@dataclass(frozen=True, slots=True)
class Block:
    """One entry of ``stages``."""

    index: int
    """From 1; the folder's number."""
    name: str
    """KIND or KIND.label"""
    steps: tuple[PlannedStep, ...]

    @property
    def kind(self) -> str:
        return self.name.partition(".")[0]

    @property
    def cuts(self) -> tuple[PlannedStep, ...]:
        return tuple(planned for planned in self.steps if isinstance(planned.step, Cut))

    def segments(self) -> list[Segment]:
        """Cut the block where every query must have passed before any goes on."""
        segments: list[Segment] = []
        held: list[PlannedStep] = []
        applies: PlannedStep | None = None
        for planned in self.steps:
            if isinstance(planned.step, Unite):
                segments.append(Segment(tuple(held), applies))
                held, applies = [planned], None
            elif isinstance(planned.step, Global):
                segments.append(Segment(tuple(held), applies, planned))
                held, applies = [], planned
            else:
                held.append(planned)
        segments.append(Segment(tuple(held), applies))
        return segments


@dataclass(frozen=True, slots=True)
class Plan:
    """A validated recipe."""

    recipe: RecipeModel
    blocks: tuple[Block, ...]
    folder: Path
    """Relative paths start here: the recipe's folder."""
    raw: dict[str, Any]
    """The recipe as resolved, with ``${env:...}`` still in it: what may be written to disk."""
    start: From | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    """Every column that some step declares, by name, with its Arrow type."""

    @property
    def models(self) -> dict[str, ModelSpec]:
        return self.recipe.models

    @property
    def foreign(self) -> list[str]:
        """Targets of the steps that the recipe brought in with ``use``."""
        return [s.target for block in self.blocks for s in block.steps if s.foreign]


def load_plan(
    path: Path, settings: list[str] | None = None, *, code: bool = True, base: Path | None = None
) -> Plan:
    """Read and validate a recipe.

    Args:
        path: a YAML file.
        settings: ``a.b=c`` assignments that change it.
        code: False refuses ``use:`` steps, which run somebody's code.
        base: where relative paths start; None is the recipe's folder.

    Raises:
        ConfigError: says file, line, key, what was found, what is allowed.
    """
    source = load_yaml(path)
    override(source, settings or [])
    return build_plan(source, base or path.resolve().parent, code=code)


def build_plan(source: Source, folder: Path, *, code: bool = True) -> Plan:
    """Validate a parsed recipe; see ``load_plan``."""
    if not isinstance(source.data, dict):
        raise ConfigError(f"{source.file}: a recipe is a mapping with name, seed and stages")
    recipe = explain(source, (), RecipeModel, source.data)
    no_literal_secrets(recipe, source)
    check_budget(recipe, source)
    blocks: list[Block] = []
    start: From | None = None
    for index, item in enumerate(recipe.stages):
        path = ("stages", index)
        name, body = _only_pair(source, path, item)
        if name == "from":
            if index:
                raise ConfigError(f"{source.where(path)}: 'from' can only be the first block")
            start = explain(source, (*path, "from"), From, body)
            continue
        blocks.append(_block(source, (*path, name), name, body, len(blocks) + 1, code=code))
    _check_kinds(source, blocks, start)
    no_twins(source, [block.name for block in blocks], first=0 if start is None else 1)
    resolved, columns = _resolve(source, blocks, recipe, open_start=start is not None)
    return Plan(recipe, tuple(resolved), folder, source.data, start, columns)


def _only_pair(
    source: Source, path: tuple[str | int, ...], item: dict[str, Any]
) -> tuple[str, Any]:
    if len(item) != 1:
        raise ConfigError(
            f"{source.where(path)}: a block has one key, KIND or KIND.label; found "
            f"{', '.join(item) or 'none'}"
        )
    return next(iter(item.items()))


def _block(
    source: Source, path: tuple[str | int, ...], name: str, body: Any, index: int, *, code: bool
) -> Block:
    kind, _, label = name.partition(".")
    if kind not in STAGES:
        raise ConfigError(
            f"{source.where(path)}: no stage '{kind}';{nearest(kind, STAGES)} there is: "
            f"{', '.join(STAGES)}"
        )
    if "." in name and not label.replace("_", "").replace("-", "").isalnum():
        raise ConfigError(f"{source.where(path)}: label '{label}' of a block is letters and digits")
    if not isinstance(body, list):
        raise ConfigError(
            f"{source.where(path)}: a block is a list of steps, found {type(body).__name__}"
        )
    steps: list[PlannedStep] = []
    taken: dict[str, int] = {}
    for position, item in enumerate(body):
        planned = _step(source, (*path, position), kind, item, code=code)
        taken[planned.name] = taken.get(planned.name, 0) + 1
        if taken[planned.name] > 1:
            planned = dataclasses.replace(planned, name=f"{planned.name}-{taken[planned.name]}")
        steps.append(planned)
    return Block(index, name, tuple(_with_implied(source, path, kind, steps)))


def _with_implied(
    source: Source, path: tuple[str | int, ...], kind: str, steps: list[PlannedStep]
) -> Iterator[PlannedStep]:
    unite = PlannedStep("unite", Unite(), "vtdata.corpora.unite:Unite", implied=True)
    num_sources = sum(isinstance(planned.step, SourceStep) for planned in steps)
    if kind == "corpora" and not num_sources:
        raise ConfigError(f"{source.where(path)}: a corpora block needs at least one source")
    for position, planned in enumerate(steps):
        if isinstance(planned.step, SourceStep) and position >= num_sources:
            raise ConfigError(
                f"{source.where((*path, position))}: sources stand first in a corpora block"
            )
        yield planned
        if isinstance(planned.step, SourceStep):
            if position == num_sources - 1:
                yield unite
                yield PlannedStep("check", Check(), "vtdata.corpora.checks:Check", implied=True)
        elif planned.step.creates:
            yield dataclasses.replace(unite, name=f"unite-{planned.name}")


def _step(
    source: Source, path: tuple[str | int, ...], kind: str, item: Any, *, code: bool
) -> PlannedStep:
    if isinstance(item, str):
        item = {item: None}
    if not isinstance(item, dict) or not item:
        raise ConfigError(
            f"{source.where(path)}: a step is a name or a mapping of one name to its settings, "
            f"found {item!r}"
        )
    if "use" in item:
        return _foreign(source, path, item, code=code)
    if len(item) != 1:
        raise ConfigError(
            f"{source.where(path)}: a step has one name, found {', '.join(map(str, item))}"
        )
    name, settings = next(iter(item.items()))
    try:
        cls = lookup(kind, name)
    except ConfigError as error:
        raise ConfigError(f"{source.where((*path, name))}: {error}") from None
    return _construct(source, (*path, name), name, cls, settings, foreign=False)


def _foreign(
    source: Source, path: tuple[str | int, ...], item: dict[str, Any], *, code: bool
) -> PlannedStep:
    target = item["use"]
    unknown = [key for key in item if key not in _RESERVED]
    if unknown or not isinstance(target, str):
        raise ConfigError(
            f"{source.where(path)}: beside 'use: package.module:Class' only 'with' and 'tests' "
            f"may stand, found {', '.join(unknown) or repr(target)}"
        )
    if not code:
        raise ConfigError(
            f"{source.where(path)}: step '{target}' is code of the recipe's author and --no-code "
            "refuses it"
        )
    try:
        cls = find(target)
    except ConfigError as error:
        raise ConfigError(f"{source.where((*path, 'use'))}: {error}") from error
    settings = dict(item.get("with") or {})
    if "tests" in item:
        settings["tests"] = item["tests"]
    name = target.rpartition(":")[2].lower()
    return _construct(source, (*path, "with"), name, cls, settings, foreign=True)


def _construct(
    source: Source,
    path: tuple[str | int, ...],
    name: str,
    cls: type[Step],
    settings: Any,
    *,
    foreign: bool,
) -> PlannedStep:
    if settings is not None and not isinstance(settings, dict):
        raise ConfigError(
            f"{source.where(path)}: settings of a step are a mapping, found {settings!r}"
        )
    settings = dict(settings or {})
    tests = settings.pop("tests", []) if issubclass(cls, Keep) else []
    try:
        built = explain(source, path, cls, settings)
    except ConfigError as error:
        message = str(error)
        raise ConfigError(
            message if message.startswith(source.file) else f"{source.where(path)}: {message}"
        ) from None
    target = f"{cls.__module__}:{cls.__qualname__}"
    return PlannedStep(name, built, target, foreign=foreign, tests=tuple(tests))


def _check_kinds(source: Source, blocks: list[Block], start: From | None) -> None:
    if not blocks:
        raise ConfigError(f"{source.where(('stages',))}: there is no block to run")
    if start is None and blocks[0].kind != "corpora":
        raise ConfigError(
            f"{source.where(('stages', 0))}: the first block is 'corpora' or "
            "'from: {run: DIR, block: NAME}'"
        )
    for index, block in enumerate(blocks, start=0 if start is None else 1):
        place = source.where(("stages", index))
        if block.kind == "corpora" and index:
            raise ConfigError(f"{place}: corpora can only be the first block")
        if block.kind == "shards" and block is not blocks[-1]:
            raise ConfigError(f"{place}: shards can only be the last block")
        if (block.kind == "shards") != bool(block.cuts):
            raise ConfigError(f"{place}: sft and rl belong to a shards block, and it needs one")


def _resolve(
    source: Source, blocks: list[Block], recipe: RecipeModel, *, open_start: bool
) -> tuple[list[Block], dict[str, Any]]:
    """Fill in what hangs on steps before, and check that each step finds what it reads."""
    there: set[str] = set()
    sets: list[str] = []
    benchmarks: list[str] = []
    columns: dict[str, Any] = {}
    tables: dict[str, pa.Schema] = {}
    resolved: list[Block] = []
    for block in blocks:
        place = f"{source.file}: block '{block.name}'"
        steps: list[PlannedStep] = []
        for planned in block.steps:
            step = planned.step
            where = f"{place}, step '{planned.name}'"
            check_means(step, recipe, where)
            step = fill_against(step, benchmarks)
            if not open_start:
                step = fill_set(step, sets, where)
                check_needs(step, there, where)
            made = step.rollout_set()
            if made in sets:
                raise ConfigError(
                    f"{where}: a set '{made}' is made before: name this one with 'as'"
                )
            sets += [made] if made else []
            there.update(facet(step, fact, made) for fact in step.gives)
            check_tables(step, tables, where)
            for name, kind in step.writes.items():
                if name in _FIXED:
                    raise ConfigError(f"{where}: every query has a column '{name}': rename yours")
                if columns.setdefault(name, kind) != kind:
                    raise ConfigError(f"{where}: column '{name}' has another type before it")
            steps.append(dataclasses.replace(planned, step=step))
        resolved.append(dataclasses.replace(block, steps=tuple(steps)))
    return resolved, columns
