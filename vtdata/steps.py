"""The few base classes that steps share.

A step is its settings: annotated fields, each documented once under itself, give the constructor,
the checks, the fingerprint, the YAML form and the JSON Schema. A step holds no run-time object, so
it pickles; whatever it needs while running comes in a ``Context``.

    Source   makes queries out of files, hubs and generators          corpora
    Map      one query in, itself (and perhaps new ones) out          any stage
    Keep     one query in, a reason to reject it or None              any stage
    Batched  some queries in, each marked where they stand            any stage
    Async    like Map, but waits for model calls or programs          any stage
    Global   observe on every rank, decide once, apply on every rank  any stage
    Cut      turns queries into the rows of a training set            shards

What a step must never do is lose a query: it returns every query it was given, marked with
``query.drop(...)`` where it rejects it. The runner counts, and a step whose books don't balance
fails the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass as stdlib_dataclass
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast, dataclass_transform

import pyarrow as pa
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as pydantic_dataclass

from vtdata.records import Query, Turn
from vtdata.sandbox import Sandbox

if TYPE_CHECKING:
    import polars as pl

S = TypeVar("S")

_CONFIG = ConfigDict(
    extra="forbid", strict=True, use_attribute_docstrings=True, validate_by_name=True
)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def step(cls: type[S]) -> type[S]:
    """Make the annotated fields of a step its keyword settings, validated and frozen."""
    return cast("type[S]", pydantic_dataclass(cls, config=_CONFIG, kw_only=True, frozen=True))


@stdlib_dataclass(frozen=True, slots=True)
class Request:
    """One model call, complete: what is in here decides the answer, and is the store's key.

    ``model`` names an entry of the recipe's ``models``; the client adds that entry's model id,
    revision and sampling parameters before it hashes.
    """

    model: str
    messages: tuple[Turn, ...]
    seed: int
    bucket: int
    """The query's bucket: it says which part of the store holds the answer. Not in the key."""
    overrides: tuple[tuple[str, Any], ...] = ()
    """Sampling parameters that differ from the model's entry, sorted by name."""


@stdlib_dataclass(frozen=True, slots=True)
class Generation:
    """What came back for one request."""

    key: str
    """sha256 of the request's canonical JSON, hexadecimal."""
    state: str
    """ok, truncated, looped, empty, refused or failed."""
    reasoning: str | None
    content: str | None
    think_source: str
    """Where the reasoning stood: field, tags, closer or none."""
    finish_reason: str
    model: str
    """The model id as asked for, not the recipe's name of it."""
    revision: str
    sampling: str
    """Canonical JSON of every sampling parameter that was sent."""
    n_prompt_tokens: int | None
    n_completion_tokens: int | None
    error: str | None = None
    """What went wrong, for people; never holds a secret."""
    cached: bool = False
    """True when it came from the store."""


class Models(Protocol):
    """Every model call of a run goes through this; ``vtdata.llm`` implements it."""

    async def generate(self, request: Request) -> Generation:
        """Answer from the store, or ask the server and store before returning."""
        ...


@stdlib_dataclass(slots=True)
class Context:
    """What a step may use while it runs."""

    seed: int
    """The recipe's seed."""
    rank: int = 0
    world: int = 1
    folder: Path = field(default_factory=Path)
    """Relative paths in a recipe start here: the recipe's own folder."""
    limit: int | None = None
    """Read at most this many first rows of each source."""
    recipe: str = ""
    fingerprint: str = ""
    models: Models | None = None
    sandbox: Sandbox | None = None
    """Entered already, for steps that say ``wants_sandbox``; one for each worker."""
    stopping: Callable[[], bool] = lambda: False
    """True once the run was asked to end; long loops look at it."""
    note: Callable[[str, int], None] = lambda _name, _count: None
    """Add to a named counter of this step, shown in the report: ``ctx.note("identical", 2)``."""
    log: Callable[[str, dict[str, Any]], None] = lambda _table, _row: None
    """Add a row to one of the step's ``tables``: ``ctx.log("ballots", {"query_id": query.id})``.
    Columns that are left out are null. ``vtdata inspect RUN --table ballots`` shows them."""


