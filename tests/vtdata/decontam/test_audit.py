"""An audit as a whole: places, spans, spreading, dates, power, processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.factories import query, rollout
from tests.vtdata.decontam.double import bench_file, engine
from vtdata import api
from vtdata.decontam.audit import Audit
from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.candidate import EVIDENCE
from vtdata.errors import ConfigError, InfraError, RunError, VtdataError
from vtdata.records import query_schema, to_batch

ITEM = "How many sheep are in the 12 fields?"
OTHER = "Which goat of the seven is not a goat?"


def run(folder: Path, *against: str, **more: Any) -> Audit:
    settings = {"engine": engine(), "store": folder / "store", "workers": 2}
    return api.decontam([folder / "in"], against=against, **{**settings, **more})


def corpus(folder: Path, columns: dict[str, Any] | pa.Table, name: str = "a.parquet") -> Path:
    path = folder / "in" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    pq.write_table(table, path, row_group_size=2)
    return path


def test_a_hit_is_shown_where_it_stands(tmp_path: Path) -> None:
    long = "ünï " * 400
    texts = ["nothing", f"{long}{ITEM.upper()} {long}", None]
    corpus(tmp_path, {"prompt": ["p", "p", "p"], "response": texts})
    made = run(tmp_path, bench_file(tmp_path, "aime", "nowhere", ITEM))
    assert made.evidence.schema.equals(EVIDENCE)
    (hit,) = made.evidence.to_pylist()
    raw = texts[1].encode()
    assert raw[hit["start"] : hit["end"]].decode() == hit["doc_text"] == ITEM.upper()
    assert raw[: hit["start"]].decode().endswith(hit["before"])
    assert raw[hit["end"] :].decode().startswith(hit["after"])
    assert len(hit["before"].encode()) > 190
    assert (hit["doc"], hit["file"], hit["row"]) == ("a.parquet:1", "a.parquet", 1)
    assert (hit["bench"], hit["item"], hit["item_text"]) == ("aime", 1, ITEM)
    assert (made.counts.rows, made.counts.texts, made.counts.null_texts) == (3, 5, 1)


def test_rollouts_know_their_place_and_date(tmp_path: Path) -> None:
    said = rollout(content=ITEM, sample_idx=1, model="Qwen/Qwen2.5-7B-Instruct")
    row = query(question="q", rollouts=[rollout(), said], date="2023-01-01")
    corpus(tmp_path, pa.Table.from_batches([to_batch([row], query_schema())]))
    (hit,) = run(tmp_path, bench_file(tmp_path, "aime", ITEM)).evidence.to_pylist()
    assert (hit["doc"], hit["field"], hit["rollout"]) == (row.id, "rollouts[1].content", 1)
    assert (hit["date"], hit["dates"]) == ("2024-09-19", "predates")  # published 2025-02-06


def near(plain: Any) -> Any:
    """The small engine with 'near' in place of 'exact' where the text is longer than the item."""

    def judge(candidates: pa.Table, profile: Any) -> pa.Table:
        found = plain.judge(candidates, profile)
        whole = [w == len(b) for w, b in _sizes(candidates)]
        verdicts = [
            "near" if verdict == "exact" and not same else verdict
            for verdict, same in zip(found.column("verdict").to_pylist(), whole, strict=True)
        ]
        at = found.schema.get_field_index("verdict")
        return found.set_column(at, "verdict", pa.array(verdicts, pa.string()))

    return replace(plain, judge=judge)


def _sizes(candidates: pa.Table) -> list[tuple[int, bytes]]:
    ends = candidates.column("end").to_pylist()
    return list(zip(ends, candidates.column("window").to_pylist(), strict=True))


def test_taint_spreads_by_one_hop(tmp_path: Path) -> None:
    first = f"Please: {ITEM} Thanks a lot."
    # the second holds the first in full; the third holds the second, not the item
    hidden = first.replace("sheep", "rams")
    bench = bench_file(tmp_path, "aime", ITEM)
    corpus(
        tmp_path,
        {
            "id": ["hit", "copy of the hit", "clean", "reply"],
            "prompt": [first, f"x {first} x", hidden, "q"],
            "response": ["r", "r", "r", f"As you said: {first}"],
        },
    )

    class Blind:
        """Finds the item in the first document only, as an edited copy might be missed."""

        def __init__(self, index: Any, benches: Sequence[Benchmark]) -> None:
            self.index, self.own = index, benches[0].name == "aime"

        def scan(self, texts: pa.Array, side: Any) -> pa.Table:
            found = self.index.scan(texts, side)
            if not self.own:
                return found
            keep = [texts[at].as_py().startswith("Please") for at in found["text"].to_pylist()]
            return found.filter(pa.array(keep, pa.bool_()))

    plain = engine()
    blind = replace(plain, build=lambda b, p: Blind(plain.build(b, p), b))
    made = run(tmp_path, bench, engine=near(blind))
    hits = made.evidence.select(["doc", "bench", "verdict", "via", "item_key"]).to_pylist()
    assert sorted(hits, key=lambda hit: hit["doc"]) == [
        {
            "doc": "copy of the hit",
            "bench": "aime (spread)",
            "verdict": "near",
            "via": "hit",
            "item_key": "hit",
        },
        {"doc": "hit", "bench": "aime", "verdict": "near", "via": None, "item_key": None},
    ]
    alone = run(tmp_path, bench, engine=near(blind), spread=False)
    assert alone.evidence.column("doc").to_pylist() == ["hit"]
    cleaned = run(tmp_path, bench, engine=near(blind), out=tmp_path / "out")
    assert cleaned.cleaned[0].removed == 2
    reasons = pq.read_table(tmp_path / "out" / "removed" / "a.parquet")["decontam_reason"]
    assert reasons.to_pylist() == [
        "near: item 0 of aime, in prompt",
        "near: item 0 of aime (spread), in prompt, a near-duplicate of hit",
    ]


def test_power_sees_the_same_sample_however_the_corpus_was_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vtdata.decontam.sweep.SAMPLE", 9)
    for name, first in (("a.parquet", 0), ("b.parquet", 500)):
        texts = [f"text {at}" for at in range(first, first + 100)]
        corpus(tmp_path, {"prompt": texts, "response": texts}, name)
    samples: list[pa.Table] = []

    def power(index: Any, sample: pa.Table, benches: Sequence[Benchmark]) -> dict[str, Any]:
        samples.append(sample)
        return {"recall": {"exact": {"found": 9, "of": 9}}, "false_flags": {}}

    measured = replace(engine(), power=power)
    aime, goats = bench_file(tmp_path, "aime", ITEM), bench_file(tmp_path, "goats", OTHER)
    made = run(tmp_path, aime, engine=measured, report=tmp_path / "r.html")
    monkeypatch.setattr("vtdata.decontam.inputs.parquet.UNIT_BYTES", 100)
    run(tmp_path, aime, goats, engine=measured, store=tmp_path / "other", workers=1)
    assert samples[0].equals(samples[1])
    run(tmp_path, aime, engine=measured)
    assert len(samples) == 2  # measured once, and kept
    assert samples[0].num_rows == 9
    assert len({text.as_py() for text in samples[0]["text"]}) > 4
    assert set(samples[0]["side"].to_pylist()) == {"prompt", "response"}
    assert made.data()["power"]["recall"] == {"exact": {"found": 9, "of": 9}}
    assert "no hit at recall 1.000" in (tmp_path / "r.html").read_text()
    card = json.loads((tmp_path / "r.card.json").read_text())
    assert card["sentence"].startswith("no hit at recall 1.000")


@pytest.mark.slow
def test_processes_find_what_threads_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtdata.decontam.inputs.parquet.UNIT_BYTES", 300)
    texts = [f"{at} {ITEM if at % 5 == 0 else OTHER if at % 7 == 0 else at}" for at in range(90)]
    corpus(tmp_path, {"prompt": texts})
    aime = bench_file(tmp_path, "aime", ITEM, OTHER)
    threads = run(tmp_path, aime)
    monkeypatch.setattr("vtdata.decontam.crew.PAYS_BYTES", 0)
    told: list[tuple[int, int]] = []
    from vtdata.decontam.audit import Hooks

    hooks = Hooks(scanned=lambda done, total: told.append((done, total)))
    apart = run(tmp_path, aime, store=tmp_path / "other", hooks=hooks)
    assert apart.evidence.equals(threads.evidence)
    assert apart.passed.units == threads.passed.units > 3
    assert apart.passed.text_bytes == threads.passed.text_bytes == sum(map(len, texts))
    assert told == sorted(told)


def test_an_audit_is_checked_by_its_card(tmp_path: Path) -> None:
    corpus(tmp_path, {"prompt": [ITEM, "x"]})
    aime = bench_file(tmp_path, "aime", ITEM)
    run(tmp_path, aime, report=tmp_path / "report.html")
    card = tmp_path / "report.card.json"

    def findings(against: Sequence[str] = (aime,)) -> list[str]:
        found = api.verify_audit_card(
            card, corpus=tmp_path / "in", against=against, engine=engine()
        )
        return [str(one) for one in found]

    assert findings() == []
    assert json.loads(card.read_text())["corpus"]["rows"] == 2
    assert any("benchmarks" in said for said in findings(()))
    corpus(tmp_path, {"prompt": ["y", "x"]})
    assert any(said.startswith("differs: ") and "a.parquet" in said for said in findings())


def load_nothing(_word: str) -> Benchmark:
    return Benchmark("none", (), source="none.jsonl", sha256="0" * 64)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"against": []}, ConfigError, "nothing to audit against"),
        ({"against": ["nobody"]}, ConfigError, "benchmark 'nobody' is not known"),
        ({"inputs": []}, ConfigError, "no input"),
        ({"inputs": ["gone"]}, ConfigError, "input gone is not there"),
        ({"fields": ["gone"]}, ConfigError, "--field gone"),
        ({"drop": ["nearly"]}, ConfigError, "--drop nearly: no such class; did you mean 'near'?"),
        ({"workers": 0}, ConfigError, "--workers must be at least 1"),
        ({"report": "r.docx"}, ConfigError, "--report r.docx: its ending has to be one of"),
        ({"report": "in/r.html"}, ConfigError, "would be audited with it next time"),
        ({"store": "in/store"}, ConfigError, "--store in/store lies in in"),
        ({"engine": replace(engine(), load=load_nothing)}, ConfigError, "has no items"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    kind: type[VtdataError],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus(tmp_path, {"prompt": [ITEM]})
    settings = {"against": [bench_file(tmp_path, "aime", ITEM)], "engine": engine(), **changes}
    with pytest.raises(kind) as error:
        api.decontam(settings.pop("inputs", ["in"]), **settings)
    assert message in str(error.value)
    assert not list(tmp_path.rglob("*.html"))
    assert not (tmp_path / "decontam").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"report": "a.html"}, "--report would write a.parquet, which is part of the corpus"),
        ({"report": "a.parquet"}, "--report would write a.parquet, which is part of the corpus"),
        ({"marks": "aime.jsonl"}, "--marks would write aime.jsonl, which is a benchmark"),
        ({"report": "aime.jsonl"}, "--report would write aime.jsonl, which is a benchmark"),
        ({"report": "r.jsonl", "marks": "r.jsonl"}, "which --report writes, too"),
    ],
)
def test_nothing_is_written_over_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"prompt": [ITEM]}), "a.parquet")
    against = [bench_file(tmp_path, "aime", ITEM)]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ConfigError, match=message):
        api.decontam(["a.parquet"], against=against, engine=engine(), **changes)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_corpus_without_text_is_no_corpus_without_hits(tmp_path: Path) -> None:
    corpus(tmp_path, {"prompt": pa.array([None, None], pa.string())})
    with pytest.raises(ConfigError, match=r"nothing was scanned: 2 rows hold no text.*\(2 null\)"):
        run(tmp_path, bench_file(tmp_path, "aime", ITEM))


def test_power_that_was_cut_off_is_measured_again(tmp_path: Path) -> None:
    corpus(tmp_path, {"prompt": [ITEM, "x"]})
    measure = replace(engine(), power=lambda *_: {"recall": {}, "false_flags": {}})
    against = bench_file(tmp_path, "aime", ITEM)
    power = run(tmp_path, against, engine=measure).power
    (kept,) = (tmp_path / "store" / "power").glob("*.json")
    kept.write_bytes(kept.read_bytes()[:5])
    assert run(tmp_path, against, engine=measure).power == power == json.loads(kept.read_bytes())


def test_a_corrupt_file_ends_the_audit_and_keeps_what_was_scanned(tmp_path: Path) -> None:
    corpus(tmp_path, {"prompt": [ITEM]})
    bad = corpus(tmp_path, {"prompt": ["y" * 100, "z" * 100]}, "b.parquet")
    raw = bytearray(bad.read_bytes())
    raw[10:60] = bytes(50)
    bad.write_bytes(raw)
    aime = bench_file(tmp_path, "aime", ITEM)
    with pytest.raises(RunError, match=r"b\.parquet is corrupt in row group 0"):
        run(tmp_path, aime, workers=1)
    bad.unlink()
    assert run(tmp_path, aime).known_units == 1


def test_two_names_for_the_same_items_are_taken_once(tmp_path: Path) -> None:
    corpus(tmp_path, {"prompt": [ITEM]})
    one, two = bench_file(tmp_path, "one", ITEM), bench_file(tmp_path, "two", ITEM)
    from vtdata.decontam.audit import Hooks

    said: list[str] = []
    made = run(tmp_path, one, two, hooks=Hooks(say=said.append))
    assert [bench.name for bench in made.benchmarks] == ["one"]
    assert any("holds the items of one" in sentence for sentence in said)


def test_a_hub_that_is_away_is_no_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InfraError, match="can't be fetched"):
        api.decontam(["hf:nobody/nothing"], against=["x"], engine=replace(engine(), load=_one))


def _one(word: str) -> Benchmark:
    from vtdata.decontam.benchmark import Item

    return Benchmark(word, (Item(0, ITEM, "question"),), source=word, sha256="0" * 64)
