"""``vtdata benchmarks``: which benchmarks have a name, what is known of them, and new ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vtdata import api
from vtdata.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    help="Benchmarks that a corpus is held against.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
StandIns = Annotated[
    Path | None,
    typer.Option(
        "--benchmarks",
        metavar="DIR",
        help="Folder whose NAME.jsonl or NAME.parquet stands in for the Hub; VTDATA_BENCHMARKS.",
    ),
]
_FIRST_CHARS = 400
_FILE_COLUMNS = 160


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Show all benchmarks that have a name.

    From the list that ships, ~/.config/vtdata/benchmarks.yaml and ./benchmarks.yaml; of two with
    the same name the later one counts.

    Example: vtdata benchmarks list --json
    """
    found = api.benchmarks_list()
    if as_json:
        _print(found)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("name", "items", "published", "license", "source", "revision", "from"):
        table.add_column(title, overflow="fold", no_wrap=title in ("name", "revision"))
    for one in found:
        closed = [word for word in ("gated", "non_commercial") if one[word]]
        table.add_row(
            one["name"],
            str(one["num_items"] or "?"),
            one["published"] or ("by row" if one["date_field"] else "not known"),
            ", ".join([one["license"] or "not stated", *closed]),
            one["hub"] or one["file"],
            "" if one["file"] else (one["revision"] or "")[:12],
            one["origin"],
        )
    _console().print(table)


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME|FILE|HUB_ID", help="A name, a file, or owner/name.")
    ],
    benchmarks: StandIns = None,
    as_json: AsJson = False,
) -> None:
    """Show everything that is known of a benchmark.

    Whether it can be loaded now, too, and how many items it has; not one of its texts.

    Example: vtdata benchmarks show math500 --benchmarks ~/benchmarks
    """
    found = api.benchmarks_show(name, stand_ins=benchmarks)
    if as_json:
        _print(found)
    else:
        _lines(found)


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as aime27.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_HUB_ID", help="A file, a folder, or owner/name[@commit] of the Hub."
        ),
    ],
    field: Annotated[
        list[str] | None,
        typer.Option(help="Column with the question; may be repeated. [default: by its name]"),
    ] = None,
    split: Annotated[str | None, typer.Option(help="The Hub's name. [default: test]")] = None,
    config: Annotated[str | None, typer.Option(help="The Hub's name of a configuration.")] = None,
    files: Annotated[
        list[str] | None,
        typer.Option(help="File in the Hub's repository, if not all; may be repeated."),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="Commit, 40 digits. [default: the newest, written down]")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Column with the row's own name.")] = None,
    date_field: Annotated[
        str | None, typer.Option("--date-field", help="Column with the row's own date.")
    ] = None,
    license_: Annotated[str | None, typer.Option("--license", help="Such as cc-by-4.0.")] = None,
    published: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="First publication of the problems: 2026, 2026-02 ..."),
    ] = None,
    gated: Annotated[bool, typer.Option("--gated", help="Item text is shown nowhere.")] = False,
    non_commercial: Annotated[
        bool, typer.Option("--non-commercial", help="No card quotes it.")
    ] = False,
    rows: Annotated[
        str | None, typer.Option(metavar="RULE", help="Which rows, such as 'task_id: [11, 510]'.")
    ] = None,
    to: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Registry to write; beside ./benchmarks.yaml, ~/.config/vtdata/benchmarks.yaml "
            "is read, for all your projects.",
        ),
    ] = Path("benchmarks.yaml"),
    replace: Annotated[bool, typer.Option("--replace", help="Even if the name is taken.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give a benchmark a name.

    Loads it once and shows how many items it has and the first of them, so that a wrong column is
    seen at once. What was found out is written down: the columns, the file's hash, the commit.

    Example: vtdata benchmarks add aime27 ./aime27.jsonl --field problem --published 2027-02
    """
    found = api.benchmarks_add(
        name,
        source,
        to=to,
        replace=replace,
        fields=field or [],
        split=split,
        config=config,
        files=files or [],
        revision=revision,
        key=key,
        date_field=date_field,
        license=license_,
        published=published,
        gated=gated,
        non_commercial=non_commercial,
        rows=_rule(rows),
    )
    if as_json:
        _print(found)
        return
    _lines(found)
    first = found["first_item"]
    text = first.get("text")
    shown = f"sha256 {first['sha256']}" if text is None else json.dumps(text, ensure_ascii=False)
    cut = " ..." if len(shown) > _FIRST_CHARS else ""
    _say(f"first item, row {first['index']}, '{first['field']}': {shown[:_FIRST_CHARS]}{cut}")
    _say(f"'{name}' is written to {to}")


def _rule(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    import yaml

    try:
        rule = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--rows '{text}' is no YAML; write 'task_id: [11, 510]'") from error
    if not isinstance(rule, dict):
        raise ConfigError(f"--rows '{text}' names no column; write 'task_id: [11, 510]'")
    return rule


def _lines(found: dict[str, Any]) -> None:
    load = found["load"]
    for name, value in found.items():
        if name in ("load", "first_item") or value in (None, [], False):
            continue
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        _say(f"{name}: {shown}")
    if not load["ok"]:
        _say(f"can't be loaded now: {load['problem']}")
        return
    _say(
        f"loads: {load['num_items']} items of {load['num_rows']} rows, text in "
        f"{', '.join(load['fields'])}, sha256 {load['sha256']}"
        f"{', commit ' + load['revision'] if load['revision'] else ''}"
    )
    for sentence in load["said"]:
        _say(f"note: {sentence}")


def _console() -> Console:
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _FILE_COLUMNS
    return console


def _say(line: str) -> None:
    _console().print(line, soft_wrap=True)


def _print(data: Any) -> None:
    print(json.dumps(data, indent=1, ensure_ascii=False, default=str))
