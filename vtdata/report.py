"""What a run did, as data and as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pyarrow.parquet as pq
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from vtdata.recipe.fingerprint import settings_of
from vtdata.recipe.plan import Plan
from vtdata.run.books import Books
from vtdata.run.engine import Outcome
from vtdata.run.folder import Manifest
from vtdata.run.look import num_logged
from vtdata.run.session import Result

MAX_BARS = 17


def report_data(result: Result) -> dict[str, Any]:
    """Return a run's report as plain data, for ``--json``."""
    return {
        "recipe": result.plan.recipe.name,
        "folder": str(result.folder),
        "seconds": round(result.seconds, 1),
        "workers": result.workers,
        "tasks": result.tasks,
        "blocks": [
            {
                "block": outcome.block.name,
                "folder": outcome.folder.name,
                "reused": outcome.reused,
                "seconds": round(outcome.seconds, 1),
                "steps": outcome.manifest.steps,
                "models": outcome.manifest.models,
                "sets": outcome.manifest.sets,
                "tables": num_logged(outcome.manifest),
            }
            for outcome in result.outcomes
        ],
        "pass_rates": pass_rates(result.outcomes),
        "models": model_totals(result.plan, [o.manifest for o in result.outcomes]),
        "spent": {
            name: getattr(result.spent, name)
            for name in ("usd", "prompt_tokens", "completion_tokens", "requests")
        },
    }


def model_totals(plan: Plan, manifests: Iterable[Manifest]) -> list[dict[str, Any]]:
    """Sum the calls of each model over blocks, with what they cost or would have cost."""
    totals: dict[str, Counter[str]] = {}
    for manifest in manifests:
        for name, stats in manifest.models.items():
            count = totals.setdefault(name, Counter())
            for key in ("sent", "cached", "prompt_tokens", "completion_tokens"):
                count[key] += stats.get(key) or 0
            for state, number in (stats.get("states") or {}).items():
                count[f"state {state}"] += number
    rows = []
    for name, count in totals.items():
        price = plan.models[name].price if name in plan.models else None
        usd = None
        if price:
            tokens = (count["prompt_tokens"], count["completion_tokens"])
            usd = (tokens[0] * price.input + tokens[1] * price.output) / 1e6
        states = {k.removeprefix("state "): v for k, v in count.items() if k.startswith("state ")}
        plain = {k: v for k, v in count.items() if not k.startswith("state ")}
        rows.append({"model": name, **plain, "states": states, "usd": usd})
    return rows


