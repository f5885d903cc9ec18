from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from vtdata.corpora.columns import Columns
from vtdata.corpora.files import Csv, Jsonl, Parquet
from vtdata.errors import ConfigError, RunError
from vtdata.records import Query
from vtdata.steps import Context, Source

QA = Columns(question="q", answer="a")


def jsonl(path: str | list[str] = "*.jsonl", **more: Any) -> Jsonl:
    known = {"columns": QA, "verifier": "math", "license": "MIT", "source": "src"} | more
    return Jsonl(path=path, **known)


def csv_(path: str | list[str] = "*.csv", **more: Any) -> Csv:
    known = {"columns": QA, "verifier": "math", "license": "MIT", "source": "src"} | more
    return Csv(path=path, **known)


def parquet(path: str | list[str] = "*.parquet", **more: Any) -> Parquet:
    known = {"columns": QA, "verifier": "math", "license": "MIT", "source": "src"} | more
    return Parquet(path=path, **known)


def read(step: Source, folder: Path, **ctx: Any) -> list[Query]:
    context = Context(seed=1, folder=folder, **ctx)
    step.open(context)
    return list(step.read(context))


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows(first: int, last: int) -> list[dict[str, str]]:
    return [{"q": f"What is {n} + 1?", "a": str(n + 1)} for n in range(first, last)]


def places(queries: list[Query]) -> list[str]:
    return [query.provenance.origins[0].row for query in queries]


def write_jsonl(folder: Path) -> Jsonl:
    (folder / "a.jsonl").write_text(lines(*rows(0, 5)) + "{broken\n" + lines(*rows(5, 8)))
    (folder / "b.jsonl").write_text(lines(*rows(8, 11)))
    return jsonl()


def write_csv(folder: Path) -> Csv:
    body = "".join(f"{row['q']},{row['a']}\n" for row in rows(0, 7))
    (folder / "a.csv").write_text("q,a\n" + body + '"two\nlines?",3\nonly one cell\n')
    (folder / "b.csv").write_text("a,q\n8,What is 7 + 1?\n")
    return csv_()


def write_parquet(folder: Path) -> Parquet:
    pq.write_table(pa.Table.from_pylist(rows(0, 11)), folder / "a.parquet", row_group_size=3)
    pq.write_table(pa.Table.from_pylist(rows(11, 12)), folder / "b.parquet")
    return parquet()


WRITERS = [write_jsonl, write_csv, write_parquet]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("limit", [None, 0, 1, 5, 9, 100])
def test_ranks_split_the_rows(
    tmp_path: Path, write: Callable[[Path], Source], world: int, limit: int | None
) -> None:
    step = write(tmp_path)
    alone = read(step, tmp_path)[:limit]
    split = [
        query
        for rank in range(world)
        for query in read(step, tmp_path, rank=rank, world=world, limit=limit)
    ]
    assert len(split) == len(alone) == min(12 if write is write_jsonl else len(alone), len(alone))

    def known(query: Query) -> str:
        return json.dumps(asdict(query), sort_keys=True)

    assert sorted(map(known, split)) == sorted(map(known, alone))  # every row, and once


@pytest.mark.parametrize("write", WRITERS)
def test_sources_pickle_and_name_their_files(
    tmp_path: Path, write: Callable[[Path], Source]
) -> None:
    step = write(tmp_path)
    names = [path.name for path in step.files(tmp_path)]
    assert names == [f"a.{names[0][2:]}", f"b.{names[0][2:]}"]
    again = pickle.loads(pickle.dumps(step))
    assert [q.id for q in read(again, tmp_path)] == [q.id for q in read(step, tmp_path)]


@pytest.mark.parametrize("write", WRITERS)
def test_no_folder_of_the_machine_is_written(
    tmp_path: Path, write: Callable[[Path], Source]
) -> None:
    for query in read(write(tmp_path), tmp_path):
        assert tmp_path.name not in json.dumps(asdict(query))


def test_origins_are_files_and_rows(tmp_path: Path) -> None:
    assert places(read(write_jsonl(tmp_path), tmp_path))[4:8] == [
        "a.jsonl:5",
        "a.jsonl:6",
        "a.jsonl:7",
        "a.jsonl:8",
    ]
    found = places(read(write_csv(tmp_path), tmp_path))
    assert found == [f"a.csv:{n}" for n in range(2, 10)] + ["a.csv:11", "b.csv:2"]
    found = places(read(write_parquet(tmp_path), tmp_path))
    assert found == [f"a.parquet:{n}" for n in range(11)] + ["b.parquet:0"]


