"""Parts: what is written is read, in one order, whoever wrote it."""

from __future__ import annotations

import copy
import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.factories import query, rollout, verdict
from vtdata.errors import RunError
from vtdata.records import (
    Origin,
    PassRate,
    Provenance,
    Query,
    Turn,
    Verifier,
    Vote,
    from_batch,
    query_schema,
    size_of,
    to_batch,
)
from vtdata.records.parts import Part, PartWriter, read_parts
from vtdata.seeds import NUM_BUCKETS, NUM_RANGES, bucket_of, ranges_of

EVERY = range(NUM_BUCKETS)
EXTRA = {
    "late": pa.float64(),
    "word": pa.string(),
    "tags": pa.list_(pa.string()),
    "deep": pa.struct([("n", pa.int64()), ("names", pa.list_(pa.string()))]),
}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
MAYBE = st.none() | TEXT


def rollouts() -> st.SearchStrategy[Any]:
    return st.builds(
        lambda **changes: rollout(None, **changes),
        set=TEXT,
        sample_idx=st.integers(0, 2**31 - 1),
        seed=st.integers(0, 2**63 - 1),
        reasoning=MAYBE,
        content=MAYBE,
        n_completion_tokens=st.none() | st.integers(0, 2**31 - 1),
        verdict=st.none() | st.sampled_from([1.0, 0.0, None]).map(verdict),
        answer_class=st.none() | st.integers(0, 9),
        marks=st.lists(TEXT, max_size=2),
        dropped_by=MAYBE,
        drop_reason=MAYBE,
    )


def queries() -> st.SearchStrategy[Query]:
    return st.builds(
        Query,
        id=st.text("0123456789abcdef", min_size=4, max_size=4),
        prompt=st.lists(st.builds(Turn, TEXT, TEXT), max_size=3),
        verifier=st.builds(Verifier, TEXT, TEXT),
        source=TEXT,
        license=TEXT,
        provenance=st.builds(
            Provenance,
            TEXT,
            MAYBE,
            st.lists(TEXT, max_size=2),
            st.lists(st.builds(Origin, TEXT, TEXT, TEXT, MAYBE), max_size=2),
        ),
        options=st.lists(TEXT, max_size=3),
        answer=MAYBE,
        subdomain=MAYBE,
        date=MAYBE,
        pass_rates=st.lists(
            st.builds(PassRate, TEXT, TEXT, TEXT, *[st.integers(0, 99)] * 5), max_size=2
        ),
        vote=st.none()
        | st.builds(
            Vote, TEXT, MAYBE, *[st.integers(0, 9)] * 4, TEXT, MAYBE, *[st.integers(0, 9)] * 3
        ),
        n_correct=st.none() | st.integers(0, 99),
        reasons=st.lists(TEXT, max_size=2),
        into=st.lists(TEXT, max_size=2),
        rollouts=st.lists(rollouts(), max_size=3),
        extra=st.fixed_dictionaries(
            {
                "late": st.none() | st.floats(allow_nan=False),
                "word": MAYBE,
                "tags": st.none() | st.lists(TEXT, max_size=2),
                "deep": st.none()
                | st.fixed_dictionaries(
                    {"n": st.integers(-9, 9), "names": st.lists(TEXT, max_size=2)}
                ),
            }
        ),
        drop_detail=MAYBE,
    )


def write(
    folder: Path, rows: list[Query], num_writers: int = 1, **extra: pa.DataType
) -> list[Part]:
    writers = [PartWriter(folder, f"part-{n}", query_schema(extra)) for n in range(num_writers)]
    for position, row in enumerate(rows):
        writers[position % num_writers].add(row)
    return [part for writer in writers for part in writer.close()]


