"""The command line. Stdout is data, stderr is for people."""

from __future__ import annotations

import json
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vtdata import api, cli_benchmarks, cli_decontam
from vtdata.errors import ConfigError, VtdataError
from vtdata.shell import Stdout, check_kind, reach_checkout, tidy_end

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    name="vtdata",
    help="Seed questions with a way of checking the answer in, training shards out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(cli_benchmarks.app, name="benchmarks")
app.command()(cli_decontam.decontam)

Recipe = Annotated[Path, typer.Argument(help="A recipe, a YAML file.", show_default=False)]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="a.b=c", help="Change a value of the recipe; may be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
NoCode = Annotated[bool, typer.Option("--no-code", help="Refuse 'use:' steps, which run code.")]
Out = Annotated[Path | None, typer.Option(help="Run folder. [default: runs/NAME]")]
StoreDir = Annotated[
    Path | None, typer.Option(help="Generation store shared with other runs. [default: RUN/store]")
]
_INTERRUPTED = 130
_DURATION = re.compile(r"^(\d+(?:\.\d+)?)(s|m|h|d)?$")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> float:
    """Read a duration: 90, 90s, 15m, 8h, 2d.

    >>> seconds("15m")
    900.0
    """
    match = _DURATION.match(text)
    if not match:
        raise ConfigError(f"duration '{text}': write 90s, 15m, 8h or 2d")
    return float(match[1]) * _SECONDS[match[2] or "s"]


@app.command()
def run(
    recipe: Recipe,
    out: Out = None,
    settings: Sets = None,
    limit: Annotated[int | None, typer.Option(help="First rows of each source only.")] = None,
    only: Annotated[str | None, typer.Option(metavar="BLOCK", help="Run this block alone.")] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="BLOCK", help="Do it and what follows again.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes. [default: cores]")] = None,
    tasks: Annotated[int | None, typer.Option(help="Ranks. [default: workers]")] = None,
    executor: Annotated[str, typer.Option(help="local")] = "local",
    resume: Annotated[str, typer.Option(help="if-possible, always or never.")] = "if-possible",
    store: StoreDir = None,
    stop_after: Annotated[
        str | None, typer.Option(metavar="DURATION", help="End cleanly after 90s, 15m, 8h, 2d.")
    ] = None,
    no_code: NoCode = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count calls, tokens and cost; ask nobody.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a recipe, or go on where it ended.

    Example: vtdata run recipes/toy-sft.yaml --limit 5 --set seed=3
    """
    reach_checkout()
    if dry_run:
        plan = api.plan_calls(
            recipe, out=out, settings=settings or [], limit=limit, store=store, code=not no_code
        )
        _show_calls(plan, as_json=as_json)
        return
    from vtdata.live import Live
    from vtdata.report import print_report, report_data

    console = _console()
    with redirect_stdout(sys.stderr), Live(console) as live:  # what a step prints is no data
        result = api.run(
            recipe,
            out=out,
            settings=settings or [],
            limit=limit,
            only=only,
            start=start,
            workers=workers,
            tasks=tasks,
            executor=executor,
            resume=resume,
            store=store,
            stop_after_s=seconds(stop_after) if stop_after else None,
            code=not no_code,
            hooks=live.hooks(),
        )
    print_report(result, console)
    if as_json:
        _print(report_data(result))


def _show_calls(plan: list[dict[str, Any]], *, as_json: bool) -> None:
    from vtdata.report import calls_lines

    if as_json:
        _print(plan)
    else:
        for line in calls_lines(plan):
            _console().print(line, soft_wrap=True)


@app.command()
def show(
    recipe: Recipe, settings: Sets = None, no_code: NoCode = False, as_json: AsJson = False
) -> None:
    """Print a recipe as it is understood.

    Blocks, steps, settings that differ from their defaults, passes over the data.

    Example: vtdata show recipes/toy-sft.yaml
    """
    reach_checkout()
    plan = api.show(recipe, settings=settings or [], code=not no_code)
    from vtdata.report import plan_data, plan_tree

    if as_json:
        _print(plan_data(plan))
    else:
        _console().print(plan_tree(plan))


@app.command()
def check(recipe: Recipe, settings: Sets = None, no_code: NoCode = False) -> None:
    """Validate a recipe, and open its files.

    Runs the tests of its filters too.

    Example: vtdata check recipes/toy-sft.yaml
    """
    reach_checkout()
    for line in api.check(recipe, settings=settings or [], code=not no_code):
        _console().print(f"ok  {line}", soft_wrap=True)


@app.command()
def schema() -> None:
    """Print the JSON Schema of recipes, for editors.

    Example: vtdata schema > recipe.schema.json
    """
    _print(api.schema())


@app.command()
def status(run: RunFolder, as_json: AsJson = False) -> None:
    """Say how far a run is.

    Example: vtdata status runs/toy-sft
    """
    found = api.status(run)
    from vtdata.report import status_table

    if as_json:
        _print(found)
    else:
        _console().print(status_table(found))


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(help="A Parquet file, or a block's or a set's folder.")],
    query: Annotated[str | None, typer.Option(help="Only rows whose id begins so.")] = None,
    limit: Annotated[
        int | None, typer.Option(help="At most so many rows. [default: 3, of a table 50]")
    ] = None,
    rejects: Annotated[bool, typer.Option("--rejects", help="What the block set aside.")] = False,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="A table that steps logged, of a run too.")
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="With --table: for people, as Markdown.")
    ] = False,
) -> None:
    """Print rows as JSON, one per line.

    Example: vtdata inspect runs/toy-sft/01-corpora-1a2b3c4d5e --rejects
    """
    if markdown and table is None:
        raise ConfigError("--markdown is for tables: name one with --table")
    most = limit if limit is not None else 50 if table else 3
    rows = api.inspect(path, query=query, limit=most, rejects=rejects, table=table)
    if markdown:
        from vtdata.report import markdown_table

        print(markdown_table(rows))
        return
    for row in rows:
        print(json.dumps(row, ensure_ascii=False, default=str))


@app.command()
def replay(
    run: RunFolder,
    workers: Annotated[int | None, typer.Option(help="Processes. [default: cores]")] = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild a run's shards and compare hashes.

    Offline, from the generation store alone.

    Example: vtdata replay runs/toy-sft
    """
    reach_checkout()
    found = api.replay(run, workers=workers)
    if as_json:
        _print(found)
    for name, hashes in found["files"].items():
        word = "same" if hashes["run"] == hashes["replay"] else "DIFFERENT"
        _console().print(f"{word}  {name}  {hashes['run']}", soft_wrap=True)
    if not found["same"]:
        raise typer.Exit(1)