BIG = "x" * 300


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        (b'{"q": "x", "a": "1"}', None, None),
        (b'\xef\xbb\xbf{"q": "x", "a": "1"}', "bad_json", None),  # a mark in the middle
        (b'{"q": "x", "a": ', "bad_json", "Expecting value"),
        (b'{"q": "x", "a": NaN}', "bad_json", "NaN isn't JSON"),
        (b'["x", "1"]', "bad_json", "the line is ['x', '1'], need an object"),
        (b"[" * 5000, "row_too_large", "5001 bytes, max_row_bytes is 300"),
        (b"[" * 290, "bad_json", None),
        (b'{"q": "caf\xe9", "a": "1"}', "bad_encoding", "byte 10 is 0xe9, not UTF-8"),
        (b'{"q": "\\ud83d", "a": "1"}', "bad_encoding", "question can't be UTF-8 at 0"),
        (b'{"q": ["x"], "a": "1"}', "wrong_type", "question is ['x'], need text"),
        (json.dumps({"q": BIG, "a": "1"}).encode(), "row_too_large", "320 bytes"),
    ],
)
def test_a_bad_line_is_one_reject(
    tmp_path: Path, line: bytes, reason: str | None, detail: str | None
) -> None:
    good = lines(*rows(0, 1)).encode()
    (tmp_path / "a.jsonl").write_bytes(good + line + b"\n" + lines(*rows(1, 2)).encode())
    first, query, last = read(jsonl(max_row_bytes=300), tmp_path)
    assert first.live
    assert last.live
    assert query.drop_reason == reason
    assert detail is None or (query.drop_detail or "").startswith(f"a.jsonl:2: {detail}")


def test_a_truncated_last_line_is_one_reject(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(*rows(0, 2)) + '{"q": "What is')
    found = read(jsonl(), tmp_path)
    assert [query.drop_reason for query in found] == [None, None, "bad_json"]
    assert 'it ends \'{"q": "What is\'' in (found[2].drop_detail or "")


@pytest.mark.parametrize(("size", "reason"), [(100, None), (99, "row_too_large")])
def test_the_limit_of_a_line_counts_its_end(tmp_path: Path, size: int, reason: str | None) -> None:
    row = json.dumps({"q": "x" * 80, "a": "1"})
    assert len(row) + 1 == 100
    (tmp_path / "a.jsonl").write_text(row + "\n" + lines(*rows(0, 1)))
    assert read(jsonl(max_row_bytes=size), tmp_path)[0].drop_reason == reason


def test_blank_lines_are_no_rows_and_keep_the_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n" + lines(*rows(0, 1)) + "  \n\n" + lines(*rows(1, 2)))
    assert places(read(jsonl(), tmp_path)) == ["a.jsonl:2", "a.jsonl:5"]


