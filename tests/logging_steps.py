"""Steps that log into tables, for recipes of tests: ``use: tests.logging_steps:Lengths``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from vtdata.records import Query
from vtdata.steps import Async, Context, Map, step

SEEN = pa.schema([("query_id", pa.string()), ("length", pa.int32()), ("word", pa.string())])
TRAP = "VTDATA_TEST_TRAP"
"""Names a file; while it is there, ``Lengths`` ends the run at a query of case 7."""


@step
class Lengths(Map):
    """Logs a row per word of a question, the last word first."""

    tables: ClassVar[dict[str, pa.Schema]] = {"seen": SEEN}

    def process(self, query: Query, ctx: Context) -> list[Query]:
        for word in reversed(query.question.split()):
            row = {"query_id": query.id, "length": len(word)}
            ctx.log("seen", {**row, "word": word} if word != "+" else row)
        trap = os.environ.get(TRAP)
        if trap and Path(trap).exists() and "(case 7)" in query.question:
            raise RuntimeError("the trap is set")
        return [query]


@step
class Waits(Async):
    """Logs a row per query from the event loop's thread."""

    tables: ClassVar[dict[str, pa.Schema]] = {"seen": SEEN, "never": SEEN}

    async def process(self, query: Query, ctx: Context) -> list[Query]:
        ctx.log("seen", {"query_id": query.id, "length": -1})
        return [query]


@step
class Other(Map):
    """Has another table of the same name."""

    tables: ClassVar[dict[str, pa.Schema]] = {"seen": pa.schema([("query_id", pa.string())])}


@step
class Nested(Map):
    """Has a column that can't be sorted by."""

    tables: ClassVar[dict[str, pa.Schema]] = {
        "lists": pa.schema([("query_id", pa.string()), ("all", pa.list_(pa.string()))])
    }
