"""A benchmark from a name, a file or a Hub layout; whatever is wrong with it is said."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.benchmarks import Registry, canonical_sha256, load
from vtdata.decontam.benchmarks.cells import QUESTION_FIELDS, text_of
from vtdata.errors import ConfigError

SHARED = Path(__file__).parents[4] / "shared" / "benchmarks"
ROWS = [
    {"id": "a", "question": "How many cups?\n  Ünïcode $x^2$", "answer": "3"},
    {"id": "b", "question": 'A "quoted", comma', "answer": "4"},
]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No registry, stand-ins or Hub of this machine."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("VTDATA_BENCHMARKS", raising=False)


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    return path


def _csv(path: Path) -> None:
    path.write_text(
        'id,question,answer\na,"How many cups?\n  Ünïcode $x^2$",3\nb,"A ""quoted"", comma",4\n'
    )


def _tsv(path: Path) -> None:
    path.write_text(
        'id\tquestion\tanswer\na\t"How many cups?\n  Ünïcode $x^2$"\t3\nb\t"A ""quoted"", comma"\t4\n'
    )


def _zst(path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as out:
        out.write("".join(json.dumps(row) + "\n" for row in ROWS).encode())


def _gz(path: Path) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS).encode()))


WRITERS: dict[str, Callable[[Path], object]] = {
    "m.jsonl": lambda path: jsonl(path, ROWS),
    "m.jsonl.gz": _gz,
    "m.jsonl.zst": _zst,
    "m.json": lambda path: path.write_text(json.dumps(ROWS)),
    "mm.json": lambda path: path.write_text(json.dumps({"version": 1, "data": ROWS})),
    "lines.json": lambda path: jsonl(path, ROWS),
    "m.csv": _csv,
    "m.tsv": _tsv,
    "m.parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
    "BOM.jsonl": lambda path: path.write_text(
        "".join(json.dumps(row) + "\n\n" for row in ROWS), encoding="utf-8-sig"
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_items(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    said: list[str] = []
    found = load(f"./{name}", folder=tmp_path, say=said.append)
    assert [(i.index, i.key, i.field, i.text) for i in found.items] == [
        (at, row["id"], "question", row["question"]) for at, row in enumerate(ROWS)
    ]
    assert (found.name, found.source) == (name.split(".")[0], name)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert said == [
        f"{name}: text is taken from 'question', names from 'id'; other columns: id, answer"
    ]


def test_lines_of_text_are_items(tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text("first\n\n  second \r\n")
    said: list[str] = []
    found = load("m.txt", folder=tmp_path, say=said.append)
    assert [(i.index, i.text) for i in found.items] == [(0, "first"), (2, "  second ")]
    assert said[-1] == "m.txt: no text in 'text' of 1 rows: 1; left out"


@pytest.mark.parametrize("at", range(len(QUESTION_FIELDS)))
def test_the_question_is_found_in_a_stated_order(tmp_path: Path, at: int) -> None:
    names = [name for name in reversed(QUESTION_FIELDS[at:]) if name != "input"]
    if not names:
        names = ["input"]
    row = dict.fromkeys(["other", *names], "text") | {"n": 1}
    jsonl(tmp_path / "m.jsonl", [row])
    found = load("m.jsonl", folder=tmp_path)
    expected = next(name for name in QUESTION_FIELDS[at:] if name in names)
    assert {item.field for item in found.items} == {expected}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"frage": "x", "n": 1}, "no column that is called like a question; name one with --field"),
        ({"frage": "x", "n": 1}, "its columns are frage, n"),
        ({"Problem": "x", "problem": "y"}, "has the columns Problem and problem: say which one"),
        ({"instruction": "x", "input": "y"}, "--field instruction --field input"),
        ({"question": None, "id": 1}, "'question' has no text in any of 1 rows"),
        ({"question": " \n"}, "'question' has no text in any of 1 rows"),
        ({"question": 5}, "'question' of row 0 holds a int, need text or a list of turns"),
    ],
)
def test_a_question_that_can_not_be_told(tmp_path: Path, row: dict[str, Any], says: str) -> None:
    jsonl(tmp_path / "m.jsonl", [row])
    with pytest.raises(ConfigError) as caught:
        load("m.jsonl", folder=tmp_path)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("m.jsonl", b"", "has no rows; a benchmark has at least one"),
        ("m.jsonl", b"\n\n", "has no rows; a benchmark has at least one"),
        ("m.csv", b"question\n", "has no rows; a benchmark has at least one"),
        ("m.json", b"[]", "has no rows; a benchmark has at least one"),
        ("m.txt", b"", "has no rows; a benchmark has at least one"),
        ("m.jsonl", b'{"question": "a"}\n{"question": "b', "m.jsonl:2 is no JSON"),
        ("m.jsonl", b"[1]\n", "m.jsonl:1 is a JSON list; need an object a line"),
        ("m.jsonl", b'{"question": "\xff"}\n', "m.jsonl isn't UTF-8 (byte 0xff)"),
        ("m.csv", b'question,n\n"a\n', "m.csv:2: unexpected end of data"),
        ("m.csv", b"question,n\na\n", "m.csv:2 has 1 cells, the header 2"),
        ("m.csv", b"question,question\na,b\n", "m.csv has a column twice"),
        ("m.json", b'{"a": 1}', "m.json is neither a list of objects nor an object with one"),
        ("m.parquet", b"no", "m.parquet can't be read"),
        ("m.jsonl.gz", b"no", "m.jsonl.gz can't be read"),
        ("m.yaml", b"no", "format '.yaml' is not known"),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(f"./{name}", folder=tmp_path)
    assert says in str(caught.value)


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b'{"question": "%d"}\n' % n for n in range(5000)))
    (tmp_path / "m.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ConfigError, match=r"m\.jsonl\.gz"):
        load("m.jsonl.gz", folder=tmp_path)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("./mime.jsonl", "benchmark ./mime.jsonl is not there; did you mean 'mine.jsonl'?"),
        ("mime.jsonl", "benchmark mime.jsonl is not there; did you mean 'mine.jsonl'?"),
        ("aimee25", "no benchmark is called 'aimee25'; did you mean 'aime25'?"),
        ("./mine.jsonl:frage", "mine.jsonl has no 'frage'; its columns are id, question, answer"),
        ("owner/name@main", "revision 'main' is no commit"),
        ("a b", "no benchmark is called 'a b'"),
    ],
)
def test_what_is_not_there(tmp_path: Path, word: str, says: str) -> None:
    jsonl(tmp_path / "mine.jsonl", ROWS)
    with pytest.raises(ConfigError) as caught:
        load(word, folder=tmp_path)
    assert says in str(caught.value)


def test_a_given_field_wins(tmp_path: Path) -> None:
    jsonl(tmp_path / "mine.jsonl", ROWS)
    by_path = load("./mine.jsonl:answer", folder=tmp_path)
    assert [i.text for i in by_path.items] == ["3", "4"]
    both = load("./mine.jsonl:answer", folder=tmp_path, fields=["question", "answer"])
    assert [(i.index, i.field) for i in both.items] == [
        (0, "question"),
        (0, "answer"),
        (1, "question"),
        (1, "answer"),
    ]


def test_nested_prompts(tmp_path: Path) -> None:
    turns = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "image"}]},
    ]
    jsonl(tmp_path / "m.jsonl", [{"messages": turns, "extra_info": {"question": "inner"}}])
    assert [i.text for i in load("m.jsonl", folder=tmp_path).items] == ["one\n\ntwo"]
    inner = load("m.jsonl", folder=tmp_path, fields=["extra_info.question"])
    assert [i.text for i in inner.items] == ["inner"]
    prompt = [[{"role": "user", "content": "q"}]]
    pq.write_table(pa.table({"prompt": prompt, "data_source": ["x"]}), tmp_path / "m.parquet")
    assert [i.text for i in load("m.parquet", folder=tmp_path).items] == ["q"]
    pq.write_table(pa.table({"extra_info": [{"question": "p"}]}), tmp_path / "n.parquet")
    found = load("n.parquet", folder=tmp_path, fields=["extra_info.question"])
    assert [i.text for i in found.items] == ["p"]
    assert text_of([{"from": "human", "value": "h"}, {"from": "gpt", "value": "g"}], "x") == "h"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(texts=st.lists(st.text().filter(str.strip), min_size=1, max_size=5))
def test_text_stays_as_it_is(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "raw.jsonl"
    path.write_text("".join(json.dumps({"question": text}) + "\n" for text in texts))
    found = load("./raw.jsonl", folder=tmp_path)
    assert [item.text for item in found.items] == texts
    assert len({item.hash for item in found.items}) == len(set(texts))


def test_the_hash_of_items_is_of_what_was_taken(tmp_path: Path) -> None:
    jsonl(tmp_path / "m.jsonl", ROWS)
    one = load("./m.jsonl", folder=tmp_path)
    other = load("./m.jsonl:answer", folder=tmp_path)
    assert one.sha256 == other.sha256  # the file's
    assert canonical_sha256(one.items) != canonical_sha256(other.items)
    (tmp_path / "again").mkdir()
    jsonl(tmp_path / "again" / "n.jsonl", [dict(reversed(row.items())) for row in ROWS])
    again = load("again/n.jsonl", folder=tmp_path)
    assert one.sha256 != again.sha256
    assert canonical_sha256(one.items) == canonical_sha256(again.items)


def test_equal_items_stay_and_empty_ones_are_named(tmp_path: Path) -> None:
    texts = ["same", "", "same", None, "other"]
    jsonl(tmp_path / "m.jsonl", [{"question": text} for text in texts])
    said: list[str] = []
    found = load("m.jsonl", folder=tmp_path, say=said.append)
    assert [(i.index, i.text) for i in found.items] == [(0, "same"), (2, "same"), (4, "other")]
    assert said[-1] == "m.jsonl: no text in 'question' of 2 rows: 1, 3; left out"


def registered(folder: Path, text: str) -> None:
    (folder / "benchmarks.yaml").write_text(text)


def test_rows_are_chosen_and_dated(tmp_path: Path) -> None:
    rows = [
        {"question": f"q{n}", "task_id": n, "lang": lang, "day": day}
        for n, lang, day in [
            (10, "py", "2025-01-01"),
            (11, "py", "2025-01-04T00:00:00"),
            (12, "cpp", "2025-01-05"),
            (13, "py", "unknown"),
            (14, "py", "2025-03-01"),
        ]
    ]
    jsonl(tmp_path / "m.jsonl", rows)
    registered(
        tmp_path,
        "mine: {file: m.jsonl, fields: [question], key: task_id, date_field: day, "
        "published: 2025, rows: {task_id: [11, 13], lang: py}, num_items: 9}",
    )
    said: list[str] = []
    found = load("mine", folder=tmp_path, say=said.append)
    assert [(i.index, i.key, i.date) for i in found.items] == [
        (1, "11", "2025-01-04"),
        (3, "13", "2025"),
    ]
    assert said == [
        "mine (m.jsonl): 1 rows have no date in 'day'",
        "mine (m.jsonl) has 2 items where 9 are known: another version?",
    ]


@pytest.mark.parametrize(
    ("rule", "indices"),
    [
        ("day: ['2025-01-04', '2025-02-01']", [1]),
        ("day: [2025-01-04, 2025-03-01]", [1, 2]),  # a day ends at midnight, not at its begin
        ("day: ['2025-01', '2025-02']", [0, 1]),
        ("question: [b, c]", [1, 2]),
        ("n: [1, 2]", [0, 1]),
        ("n: 2", [1]),
    ],
)
def test_rules_on_text(tmp_path: Path, rule: str, indices: list[int]) -> None:
    (tmp_path / "m.csv").write_text(
        "question,n,day\na,1,2025-01-01\nb,2,2025-01-04\nc,30,2025-03-01T09:00:00\n"
    )
    registered(tmp_path, f"mine: {{file: m.csv, rows: {{{rule}}}}}")
    assert [i.index for i in load("mine", folder=tmp_path).items] == indices


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("rows: {task_id: [50, 60]}", "none of its 2 rows is among rows={'task_id': [50, 60]}"),
        ("rows: {taskid: 1}", "has no 'taskid', by which rows are chosen; did you mean 'task_id'?"),
        ("rows: {question: [1, 2]}", "question is 'q', need a number from [1, 2]"),
        ("rows: {question: [2025-01-01, 2025-01-02]}", "question is 'q', need a date from 2025-01"),
        ("key: nam", "has no 'nam'; its columns are question, task_id"),
        ("date_field: day", "has no 'day'; its columns are question, task_id"),
        ("fields: [question, hint]", "has no 'hint'; its columns are question, task_id"),
        ("sha256: abc", "has changed since it was added (sha256 "),
    ],
)
def test_an_entry_that_does_not_fit(tmp_path: Path, entry: str, says: str) -> None:
    jsonl(tmp_path / "m.jsonl", [{"question": "q", "task_id": 1}, {"question": "r", "task_id": 2}])
    registered(tmp_path, f"mine: {{file: m.jsonl, {entry}}}")
    with pytest.raises(ConfigError) as caught:
        load("mine", folder=tmp_path)
    assert says in str(caught.value)


def test_a_file_stands_in_for_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "standins"
    folder.mkdir()
    rows = [{"problem": f"problem {n}"} for n in range(30)]
    path = jsonl(folder / "AIME_2024.jsonl", rows)
    said: list[str] = []
    found = load("aime24", folder=tmp_path, stand_ins=folder, say=said.append)
    assert (found.name, len(found.items), found.revision) == ("aime24", 30, None)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert {item.date for item in found.items} == {"2024-01"}
    assert said == [
        "aime24: AIME_2024.jsonl stands in for HuggingFaceH4/aime_2024; its revision is not known",
        "aime24 (AIME_2024.jsonl) has no 'id', so its items have no names but their numbers",
    ]
    monkeypatch.setenv("VTDATA_BENCHMARKS", str(folder))
    assert load("AIME24", folder=tmp_path) == found
    jsonl(folder / "aime2024.jsonl", rows)
    with pytest.raises(ConfigError, match="would both stand in for it; keep one"):
        load("aime24", folder=tmp_path)
    jsonl(folder / "aime24.jsonl", rows[:3])  # its very name comes first
    assert len(load("aime24", folder=tmp_path).items) == 3
    jsonl(folder / "aime24.jsonl", [{"question": "q"}])
    with pytest.raises(ConfigError, match="has no 'problem'"):
        load("aime24", folder=tmp_path)
    with pytest.raises(ConfigError, match=r"--benchmarks .* is no folder"):
        load("aime24", folder=tmp_path, stand_ins=tmp_path / "none")


REAL = {
    "aime24": 30,
    "aime25": 30,
    "math500": 500,
    "gsm8k": 1319,
    "humaneval": 164,
    "mbpp": 500,
    "ifeval": 541,
    "ifbench": 300,
    "imo-answerbench": 400,
    "olympiadbench": 675,
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="real benchmark files (../shared) are not there")
@pytest.mark.parametrize("name", REAL)
def test_real_benchmarks(tmp_path: Path, name: str) -> None:
    said: list[str] = []
    found = load(name, registry=Registry.read(tmp_path), stand_ins=SHARED, say=said.append)
    assert len(found.items) == REAL[name]
    assert len(said) == 1  # which file stands in, and nothing that was odd
    keys = [item.key for item in found.items]
    assert (len(set(keys)) == len(keys)) or name == "gsm8k"


@pytest.mark.skipif(not SHARED.is_dir(), reason="real benchmark files (../shared) are not there")
def test_real_files_need_no_field() -> None:
    found: dict[str, Benchmark] = {p.stem: load(str(p)) for p in SHARED.glob("*.jsonl")}
    assert len(found["mgsm_zh"].items) == 250  # nested messages
    assert found["imo_answerbench_v2"].items[0].field == "Problem"
    assert found["mbpp"].items[10].key == "11"
    lines = (SHARED / "gsm8k_test.jsonl").read_text().splitlines()
    assert [i.text for i in found["gsm8k_test"].items] == [json.loads(x)["question"] for x in lines]
