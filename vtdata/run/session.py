"""One call of ``vtdata run``: folder, lease, signals, budget, the embedded server, the blocks."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import yaml

from vtdata.errors import ConfigError, RunError
from vtdata.lease import Lease
from vtdata.llm import Ledger, Spent
from vtdata.recipe.fingerprint import fingerprints
from vtdata.recipe.plan import Block, Plan, load_plan
from vtdata.run.engine import Engine, Input, Outcome, start_input
from vtdata.run.executor import Pool
from vtdata.run.folder import block_folder, clear, find_block, load_manifest, write_json
from vtdata.run.progress import progress_folder
from vtdata.run.rank import disk_sentence, forget_models
from vtdata.run.sandboxes import find_sandbox
from vtdata.seeds import NUM_RANGES

Resume = Literal["if-possible", "always", "never"]
RESUME: tuple[str, ...] = ("if-possible", "always", "never")
IMPORT_LIMIT_S = 120.0
RECIPE_NOTE = "recipe.json"
"""Beside recipe.yaml: where its relative paths start, its limit and its store."""
_RUN_HAS = frozenset({RECIPE_NOTE, "lease.json", "ledger.bin"})
"""What every run's folder holds, from its first moment."""
_RUN_BEGINS = frozenset({"store", "logs", ".probe"})
"""What a folder may hold that becomes a run's: a store brought from elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How and where a recipe runs; nothing in here changes what the data is, but ``limit``."""

    recipe: Path
    out: Path | None = None
    settings: tuple[str, ...] = ()
    limit: int | None = None
    only: str | None = None
    start: str | None = None
    """Run this block and those behind it again."""
    workers: int | None = None
    tasks: int | None = None
    executor: str = "local"
    resume: str = "if-possible"
    store: Path | None = None
    stop_after_s: float | None = None
    code: bool = True
    offline: bool = False
    """Answer every model call from the store, or fail."""
    base: Path | None = None
    """Where relative paths start; None is the recipe's folder."""


@dataclass(slots=True)
class Result:
    """What a run did."""

    plan: Plan
    folder: Path
    outcomes: list[Outcome] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    seconds: float = 0.0
    workers: int = 1
    tasks: int = 1

    @property
    def shards(self) -> Path | None:
        """The folder of the shards block, if the recipe ends in one."""
        last = self.outcomes[-1] if self.outcomes else None
        return last.folder if last and last.block.cuts else None


@dataclass(slots=True)
class Hooks:
    """What a front end wants to hear of."""

    say: Callable[[str], None] = lambda _text: None
    began: Callable[[Block], None] = lambda _block: None
    ended: Callable[[Outcome], None] = lambda _outcome: None
    folder: Callable[[Path], None] = lambda _run: None


def run_recipe(options: Options, hooks: Hooks | None = None) -> Result:
    """Run a recipe, or go on where the last run ended.

    Raises:
        ConfigError: the recipe or an option is wrong; nothing has started.
        Stopped: a budget, ``stop_after_s`` or a signal ended it; run again to go on.
        TooManyFailures: more model calls failed than the recipe allows.
        RunError: it can't go on; everything finished is kept.
    """
    try:
        return _run_recipe(options, hooks or Hooks())
    except OSError as error:
        raise RunError(disk_sentence(error)) from error


