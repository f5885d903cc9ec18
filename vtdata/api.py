"""Every command as a function, for notebooks and programs, with the same result.

from vtdata import api
result = api.run("recipes/toy-sft.yaml", limit=5)
print(result.shards)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vtdata.decontam.audit import Audit
    from vtdata.decontam.audit import Hooks as AuditHooks
    from vtdata.decontam.engine import Engine
    from vtdata.decontam.report import Finding
    from vtdata.recipe.plan import Plan
    from vtdata.run.session import Hooks, Result
    from vtdata.verify.output import Writes
    from vtdata.verify.results import Verified


def run(
    recipe: str | Path,
    *,
    out: str | Path | None = None,
    settings: Sequence[str] = (),
    limit: int | None = None,
    only: str | None = None,
    start: str | None = None,
    workers: int | None = None,
    tasks: int | None = None,
    executor: str = "local",
    resume: str = "if-possible",
    store: str | Path | None = None,
    stop_after_s: float | None = None,
    code: bool = True,
    hooks: Hooks | None = None,
) -> Result:
    """Run a recipe, or go on where it ended; see ``vtdata run --help``.

    Args:
        recipe: path of a YAML file.
        out: run folder; None is ``runs/<name>``.
        settings: ``a.b=c`` assignments, as ``--set``.
        limit: read the first rows of each source only.
        only: name of the one block to run.
        start: name of the block from which on everything is done again (``--from``).
        workers: processes; None is the number of cores.
        tasks: ranks; None is the number of workers.
        executor: ``local``.
        resume: ``if-possible``, ``always`` or ``never``.
        store: generation store to share with other runs; None is the run's own.
        stop_after_s: seconds after which the run ends cleanly.
        code: False refuses ``use:`` steps.
        hooks: what a front end wants to hear of.

    Raises:
        ConfigError: the recipe or an option is wrong; nothing has started.
        Stopped: it was ended by a budget, a deadline or a signal; run again to go on.
        RunError: it can't go on; everything finished is kept.
    """
    from vtdata.run.session import Options, run_recipe

    options = Options(
        recipe=Path(recipe),
        out=Path(out) if out else None,
        settings=tuple(settings),
        limit=limit,
        only=only,
        start=start,
        workers=workers,
        tasks=tasks,
        executor=executor,
        resume=resume,
        store=Path(store) if store else None,
        stop_after_s=stop_after_s,
        code=code,
    )
    return run_recipe(options, hooks)


def show(recipe: str | Path, *, settings: Sequence[str] = (), code: bool = True) -> Plan:
    """Return a validated recipe: its blocks, steps and segments."""
    from vtdata.recipe.plan import load_plan

    return load_plan(Path(recipe), list(settings), code=code)


def check(recipe: str | Path, *, settings: Sequence[str] = (), code: bool = True) -> list[str]:
    """Validate a recipe, open its files and run the tests of its filters.

    Returns:
        What was checked, a line each.

    Raises:
        ConfigError: something is wrong.
    """
    from vtdata.run.check import check_recipe

    return check_recipe(show(recipe, settings=settings, code=code))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of recipes, for editors."""
    from vtdata.recipe.schema import recipe_schema

    return recipe_schema()


def plan_calls(
    recipe: str | Path,
    *,
    out: str | Path | None = None,
    settings: Sequence[str] = (),
    limit: int | None = None,
    store: str | Path | None = None,
    code: bool = True,
) -> list[dict[str, Any]]:
    """Return what a run would ask of its models and what that costs (``run --dry-run``)."""
    from vtdata.run.dry import dry_run

    return dry_run(
        Path(recipe),
        out=Path(out) if out else None,
        settings=list(settings),
        limit=limit,
        store=Path(store) if store else None,
        code=code,
    )


def status(run_folder: str | Path) -> dict[str, Any]:
    """Return how far a run is: per block finished or not, rows, and what ranks said last."""
    from vtdata.run.look import run_status

    return run_status(Path(run_folder))


