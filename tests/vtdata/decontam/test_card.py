from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.vtdata.decontam.hits import BENCHMARKS, SECRET, bench, candidate, found
from tests.vtdata.decontam.test_page import POWER
from vtdata.decontam.report import (
    HashedFile,
    card,
    card_markdown,
    refuse_text,
    verify_card,
    without_text,
    write_card,
    write_parquet,
)
from vtdata.decontam.report.card import digest_of
from vtdata.errors import ConfigError

HITS = [
    candidate(row=0),
    candidate(row=0, bench="gated", verdict="exact", raw="Well: " + SECRET),
    candidate(row=1, bench="paid", verdict="template", side="response", field="response"),
    candidate(row=2, date="2023-01-01", verdict="template"),
]


def audit(folder: Path, **settings: Any) -> dict[str, Any]:
    """A corpus of two files, evidence and card in a folder; returns the card."""
    (folder / "data").mkdir()
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(pa.table({"text": [name, "x"]}), folder / "data" / name)
    hits = found(*HITS)
    write_parquet(hits, folder / "evidence.parquet")
    made = card(
        hits,
        corpus=[
            HashedFile.read(folder / "data" / n, name=n, rows=2) for n in ("b.parquet", "a.parquet")
        ],
        benchmarks=BENCHMARKS,
        index={"name": "grams", "version": 1},
        profile={"name": "evidence", "version": 1, "thresholds": {"coverage": 0.15}},
        evidence_file=HashedFile.read(folder / "evidence.parquet", rows=hits.num_rows),
        command=["vtdata", "decontam", "my data", "--against", "open"],
        power=POWER,
        date="2026-01-02",
        **settings,
    )
    write_card(made, folder / "card.json")
    return made


def checked(folder: Path, **given: Any) -> list[str]:
    """What the check finds, with everything given."""
    everything = {
        "corpus": folder / "data",
        "evidence": folder / "evidence.parquet",
        "benchmarks": BENCHMARKS,
    }
    return [str(finding) for finding in verify_card(folder / "card.json", **(everything | given))]


def rewrite(folder: Path, change: Mapping[str, Any]) -> None:
    """Forge a card: a value replaced, digest and Markdown made anew."""
    made = json.loads((folder / "card.json").read_text()) | change
    write_card({**made, "digest": digest_of(made)}, folder / "card.json")


def test_a_card_says_what_was_scanned_and_what_came_of_it(tmp_path: Path) -> None:
    made = audit(tmp_path)
    assert [file["name"] for file in made["corpus"]["files"]] == ["a.parquet", "b.parquet"]
    assert (made["corpus"]["rows"], made["corpus"]["num_files"]) == (4, 2)
    assert made["hits"] == {
        "all": 4,
        "dropped": 2,
        "texts": 3,
        "rows": 3,
        "dropped_rows": 1,
        "counts": {
            "gated": {"exact": {"prompt": 1}},
            "open": {"near": {"prompt": 1}, "template": {"prompt": 1}},
            "paid": {"template": {"response": 1}},
            "silent": {},
        },
        "dates": {"predates": 0, "postdates": 0, "undated": 4},
    }
    assert [b["name"] for b in made["benchmarks"]] == ["gated", "open", "paid", "silent"]
    assert made["power"]["recall"]["all"] == {
        "found": 95, "of": 100, "share": 0.95, "low": 0.8872, "high": 0.9836,
    }  # fmt: skip
    assert made["repeat"] == "vtdata decontam 'my data' --against open"
    assert made["date"] == "2026-01-02"


