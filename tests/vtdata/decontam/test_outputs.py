"""A cleaned copy: same schema, fewer rows, nothing vanishes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.factories import query, rollout
from tests.vtdata.decontam.double import bench_file, engine
from vtdata import api
from vtdata.decontam.audit import Audit
from vtdata.errors import ConfigError
from vtdata.records import from_batch, query_schema, to_batch

ITEM = "How many sheep are in the 12 fields?"
OTHER = "Which goat of the seven is not a goat?"
TURN = pa.struct([("role", pa.string()), ("content", pa.string())])


def run(folder: Path, **more: Any) -> Audit:
    return api.decontam(
        [folder / "in"],
        **{
            "against": [bench_file(folder, "aime", ITEM, OTHER)],
            "out": folder / "out",
            "engine": engine(),
            **more,
        },
    )


def corpus(folder: Path, table: pa.Table, name: str = "a.parquet", **options: Any) -> Path:
    path = folder / "in" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


def groups(path: Path) -> list[int]:
    metadata = pq.read_metadata(path)
    return [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]


def test_rows_leave_and_nothing_else_changes(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("prompt", pa.large_string(), metadata={"unit": "text"}),
            pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
            pa.field("response", pa.string_view()),
            pa.field("tokens", pa.list_(pa.int32()), nullable=True),
        ],
        metadata={"owner": "us"},
    )
    prompts = ["a", f"well: {ITEM}", "b", "How many sheep are in the 13 fields?", None]
    table = pa.table(
        [prompts, list("xyxyx"), ["r", "r", OTHER, "r", "r"], [[1], [], None, [2, 3], [4]]],
        schema=schema,
    )
    source = corpus(tmp_path, table, row_group_size=2, compression="snappy")
    made = run(tmp_path)
    kept = pq.read_table(tmp_path / "out" / "a.parquet")
    assert kept.schema.equals(pq.read_schema(source), check_metadata=True)
    assert kept.to_pylist() == [table.to_pylist()[at] for at in (0, 3, 4)]
    assert groups(tmp_path / "out" / "a.parquet") == [1, 1, 1]
    metadata = pq.read_metadata(tmp_path / "out" / "a.parquet")
    assert metadata.row_group(0).column(0).compression == "SNAPPY"
    gone = pq.read_table(tmp_path / "out" / "removed" / "a.parquet")
    assert gone.drop_columns("decontam_reason").to_pylist() == table.to_pylist()[1:3]
    assert gone.column("decontam_reason").to_pylist() == [
        "exact: item 0 of aime, in prompt",
        "exact: item 1 of aime, in response",
    ]
    (one,) = made.cleaned
    assert (one.rows_in, one.kept, one.removed) == (5, 3, 2)
    manifest = json.loads((tmp_path / "out" / "decontam.json").read_text())
    assert manifest["files"][0]["kept"] == 3
    assert manifest["dropped"] == ["exact", "near", "short_exact"]


def test_a_template_leaves_only_when_asked(tmp_path: Path) -> None:
    corpus(tmp_path, pa.table({"prompt": ["How many sheep are in the 13 fields?", "x"]}))
    assert run(tmp_path).cleaned[0].removed == 0
    assert run(tmp_path, drop=["template"]).cleaned[0].removed == 1


def test_a_file_without_a_hit_keeps_its_bytes(tmp_path: Path) -> None:
    source = corpus(tmp_path, pa.table({"prompt": ["x"] * 9}), "sub/b.parquet", row_group_size=4)
    run(tmp_path)
    assert (tmp_path / "out" / "sub" / "b.parquet").read_bytes() == source.read_bytes()
    assert not (tmp_path / "out" / "removed").exists()


def test_a_hit_in_a_rollout_marks_that_rollout(tmp_path: Path) -> None:
    good, bad = rollout(sample_idx=0), rollout(sample_idx=1, content=f"So: {ITEM}")
    before = rollout(sample_idx=2, reasoning=OTHER, dropped_by="hygiene", drop_reason="looped")
    queries = [
        query(question="q0", rollouts=[good, bad, before]),
        query(question=ITEM, rollouts=[rollout(content=ITEM)]),
        query(question="q2"),
        query(question="q3", rollouts=[rollout(reasoning=OTHER)]),
    ]
    batch = to_batch(queries, query_schema())
    corpus(tmp_path, pa.Table.from_batches([batch]), row_group_size=3)
    made = run(tmp_path)
    rows = [
        q
        for batch in pq.read_table(tmp_path / "out" / "a.parquet").to_batches()
        for q in from_batch(batch)
    ]
    assert [q.question for q in rows] == ["q0", "q2", "q3"]
    assert [(r.dropped_by, r.drop_reason) for q in rows for r in q.rollouts] == [
        (None, None),
        ("decontam", "contaminated_exact"),
        ("hygiene", "looped"),
        ("decontam", "contaminated_exact"),
    ]
    assert [q.rollouts[0].content for q in rows if q.rollouts] == [good.content, good.content]
    assert (made.cleaned[0].removed, made.cleaned[0].rollouts_dropped) == (1, 3)


def test_messages_and_rollouts_of_others_leave_with_their_row(tmp_path: Path) -> None:
    chats = [
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": ITEM}],
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": "fine"}],
    ]
    corpus(tmp_path, pa.table({"messages": pa.array(chats, pa.list_(TURN))}))
    run(tmp_path)
    assert pq.read_table(tmp_path / "out" / "a.parquet").num_rows == 1


LINES = [
    b'{"prompt":"a",  "n": 1}',
    json.dumps({"prompt": ITEM}).encode(),
    b"",
    b"{broken",
    '{"prompt": "ünï", "n": 1e400}'.encode(),
]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_lines_that_stay_keep_their_bytes(tmp_path: Path, ending: str) -> None:
    (tmp_path / "in").mkdir()
    codec = {"gz": "gzip", "zst": "zstd"}.get(ending.rpartition(".")[2])
    data = b"\n".join(LINES)
    packed = (
        data
        if codec is None
        else pa.compress(data, codec=codec, asbytes=True)
        if codec == "zstd"
        else gzip.compress(data)
    )
    (tmp_path / "in" / f"a.{ending}").write_bytes(packed)
    made = run(tmp_path)

    def text(path: Path) -> bytes:
        with pa.input_stream(str(path), compression="detect" if codec else None) as stream:
            return stream.read()

    out = tmp_path / "out"
    assert text(out / f"a.{ending}") == b"\n".join([LINES[0], b"", LINES[4]])
    assert text(out / "removed" / f"a.{ending}") == LINES[1] + b"\n" + LINES[3] + b"\n"
    why = (out / "removed" / f"a.{ending}.reasons.jsonl").read_text().splitlines()
    assert [json.loads(line)["row"] for line in why] == [1, 3]
    assert json.loads(why[0])["reason"] == "exact: item 0 of aime, in prompt"
    assert json.loads(why[1])["reason"].startswith("bad_json: ")
    assert (made.cleaned[0].rows_in, made.cleaned[0].kept, made.cleaned[0].removed) == (5, 3, 2)


def test_a_hub_dataset_comes_out_as_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy").mkdir()
    pq.write_table(pa.table({"question": [ITEM, "x"]}), tmp_path / "toy" / "train.parquet")
    monkeypatch.chdir(tmp_path)
    made = api.decontam(
        ["hf:./toy"],
        against=[bench_file(tmp_path, "aime", ITEM)],
        out="out",
        report="report.parquet",
        engine=engine(),
    )
    file = "toy/train-00000-of-00001.parquet"
    assert made.evidence.column("file").to_pylist() == [file]
    assert pq.read_table(tmp_path / "out" / file).to_pylist() == [{"question": "x"}]


def test_a_copy_is_written_again_and_a_foreign_folder_is_not(tmp_path: Path) -> None:
    corpus(tmp_path, pa.table({"prompt": [ITEM, "x"]}))
    run(tmp_path)
    first = (tmp_path / "out" / "decontam.json").read_bytes()
    run(tmp_path)
    assert (tmp_path / "out" / "decontam.json").read_bytes() == first
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(ConfigError, match="is no cleaned copy of ours"):
        run(tmp_path, out=tmp_path / "mine")
    for place in (tmp_path, tmp_path / "in" / "clean"):
        with pytest.raises(ConfigError, match="lies in"):
            run(tmp_path, out=place, store=tmp_path / "decontam")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_marks_alone(tmp_path: Path, ending: str) -> None:
    template = "How many sheep are in the 13 fields?"
    table = {"id": list("abc"), "prompt": [ITEM, "x", template], "response": [OTHER, "x", "x"]}
    corpus(tmp_path, pa.table(table))
    path = tmp_path / f"marks.{ending}"
    run(tmp_path, out=None, marks=path, drop=[])
    rows = (
        pq.read_table(path).to_pylist()
        if ending == "parquet"
        else [json.loads(line) for line in path.read_text().splitlines()]
    )
    place = {"file": "a.parquet", "benchmarks": ["aime"]}
    assert rows == [
        {"doc": "a", "row": 0, "verdicts": ["exact"], "drop": True, **place},
        {"doc": "c", "row": 2, "verdicts": ["template"], "drop": False, **place},
    ]
