from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vtdata.decontam.hits import BENCHMARKS, SECRET, bench, candidate, found, table
from vtdata.decontam.candidate import EVIDENCE
from vtdata.decontam.report import evidence, json_lines, merge, write_json, write_parquet
from vtdata.decontam.report.evidence import MAX_OTHERS
from vtdata.decontam.report.spans import around, cut, to_bytes
from vtdata.errors import RunError


def test_both_texts_are_cut_by_bytes_and_the_item_is_known() -> None:
    raw = "Überall: Tom has 15 red apples. Yes."
    start = len("Überall: ".encode())
    row = found(candidate(raw, start=start, end=start + 22, item_start=4, item_end=7)).to_pylist()[
        0
    ]
    assert row["doc_text"] == "Tom has 15 red apples."
    assert (row["before"], row["after"]) == ("Überall: ", " Yes.")
    assert row["item_text"] == "has"
    assert row["item_hash"] == BENCHMARKS["open"].items[0].hash
    assert (row["item_key"], row["bench_license"], row["bench_sha256"]) == (
        "open-0",
        "MIT",
        "o" * 64,
    )
    assert (row["grams"], row["profile"]) == (["tom has"], "evidence-1")


def test_schema_is_the_contract() -> None:
    assert found(candidate()).schema.equals(EVIDENCE)
    assert evidence(table(candidate()).slice(0, 0), BENCHMARKS, "p").schema.equals(EVIDENCE)


def test_below_the_thresholds_is_left_out() -> None:
    rows = found(candidate(verdict=None), candidate(row=1)).column("row").to_pylist()
    assert rows == [1]


def test_gated_text_is_nowhere() -> None:
    row = found(candidate("So: " + SECRET, bench="gated", start=4, end=20)).to_pylist()[0]
    assert (row["item_text"], row["grams"], row["item_key"]) == (None, None, None)
    assert (row["before"], row["after"]) == (None, None)  # the rest of the item stands there
    assert row["doc_text"] == SECRET[:16]
    assert row["item_hash"] == BENCHMARKS["gated"].items[0].hash
    assert (row["item_start"], row["item_end"]) == (0, len(SECRET))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
def test_raw_text_may_be_of_any_string_type(kind: pa.DataType) -> None:
    rows = table(candidate("ä" * 9, start=1, end=3))
    cast = rows.set_column(rows.column_names.index("raw"), "raw", rows.column("raw").cast(kind))
    assert evidence(cast, BENCHMARKS, "p").column("doc_text").to_pylist() == ["ää"]


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    row = found(candidate(b"a\xff\xfeb\x80\x80\x80\x80\x80", start=1, end=5)).to_pylist()[0]
    assert row["doc_text"] == "\ufffd\ufffdb\ufffd"


def test_a_window_of_the_text_is_as_good_as_all_of_it() -> None:
    text = "é" * 300 + "Tom has 15 red apples." + "ü" * 300
    whole = found(candidate(text, start=600, end=622))
    window = text.encode()[301:901]  # begins and ends within a character
    assert found(candidate(window, raw_start=301, start=600, end=622)).equals(whole)
    assert whole.column("before").to_pylist() == ["é" * 100]


def test_half_of_a_surrogate_pair_in_an_item_is_no_obstacle() -> None:
    benches = {"odd": bench("odd", "x \ud83d y")}
    row = evidence(table(candidate(bench="odd")), benches, "p").to_pylist()[0]
    assert row["item_text"] == "x \ufffd\ufffd\ufffd y"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            candidate(bench="x"),
            "a hit speaks of benchmark 'x', and given are open, gated, paid, silent: scan again",
        ),
        (
            candidate(item=7),
            "a hit speaks of item 7, field 'question' of 'open', which has no such item among its 2: its file is another one; scan again",
        ),
        (
            candidate() | {"raw": None},
            "no raw text for a hit in row 0 of part-0.parquet, field prompt: give it as column 'raw' and try again",
        ),
    ],
)
def test_a_candidate_without_its_text_or_item_is_an_error(row: dict, message: str) -> None:
    rows = table(row)
    at = rows.column_names.index("raw")
    rows = rows.set_column(at, "raw", rows.column("raw").cast(pa.string()))
    with pytest.raises(RunError) as raised:
        evidence(rows, BENCHMARKS, "p")
    assert str(raised.value) == message