def _run_recipe(options: Options, hooks: Hooks) -> Result:
    started = time.monotonic()
    _check_options(options)
    plan = load_plan(options.recipe, list(options.settings), code=options.code, base=options.base)
    if plan.foreign:
        hooks.say(f"the recipe brings in code of its own: {', '.join(plan.foreign)}")
    workers = options.workers or os.cpu_count() or 1
    tasks = options.tasks or min(workers, NUM_RANGES)
    run = options.out or Path("runs") / plan.recipe.name
    make_folder(run)
    hooks.folder(run)
    with ExitStack() as stack:
        lease = stack.enter_context(Lease(run / "lease.json", what="run folder"))
        if lease.taken_over:
            hooks.say(lease.taken_over)
        ledger = stack.enter_context(Ledger(run / "ledger.bin", NUM_RANGES, plan.recipe.budget))
        stack.enter_context(_heeding_signals(ledger, hooks.say))
        stack.enter_context(_deadline(ledger, options.stop_after_s))
        revisions = found_revisions(plan)
        given = start_input(plan, find_block)
        prints = fingerprints(
            plan,
            limit=options.limit,
            revisions=revisions,
            start=given.manifest.fingerprint if given else None,
        )
        _check_resume(options.resume, run, plan, prints)
        _save_recipe(run, plan, options)
        clear(progress_folder(run))
        forget_models(run)
        server = Embedded(plan, run, stack, hooks.say)
        engine = Engine(
            plan=plan,
            run=run,
            prints=prints,
            store=options.store or run / "store",
            pool=stack.enter_context(Pool(workers)),
            tasks=tasks,
            ledger=ledger,
            limit=options.limit,
            revisions=revisions,
            endpoints=server.endpoints if not options.offline else _nowhere,
            say=hooks.say,
            offline=options.offline,
            redo=_redo(options, plan),
        )
        find_sandbox(plan)
        if plan.foreign:
            check_imports(plan)
        result = Result(plan, run, workers=workers, tasks=tasks)
        try:
            _run_blocks(engine, options, given, result, hooks)
        finally:
            result.spent = ledger.total()
            result.seconds = time.monotonic() - started
    return result


def _run_blocks(
    engine: Engine, options: Options, given: Input | None, result: Result, hooks: Hooks
) -> None:
    at = given
    for block in engine.plan.blocks:
        if options.only and block.name != options.only:
            manifest = load_manifest(engine.folder(block))
            if manifest is None:
                raise ConfigError(
                    f"--only {options.only}: block '{block.name}' before it is not finished: run "
                    "without --only first"
                )
            at = Input(engine.folder(block), manifest)
            continue
        hooks.began(block)
        started = time.monotonic()
        outcome = engine.go(block, at)
        outcome.seconds = time.monotonic() - started
        outcome.world = engine.tasks
        result.outcomes.append(outcome)
        hooks.ended(outcome)
        if options.only:
            return
        at = Input(outcome.folder, outcome.manifest)


def _check_options(options: Options) -> None:
    if options.resume not in RESUME:
        raise ConfigError(f"--resume {options.resume}: choose one of {', '.join(RESUME)}")
    if options.executor != "local":
        raise ConfigError(
            f"--executor {options.executor}: only 'local' is there yet; ray and slurm follow"
        )
    for name in ("workers", "tasks", "limit"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ConfigError(f"--{name} must be at least 1, got {value}")
    if options.tasks and options.tasks > NUM_RANGES:
        raise ConfigError(
            f"--tasks {options.tasks}: at most {NUM_RANGES}, one per range of buckets"
        )


def _redo(options: Options, plan: Plan) -> frozenset[str]:
    names = [block.name for block in plan.blocks]
    for option, name in (("--from", options.start), ("--only", options.only)):
        if name and name not in names:
            raise ConfigError(f"{option} {name}: no such block; there is: {', '.join(names)}")
    if options.resume == "never":
        return frozenset(names)
    if options.start:
        return frozenset(names[names.index(options.start) :])
    return frozenset()


def _check_resume(resume: str, run: Path, plan: Plan, prints: Mapping[str, str]) -> None:
    if resume != "always":
        return
    for block in plan.blocks:
        mine = block_folder(run, block, prints[block.name])
        others = [p for p in run.glob(f"{block.index:02d}-{block.name}-*") if p.name != mine.name]
        if others and not mine.exists():
            raise ConfigError(
                f"--resume always: block '{block.name}' of {run} was made with other settings "
                f"({others[0].name}, now {mine.name}): undo the change, or run with "
                "--resume if-possible to make it anew"
            )


def make_folder(run: Path) -> None:
    """Make the run's folder and see that it can be written.

    Raises:
        ConfigError: it can't, or it holds something else: a run writes ``recipe.yaml`` and
            ``.gitignore``, and would put its own in place of yours.
    """
    try:
        run.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in run.iterdir()}
        if names - _RUN_BEGINS and not names & _RUN_HAS:
            raise ConfigError(
                f"run folder {run} is no run's folder and not empty (it holds "
                f"{min(names - _RUN_BEGINS)}): name a new one with --out"
            )
        probe = run / ".probe"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise ConfigError(f"run folder {run} can't be written: {error.strerror}") from None


