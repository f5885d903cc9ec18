"""What is audited, as a stream of Arrow texts with row numbers, in bounded memory."""

from __future__ import annotations

from vtdata.decontam.inputs.fields import shown_fields
from vtdata.decontam.inputs.pieces import Bad, Batch, Counts, Field, Piece, Side
from vtdata.decontam.inputs.rowdates import row_date
from vtdata.decontam.inputs.shard import Shard, Unit
from vtdata.decontam.inputs.source import open_inputs

__all__ = [
    "Bad",
    "Batch",
    "Counts",
    "Field",
    "Piece",
    "Shard",
    "Side",
    "Unit",
    "open_inputs",
    "row_date",
    "shown_fields",
]