def inspect(
    path: str | Path,
    *,
    query: str | None = None,
    limit: int = 3,
    rejects: bool = False,
    table: str | None = None,
) -> list[dict[str, Any]]:
    """Return some rows of a block, part or shard as plain data, or of a table of a block or run."""
    from vtdata.run.look import rows_of, table_rows

    if table is not None:
        return table_rows(Path(path), table, query=query, limit=limit)
    return rows_of(Path(path), query=query, limit=limit, rejects=rejects)


def replay(run_folder: str | Path, *, workers: int | None = None) -> dict[str, Any]:
    """Rebuild a run's shards offline from its store and compare the hashes."""
    from vtdata.run.replay import replay_run

    return replay_run(Path(run_folder), workers=workers)


def clean(run_folder: str | Path, *, dry_run: bool = False) -> list[Path]:
    """Remove the block folders of a run that its present recipe supersedes."""
    from vtdata.run.clean import clean_run

    return clean_run(Path(run_folder), dry_run=dry_run)


def clean_store(run_folder: str | Path, *, remove: bool = False) -> dict[str, Any]:
    """Say what a run's generation store would cost to buy again; ``remove`` removes it."""
    from vtdata.run.clean import clean_store as clean

    return clean(Path(run_folder), remove=remove)


def verify_cases(
    kind: str,
    path: str | Path,
    *,
    out: str | Path | Writes | None = None,
    disagreements: str | Path | None = None,
    workers: int | None = None,
    limit_s: float | None = None,
    each: Callable[[dict[str, Any]], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verified:
    """Judge a file of ``{"id", "gold", "pred"}``; see ``vtdata verify --help``.

    Args:
        kind: ``math`` or ``choice``.
        path: a JSON Lines file.
        out: where to write the results, a JSON line each; a file is there when all are. What is
            open already is written on, and its errors are the caller's.
        disagreements: where to write the cases about which two stages of the verifier contradict
            each other, with what each said.
        workers: most processes; None is the number of cores. More than one start only where a
            second's work in this one has shown that it pays.
        limit_s: seconds for one symbolic question, of which a case may take three; None is 4.
        each: called with every result, in order, some at a time; without ``each`` and ``out`` all
            are returned.
        progress: called with how many are done, of how many.

    Raises:
        ConfigError: the kind, an option or a line is wrong; nothing was judged.
        RunError: a worker was killed from outside, or a file can't be written.
    """
    from vtdata.verify.results import verify_file

    return verify_file(
        kind,
        Path(path),
        out=Path(out) if isinstance(out, str) else out,
        disagreements=Path(disagreements) if disagreements else None,
        workers=workers,
        limit_s=limit_s,
        each=each,
        progress=progress,
    )


def verify_code(
    path: str | Path,
    *,
    out: str | Path | Writes | None = None,
    sandbox: str = "local",
    workers: int | None = None,
    weak: bool = False,
    each: Callable[[dict[str, Any]], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verified:
    """Judge a file of ``{"id", "program", "tests"}``; see ``vtdata verify --help``.

    Args:
        path: a JSON Lines file; see ``vtdata.verify.code.cases``.
        out: where to write the results, a JSON line each; a file is there when all are.
        sandbox: where programs run: local, e2b, container or ``package.module:Class``.
        workers: sandboxes at the same time; None is the number of cores.
        weak: whether tests count that can only run beside the program, which could report for them.
        each: called with every result, in order; without ``each`` and ``out`` all are returned.
        progress: called with how many are done, of how many.

    Raises:
        ConfigError: an option or a line is wrong, or nothing safe works on this machine.
        RunError: a file can't be written.
    """
    from vtdata.verify.code.farm import Options, verify_code_file

    return verify_code_file(
        Path(path),
        Options(sandbox=sandbox, workers=workers, weak=weak),
        out=Path(out) if isinstance(out, str) else out,
        each=each,
        progress=progress,
    )


def benchmarks_list(folder: str | Path = ".") -> list[dict[str, Any]]:
    """Return what is known of every benchmark with a name; ``folder`` holds benchmarks.yaml."""
    from vtdata.decontam.benchmarks.about import all_facts

    return all_facts(Path(folder))


def benchmarks_show(
    name: str, *, folder: str | Path = ".", stand_ins: str | Path | None = None
) -> dict[str, Any]:
    """Return what is known of a benchmark and, under ``load``, whether it can be loaded now.

    Raises:
        ConfigError: there is none of this name, file or Hub id.
    """
    from vtdata.decontam.benchmarks.about import state

    return state(name, folder=Path(folder), stand_ins=Path(stand_ins) if stand_ins else None)


def benchmarks_add(
    name: str,
    source: str,
    *,
    to: str | Path = "benchmarks.yaml",
    replace: bool = False,
    **entry: Any,
) -> dict[str, Any]:
    """Load a benchmark once and give it a name; ``entry``: further keys as in registry.yaml.

    Raises:
        ConfigError: the name is taken, or the benchmark can't be loaded; nothing was written.
        InfraError: the Hub can't be reached; nothing was written.
    """
    from vtdata.decontam.benchmarks.about import added
    from vtdata.decontam.benchmarks.add import add

    said: list[str] = []
    done = add(name, source, entry, to=Path(to), replace_it=replace, say=said.append)
    return added(done, said)


def serve(model: str = "embedded", *, port: int = 8000) -> int:
    """Serve a model on loopback until interrupted; vLLM where it can run, else the CPU server."""
    from vtdata.llm.serve import serve as serve_model

    return serve_model(model, port)


def decontam(
    inputs: Sequence[str | Path],
    *,
    against: Sequence[str | Path],
    fields: Sequence[str] = (),
    profile: str = "evidence",
    drop: Sequence[str] = (),
    out: str | Path | None = None,
    report: str | Path | None = None,
    marks: str | Path | None = None,
    store: str | Path | None = None,
    workers: int | None = None,
    spread: bool = True,
    dry_run: bool = False,
    hooks: AuditHooks | None = None,
    engine: Engine | None = None,
) -> Audit:
    """Look for benchmarks in a corpus; see ``vtdata decontam --help``.

    Args:
        inputs: Parquet or JSON Lines files, folders, runs, ``hf:owner/name[@revision]``.
        against: names of the registry, files, or datasets on the Hub.
        fields: columns to scan, dotted; none: chosen by the schema.
        profile: ``evidence`` or ``paper``.
        drop: classes that are dropped besides exact, near and short_exact.
        out: folder for a cleaned copy.
        report: file for the evidence, .html, .json or .parquet.
        marks: file for a line per document with a hit.
        store: folder of the evidence store; None: in the run, else beside what is written.
        workers: threads; None is the number of cores.
        spread: whether near-duplicates of contaminated prompts are looked for.
        dry_run: only say what would be scanned.
        hooks: what a front end wants to hear of.
        engine: what finds matches; None is the one that ships.

    Raises:
        ConfigError: an input, a column, a benchmark or an option is wrong; nothing was scanned.
        RunError: a file is corrupt or changes, or another audit uses the store.
        InfraError: the Hub can't be reached.
    """
    from vtdata.decontam.candidate import DROPPED
    from vtdata.decontam.deliver import decontam as run_audit
    from vtdata.decontam.engine import default_engine
    from vtdata.decontam.request import Request

    request = Request(
        inputs=tuple(map(str, inputs)),
        against=tuple(map(str, against)),
        fields=tuple(fields),
        profile=profile,
        drop=tuple(dict.fromkeys((*DROPPED, *drop))),
        store=Path(store) if store else None,
        report=Path(report) if report else None,
        out=Path(out) if out else None,
        marks=Path(marks) if marks else None,
        workers=workers,
        spread=spread,
        dry_run=dry_run,
    )
    return run_audit(request, engine or default_engine(), hooks)


def verify_audit_card(
    card: str | Path,
    *,
    corpus: str | Path | None = None,
    against: Sequence[str | Path] = (),
    engine: Engine | None = None,
) -> list[Finding]:
    """Return every difference between an audit card and its corpus, evidence and benchmarks.

    Raises:
        ConfigError: it is no card, or a benchmark can't be loaded.
    """
    from vtdata.decontam.deliver import verify
    from vtdata.decontam.engine import default_engine
    from vtdata.decontam.request import Request

    inputs = () if corpus is None else (str(corpus),)
    request = Request(inputs=inputs, against=tuple(map(str, against)))
    return verify(Path(card), request, engine or default_engine())
