"""``vtdata decontam``: is a benchmark in this corpus, where, show me."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from vtdata import api
from vtdata.errors import ConfigError
from vtdata.shell import tidy_end

FOUND = 5
"""Exit code of ``--check`` when there is contamination."""


def decontam(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            help="Parquet or JSON Lines files (.gz, .zst), folders, runs, hf:owner/name[@rev].",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME|FILE", help="A benchmark; may be repeated. See 'benchmarks'."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a cleaned copy: same files and schema."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Evidence as .html, .json or .parquet; with its card."),
    ] = None,
    marks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A line per document with a hit; .jsonl.")
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="COLUMN", help="Column to scan, dotted; may be repeated."),
    ] = None,
    profile: Annotated[str, typer.Option(help="evidence, or paper: any 10-gram.")] = "evidence",
    drop: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS,...", help="Classes to drop, besides exact, near, short_exact."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 5 where a class that is dropped was found.")
    ] = False,
    spread: Annotated[
        bool, typer.Option(help="Also find near-duplicates of contaminated prompts.")
    ] = True,
    store: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Evidence store. [default: decontam, in RUN or by FILE]"),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Threads. [default: cores]")] = None,
    verify_card: Annotated[
        Path | None,
        typer.Option("--verify-card", metavar="CARD", help="Hold an audit card against INPUT."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be scanned; scan nothing.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON on stdout.")
    ] = False,
) -> None:
    """Look for benchmarks in a corpus.

    Everything found is kept in a store: what was scanned once is never scanned again, a new
    benchmark is scanned for alone, and an audit that was ended goes on where it was.

    Examples:
    vtdata decontam data/ --against aime24 --against aime25 --report audit.html

    vtdata decontam runs/toy-sft --against ./aime27.jsonl --check

    vtdata decontam train.parquet --against math500 --out clean/ --drop template

    vtdata decontam data/ --against aime24 --verify-card audit.card.json
    """
    if verify_card is not None:
        _verify(verify_card, inputs or [], against or [], as_json=as_json)
        return
    from rich.console import Console

    from vtdata.counted import Counted
    from vtdata.decontam.audit import Hooks

    console = Console(stderr=True, highlight=False)
    with tidy_end(), Counted(console, "scan", "MB") as counted:
        made = api.decontam(
            inputs or [],
            against=against or [],
            fields=fields or [],
            profile=profile,
            drop=[word.strip() for word in drop.split(",")] if drop else [],
            out=out,
            report=report,
            marks=marks,
            store=store,
            workers=workers,
            spread=spread,
            dry_run=dry_run,
            hooks=Hooks(
                say=lambda sentence: console.print(sentence, soft_wrap=True, markup=False),
                scanned=lambda done, total: counted.said(done // 10**6, total // 10**6),
            ),
        )
    if not dry_run:
        from vtdata.decontam.report import summary

        for line in made.lines():
            console.print(line, soft_wrap=True, markup=False)
        console.print(summary(made.evidence, [b.name for b in made.benchmarks], power=made.power))
    if as_json:
        print(json.dumps(made.data(), indent=1, ensure_ascii=False))
    if check and made.num_dropped:
        raise typer.Exit(FOUND)


def _verify(card: Path, inputs: list[str], against: list[str], *, as_json: bool) -> None:
    if len(inputs) > 1:
        raise ConfigError(
            f"--verify-card: a card's names start from one folder or file, got {len(inputs)} inputs"
        )
    found = api.verify_audit_card(card, corpus=inputs[0] if inputs else None, against=against)
    if as_json:
        told = [
            {"kind": one.kind, "what": one.what, "said": one.said, "found": one.found}
            for one in found
        ]
        print(json.dumps(told, indent=1, ensure_ascii=False))
    for one in found:
        print(one, file=sys.stderr)
    if any(one.fails for one in found):
        raise typer.Exit(1)
    if not found:
        print(f"{card} agrees with corpus, evidence and benchmarks", file=sys.stderr)