def test_equal_audits_have_equal_cards(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert audit(tmp_path / "one") == audit(tmp_path / "two")
    for name in ("card.json", "card.md"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_no_text_of_corpus_or_items_is_in_a_card(tmp_path: Path) -> None:
    audit(tmp_path)
    written = (tmp_path / "card.json").read_text() + (tmp_path / "card.md").read_text()
    for text in (SECRET, SECRET[::-1], "red apples", "primes", "hedgehogs", "Well:", "open-0"):
        assert text not in written


def test_a_card_that_agrees_yields_nothing(tmp_path: Path) -> None:
    audit(tmp_path)
    assert checked(tmp_path) == []


def test_what_nobody_looked_at_is_said(tmp_path: Path) -> None:
    audit(tmp_path)
    findings = verify_card(tmp_path / "card.json")
    assert [(f.kind, f.what, f.fails) for f in findings] == [
        ("unchecked", "corpus", False),
        ("unchecked", "evidence", False),
        ("unchecked", "benchmarks", False),
    ]


def test_one_file_may_be_given_itself(tmp_path: Path) -> None:
    audit(tmp_path)
    only = json.loads((tmp_path / "card.json").read_text())["corpus"]["files"][:1]
    totals = {"num_files": 1, "rows": 2, "bytes": only[0]["bytes"]}
    rewrite(tmp_path, {"corpus": {**totals, "files": only, "sha256": "?"}})
    found_ = checked(tmp_path, corpus=tmp_path / "data" / "a.parquet")
    assert len(found_) == 1
    assert found_[0].startswith("differs: corpus, sha256: the card says ?, found ")


def test_a_changed_missing_or_added_file_is_named(tmp_path: Path) -> None:
    made = audit(tmp_path)
    path = tmp_path / "data" / "a.parquet"
    pq.write_table(pa.table({"text": ["other"]}), path)
    now = HashedFile.read(path)
    said = made["corpus"]["files"][0]
    assert checked(tmp_path) == [
        f"differs: corpus file 'a.parquet', sha256: the card says {said['sha256']}, found {now.sha256}",
        f"differs: corpus file 'a.parquet', bytes: the card says {said['bytes']}, found {now.bytes}",
    ]
    path.rename(tmp_path / "data" / "c.parquet")
    assert checked(tmp_path) == [
        "extra: corpus file 'c.parquet': the card says nothing, found a file",
        f"missing: corpus file 'a.parquet': the card says {said['sha256']}, found no {path}",
    ]


def test_evidence_beside_the_corpus_is_no_extra_file(tmp_path: Path) -> None:
    audit(tmp_path)
    moved = (tmp_path / "evidence.parquet").rename(tmp_path / "data" / "evidence.parquet")
    assert checked(tmp_path, evidence=moved) == []
    (line,) = checked(tmp_path, evidence=None)
    assert line.startswith("unchecked: evidence")
    pq.write_table(pa.table({"text": ["unseen"]}), moved)  # its name alone is no excuse
    assert "extra: corpus file 'evidence.parquet': the card says nothing, found a file" in checked(
        tmp_path, evidence=None
    )


def test_files_in_other_folders_are_counted_and_no_fault(tmp_path: Path) -> None:
    audit(tmp_path)
    (tmp_path / "data" / "rejects").mkdir()
    for name in ("b.parquet", "a.parquet", "a.txt"):
        pq.write_table(pa.table({"text": [name]}), tmp_path / "data" / "rejects" / name)
    findings = verify_card(
        tmp_path / "card.json",
        corpus=tmp_path / "data",
        evidence=tmp_path / "evidence.parquet",
        benchmarks=BENCHMARKS,
    )
    assert [(finding.fails, str(finding)) for finding in findings] == [
        (
            False,
            "unchecked: files in folders that it doesn't name: the card says nothing, "
            "found 2, the first 'rejects/a.parquet'",
        )
    ]


def test_counts_must_equal_the_evidence(tmp_path: Path) -> None:
    made = audit(tmp_path)
    write_parquet(found(*HITS[:3]), tmp_path / "evidence.parquet")
    findings = checked(tmp_path)
    assert any(line.startswith("differs: evidence, sha256: the card says") for line in findings)
    assert "differs: hits, all: the card says 4, found 3" in findings
    now = HashedFile.read(tmp_path / "evidence.parquet", rows=3)
    rewrite(tmp_path, {"evidence": {**made["evidence"], "sha256": now.sha256, "bytes": now.bytes}})
    findings = checked(tmp_path)
    assert "differs: evidence, rows: the card says 4, found 3" in findings
    assert not any("sha256" in line for line in findings)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"sentence": "all is well"}, "differs: sentence: the card says all is well, found 4 hits"),
        ({"power": None}, "differs: sentence: the card says 4 hits"),
    ],
)
def test_a_forged_card_with_a_new_digest_contradicts_itself(
    tmp_path: Path, change: dict[str, Any], finding: str
) -> None:
    audit(tmp_path)
    rewrite(tmp_path, change)
    (line,) = checked(tmp_path)
    assert line.startswith(finding)


