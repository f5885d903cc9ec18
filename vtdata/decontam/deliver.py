"""What an audit leaves behind: report, card, marks, cleaned copy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vtdata.decontam.audit import Audit, Hooks, audit
from vtdata.decontam.engine import Engine, bench_key
from vtdata.decontam.hits import drops_of
from vtdata.decontam.outputs import write_marks, write_out
from vtdata.decontam.report import (
    Finding,
    HashedFile,
    card,
    verify_card,
    write_card,
    write_html,
    write_json,
    write_parquet,
)
from vtdata.decontam.request import DEFAULT, Request


def decontam(request: Request, engine: Engine, hooks: Hooks | None = None) -> Audit:
    """Audit a corpus and write what was asked for.

    Raises:
        ConfigError: the request is wrong; nothing was scanned.
        RunError: it can't go on; units that are finished are kept.
        InfraError: the Hub can't be reached.
    """
    made = audit(request, engine, hooks)
    if request.dry_run:
        return made
    if request.report is not None:
        made.written += _write_report(request, made)
    if request.marks is not None:
        request.marks.parent.mkdir(parents=True, exist_ok=True)
        write_marks(request.marks, made.evidence, request.drop)
        made.written.append(request.marks)
    if request.out is not None:
        shards = [one.shard for one in made.held]
        drops = drops_of(made.evidence, request.drop)
        about = {"audit": _about(made), "dropped": list(request.drop)}
        made.cleaned = write_out(request.out, shards, drops, about)
        made.written.append(request.out)
    return made


def verify(card_file: Path, request: Request, engine: Engine) -> list[Finding]:
    """Return every difference between an audit card and what it speaks of.

    The corpus is the first input, the benchmarks are those of ``against``, and the evidence lies
    beside the card; what isn't there is a finding of kind ``unchecked``.

    Raises:
        ConfigError: it is no card, or a benchmark can't be loaded.
    """
    found = verify_card(card_file)  # refuses what is no card
    data = json.loads(card_file.read_text(encoding="utf-8"))
    name = (data.get("evidence") or {}).get("name")
    evidence = card_file.parent / name if isinstance(name, str) else None
    corpus = Path(request.inputs[0]) if request.inputs else None
    if evidence is not None and not evidence.is_file():
        evidence = None
    benchmarks = {bench.name: bench for bench in map(engine.load, request.against)}
    if corpus is None and evidence is None and not benchmarks:
        return found
    return verify_card(card_file, corpus=corpus, evidence=evidence, benchmarks=benchmarks or None)


def _write_report(request: Request, made: Audit) -> list[Path]:
    """The report, the whole evidence as Parquet and the card, side by side."""
    report = request.report
    assert report is not None
    report.parent.mkdir(parents=True, exist_ok=True)
    whole = report.with_suffix(".parquet")
    write_parquet(made.evidence, whole)
    benchmarks = {bench.name: bench for bench in made.benchmarks}
    if report.suffix == ".html":
        write_html(
            made.evidence,
            report,
            corpus=", ".join(request.inputs),
            profile=made.profile.label,
            benchmarks=benchmarks,
            power=made.power,
            parquet=whole.name,
        )
    elif report.suffix in (".json", ".jsonl"):
        write_json(made.evidence, report)
    written = [report] if report == whole else [report, whole]
    if any(one.shard.path is None for one in made.held):
        return written  # a card lists files, and a dataset on the Hub has none here
    card_file = report.with_suffix(".card.json")
    write_card(_card(request, made, whole), card_file)
    return [*written, card_file]


def _card(request: Request, made: Audit, whole: Path) -> dict[str, Any]:
    files = [
        HashedFile(
            one.shard.file,
            one.digest,
            one.stamp[0] if one.stamp else 0,
            one.shelf.counts()[0].rows,
        )
        for one in made.held
    ]
    keys = sorted(bench_key(bench) for bench in made.benchmarks)
    told = json.dumps([made.profile.hash, keys])
    return card(
        made.evidence,
        corpus=files,
        benchmarks={bench.name: bench for bench in made.benchmarks},
        index={
            "name": "vtdata.decontam",
            "version": made.profile.label,
            "hash": hashlib.sha256(told.encode()).hexdigest(),
        },
        profile={
            "name": made.profile.name,
            "version": made.profile.label,
            "hash": made.profile.hash,
            "thresholds": made.profile.thresholds,
        },
        evidence_file=HashedFile.read(whole, rows=made.evidence.num_rows),
        command=command_of(request),
        power=made.power,
    )


def command_of(request: Request) -> Sequence[str]:
    """Return the words that repeat an audit.

    >>> " ".join(command_of(Request(inputs=("data",), against=("aime24",), spread=False)))
    'vtdata decontam data --against aime24 --no-spread'
    """
    words = ["vtdata", "decontam", *request.inputs]
    for option, values in (("--against", request.against), ("--field", request.fields)):
        words += [word for value in values for word in (option, value)]
    if request.profile != DEFAULT:
        words += ["--profile", request.profile]
    return words if request.spread else [*words, "--no-spread"]


def _about(made: Audit) -> dict[str, Any]:
    data = made.data()
    names = ("profile", "benchmarks", "hits", "rows", "texts", "null_texts", "bad_rows")
    return {name: data[name] for name in names}