def pass_rates(outcomes: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    """Return, per rollout set, how many queries have which rate, as ``correct/scored``."""
    latest = [o for o in outcomes if o.block.kind in ("scores", "selections")][-1:]
    counted: dict[str, Counter[Fraction]] = {}
    for outcome in latest:
        for part in outcome.manifest.parts:
            column = pq.read_table(outcome.folder / part.file, columns=["pass_rates"]).column(0)
            for rate in (rate for rates in column.to_pylist() for rate in rates):
                scored = rate["correct"] + rate["wrong"]
                if scored:
                    share = Fraction(rate["correct"], scored)
                    counted.setdefault(rate["set"], Counter())[share] += 1
    return {name: _bars(shares) for name, shares in counted.items()}


def _bars(shares: Counter[Fraction]) -> dict[str, int]:
    """Bars for every rate that occurs, or tenths where there are many."""
    if len(shares) <= MAX_BARS:
        return {str(share): shares[share] for share in sorted(shares)}
    tenths = Counter(dict.fromkeys((Fraction(n, 10) for n in range(11)), 0))
    for share, count in shares.items():
        tenths[Fraction(int(share * 10), 10)] += count
    return {f"{float(share):.1f}-": tenths[share] for share in sorted(tenths)}


def queries_table(outcomes: Iterable[Outcome]) -> Table:
    """In, created, kept, rejected by reason, per step."""
    table = _books_table("queries", "rejected, by reason")
    for outcome in outcomes:
        label = outcome.block.name
        for entry in outcome.manifest.steps:
            books = Books.load(entry["books"])
            counts = (books.entered, books.created, books.kept)
            table.add_row(label, entry["name"], *map(_number, counts), _reasons(books.rejected))
            label = ""
        table.add_section()
    return table


def rollouts_table(outcomes: Iterable[Outcome]) -> Table:
    """In, created, kept, dropped by reason, per step that saw any."""
    table = _books_table("rollouts", "dropped, by reason")
    for outcome in outcomes:
        label = outcome.block.name
        for entry in outcome.manifest.steps:
            books = Books.load(entry["books"])
            counts = (books.rollouts_entered, books.rollouts_created, books.rollouts_kept)
            dropped = Counter(books.rollouts_dropped)
            if books.rollouts_rejected:
                dropped["with their query"] = books.rollouts_rejected
            if any(counts):
                table.add_row(label, entry["name"], *map(_number, counts), _reasons(dropped))
                label = ""
        table.add_section()
    return table


def _books_table(title: str, away: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for name in ("block", "step"):
        table.add_column(name, no_wrap=True)
    for name in ("in", "created", "kept"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(away)
    return table


def _number(value: int) -> str:
    return f"{value:,}" if value else "·"


def _reasons(counts: Counter[str]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.most_common())


def models_table(rows: list[dict[str, Any]]) -> Table:
    """Calls, tokens, states and cost: a line per fact, a column per model."""
    table = Table(title="model calls", title_justify="left", box=box.SIMPLE)
    table.add_column("")
    for row in rows:
        table.add_column(row["model"], justify="right")
    lines: dict[str, list[str]] = {}
    for row in rows:
        states = Counter(row["states"])
        share = states["truncated"] / (states.total() or 1)
        usd = row["usd"]
        for name, text in (
            ("sent", f"{row['sent']:,}"),
            ("answered by the store", f"{row['cached']:,}"),
            ("prompt tokens bought", f"{row['prompt_tokens']:,}"),
            ("completion tokens bought", f"{row['completion_tokens']:,}"),
            ("truncated", f"{states['truncated']:,} ({share:.1%})"),
            ("looped, empty, refused", _counts(states, "looped", "empty", "refused")),
            ("failed", f"{states['failed']:,}"),
            ("cost, or would cost", "no price given" if usd is None else f"{usd:.4f} USD"),
        ):
            lines.setdefault(name, []).append(text)
    for name, texts in lines.items():
        table.add_row(name, *texts)
    return table


def _counts(states: Counter[str], *names: str) -> str:
    return ", ".join(f"{states[name]:,}" for name in names)


def histogram(rates: dict[str, dict[str, int]]) -> Group:
    """Pass rates as bars, one picture per rollout set."""
    pictures = []
    for name, bars in rates.items():
        most = max(bars.values()) or 1
        lines = [f"pass rate of set '{name}': right of scored rollouts, and how many queries"]
        for label, count in bars.items():
            lines.append(f"  {label:>5}  {'█' * round(40 * count / most):<40} {count:,}")
        pictures.append(Text("\n".join(lines)))
    return Group(*pictures)


def print_report(result: Result, console: Console) -> None:
    """Print everything a person wants to know after a run."""
    console.print(queries_table(result.outcomes))
    if before := [outcome.block.name for outcome in result.outcomes if outcome.reused]:
        console.print(f"done before: {', '.join(before)}")
    if any(outcome.manifest.models for outcome in result.outcomes):
        console.print(rollouts_table(result.outcomes))
    data = report_data(result)
    if data["models"]:
        console.print(models_table(data["models"]))
    console.print(histogram(data["pass_rates"]))
    for outcome in result.outcomes:
        for line in (*_notes(outcome), *_logged(outcome)):
            console.print(line, soft_wrap=True)
    if result.shards:
        for entry in result.outcomes[-1].manifest.sets:
            console.print(f"set {entry}: {result.shards / entry}", soft_wrap=True)
        console.print(f"dataset card: {result.shards / 'README.md'}", soft_wrap=True)
    console.print(
        f"{result.seconds:.1f} s with {result.workers} workers and {result.tasks} tasks; "
        f"run folder {result.folder}",
        soft_wrap=True,
    )


def _notes(outcome: Outcome) -> list[str]:
    lines = []
    for entry in outcome.manifest.steps:
        notes = entry["books"]["notes"]
        if notes:
            told = ", ".join(f"{name} {count:,}" for name, count in notes.items())
            lines.append(f"{outcome.block.name}/{entry['name']}: {told}")
    return lines


def _logged(outcome: Outcome) -> list[str]:
    """The tables that the block's steps logged into, and how to read them."""
    return [
        f"{outcome.block.name}: table {name} has {count:,} rows; read it with: "
        f"vtdata inspect {outcome.folder} --table {name} --markdown"
        for name, count in num_logged(outcome.manifest).items()
        if count
    ]


def markdown_table(rows: list[dict[str, Any]]) -> str:
    r"""Return rows as a Markdown table, without the columns in which no row has anything.

    >>> print(markdown_table([{"answer": "a|b", "n": 2, "judge": None}]))
    | answer | n |
    |---|---|
    | a\|b | 2 |
    """
    names = [
        name for name in (rows[0] if rows else {}) if any(row[name] is not None for row in rows)
    ]
    lines = [names, *([_cell(row[name]) for name in names] for row in rows)]
    head, *rest = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([head, "|---" * len(names) + "|", *rest]) if rows else "no rows"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else " ".join(str(value).replace("|", "\\|").split())


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return a recipe as it is understood, for ``show --json``."""
    return {
        "name": plan.recipe.name,
        "seed": plan.recipe.seed,
        "blocks": [
            {
                "block": block.name,
                "passes": len(block.segments()),
                "steps": [
                    {
                        "name": planned.name,
                        "step": planned.target,
                        "version": planned.step.version,
                        "implied": planned.implied,
                        "settings": settings_of(planned.step),
                    }
                    for planned in block.steps
                ],
            }
            for block in plan.blocks
        ],
    }


def plan_tree(plan: Plan) -> Tree:
    """A recipe as a tree; only settings that differ from their defaults are shown."""
    tree = Tree(f"{plan.recipe.name} (seed {plan.recipe.seed})")
    if plan.start:
        tree.add(f"from block {plan.start.block} of run {plan.start.run}")
    for name, model in plan.models.items():
        tree.add(f"model {name}: {model.model}, at most {model.max_tokens} tokens")
    for block in plan.blocks:
        passes = len(block.segments())
        word = "1 pass" if passes == 1 else f"{passes} passes"
        branch = tree.add(f"{block.index:02d} {block.name} ({word} over the data)")
        for planned in block.steps:
            settings = ", ".join(f"{k}={v!r}" for k, v in settings_of(planned.step).items())
            always = " (always)" if planned.implied else ""
            branch.add(Text(f"{planned.name}{always}  {settings}"))
    return tree


def status_table(status: dict[str, Any]) -> Table:
    """How far a run is."""
    title = f"run {status['run']} of recipe {status['recipe']}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for name in ("block", "state", "queries", "rejected", "failed calls", "tables"):
        table.add_column(name)
    for block in status["blocks"]:
        shown = (block["queries"], block["rejected"], block["failed_calls"])
        logged = ", ".join(f"{name} {n:,}" for name, n in (block["tables"] or {}).items() if n)
        table.add_row(
            block["folder"], block["state"], *("" if n is None else f"{n:,}" for n in shown), logged
        )
    return table


def calls_lines(entries: list[dict[str, Any]]) -> list[str]:
    """What a dry run found, a paragraph per step that asks a model."""
    lines = []
    for entry in entries:
        most = "" if entry["exact"] else "at most "
        for name, calls in entry["models"].items():
            usd = calls["usd"]
            cost = "no price given" if usd is None else f"at most {usd:.2f} USD"
            lines += [
                f"{entry['block']}, step {entry['step']}, model {name}:",
                f"  {most}{calls['requests']:,} requests, {calls['in_store']:,} answered by the "
                f"store, {most}{calls['to_send']:,} to send",
                f"  about {calls['prompt_tokens']:,} prompt tokens (estimated from characters), "
                f"at most {calls['completion_tokens_max']:,} completion tokens; {cost}",
            ]
            lines += [f"  {entry['bound']}"] if entry["bound"] else []
        if entry["unknown"]:
            lines.append(
                f"{entry['block']}, step {entry['step']}: what {entry['unknown']:,} queries ask "
                "hangs on answers that are not there yet, and is not counted"
            )
    return lines or ["no model is asked: nothing to send, nothing to pay"]


def store_lines(found: dict[str, Any]) -> list[str]:
    """What a generation store holds, a sentence per model."""
    lines = [
        f"{model['model']} at {model['revision']}: {model['answers']:,} answers, about "
        f"{model['prompt_tokens']:,} prompt and {model['completion_tokens']:,} completion tokens, "
        + ("no price given" if model["usd"] is None else f"about {model['usd']:.2f} USD")
        for model in found["models"]
    ]
    word = "removed" if found["removed"] else "would have to be bought again; remove with --yes"
    return [*lines, f"{found['answers']:,} answers in {found['store']}: {word}"]
