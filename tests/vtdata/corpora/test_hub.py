from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vtdata.corpora.columns import Columns
from vtdata.corpora.hub import Hub
from vtdata.errors import ConfigError, RunError
from vtdata.records import Query
from vtdata.steps import Context

COMMIT = "e53f048856ff4f594e959d75785d2c2d37b678ee"


def hub(**more: Any) -> Hub:
    known = {
        "dataset": "./gsm",
        "revision": "unpinned",
        "columns": Columns(question="question", answer="info.answer"),
        "license": "MIT",
        "verifier": "math",
    }
    return Hub(**(known | more))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


def write(folder: Path, *, files: int, rows: int) -> None:
    """Write a folder as a dataset repository holds it: train in several files, one test file."""
    data = folder / "gsm" / "data"
    data.mkdir(parents=True)
    for file in range(files):
        numbers = range(file * rows, (file + 1) * rows)
        table = pa.table(
            {
                "question": [f"What is {n} + 1?" for n in numbers],
                "info": [{"answer": n + 1, "level": "easy"} for n in numbers],
                "noise": [b"\xff"] * rows,
            }
        )
        pq.write_table(table, data / f"train-{file:05d}-of-{files:05d}.parquet")
    pq.write_table(table, data / "test-00000-of-00001.parquet")


def read(step: Hub, folder: Path, **ctx: Any) -> list[Query]:
    context = Context(seed=1, folder=folder, **ctx)
    step.open(context)
    return list(step.read(context))


def known(queries: list[Query]) -> list[str]:
    return sorted(json.dumps(asdict(query), sort_keys=True) for query in queries)


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("limit", [None, 0, 5, 100])
def test_ranks_split_the_rows(tmp_path: Path, files: int, world: int, limit: int | None) -> None:
    write(tmp_path, files=files, rows=4)
    alone = read(hub(), tmp_path)
    assert [query.answer for query in alone] == [str(n + 1) for n in range(4 * files)]
    split = [
        query
        for rank in range(world)
        for query in read(hub(), tmp_path, rank=rank, world=world, limit=limit)
    ]
    assert known(split) == known(alone[:limit])


@pytest.mark.parametrize(
    ("files", "world", "rows"), [(1, 2, [2, 2]), (2, 2, [4, 4]), (3, 2, [8, 4])]
)
def test_no_rank_is_idle(tmp_path: Path, files: int, world: int, rows: list[int]) -> None:
    write(tmp_path, files=files, rows=4)
    assert [len(read(hub(), tmp_path, rank=r, world=world)) for r in range(world)] == rows


def test_origins_name_dataset_split_file_and_row(tmp_path: Path) -> None:
    write(tmp_path, files=2, rows=2)
    found = read(hub(), tmp_path)
    assert [query.provenance.origins[0].row for query in found] == [
        "gsm train/0:0",
        "gsm train/0:1",
        "gsm train/1:0",
        "gsm train/1:1",
    ]
    assert {query.source for query in found} == {"gsm"}
    (first, _) = read(hub(split="test", source="gsm8k"), tmp_path)
    assert (first.source, first.provenance.origins[0].row) == ("gsm8k", "gsm test:0")
    assert str(tmp_path) not in json.dumps([asdict(query) for query in found])
    assert [path.name for path in hub().files(tmp_path)] == [
        "test-00000-of-00001.parquet",
        "train-00000-of-00002.parquet",
        "train-00001-of-00002.parquet",
    ]


def test_json_with_a_late_column(tmp_path: Path) -> None:
    (tmp_path / "gsm").mkdir()
    rows = [{"question": "x", "answer": 1}, {"question": "y", "answer": 2.5, "when": "2024"}]
    (tmp_path / "gsm" / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    columns = Columns(question="question", answer="answer", date="when?")
    found = read(hub(columns=columns), tmp_path)
    assert [(query.answer, query.date) for query in found] == [("1", None), ("2.5", "2024")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"columns": Columns(question="qestion")},
            "gsm has no column 'qestion': did you mean 'question'? it has info, info.answer, "
            "info.level, noise, question",
        ),
        (
            {"split": "dev"},
            "gsm can't be read (config None, split 'dev', revision unpinned): Bad split",
        ),
        (
            {"config": "hard"},
            "gsm/hard can't be read (config 'hard', split 'train', revision unpinned)",
        ),
        ({"dataset": "./gms"}, "./gms is no folder; it starts at the recipe's folder"),
    ],
)
def test_what_is_not_there(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    write(tmp_path, files=1, rows=2)
    with pytest.raises(ConfigError) as caught:
        read(hub(**settings), tmp_path)
    assert str(caught.value).startswith(message)
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("revision", ["main", "v1.0", COMMIT[:12], COMMIT.upper(), ""])
def test_a_revision_is_a_commit(revision: str) -> None:
    with pytest.raises(ValueError, match="is no commit: branches and tags move"):
        hub(dataset="openai/gsm8k", revision=revision)


def test_a_local_folder_never_stands_in_for_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, files=1, rows=2)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"holds 'gsm', which would be read in place of the Hub"):
        hub(dataset="gsm", revision=COMMIT).open(Context(seed=1, folder=tmp_path))


def test_a_dataset_without_rows(tmp_path: Path) -> None:
    (tmp_path / "gsm").mkdir()
    (tmp_path / "gsm" / "train.jsonl").write_text("")
    with pytest.raises(ConfigError, match="gsm has no rows in split 'train'"):
        read(hub(), tmp_path)


def test_a_corrupt_file_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "gsm").mkdir()
    good = '{"question": "x", "info": {"answer": 1}}\n'
    (tmp_path / "gsm" / "train.jsonl").write_text(good * 3 + '{"question":')
    with pytest.raises(RunError, match=r"gsm( train)? can't be read"):
        read(hub(), tmp_path)
    (tmp_path / "gsm" / "train.jsonl").unlink()
    (tmp_path / "gsm" / "train.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(RunError, match=r"gsm( train)? can't be read"):
        read(hub(), tmp_path)


OFFLINE = """
import sys
from pathlib import Path
from vtdata.corpora.columns import Columns
from vtdata.corpora.hub import Hub
from vtdata.errors import InfraError
from vtdata.steps import Context
step = Hub(dataset="openai/gsm8k", revision=sys.argv[1], config="main",
    columns=Columns(question="question", solution="answer"), license="MIT", verifier="math")
for go in (step.open, lambda ctx: list(step.read(ctx))):
    try:
        go(Context(seed=1))
    except InfraError as error:
        print(error)
"""


def test_without_the_network_there_is_a_sentence_and_no_empty_corpus(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, COMMIT],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    sentences = done.stdout.splitlines()
    assert len(sentences) == 2
    for sentence in sentences:
        assert sentence.startswith(
            f"openai/gsm8k/main@{COMMIT[:12]} can't be fetched (ConnectionError: "
        )
        assert sentence.endswith("check the network, HF_ENDPOINT and HF_HUB_OFFLINE, and run again")


def test_no_credential_of_an_address_is_shown() -> None:
    said = hub(dataset="a/b")._unreachable(
        OSError("https://me:secret@hub.example/a?X-Signature=secret failed")
    )
    assert "secret" not in str(said)
    assert "https://...@hub.example/a?... failed" in str(said)