@given(st.lists(queries(), max_size=6, unique_by=lambda q: q.id), st.integers(1, 4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_written_is_read_in_order_of_bucket_and_id(
    rows: list[Query], num_writers: int
) -> None:
    wanted = sorted(copy.deepcopy(rows), key=lambda q: (q.bucket, q.id))
    with tempfile.TemporaryDirectory() as folder:
        parts = write(Path(folder), rows, num_writers, **EXTRA)
        assert list(read_parts(Path(folder), parts, EVERY)) == wanted
        assert sum(part.raw_bytes for part in parts) == sum(map(size_of, wanted))


@given(st.lists(queries(), min_size=1, max_size=4))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_a_batch_keeps_everything(rows: list[Query]) -> None:
    batch = to_batch(rows, query_schema(EXTRA))
    batch.validate(full=True)
    assert from_batch(batch) == rows
    assert from_batch(batch.slice(1)) == rows[1:], "a slice has offsets that don't begin at 0"


NUMBERS = [None, 3, 2.5, None, 7]


def test_late_nullable_and_int_then_float_are_one_schema(tmp_path: Path) -> None:
    rows = [query(question=f"q{n}", extra={"score": value}) for n, value in enumerate(NUMBERS)]
    rows.append(query(question="without"))
    schemas = set()
    for number, row in enumerate(copy.deepcopy(rows)):
        parts = write(tmp_path / str(number), [row], score=pa.float64())
        schemas.add(str(pq.read_schema(tmp_path / str(number) / parts[0].file)))
    assert len(schemas) == 1
    parts = write(tmp_path, rows, 2, score=pa.float64())
    found = {q.question: q.extra["score"] for q in read_parts(tmp_path, parts, EVERY)}
    assert found == {"q0": None, "q1": 3.0, "q2": 2.5, "q3": None, "q4": 7.0, "without": None}


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (pa.int64(), "three", "Could not convert 'three' with type str: tried to convert to int64"),
        (pa.int64(), 2.5, "2.5 is no integer"),
        (pa.string(), 3, "Expected bytes, got a 'int' object"),
        (pa.int16(), 40_000, "Value 40000 too large to fit in C integer type"),
    ],
)
def test_a_value_that_its_type_cannot_hold_writes_no_part(
    tmp_path: Path, kind: pa.DataType, value: object, found: str
) -> None:
    writer = PartWriter(tmp_path, "part", query_schema({"score": kind}))
    writer.add(query(question="good", extra={"score": None}))
    writer.add(query(question="bad", extra={"score": value}))
    with pytest.raises(RunError) as error:
        writer.close()
    writer.abandon()
    assert str(error.value) == (
        f"column 'score' is declared as {kind}, and a step wrote something else: {found}; mend the "
        "step or its 'writes'"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("world", [1, 2, 3, 7, 64])
def test_every_query_is_in_exactly_one_rank(tmp_path: Path, world: int) -> None:
    rows = [query(question=f"q{n}") for n in range(300)]
    parts = write(tmp_path, rows, 3)
    width = NUM_BUCKETS // NUM_RANGES
    seen: list[str] = []
    for rank in range(world):
        ranges = ranges_of(rank, world)
        buckets = range(ranges.start * width, ranges.stop * width)
        found = list(read_parts(tmp_path, parts, buckets))
        assert all(q.bucket in buckets for q in found)
        seen += [q.id for q in found]
    assert sorted(seen) == sorted(q.id for q in rows)
    assert seen == [q.id for q in read_parts(tmp_path, parts, EVERY)]


@pytest.mark.parametrize("num_writers", [1, 2, 5, 16])
def test_any_number_of_writers_is_as_good_as_one(tmp_path: Path, num_writers: int) -> None:
    rows = [query(1, 0, question=f"q{n}") for n in range(60)]
    one = write(tmp_path / "one", copy.deepcopy(rows))
    many = write(tmp_path / "many", rows[::-1], num_writers)
    assert len(one) == 1
    assert list(read_parts(tmp_path / "many", many, EVERY)) == list(
        read_parts(tmp_path / "one", one, EVERY)
    )


def test_row_groups_outside_the_wanted_buckets_are_not_read(tmp_path: Path) -> None:
    """A row group that can't be read at all does no harm where nobody wants it."""
    rows = sorted((query(question=f"q{n}") for n in range(4_100)), key=lambda q: (q.bucket, q.id))
    (part,) = write(tmp_path, rows)
    path = tmp_path / part.file
    metadata = pq.read_metadata(path)
    assert [metadata.row_group(n).num_rows for n in range(3)] == [2_000, 2_000, 100]
    column = metadata.row_group(0).column(1)
    raw = bytearray(path.read_bytes())
    at = column.dictionary_page_offset or column.data_page_offset
    raw[at : at + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(raw)
    late = rows[-1].bucket
    wanted = [q.id for q in rows if q.bucket == late]
    assert [q.id for q in read_parts(tmp_path, [part], range(late, late + 1))] == wanted
    with pytest.raises(OSError, match=r"."):
        list(read_parts(tmp_path, [part], range(rows[0].bucket, rows[0].bucket + 1)))


def test_a_row_group_closes_at_its_bytes(tmp_path: Path) -> None:
    long = "x" * (9 * 2**20)
    rows = [query(question=f"q{n}", rollouts=[rollout(1.0, content=long)]) for n in range(8)]
    parts = write(tmp_path, sorted(rows, key=lambda q: (q.bucket, q.id)))
    (part,) = parts
    metadata = pq.read_metadata(tmp_path / part.file)
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [3, 3, 2], "a fourth would make 36 MB"
    assert all(group.total_byte_size <= 32 * 2**20 for group in groups)


def test_a_part_out_of_order_begins_a_new_file(tmp_path: Path) -> None:
    rows = sorted((query(question=f"q{n}") for n in range(4_000)), key=lambda q: (q.bucket, q.id))
    parts = write(tmp_path, rows[2_000:] + rows[:2_000])
    assert [part.rows for part in parts] == [2_000, 2_000]
    assert [part.file for part in parts] == ["part-0-00000.parquet", "part-0-00001.parquet"]
    assert [q.id for q in read_parts(tmp_path, parts, EVERY)] == [q.id for q in rows]


def test_a_part_that_is_gone_or_cut_is_a_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "03-rollouts-0"
    (part,) = write(folder, [query()])
    path = folder / part.file
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    way_out = (
        "delete its folder 03-rollouts-0 and run again; model calls are answered from the store"
    )
    with pytest.raises(RunError) as cut:
        list(read_parts(folder, [part], EVERY))
    assert str(cut.value) == (
        f"part {path} should have {len(whole)} bytes and it has {len(whole) - 1} bytes: {way_out}"
    )
    path.unlink()
    with pytest.raises(RunError) as gone:
        list(read_parts(folder, [part], EVERY))
    assert str(gone.value) == (
        f"part {path} should have {len(whole)} bytes and it is not there: {way_out}"
    )


def test_no_rows_are_no_part(tmp_path: Path) -> None:
    assert write(tmp_path, []) == []
    assert list(read_parts(tmp_path, [], EVERY)) == []


def test_a_reader_holds_nothing_that_it_handed_out(tmp_path: Path) -> None:
    rows = sorted((query(question=f"q{n}") for n in range(50)), key=lambda q: (q.bucket, q.id))
    (part,) = write(tmp_path, rows)
    reader = read_parts(tmp_path, [part], range(NUM_BUCKETS))
    first = next(reader)
    second = next(reader)
    assert second.id == rows[1].id
    # the names here and the argument of getrefcount: a batch's list would be one more
    assert sys.getrefcount(first) == 2


def test_a_made_query_has_the_bucket_of_its_own_id() -> None:
    old = query(question="q0")
    new = dataclasses.replace(old, id="0" * 32)
    assert old.bucket == bucket_of(old.id)
    assert new.bucket == bucket_of("0" * 32)


def test_a_flipped_byte_is_found(tmp_path: Path) -> None:
    (part,) = write(tmp_path, [query(question="q0", answer="41")])
    path = tmp_path / part.file
    raw = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(0).column(1)
    raw[column.data_page_offset + column.total_compressed_size - 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(OSError, match="CRC"):
        list(read_parts(tmp_path, [part], range(NUM_BUCKETS)))


def test_an_undeclared_column_is_not_lost_in_silence() -> None:
    with pytest.raises(RunError, match=r"query\.extra has score, which no step declares"):
        to_batch([query(extra={"score": 1.0})], query_schema())
