"""At most so many members of a set per domain, subdomain or source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from vtdata.records import Query
from vtdata.seeds import derive_seed
from vtdata.steps import Context, Global, step

if TYPE_CHECKING:
    import polars as pl


@step
class Cap(Global):
    """Keep at most ``max`` members of a set per value of a column; the others leave the set.

    Who stays is a draw by ``derive_seed(seed, "cap", set, id)``, the smallest first: it depends on
    the members alone, not on their order, nor on the number of ranks. A query that leaves stays in
    its other sets; with none left it is rejected where the shards are cut. Queries whose column is
    empty share one group.

    Reads ``into`` and the column ``per``. Writes ``into``. Notes ``capped``. Memory: about 60 MB
    per million members.

    Source: ours.
    """

    into: str
    """The set that is capped."""
    max: Annotated[int, Field(ge=1)]
    """Most members per value."""
    per: Literal["domain", "subdomain", "source"]
    """The column whose values are capped, one by one."""

    needs = ("into",)
    gives = ("into",)
    columns: ClassVar[dict[str, pa.DataType]] = {"value": pa.string(), "draw": pa.int64()}

    def observe(self, query: Query, ctx: Context) -> tuple[Any, ...] | None:
        if self.into not in query.into:
            return None
        return getattr(query, self.per), derive_seed(ctx.seed, "cap", self.into, query.id)

    def decide(self, table: pl.DataFrame, ctx: Context) -> pl.DataFrame:
        del ctx
        import polars as pl

        place = pl.int_range(pl.len()).over("value")
        ranked = table.sort("value", "draw", "id")
        return ranked.select("id", (place < self.max).alias("stays")).sort("id")

    def apply(self, query: Query, row: dict[str, Any] | None, ctx: Context) -> None:
        if row is not None and not row["stays"]:
            query.into.remove(self.into)
            ctx.note("capped", 1)
