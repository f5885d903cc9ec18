"""What a scan finds, before thresholds and after: one row for each (text, item) that came near.

Candidates are stored with all that a verdict is made from, so that a changed threshold needs no
scan. ``CANDIDATE`` is what an index returns for a batch of texts; ``EVIDENCE`` adds where the text
stood and what it means, one row per hit, and is what people and other tools read.
"""

from __future__ import annotations

import pyarrow as pa

VERDICTS = ("exact", "near", "short_exact", "template", "suspect")
"""By strength. The first three drop by default; the others are reported."""

DROPPED = ("exact", "near", "short_exact")

UNFINDABLE = "unfindable"
"""Items that no rule can find: of no words but instructions, or of too few."""

CANDIDATE = pa.schema(
    [
        pa.field("text", pa.int32(), nullable=False),  # position in the batch that was scanned
        pa.field("bench", pa.string(), nullable=False),
        pa.field("item", pa.int32(), nullable=False),  # Item.index
        pa.field("item_field", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),  # bytes of raw UTF-8 in the text
        pa.field("end", pa.int64(), nullable=False),
        pa.field("item_start", pa.int64(), nullable=False),  # bytes of raw UTF-8 in the item
        pa.field("item_end", pa.int64(), nullable=False),
        pa.field("coverage", pa.float32(), nullable=False),  # weighted share of n-grams, [0, 1]
        pa.field("n_shared", pa.int32(), nullable=False),  # distinct shared n-grams
        pa.field("n_grams", pa.int32(), nullable=False),  # distinct n-grams of the item
        pa.field("alignment", pa.float32()),  # 0 to 100: weighted share of the item that is equal
        pa.field("template", pa.float32()),  # the same with numbers that differ counted as equal
        pa.field("density", pa.float32()),  # equal pieces by the longer side's length, [0, 1]
        pa.field("weight", pa.float32()),  # of the equal pieces; all four null where not aligned
        pa.field("n_equal", pa.int32(), nullable=False),  # pieces: words cut at digits
        pa.field("n_pieces", pa.int32(), nullable=False),  # of the item that are evidence
        pa.field("longest_run", pa.int32(), nullable=False),  # pieces in a row that are equal
        pa.field("n_tokens", pa.int32(), nullable=False),  # of the item
        pa.field("numbers_changed", pa.int32(), nullable=False),  # aligned, and not the same
        pa.field("numbers_same", pa.int32(), nullable=False),
        pa.field(
            "characters", pa.float32()
        ),  # similarity without spaces, [0, 1]; where near is open
        pa.field("similarity", pa.float32()),  # of whole prompts, [0, 1]; suspects only
        pa.field("rule", pa.string(), nullable=False),  # what brought it here
    ]
)

PLACE = pa.schema(
    [
        pa.field("doc", pa.string(), nullable=False),  # the row's id; file:row where it has none
        pa.field("file", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),  # in that file, from 0
        pa.field("field", pa.string(), nullable=False),  # such as prompt, messages[1].content
        pa.field("side", pa.string(), nullable=False),  # prompt or response
        pa.field("rollout", pa.int32()),  # position in the row's rollouts; null elsewhere
    ]
)

_OTHER = pa.struct(
    [
        ("bench", pa.string()),
        ("item", pa.int32()),
        ("verdict", pa.string()),
        ("coverage", pa.float32()),
    ]
)

EVIDENCE = pa.schema(
    [
        *PLACE,
        pa.field("verdict", pa.string(), nullable=False),  # one of VERDICTS
        pa.field("strength", pa.float32(), nullable=False),  # [0, 1], for sorting
        *[field for field in CANDIDATE if field.name != "text"],
        pa.field("via", pa.string()),  # the contaminated document it is a near-duplicate of
        pa.field("judged", pa.string()),  # same, different or undecided; null where none was asked
        pa.field("date", pa.string()),  # the row's effective date
        pa.field("dates", pa.string(), nullable=False),  # predates, postdates or undated
        pa.field("doc_text", pa.string(), nullable=False),  # literal, of the span
        pa.field("before", pa.string()),  # what stands before it, cut; null where gated
        pa.field("after", pa.string()),  # what stands after it, cut; null where gated
        pa.field("item_text", pa.string()),  # literal, of the span; null where gated
        pa.field("item_hash", pa.string(), nullable=False),  # sha256 of the item's whole text
        pa.field("grams", pa.list_(pa.string())),  # shared n-grams, normalized; null where gated
        pa.field("others", pa.list_(_OTHER), nullable=False),  # further items that match this text
        pa.field("split", pa.string()),
        pa.field("item_key", pa.string()),
        pa.field("item_date", pa.string()),
        pa.field("bench_sha256", pa.string(), nullable=False),
        pa.field("bench_revision", pa.string()),
        pa.field("bench_license", pa.string()),
        pa.field("profile", pa.string(), nullable=False),  # name and version
    ]
)