def test_numbers_keep_how_they_were_written(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"q": "x", "a": 0.10000000000000000555}\n')
    assert read(jsonl(), tmp_path)[0].answer == "0.10000000000000000555"


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_compressed_files(tmp_path: Path, ending: str, mark: bytes) -> None:
    first, second = mark + lines(*rows(0, 2)).encode(), lines(*rows(2, 3)).encode()
    zstd = zstandard.ZstdCompressor()
    whole = {
        ".jsonl": first + second,
        ".jsonl.gz": gzip.compress(first) + gzip.compress(second),  # two members
        ".jsonl.zst": zstd.compress(first) + zstd.compress(second),
    }[ending]
    (tmp_path / f"train{ending}").write_bytes(whole)
    found = read(jsonl(f"train{ending}", source=None), tmp_path)
    assert [query.answer for query in found] == ["1", "2", "3"]
    assert {query.source for query in found} == {"train"}
    assert places(found) == [f"train{ending}:{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_truncated_compressed_file_ends_the_run(tmp_path: Path, ending: str) -> None:
    text = lines(*rows(0, 12_000)).encode()
    pack = gzip.compress if ending == ".gz" else zstandard.ZstdCompressor().compress
    (tmp_path / f"a.jsonl{ending}").write_bytes(pack(text)[:-100])
    with pytest.raises(RunError, match=rf"a\.jsonl{ending} is corrupt after line [0-9]{{3,}}"):
        read(jsonl(f"a.jsonl{ending}"), tmp_path)


def test_a_file_that_is_not_compressed_as_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_text(lines(*rows(0, 3)))
    with pytest.raises(RunError, match=r"a\.jsonl\.gz is corrupt"):
        read(jsonl("a.jsonl.gz"), tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.jsonl is empty; a source needs at least one row"),
        (b"\n\n", "a.jsonl is empty; a source needs at least one row"),
        ('{"q": "x"}\n'.encode("utf-16"), "a.jsonl is in UTF-16; convert it to UTF-8"),
        (
            b'{"q": "x", "b": {"answer": 1}}\n',
            "a.jsonl has no column 'a': it has b, b.answer, q in its first 1 rows; write 'NAME?' "
            "for what only some rows have",
        ),
    ],
)
def test_a_file_that_cannot_be_a_source(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        jsonl().open(Context(seed=1, folder=tmp_path))
    assert str(caught.value) == message


def test_a_json_array_is_not_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(rows(0, 2), indent=1))
    with pytest.raises(ConfigError, match=r"a\.jsonl has no JSON object in its first 10 lines"):
        jsonl().open(Context(seed=1, folder=tmp_path))


def test_a_column_that_only_some_rows_have(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(*rows(0, 3)) + lines({"q": "x", "a": 2.5, "d": "2024"}))
    columns = Columns(question="q", answer="a", date="d?")
    assert [q.date for q in read(jsonl(columns=columns), tmp_path)] == [None, None, None, "2024"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("trian.jsonl", "trian.jsonl is not there; did you mean 'train.jsonl'? paths start at"),
        ("nowhere/x.jsonl", "nowhere/x.jsonl is not there; paths start at the recipe's folder"),
        ("sub", "sub is a folder; name its files, for example sub/*.jsonl"),
        ("*.parquet", "*.parquet matches no file; paths start at the recipe's folder"),
        ([], "path is an empty list"),
        (["train.jsonl", "sub/*.jsonl"], "2 files (train.jsonl, sub/train.jsonl ...) are one"),
    ],
)
def test_paths_that_name_no_source(tmp_path: Path, path: Any, message: str) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("train.jsonl", "sub/train.jsonl"):
        (tmp_path / name).write_text(lines(*rows(0, 1)))
    with pytest.raises(ConfigError) as caught:
        jsonl(path, source=None).open(Context(seed=1, folder=tmp_path))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("train.jsonl", ["train.jsonl:1"]),
        ("sub/train.jsonl", ["train.jsonl:1"]),
        ("**/*.jsonl", ["sub/train.jsonl:1", "train.jsonl:1"]),  # names alone would be one
        (["train.jsonl", "*.jsonl"], ["train.jsonl:1"]),  # each file once
        ("sub/../train.jsonl", ["train.jsonl:1"]),
    ],
)
def test_paths(tmp_path: Path, path: Any, found: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("train.jsonl", "sub/train.jsonl"):
        (tmp_path / name).write_text(lines(*rows(0, 1)))
    assert places(read(jsonl(path), tmp_path)) == found
    absolute = [str(tmp_path / p) for p in ([path] if isinstance(path, str) else path)]
    assert places(read(jsonl(absolute), Path("/"))) == found


def test_a_name_with_brackets_is_a_name_first(tmp_path: Path) -> None:
    (tmp_path / "a[1].jsonl").write_text(lines(*rows(0, 1)))
    assert places(read(jsonl("a[1].jsonl"), tmp_path)) == ["a[1].jsonl:1"]


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        ("x,1\n", [None]),
        ("x,1", [None]),
        ('"x, ""y""\nand z",1\r\n', [None]),
        ("x,\n", ["no_answer"]),  # an empty cell is null
        (",1\n", ["empty_question"]),
        ("x\n", ["bad_csv"]),
        ("x,1,2\n", ["bad_csv"]),
        ('"x"y,1\nz,2\n', ["bad_csv", None]),
        ('x,1\n"never closed,2\nz,3\n', [None, "bad_csv"]),
        ("caf\u00e9,1\n", [None]),
        ("x" * 300 + ",1\nz,2\n", ["row_too_large", None]),
        ('"' + "x\n" * 300 + '",1\nz,2\n', ["row_too_large", None]),
    ],
)
def test_csv_records(tmp_path: Path, body: str, reasons: list[str | None]) -> None:
    (tmp_path / "a.csv").write_bytes(("q,a\n" + body).encode())
    found = read(csv_(max_row_bytes=300), tmp_path)
    assert [query.drop_reason for query in found] == reasons