class Step:
    """What every step has."""

    version: ClassVar[int] = 1
    """Raise it whenever the same settings could give other rows."""
    needs: ClassVar[tuple[str, ...]] = ()
    """What must be there: rollouts, verdicts, vote, into; a set's by its ``of``."""
    gives: ClassVar[tuple[str, ...]] = ()
    """What is there afterwards."""
    writes: ClassVar[dict[str, pa.DataType]] = {}
    """Columns it adds to ``query.extra``."""
    creates: ClassVar[bool] = False
    """True where it makes queries with new ids: the runner then shuffles and unites afterwards."""
    tables: ClassVar[dict[str, pa.Schema]] = {}
    """Tables it logs rows into for people to read, by name, with their columns: text, numbers and
    booleans, in the order by which rows are sorted. Several steps of a recipe may share one."""
    reasons: ClassVar[tuple[str, ...]] = ()
    """The reasons for which it rejects queries or drops rollouts: keys in the report."""

    def open(self, ctx: Context) -> None:
        """Check what only the run's machine can tell, before the first row; raises ConfigError."""

    def files(self, folder: Path) -> list[Path]:
        """Local files whose content decides the output; their sha256 enters the fingerprint."""
        del folder
        return []

    def resolved(self, folder: Path) -> dict[str, Any]:
        """What names in its settings stand for, found when a run begins; raises ConfigError.

        For what isn't a file beside the recipe: benchmarks by name, say. It enters the fingerprint
        and the block's manifest, so it is data that JSON can hold, and the same on every machine.
        """
        del folder
        return {}

    def model_names(self) -> list[str]:
        """Entries of the recipe's ``models`` that it asks."""
        return []

    def rollout_set(self) -> str | None:
        """The set of rollouts it makes, for steps that give ``rollouts``."""
        return None


class Source(Step):
    """Makes queries. ``limit`` and rank are the context's: rank r of w yields its share of rows."""

    creates = True

    def read(self, ctx: Context) -> Iterator[Query]:
        """Yield queries; a bad row comes as a query that is already marked with its reason."""
        raise NotImplementedError


class Map(Step):
    """Sees one query at a time and returns it, with new ones behind it if it creates any."""

    def process(self, query: Query, ctx: Context) -> list[Query]:
        """Change, mark or extend; ``DataError`` rejects the query under its reason."""
        raise NotImplementedError


class Keep(Step):
    """Decides whether a query stays."""

    def why_drop(self, query: Query, ctx: Context) -> str | None:
        """Return a reason of ``reasons``, or None to keep."""
        raise NotImplementedError


class Batched(Step):
    """Sees some queries at a time, for work that is cheap only in bulk; makes none.

    Which queries come together is chance: what becomes of one must not depend on the others.
    """

    def process(self, queries: Sequence[Query], ctx: Context) -> None:
        """Change and mark the queries where they stand."""
        raise NotImplementedError


class Async(Step):
    """Waits for model calls or programs; the runner keeps many queries in flight."""

    wants_sandbox: ClassVar[bool] = False
    """True where it runs programs: the recipe must name a ``sandbox`` then."""

    bound: ClassVar[str | None] = None
    """Where ``requests`` are a bound and not what is surely asked: a sentence that says so."""

    def requests(self, query: Query, ctx: Context) -> list[Request] | None:
        """The model calls that this query surely causes; what ``--dry-run`` counts.

        None where that hangs on answers which nobody has yet.
        """
        del query, ctx
        return []

    async def process(self, query: Query, ctx: Context) -> list[Query]:
        """Like ``Map.process``."""
        raise NotImplementedError


class Global(Step):
    """Decides about queries with a view of all of them, through a table of narrow columns."""

    columns: ClassVar[dict[str, pa.DataType]] = {}
    """What ``observe`` returns, beside the query's id."""

    def observe(self, query: Query, ctx: Context) -> tuple[Any, ...] | None:
        """Return the query's row, in the order of ``columns``; None leaves it out."""
        raise NotImplementedError

    def decide(self, table: pl.DataFrame, ctx: Context) -> pl.DataFrame:
        """Return one row per id with what ``apply`` needs; the result must not depend on order."""
        raise NotImplementedError

    def apply(self, query: Query, row: dict[str, Any] | None, ctx: Context) -> None:
        """Write the decision on the query, or drop it."""
        raise NotImplementedError


class Cut(Step):
    """Turns selected queries into the rows of a training set."""

    @property
    def folder(self) -> str:
        """The folder of its files, below the block's."""
        raise NotImplementedError

    @property
    def schema(self) -> pa.Schema:
        raise NotImplementedError

    def split(self, query: Query, ctx: Context) -> str:
        """The split of a query, and so of all its rows."""
        raise NotImplementedError

    def rows(self, query: Query, ctx: Context) -> Iterator[dict[str, Any]]:
        """The query's rows; each has an ``id`` that is unique in the set and a ``query_id``."""
        raise NotImplementedError
