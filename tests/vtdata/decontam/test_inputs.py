"""What is read, from which columns, under which row numbers; and what is set aside."""

from __future__ import annotations

import gzip
import json
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.factories import query
from vtdata.decontam.inputs import Batch, Counts, Shard, open_inputs, row_date
from vtdata.decontam.inputs import shard as shard_module
from vtdata.errors import ConfigError, RunError
from vtdata.records import query_schema, to_batch

TURN = pa.struct([("role", pa.string()), ("content", pa.string())])

Seen = tuple[int, str, str, bytes]
"""Row, field, side and text."""


def seen(shard: Shard, sides: Sequence[str] = ("prompt", "response")) -> list[Seen]:
    """Every text of a shard."""
    return [
        (int(piece.rows[at]), piece.place(at), piece.side, text.as_buffer().to_pybytes())
        for batch in batches(shard)
        for piece in batch.pieces
        if piece.side in sides
        for at, text in enumerate(piece.texts)
    ]


def batches(shard: Shard) -> list[Batch]:
    return [b for unit in shard.units() for b in shard.batches(unit, shard.fields)]


def parquet(
    folder: Path, columns: dict[str, Any], name: str = "a.parquet", **options: Any
) -> Shard:
    pq.write_table(pa.table(columns), folder / name, **options)
    return open_inputs([str(folder / name)])[0]


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
    ],
)
def test_every_kind_of_string_column_is_read(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array(["one", None, "two", "one", "ünï"], pa.string())
    shard = parquet(tmp_path, {"prompt": texts.cast(kind)}, row_group_size=2)
    assert seen(shard) == [
        (0, "prompt", "prompt", b"one"),
        (2, "prompt", "prompt", b"two"),
        (3, "prompt", "prompt", b"one"),
        (4, "prompt", "prompt", "ünï".encode()),
    ]
    assert sum(batch.null_texts for batch in batches(shard)) == 1


@pytest.mark.parametrize("listing", [pa.list_, pa.large_list])
def test_the_assistant_is_the_response_side(tmp_path: Path, listing: Any) -> None:
    chats = [
        [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        None,
        [],
        [{"role": "user", "content": "q"}, {"role": "Assistant", "content": "a"}],
        [{"role": None, "content": "who?"}, {"role": "assistant", "content": None}],
    ]
    shard = parquet(tmp_path, {"messages": pa.array(chats, listing(TURN))}, row_group_size=3)
    assert sorted(seen(shard)) == [
        (0, "messages[0].content", "prompt", b"s"),
        (0, "messages[1].content", "prompt", b"u"),
        (3, "messages[0].content", "prompt", b"q"),
        (3, "messages[1].content", "response", b"a"),
        (4, "messages[0].content", "prompt", b"who?"),
    ]


def test_sharegpt_and_content_of_several_parts(tmp_path: Path) -> None:
    talk = [[{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]]
    shard = parquet(tmp_path, {"conversations": talk})
    assert seen(shard) == [
        (0, "conversations[0].value", "prompt", b"q"),
        (0, "conversations[1].value", "response", b"a"),
    ]
    parts = [[{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image"}]}]]
    shard = parquet(tmp_path, {"messages": parts})
    assert seen(shard) == [(0, "messages[0].content[0].text", "prompt", b"x")]


def test_a_verl_shard_is_read_without_its_ground_truth(tmp_path: Path) -> None:
    row = {
        "prompt": [{"role": "user", "content": "q + instruction"}],
        "reward_model": {"style": "rule", "ground_truth": "42"},
        "extra_info": {"index": 3, "question": "q"},
    }
    shard = parquet(tmp_path, {name: [value] for name, value in row.items()})
    assert seen(shard) == [
        (0, "prompt[0].content", "prompt", b"q + instruction"),
        (0, "extra_info.question", "prompt", b"q"),
    ]


def test_our_records_and_their_dates(tmp_path: Path) -> None:
    known = query(1, 0, question="q1")
    known.date = "2024-05-01"
    known.rollouts[1].model = "Qwen/Qwen2.5-7B-Instruct"
    table = pa.Table.from_batches([to_batch([known, query(question="q2")], query_schema())])
    pq.write_table(table, tmp_path / "a.parquet")
    shard = open_inputs([str(tmp_path / "a.parquet")])[0]
    assert [(row, field, side) for row, field, side, _ in seen(shard)] == [
        (0, "prompt[0].content", "prompt"),
        (1, "prompt[0].content", "prompt"),
        (0, "rollouts[0].reasoning", "response"),
        (0, "rollouts[1].reasoning", "response"),
        (0, "rollouts[0].content", "response"),
        (0, "rollouts[1].content", "response"),
    ]
    batch = batches(shard)[0]
    assert [p.rollout for p in batch.pieces] == [None, 0, 0]
    dates = [
        row_date(batch.facts, 0, rollout=None, reply=False),
        row_date(batch.facts, 0, rollout=1, reply=True),
        row_date(batch.facts, 0, rollout=0, reply=True),  # nobody knows when 'our/teacher' came
        row_date(batch.facts, 1, rollout=None, reply=False),
    ]
    assert dates == ["2024-05-01", "2024-09-19", None, None]


def test_only_needed_columns_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [[{"role": "user", "content": "q", "extra": "long"}]]
    shard = parquet(tmp_path, {"messages": turns, "tokens": [[1, 2]], "id": ["x"]})
    asked: list[list[str]] = []
    real = pq.ParquetFile.iter_batches

    def spy(self: Any, *args: Any, columns: list[str], **rest: Any) -> Any:
        asked.append(columns)
        return real(self, *args, columns=columns, **rest)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    batches(shard)
    assert asked == [
        ["messages.list.element.content", "messages.list.element.role", "id"]
    ] or asked == [["messages.list.element.role", "messages.list.element.content", "id"]]


def test_units_cover_every_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtdata.decontam.inputs.parquet.UNIT_BYTES", 600)
    texts = [f"{at:0100d}" for at in range(50)]
    shard = parquet(tmp_path, {"text": texts}, row_group_size=4, use_dictionary=False)
    units = shard.units()
    assert len(units) > 3
    assert [unit.first for unit in units[1:]] == [unit.stop for unit in units[:-1]]
    assert [(row, text.decode()) for row, _, _, text in seen(shard)] == list(enumerate(texts))


def test_one_huge_row_among_small_ones(tmp_path: Path) -> None:
    texts = ["a", "b" * (shard_module.BATCH_BYTES * 3), "c"]
    shard = parquet(tmp_path, {"text": texts})
    assert [len(text) for _, _, _, text in seen(shard)] == [1, shard_module.BATCH_BYTES * 3, 1]


def test_bytes_that_are_no_text_are_scanned_as_they_are(tmp_path: Path) -> None:
    raw = pa.array([b"a\xffb", b"\x00"], pa.binary()).view(pa.string())
    assert [text for *_, text in seen(parquet(tmp_path, {"text": raw}))] == [b"a\xffb", b"\x00"]


LINES = [
    b'{"id": 7, "question": "q0", "solution": "s0"}',
    b"",
    b"{broken",
    b'{"question": "nul \\u0000 and raw \x00", "solution": null}',
    b'{"question": "half \\ud83d"}',
    b"[1, 2]",
    b'{"question": 12, "solution": "s6"}',
    b'{"question": "bad \xff"}',
    '{"question": "ünï", "solution": "s8"}'.encode(),
]
EXPECTED = [
    (0, "question", "prompt", b"q0"),
    (0, "solution", "response", b"s0"),
    (3, "question", "prompt", b"nul \x00 and raw \x00"),
    (4, "question", "prompt", b"half \xed\xa0\xbd"),
    (6, "solution", "response", b"s6"),
    (8, "question", "prompt", "ünï".encode()),
    (8, "solution", "response", b"s8"),
]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_bad_lines_are_set_aside_with_their_number(tmp_path: Path, ending: str) -> None:
    data = b"\xef\xbb\xbf" + b"\n".join(LINES) + b"\n"
    path = tmp_path / f"a.{ending}"
    if ending.endswith(".gz"):
        path.write_bytes(gzip.compress(data))
    elif ending.endswith(".zst"):
        path.write_bytes(pa.compress(data, codec="zstd", asbytes=True))
    else:
        path.write_bytes(data)
    shard = open_inputs([str(path)])[0]
    assert sorted(seen(shard)) == EXPECTED
    found = batches(shard)
    bad = [(one.row, one.reason) for batch in found for one in batch.bad]
    assert bad == [(2, "bad_json"), (5, "bad_json"), (7, "bad_encoding")]
    counts = Counts()
    for batch in found:
        counts.add(batch.counts)
    # null: a null and a missing solution, a number that is no question
    assert (counts.rows, counts.texts, counts.null_texts, counts.bad_rows) == (8, 7, 3, 3)


ROW = st.fixed_dictionaries(
    {},
    optional={
        "prompt": st.one_of(st.none(), st.text(max_size=8)),
        "messages": st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(["user", "assistant"]), "content": st.text(max_size=8)}
            ),
            max_size=3,
        ),
    },
)


@settings(deadline=None, max_examples=60)
@given(rows=st.lists(ROW, min_size=1, max_size=20))
def test_both_ways_of_reading_lines_agree(
    rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = {"prompt": "p", "messages": [{"role": "user", "content": "c"}]}
    folder = tmp_path_factory.mktemp("lines")
    lines = [json.dumps(row) for row in [first, *rows]]
    plain, forced = folder / "a.jsonl", folder / "b.jsonl"
    plain.write_text("\n".join(lines))
    forced.write_text("\n".join([*lines, "{"]))  # the whole block is then read line by line
    fields = ["prompt", "messages"]
    fast, slow = (open_inputs([str(path)], fields)[0] for path in (plain, forced))
    assert sorted(seen(fast)) == sorted(seen(slow))


def test_lines_of_a_large_file_keep_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vtdata.decontam.inputs.jsonl.UNIT_BYTES", 1_000)
    monkeypatch.setattr("vtdata.decontam.inputs.jsonl.BATCH_BYTES", 300)
    rng = np.random.default_rng(3)
    texts = ["x" * int(size) for size in rng.integers(1, 400, 200)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    shard = open_inputs([str(path)])[0]
    assert len(shard.units()) > 10
    assert [(row, text.decode()) for row, _, _, text in seen(shard)] == list(enumerate(texts))


def test_a_folder_gives_its_files_by_their_place(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("b.parquet", "sub/a.parquet", ".hidden/c.parquet"):
        parquet(tmp_path, {"text": ["x"]}, name)
    (tmp_path / "sub" / "d.jsonl").write_text('{"text": "y"}')
    (tmp_path / "README.md").write_text("no data")
    assert [s.file for s in open_inputs([str(tmp_path)])] == [
        "b.parquet",
        "sub/a.parquet",
        "sub/d.jsonl",
    ]


def test_of_a_block_only_what_its_manifest_lists_is_read(tmp_path: Path) -> None:
    for name in ("part-0.parquet", "stray.parquet"):
        parquet(tmp_path, {"text": ["x"]}, name)
    size = (tmp_path / "part-0.parquet").stat().st_size
    parts = [{"file": "part-0.parquet", "bytes": size}]
    (tmp_path / "manifest.json").write_text(json.dumps({"parts": parts, "sets": []}))
    assert [shard.file for shard in open_inputs([str(tmp_path)])] == ["part-0.parquet"]
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunError, match="by its manifest, and it has 4"):
        open_inputs([str(tmp_path)])


def test_a_run_is_audited_at_its_newest_block(finished: Path) -> None:
    shards = open_inputs([str(finished.parent / "run")])
    files = [shard.file for shard in shards]
    assert files
    assert all(name.startswith("08-shards-") for name in files)
    assert {name.split("/")[1] for name in files} == {"sft.stage1", "rl"}
    sides = {side for shard in shards for _, _, side, _ in seen(shard)}
    assert sides == {"prompt", "response"}


def test_a_hub_dataset_through_the_datasets_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy").mkdir()
    for at in range(2):
        table = pa.table({"id": [f"{at}a", f"{at}b"], "question": [f"q{at}", None]})
        pq.write_table(table, tmp_path / "toy" / f"train-{at:05d}-of-00002.parquet")
    monkeypatch.chdir(tmp_path)
    shards = open_inputs(["hf:./toy"])
    assert [shard.file for shard in shards] == [
        "toy/train-00000-of-00002.parquet",
        "toy/train-00001-of-00002.parquet",
    ]
    assert [seen(shard) for shard in shards] == [
        [(0, "question", "prompt", b"q0")],
        [(0, "question", "prompt", b"q1")],
    ]
    assert len({shard.digest() for shard in shards}) == 2


@pytest.mark.parametrize(
    ("columns", "asked", "message"),
    [
        (
            {"n": [1], "a": ["x"], "b": ["y"]},
            [],
            "a.parquet: nothing to scan is known by its name; text columns are: a, b; of all "
            "columns n, a, b: choose with --field COLUMN",
        ),
        (
            {"n": [1]},
            [],
            "a.parquet: nothing to scan is known by its name; text columns are: none; of all "
            "columns n: choose with --field COLUMN",
        ),
        (
            {"prompt": ["x"]},
            ["promt"],
            "--field promt: a.parquet has no such column; did you mean 'prompt'? text columns "
            "are: prompt",
        ),
        (
            {"n": [1], "prompt": ["x"]},
            ["n"],
            "--field n: in a.parquet it is int64, which holds no text; text columns are: prompt",
        ),
    ],
)
def test_nothing_to_scan_says_what_is_there(
    tmp_path: Path, columns: dict[str, Any], asked: list[str], message: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(ConfigError) as error:
        open_inputs([str(tmp_path / "a.parquet")], asked)
    assert str(error.value) == message


def test_fields_that_are_named(tmp_path: Path) -> None:
    turns = [[{"role": "user", "content": "u"}, {"role": "assistant", "content": "r"}]]
    pq.write_table(
        pa.table({"chat": turns, "extra": [{"a": "x", "b": "y"}], "output": ["o"]}),
        tmp_path / "a.parquet",
    )
    shard = open_inputs([str(tmp_path / "a.parquet")], ["chat", "extra.b", "output"])[0]
    assert seen(shard) == [
        (0, "chat[0].content", "prompt", b"u"),
        (0, "chat[1].content", "response", b"r"),
        (0, "extra.b", "prompt", b"y"),
        (0, "output", "response", b"o"),
    ]


def test_texts_inside_of_an_object_where_a_text_should_be_are_taken(tmp_path: Path) -> None:
    rows = ["a", ["b", "c"], {"content": "d", "n": 1}, [{"role": "assistant", "content": "e"}], 7]
    lines = "".join(json.dumps({"prompt": row}) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(lines)
    shard = open_inputs([str(tmp_path / "a.jsonl")])[0]
    assert sorted(seen(shard)) == [
        (0, "prompt", "prompt", b"a"),
        (1, "prompt[0]", "prompt", b"b"),
        (1, "prompt[1]", "prompt", b"c"),
        (2, "prompt.content", "prompt", b"d"),
        (3, "prompt[0].content", "response", b"e"),
    ]


def test_a_dot_in_a_name_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a.b": ["x"], "prompt": ["y"]}), tmp_path / "a.parquet")
    with pytest.raises(
        ConfigError, match=r"--field a\.b: the name of this column of a\.parquet has a dot"
    ):
        open_inputs([str(tmp_path / "a.parquet")], ["a.b"])


def test_inputs_that_are_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    (tmp_path / "text.jsonl").write_text("no json\n")
    for name, message in {
        "a.csv": "no kind of file that is known by its ending",
        "empty": "holds no Parquet or JSON Lines file",
        "bad.parquet": "can't be read as Parquet",
        "text.jsonl": "is a JSON object",
        "gone": "is not there",
    }.items():
        with pytest.raises(ConfigError, match=message):
            open_inputs([str(tmp_path / name)])


def test_inputs_import_no_heavy_package() -> None:
    assert isinstance(sys, types.ModuleType)
    import subprocess

    code = (
        "import sys, vtdata.decontam.deliver; "
        "print([m for m in ('datasets', 'polars', 'numba', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