@pytest.mark.parametrize(("size", "reason"), [(100, None), (99, "row_too_large")])
def test_the_limit_of_a_record_counts_its_end(
    tmp_path: Path, size: int, reason: str | None
) -> None:
    (tmp_path / "a.csv").write_text("q,a\n" + "x" * 97 + ",1\ny,2\n")
    first, second = read(csv_(max_row_bytes=size), tmp_path)
    assert (first.drop_reason, second.drop_reason) == (reason, None)


def test_csv_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("q,a\ncaf\u00e9,1\nx,2\n".encode("latin-1"))
    found = read(csv_(), tmp_path)
    assert [query.drop_reason for query in found] == ["bad_encoding", None]
    assert found[0].drop_detail == "a.csv:2: byte 3 is 0xe9, not UTF-8"


def test_csv_cells_hold_json(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('q;o;a\nWhich?;["3", "4"];B\n')
    columns = Columns(question="q", options="o", answer="a")
    (query,) = read(csv_(columns=columns, verifier=None, delimiter=";"), tmp_path)
    assert (query.options, query.answer) == (["3", "4"], "B")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.csv is empty; a source needs a header and rows"),
        ("q,a\n", "a.csv has a header and no rows"),
        ("q,b\n1,2\n", "a.csv has no column 'a': it has b, q"),
        ("q,a,a\n1,2,3\n", "a.csv has column 'a' 2 times"),
        ('"q,a\n1,2\n', "a.csv has no readable header: bad_csv: lines 1 to 2: unexpected end"),
    ],
)
def test_csv_that_cannot_be_a_source(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ConfigError) as caught:
        csv_().open(Context(seed=1, folder=tmp_path))
    assert str(caught.value).startswith(message)


def test_a_delimiter_is_one_character() -> None:
    with pytest.raises(ValueError, match="delimiter must be one character, got '; '"):
        csv_(delimiter="; ")


def test_parquet_of_different_types_and_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"q": ["x", "y"], "a": pa.array([1, None])}), tmp_path / "a.parquet")
    late = pa.table({"q": ["z"], "a": [2.5], "d": [2024], "unused": [b"\xff"]})
    pq.write_table(late, tmp_path / "b.parquet")
    columns = Columns(question="q", answer="a", date="d?")
    found = read(parquet(columns=columns), tmp_path)
    assert [(q.answer, q.date) for q in found] == [("1", None), (None, None), ("2.5", "2024")]
    assert [q.drop_reason for q in found] == [None, "no_answer", None]


def test_parquet_nested_columns(tmp_path: Path) -> None:
    chat = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    info = pa.struct([("answer", pa.string()), ("options", pa.list_(pa.string()))])
    row = {
        "prompt": [{"role": "user", "content": "Which?"}],
        "info": {"answer": "B", "options": ["3", "4"]},
    }
    schema = pa.schema([("prompt", chat), ("info", info)])
    pq.write_table(pa.Table.from_pylist([row], schema), tmp_path / "a.parquet")
    columns = Columns(messages="prompt", answer="info.answer", options="info.options")
    (query,) = read(parquet(columns=columns, verifier=None), tmp_path)
    assert (query.question, query.options, query.answer) == ("Which?", ["3", "4"], "B")
    with pytest.raises(ConfigError, match=r"no column 'info.anwser': did you mean 'info.answer'\?"):
        read(parquet(columns=Columns(messages="prompt", answer="info.anwser")), tmp_path)