def test_others_are_the_further_items_of_the_same_text_strongest_first() -> None:
    rows = found(
        candidate(strength=0.5),
        candidate(strength=0.9, item=1),
        candidate(strength=0.7, bench="silent", verdict="suspect"),
        candidate(
            strength=0.2, item=1, start=3, coverage=0.1
        ),  # the same item again is no other item
        candidate(strength=0.8, bench="paid", field="response"),  # another text
        candidate(strength=0.8, bench="paid", row=1),
        candidate(strength=0.8, bench="paid", file="part-1.parquet"),
    ).to_pylist()
    others = {
        (row["bench"], row["item"], row["strength"] > 0.3): [
            (other["bench"], other["item"]) for other in row["others"]
        ]
        for row in rows
        if row["bench"] != "paid"
    }
    assert others == {
        ("open", 0, True): [("open", 1), ("silent", 0)],
        ("open", 1, True): [("silent", 0), ("open", 0)],
        ("open", 1, False): [("silent", 0), ("open", 0)],
        ("silent", 0, True): [("open", 1), ("open", 0)],
    }
    shares = {other["coverage"] for row in rows for other in row["others"]}
    assert shares == {0.5}  # of an item that was found twice, the stronger hit
    assert all(row["others"] == [] for row in rows if row["bench"] == "paid")


def test_others_are_bounded() -> None:
    items = MAX_OTHERS + 20
    benches = {"many": bench("many", *(f"item {at}" for at in range(items)))}
    rows = [candidate(bench="many", item=at, strength=1 - at / 1000) for at in range(items)]
    others = evidence(table(*rows), benches, "p").column("others").to_pylist()
    assert {len(listed) for listed in others} == {MAX_OTHERS}
    assert [other["item"] for other in others[-1]] == list(range(MAX_OTHERS))
    assert [other["item"] for other in others[0]] == list(range(1, MAX_OTHERS + 1))


def test_merge_finds_others_across_benchmarks_that_were_scanned_apart() -> None:
    first, second = found(candidate()), found(candidate(bench="silent", strength=0.4))
    merged = merge([second, first])
    assert merged.equals(found(candidate(), candidate(bench="silent", strength=0.4)))
    assert [row["others"][0]["bench"] for row in merged.to_pylist()] == ["silent", "open"]


def test_rows_are_sorted_by_strength_and_then_by_name_and_place() -> None:
    rows = found(
        candidate(strength=0.5, row=2),
        candidate(strength=0.5, row=1, start=3),
        candidate(strength=0.5, row=1),
        candidate(strength=0.5, bench="paid", row=9),
        candidate(strength=0.9, bench="silent"),
        candidate(strength=0.5, item=1, row=0),
    ).to_pylist()
    assert [(row["bench"], row["item"], row["row"], row["start"]) for row in rows] == [
        ("silent", 0, 0, 0),
        ("open", 0, 1, 0),
        ("open", 0, 1, 3),
        ("open", 0, 2, 0),
        ("open", 1, 0, 0),
        ("paid", 0, 9, 0),
    ]