def found_revisions(plan: Plan) -> dict[str, str]:
    """Return the revisions of models that the recipe leaves to us: the embedded one."""
    names = [name for name, spec in plan.models.items() if spec.model == "embedded"]
    if not names:
        return {}
    from vtdata.llm.embedded.weights import embedded_revision

    revision = embedded_revision()
    return {name: plan.models[name].revision or revision for name in names}


def _nowhere(_block: Block) -> dict[str, str]:
    return {}


class Embedded:
    """The run's own model server, started when a block first asks it."""

    def __init__(self, plan: Plan, run: Path, stack: ExitStack, say: Callable[[str], None]) -> None:
        self._plan, self._run, self._stack, self._say = plan, run, stack, say
        self._url: str | None = None

    def endpoints(self, block: Block) -> dict[str, str]:
        asked = {name for planned in block.steps for name in planned.step.model_names()}
        mine = [
            name
            for name in sorted(asked)
            if self._plan.models[name].model == "embedded" and not self._plan.models[name].url
        ]
        if mine and self._url is None:
            from vtdata.llm.embedded.start import start_server

            self._say("starting the embedded model's server; the first start converts its weights")
            (self._run / "logs").mkdir(exist_ok=True)
            server = self._stack.enter_context(
                start_server("embedded", log=self._run / "logs" / "embedded-server.log")
            )
            self._url = server.url
        return {name: self._url for name in mine if self._url}


def _save_recipe(run: Path, plan: Plan, options: Options) -> None:
    text = yaml.safe_dump(plan.raw, sort_keys=False, allow_unicode=True)
    temporary = run / ".recipe.tmp"
    temporary.write_text(f"# as resolved; relative paths start at the recipe's folder\n{text}")
    temporary.rename(run / "recipe.yaml")
    write_json(
        run / RECIPE_NOTE,
        {
            "folder": os.path.relpath(plan.folder, run.resolve()),
            "limit": options.limit,
            "store": os.path.relpath((options.store or run / "store").resolve(), run.resolve()),
        },
    )
    (run / ".gitignore").write_text("*\n")


@contextmanager
def _heeding_signals(ledger: Ledger, say: Callable[[str], None]) -> Generator[None]:
    """SIGINT and SIGTERM end the run cleanly; a second SIGINT ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, _frame: object) -> None:
        name = signal.Signals(number).name
        if ledger.stop_reason() and number == signal.SIGINT:
            raise KeyboardInterrupt
        ledger.request_stop(f"{name} was received")
        say(f"{name}: finishing what is in flight; run again to go on")

    old = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextmanager
def _deadline(ledger: Ledger, after_s: float | None) -> Generator[None]:
    if after_s is None:
        yield
        return
    timer = threading.Timer(after_s, ledger.request_stop, [f"--stop-after {after_s:g} s is over"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def check_imports(plan: Plan) -> None:
    """See that a fresh interpreter can rebuild the plan, which is what a worker must do.

    Raises:
        ConfigError: it can't; a pool would wait forever, and Slurm fail after hours in a queue.
    """
    payload = pickle.dumps((json.dumps(plan.raw), str(plan.folder)))
    program = (
        "import pickle, sys\n"
        "raw, folder = pickle.load(sys.stdin.buffer)\n"
        "from vtdata.run.rank import rebuild\n"
        "plan = rebuild(raw, folder)\n"
        "pickle.loads(pickle.dumps([s.step for b in plan.blocks for s in b.steps]))\n"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=payload,
            capture_output=True,
            timeout=IMPORT_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"steps {', '.join(plan.foreign)} took over {IMPORT_LIMIT_S:g} s to import in a fresh "
            "interpreter: keep work out of module level"
        ) from None
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise ConfigError(
            f"steps {', '.join(plan.foreign)} can't be rebuilt in a fresh interpreter "
            f"({' '.join(last)}): put their module on PYTHONPATH and keep the class at module level"
        )