def test_forged_recall_is_found(tmp_path: Path) -> None:
    made = audit(tmp_path)
    power = json.loads(json.dumps(made["power"]))
    power["recall"]["all"]["low"] = 0.99
    rewrite(tmp_path, {"power": power})
    (line,) = checked(tmp_path)
    assert line.startswith("differs: power: the card says")


def test_a_changed_card_or_markdown_is_found(tmp_path: Path) -> None:
    made = audit(tmp_path)
    (tmp_path / "card.md").write_text("# No hit\n")
    assert checked(tmp_path) == [
        "differs: card.md: the card says what its JSON says, found other text"
    ]
    forged = json.dumps({**made, "date": "2020-01-01"})
    (tmp_path / "card.json").write_text(forged)
    (tmp_path / "card.md").unlink()
    (line,) = checked(tmp_path)
    assert line.startswith(f"differs: digest: the card says {made['digest']}, found ")


def test_other_benchmarks_are_named(tmp_path: Path) -> None:
    audit(tmp_path)
    other = BENCHMARKS | {"open": replace(BENCHMARKS["open"], sha256="9" * 64)}
    del other["silent"]
    assert checked(tmp_path, benchmarks=other) == [
        f"differs: benchmark 'open', sha256: the card says {'o' * 64}, found {'9' * 64}",
        f"missing: benchmark 'silent': the card says {'s' * 64}, found only open, gated, paid",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "can't be read as an audit card"),
        ("[]", "has schema_version None and this vtdata checks 1"),
        ('{"schema_version": 9}', "has schema_version 9 and this vtdata checks 1"),
        ('{"schema_version": 1}', "is no audit card: it lacks benchmarks, corpus, digest"),
    ],
)
def test_what_is_no_card_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "card.json").write_text(text)
    with pytest.raises(ConfigError, match=message):
        verify_card(tmp_path / "card.json")


@pytest.mark.parametrize("change", [{"power": {"recall": {}}}, {"hits": 3}, {"benchmarks": [{}]}])
def test_a_card_of_another_form_is_an_error(tmp_path: Path, change: dict[str, Any]) -> None:
    made = json.loads(json.dumps(audit(tmp_path))) | change
    (tmp_path / "card.json").write_text(json.dumps(made))
    (tmp_path / "card.md").unlink()
    with pytest.raises(ConfigError, match=r"card.json has not the form of an audit card"):
        checked(tmp_path)


@pytest.mark.parametrize("name", ["../evidence.parquet", "/etc/hostname"])
def test_a_card_reads_nothing_outside_the_corpus(tmp_path: Path, name: str) -> None:
    made = audit(tmp_path)
    files = [{**made["corpus"]["files"][0], "name": name}, made["corpus"]["files"][1]]
    rewrite(tmp_path, {"corpus": {**made["corpus"], "files": files}})
    findings = [line for line in checked(tmp_path) if name in line]
    assert findings == [
        f"differs: corpus file '{name}': the card says a file of the corpus, found a way out"
    ]