@settings(max_examples=20)  # each writes four files
@given(seed=st.integers(0, 2**32), num_batches=st.integers(1, 4))
def test_files_are_the_same_whatever_the_order_of_rows_and_batches(
    seed: int, num_batches: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    rows = [
        candidate(bench=name, row=row, strength=strength, side=side, field=side)
        for name in ("open", "paid", "gated")
        for row, strength in ((1, 0.5), (2, 0.5), (3, 0.25))
        for side in ("prompt", "response")
    ]
    straight = found(*rows)
    random.Random(seed).shuffle(rows)
    batches = [rows[at::num_batches] for at in range(num_batches)]
    shuffled = merge([found(*batch) for batch in batches if batch])
    for name, write in (("parquet", write_parquet), ("jsonl", write_json)):
        write(straight, folder / f"a.{name}")
        write(shuffled, folder / f"b.{name}")
        assert (folder / f"a.{name}").read_bytes() == (folder / f"b.{name}").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == [
        "a.jsonl",
        "a.parquet",
        "b.jsonl",
        "b.parquet",
    ]


@given(text=st.text(max_size=60), start=st.integers(-9, 260), end=st.integers(-9, 260))
def test_a_span_holds_whole_characters_and_at_least_what_was_asked(
    text: str, start: int, end: int
) -> None:
    raw = text.encode()
    span = cut(raw, start, end)
    assert raw[span.start : span.end].decode() == span.text  # strict: no character is broken
    low, high = max(start, 0), min(end, len(raw))
    if low < high:
        assert span.start <= low
        assert span.end >= high
        assert low - span.start < 4
        assert span.end - high < 4
    else:
        assert span.text == ""
    before, after = around(raw, span.start, span.end, size=7)
    assert text.encode()[: span.start].endswith(before.encode())
    assert text.encode()[span.end :].startswith(after.encode())
    assert len(before.encode()) <= 7
    assert len(after.encode()) <= 7


@given(raw=st.binary(max_size=40), start=st.integers(-3, 45), end=st.integers(-3, 45))
def test_any_bytes_can_be_cut(raw: bytes, start: int, end: int) -> None:
    span = cut(raw, start, end)
    around(raw, span.start, span.end, size=5)
    assert 0 <= span.start <= span.end <= len(raw)
    assert span.text == raw[span.start : span.end].decode("utf-8", "replace")


@given(raw=st.text(min_size=1, max_size=50), start=st.integers(0, 60), size=st.integers(1, 60))
def test_evidence_of_any_text_points_at_its_own_bytes(raw: str, start: int, size: int) -> None:
    row = found(candidate(raw, start=start, end=start + size)).to_pylist()[0]
    assert to_bytes(raw)[row["start"] : row["end"]].decode() == row["doc_text"]


def test_json_lines_are_plain_and_one_a_hit(tmp_path: Path) -> None:
    write_json(found(candidate("a\u2028b\x85c 中", strength=0.3)), tmp_path / "e.jsonl")
    text = (tmp_path / "e.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 1  # splits at every kind of line end
    assert "中" in text
    row = json.loads(text)
    assert (row["doc_text"], row["strength"]) == ("a\u2028b\x85c 中", 0.3)
    assert list(row) == EVIDENCE.names


def test_json_is_one_array(tmp_path: Path) -> None:
    hits = found(candidate("a"), candidate("b", row=1))
    for some in (hits, hits.slice(0, 0)):
        write_json(some, tmp_path / "e.json")
        read = json.loads((tmp_path / "e.json").read_text())
        assert [row["doc_text"] for row in read] == some.column("doc_text").to_pylist()


def test_json_and_parquet_say_the_same(tmp_path: Path) -> None:
    hits = found(candidate(), candidate(item=1, rollout=3))
    write_parquet(hits, tmp_path / "e.parquet")
    back = pq.read_table(tmp_path / "e.parquet")
    assert back.schema.metadata == {b"schema_version": b"1"}
    assert back.cast(EVIDENCE).equals(hits)
    assert pa.Table.from_pylist(list(map(json.loads, json_lines(hits))), schema=EVIDENCE).equals(
        hits
    )


def test_a_date_is_the_items_or_the_benchmarks_and_the_callers_word_counts() -> None:
    dated = {"open": bench("open", "x", published="2024-02-06")}
    rows = evidence(table(candidate(date="2025")), dated, "p").to_pylist()
    assert [(row["item_date"], row["dates"]) for row in rows] == [("2024-02-06", "postdates")]
    rows = evidence(table(candidate(date="2025", dates="undated")), dated, "p").to_pylist()
    assert rows[0]["dates"] == "undated"
    rows = evidence(table(candidate(date="2023-01-01T10:00:00Z")), dated, "p").to_pylist()
    assert rows[0]["dates"] == "predates"
    rows = evidence(table(candidate(date="last year")), dated, "p").to_pylist()
    assert rows[0]["dates"] == "undated"