def test_parquet_text_that_is_not_utf8(tmp_path: Path) -> None:
    raw = pa.array([b"good", b"caf\xe9", b"fine"], pa.binary())
    text = pa.StringArray.from_buffers(3, raw.buffers()[1], raw.buffers()[2])
    pq.write_table(pa.table({"q": text, "a": ["1", "2", "3"]}), tmp_path / "a.parquet")
    found = read(parquet(), tmp_path)
    assert [query.drop_reason for query in found] == [None, "bad_encoding", None]
    assert (found[1].drop_detail or "").startswith("a.parquet:1: byte 3")


def test_a_large_parquet_row_is_one_reject(tmp_path: Path) -> None:
    large = pa.table({"q": ["x", "y" * 2000, "z"], "a": ["1", "2", "3"]})
    pq.write_table(large, tmp_path / "a.parquet")
    found = read(parquet(max_row_bytes=1000), tmp_path)
    assert [query.drop_reason for query in found] == [None, "row_too_large", None]
    assert (found[1].drop_detail or "").endswith("bytes, max_row_bytes is 1000")


def test_a_parquet_file_that_is_not_one(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"a\.parquet can't be read as Parquet: .*0 bytes"):
        read(parquet(), tmp_path)
    pq.write_table(pa.Table.from_pylist(rows(0, 5)), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[:-50])
    with pytest.raises(ConfigError, match=r"a\.parquet can't be read as Parquet"):
        read(parquet(), tmp_path)
    pq.write_table(pa.table({"q": pa.array([], pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(ConfigError, match=r"a\.parquet is empty; a source needs at least one row"):
        read(parquet(), tmp_path)


def test_a_corrupt_row_group_is_named(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(rows(0, 200))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100, compression="zstd")
    meta = pq.read_metadata(tmp_path / "a.parquet").row_group(1).column(0)
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    start = meta.dictionary_page_offset or meta.data_page_offset
    data[start : start + meta.total_compressed_size] = b"\x55" * meta.total_compressed_size
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(RunError, match=r"a\.parquet is corrupt in row group 1 \(rows from 100\)"):
        read(parquet(), tmp_path)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(1, 9))
def test_ids_and_rows_do_not_depend_on_the_world(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], world: int
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    table = [{"q": f"What is {n} + 1?" if n else "", "a": n + 1} for n in numbers]
    (folder / "a.jsonl").write_text(lines(*table))
    pq.write_table(pa.Table.from_pylist(table), folder / "a.parquet", row_group_size=2)
    for step in (jsonl(), parquet()):
        alone = sorted((q.id, *places([q])) for q in read(step, folder))
        split = sorted(
            (q.id, *places([q]))
            for rank in range(world)
            for q in read(step, folder, rank=rank, world=world)
        )
        assert split == alone
        assert len(alone) == len(numbers)


MEASURE = """
import re, resource, sys
from pathlib import Path

def peak():  # ru_maxrss counts what the process was forked from: a large test runner
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

from vtdata.corpora.columns import Columns
from vtdata.corpora.files import Csv, Jsonl, Parquet
from vtdata.steps import Context
kinds = {"jsonl": Jsonl, "csv": Csv, "parquet": Parquet}
folder, name = Path(sys.argv[1]), sys.argv[2]
source = kinds[name.partition(".")[2]](
    path=name, columns=Columns(question="q", answer="a"), license="MIT", verifier="math"
)
ctx = Context(seed=1, folder=folder)
before = peak()
source.open(ctx)
print([query.drop_reason for query in source.read(ctx)])
print((peak() - before) // 1024)
"""


@pytest.mark.parametrize(("name", "most_mib"), [("a.jsonl", 60), ("a.csv", 60), ("a.parquet", 220)])
def test_a_50_mb_row_is_a_reject_in_bounded_memory(
    tmp_path: Path, name: str, most_mib: int
) -> None:
    large = {"q": "x" * 50_000_000, "a": "1"}
    small = rows(0, 1)[0]
    if name == "a.jsonl":
        (tmp_path / name).write_text(lines(small, large, small))
    elif name == "a.csv":
        cells = [f"{row['q']},{row['a']}\n" for row in (small, large, small)]
        (tmp_path / name).write_text("q,a\n" + "".join(cells))
    else:
        pq.write_table(pa.Table.from_pylist([small, large, small]), tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path), name],
        capture_output=True,
        text=True,
        check=True,
    )
    reasons, mib = done.stdout.splitlines()
    assert reasons == "[None, 'row_too_large', None]"
    assert int(mib) <= most_mib