def test_an_audit_of_nothing_is_refused(tmp_path: Path) -> None:
    file = HashedFile("a", "0", 1)
    for corpus, benchmarks in (([], BENCHMARKS), ([file], {})):
        with pytest.raises(ConfigError, match="a card needs files and benchmarks"):
            card(
                found(*HITS), corpus=corpus, benchmarks=benchmarks, index={}, profile={},
                evidence_file=file, command=["vtdata"],
            )  # fmt: skip


def test_a_card_takes_no_item_text_by_the_back_door(tmp_path: Path) -> None:
    file = HashedFile("a", "0", 1)
    for profile, command in (
        ({"name": SECRET}, ["vtdata"]),
        ({}, ["vtdata", "--note", SECRET.upper()]),
    ):
        with pytest.raises(ConfigError, match="text of item 0 of 'gated' may not be passed on"):
            card(
                found(*HITS), corpus=[file], benchmarks=BENCHMARKS, index={}, profile=profile,
                evidence_file=file, command=command,
            )  # fmt: skip


def test_a_path_of_this_machine_is_not_passed_on(tmp_path: Path) -> None:
    local = {"mine": replace(bench("mine", "x"), source="/home/me/secret/mine.jsonl")}
    file = HashedFile("a", "0", 1)
    made = card(
        found(*HITS).slice(0, 0), corpus=[file], benchmarks=local,
        index={}, profile={}, evidence_file=file, command=["vtdata"],
    )  # fmt: skip
    assert made["benchmarks"][0]["source"] == "mine.jsonl"


def test_names_in_markdown_are_no_markup() -> None:
    made = card(
        found(*HITS).slice(0, 0),
        corpus=[HashedFile("a|b<script>\n# x.parquet", "0", 1)],
        benchmarks={"b": replace(bench("b", "x"), license="[l](x)")},
        index={},
        profile={},
        evidence_file=HashedFile("e", "0", 1),
        command=["vtdata", "```", "x"],
    )
    text = card_markdown(made)
    assert r"| a\|b\<script\> \# x.parquet |" in text
    assert r"\[l\](x)" in text
    assert "````\nvtdata '```' x\n````" in text


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (SECRET, True),
        (f"our corpus has '{SECRET.lower()}', sorry", True),
        ("the marble, bridge at DAWN carrying nine lanterns!", True),  # eight words of it
        ("the marble bridge at dawn carrying nine lamps", False),  # seven
        (SECRET[::-1], True),
        ("Tom has 12 red apples.", False),  # of an open benchmark
        ("short item", True),
        ("a short; item of another kind", True),  # punctuation is nothing
        ("short of an item", False),
        ("", False),
    ],
)
def test_text_that_may_not_be_passed_on_is_refused(text: str, refused: bool) -> None:
    benches = BENCHMARKS | {"brief": bench("brief", "Short item?", "Word", gated=True)}
    for shipped in (text, {"deep": [{"in": text}, 3]}, {text: None}):
        if refused:
            with pytest.raises(ConfigError, match="may not be passed on"):
                refuse_text(shipped, benches)
        else:
            refuse_text(shipped, benches)


def test_evidence_of_refused_benchmarks_ships_without_text() -> None:
    hits = found(*HITS)
    with pytest.raises(ConfigError, match=r"evidence holds .*doc_text.* of item 0 of 'gated'"):
        refuse_text(hits, BENCHMARKS)
    bare = without_text(hits, BENCHMARKS)
    refuse_text(bare, BENCHMARKS)
    assert bare.schema.equals(hits.schema)
    for before, after in zip(hits.to_pylist(), bare.to_pylist(), strict=True):
        if before["bench"] == "open":
            assert after == before
        else:
            assert (after["item_text"], after["grams"], after["doc_text"]) == (None, None, "")
            assert (after["start"], after["item_hash"]) == (before["start"], before["item_hash"])


def test_a_benchmark_that_is_not_given_is_not_passed_on() -> None:
    with pytest.raises(ConfigError, match="evidence speaks of paid, and given are open, gated"):
        refuse_text(found(*HITS), {name: BENCHMARKS[name] for name in ("open", "gated")})