@app.command()
def clean(
    run: RunFolder,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    store: Annotated[
        bool, typer.Option("--store", help="The generation store instead: say what it holds.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --store: really remove it.")] = False,
) -> None:
    """Remove what the present recipe supersedes.

    Block folders, that is; the store stays.

    With --store, print what would have to be bought again, and with --yes remove the store.

    Example: vtdata clean runs/toy-sft --dry-run
    """
    if store:
        from vtdata.report import store_lines

        for line in store_lines(api.clean_store(run, remove=yes and not dry_run)):
            _console().print(line, soft_wrap=True)
        return
    for path in api.clean(run, dry_run=dry_run):
        _console().print(f"{'would remove' if dry_run else 'removed'}  {path}", soft_wrap=True)


@app.command()
def verify(
    kind: Annotated[
        str, typer.Argument(metavar="math|choice|code", help="How answers are checked.")
    ],
    cases: Annotated[
        Path,
        typer.Argument(
            metavar="CASES.jsonl",
            help='Lines {"id", "gold", "pred"}; of code {"id", "program", "tests"}.',
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Where to write. [default: stdout]")] = None,
    disagreements: Annotated[
        Path | None,
        typer.Option(help="Where to write the cases whose stages contradict each other."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Most processes; used where they pay. [default: cores]")
    ] = None,
    limit_s: Annotated[
        float | None,
        typer.Option(
            "--limit-s",
            help="Seconds for a symbolic question; a line may take three times that. [default: 4]",
        ),
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option(help="Code: local, e2b, container. [default: local]")
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="Code: count tests that run beside the program.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The summary as JSON: on stdout, or stderr without --out")
    ] = False,
) -> None:
    """Judge answers against references, or programs by their tests, in a file.

    A pred is a bare answer or a whole response; "form": "answer" or "response" says which. A
    choice has "options" too. Out comes {"id", "reward", "reason", "extracted", "ms"}, a line for
    each, in order; reward null is: nobody could judge. With "equal": true or false in the lines
    the summary counts who agrees.

    Of code, tests are an object in any form of LiveCodeBench, APPS, TACO, CodeContests, HumanEval,
    MBPP or open-r1/codeforces, or {"inputs", "outputs", "fn_name"}. Out comes {"id", "reward",
    "reason", "passed", "total", "verdicts", "isolation", "ms"}.

    Example: vtdata verify math cases.jsonl --out verdicts.jsonl
    """
    from vtdata.counted import Counted

    check_kind(kind, code=sandbox or weak, answers=disagreements or limit_s)
    console = _console()
    with tidy_end(), Counted(console, f"verify {kind}") as counted:
        if kind == "code":
            found = api.verify_code(
                cases,
                out=out or Stdout(),
                sandbox=sandbox or "local",
                workers=workers,
                weak=weak,
                progress=counted.said,
            )
        else:
            found = api.verify_cases(
                kind,
                cases,
                out=out or Stdout(),
                disagreements=disagreements,
                workers=workers,
                limit_s=limit_s,
                progress=counted.said,
            )
        Stdout().flush()
    if as_json:
        print(json.dumps(found.tally.data()), file=sys.stdout if out else sys.stderr)
    else:
        for line in found.tally.lines():
            console.print(line, soft_wrap=True)


@app.command()
def serve(
    model: Annotated[str, typer.Option(help="embedded, a folder, or a model's name.")] = "embedded",
    port: Annotated[int, typer.Option(help="Port on loopback.")] = 8000,
) -> None:
    """Serve a model over the OpenAI interface.

    With vLLM where it can run, else on the CPU.

    Example: vtdata serve --model embedded --port 8000
    """
    raise typer.Exit(api.serve(model, port=port))


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def _print(data: Any) -> None:
    print(json.dumps(data, indent=1, ensure_ascii=False, default=str))


def main() -> None:
    """Run a command; every error of ours is one sentence and an exit code."""
    try:
        code = app(standalone_mode=False)  # what typer.Exit was raised with, or None
        if code == _INTERRUPTED:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
        Stdout().flush()
        sys.exit(code)
    except VtdataError as error:
        print(f"vtdata: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except typer.TyperException as error:
        text = error.format_message()
        print(f"vtdata: {text}; see vtdata --help" if sys.argv[1:] else text, file=sys.stderr)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        print("vtdata: interrupted; run again to go on", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
