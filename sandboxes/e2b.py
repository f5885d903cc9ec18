"""Runs programs in microVMs of e2b: one fresh microVM per program.

One program costs five requests, whatever the number of its inputs: create, upload (driver, program
and all inputs), run, download (all outcomes), kill. The driver (``_batch/driver.py``) runs as root
in the microVM and gives the program an unprivileged user, namespaces and limits of its own.
Expected outputs stay here.

``pip install "vtdata[e2b]"``. The key is read from ``E2B_API_KEY`` by e2b's own package whenever it
makes a request; it is in no attribute, log or error of ours. Settings from the environment, because
they say where and not what: ``VTDATA_E2B_TEMPLATE`` (e2b's code interpreter; any with ``python3``
and ``bash``), ``VTDATA_E2B_SIZE`` (microVMs at once in this worker) and
``VTDATA_E2B_CREATES_PER_S``.

Covered: this machine is not reached at all; a microVM has its own kernel, no way to the Internet,
and ends after its one program. Inside, a program has no network, a working folder of limited size,
limits on CPU, memory, processes and output, and no access to the driver or to the other inputs.

Not covered: what you send is on e2b's machines. Memory is limited per process; all of a program's
processes together have what the microVM has. A microVM that breaks twice on the same input leaves
it unjudged (``sandbox_error``), also where the program broke it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from types import ModuleType
from typing import Any, Self, TypeVar

from vtdata.errors import ConfigError, InfraError
from vtdata.sandbox import Limits, Outcome, beside

jobs = beside(__file__, "_batch")

T = TypeVar("T")

OWNER = "vtdata_owner"
ROOM = "/vtdata"
DRIVER, JOB, ANSWER = f"{ROOM}/driver.py", f"{ROOM}/job", f"{ROOM}/answer"
COMMAND = (
    f"cd {ROOM} && chmod 600 driver.py job && mkdir -m 755 box && umask 077 && "
    f"exec python3 -I -S {DRIVER} {ROOM}/box /tmp /var/tmp /dev/shm <{JOB} >{ANSWER}"
)
SIZE = 20
"""MicroVMs at once: what e2b's smallest plan allows (ours)."""
CREATES_PER_S = 1.0
"""Creations per second: what e2b's smallest plan allows (ours)."""
LONGEST_S = 3600
"""Longest life of a microVM on e2b's smallest plan."""
CALL_S = 60.0
"""Longest wait for a short request (ours)."""
DOWNLOAD_S = 600.0
"""Longest wait for the outcomes, of which nobody knows the size before (ours)."""
PER_RUN_S = 1.0
"""What a run may take beyond its wall limit, to start and to be cleared away (ours)."""

_FOREIGN = {"e2b", "e2b_code_interpreter", "httpx", "httpcore", "connectrpc", "pyqwest"}


class Refused(InfraError):
    """E2b understood and said no; asking again won't help."""


class Backend:
    """A sandbox of e2b's microVMs.

    Args:
        template: e2b's template; from the environment, or its code interpreter, if None.
        size: microVMs at once; from the environment if None.
        creates_per_s: creations per second; from the environment if None.
    """

    isolation = "microvm"

    def __init__(
        self,
        template: str | None = None,
        size: int | None = None,
        creates_per_s: float | None = None,
    ) -> None:
        self.template = template or os.environ.get("VTDATA_E2B_TEMPLATE") or None
        self.size = size or int(jobs.setting("VTDATA_E2B_SIZE", SIZE))
        rate = creates_per_s or jobs.setting("VTDATA_E2B_CREATES_PER_S", CREATES_PER_S)
        self._pace = jobs.Pace(rate)
        self._slots = asyncio.Semaphore(self.size)
        self._owner = jobs.Owner.here()

    async def __aenter__(self) -> Self:
        """Kill what dead runs of this machine left, and run a program of ours.

        Raises:
            ConfigError: the package or the key is missing, or e2b refuses key or template.
            InfraError: e2b can't be reached.
        """
        _sdk()
        if not os.environ.get("E2B_API_KEY"):
            raise ConfigError(
                "sandbox 'e2b' needs a key: set E2B_API_KEY (https://e2b.dev/dashboard), or choose "
                "the sandbox 'local' or 'container'"
            )
        try:
            await self._sweep(leftovers=True)
            await jobs.probe(self._microvm)
        except Refused as error:
            template = self.template or "its code interpreter"
            raise ConfigError(
                f"sandbox 'e2b' can't be used with template {template}: {error}"
            ) from None
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Kill microVMs whose creation or killing was interrupted."""
        with contextlib.suppress(InfraError):  # their lifetime ends them, or the next start
            await self._sweep(leftovers=False)

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        """Run a program once per input, all in one fresh microVM (see `vtdata.sandbox`)."""
        outcomes: list[Outcome] = []
        for part in _parts(inputs, limits):
            async with self._slots:
                outcomes += await jobs.run_all(self._microvm, source, part, limits, self.isolation)
        return outcomes

    async def _microvm(
        self, source: str, inputs: Sequence[bytes], limits: Limits
    ) -> AsyncIterator[Outcome]:
        await self._pace.turn()
        run_s = _run_s(len(inputs), limits)
        create = _sdk().AsyncSandbox.create(
            self.template,
            timeout=min(LONGEST_S, int(run_s + 5 * CALL_S)),
            metadata={OWNER: str(self._owner)},
            allow_internet_access=False,
            secure=True,
        )
        microvm = await _ask("create a microVM", CALL_S, create)
        try:
            answer = await _batch(microvm, b"".join(jobs.job(source, inputs, limits)), run_s)
        finally:
            kill = _ask("kill the microVM", CALL_S, microvm.kill())
            with contextlib.suppress(InfraError):  # its lifetime ends it
                # Shielded, because a run that is being cancelled must not leave a microVM.
                await asyncio.shield(kill)
        await jobs.read_hello(answer)
        for _ in inputs:
            yield await jobs.read_outcome(answer, limits, self.isolation)

    async def _sweep(self, *, leftovers: bool) -> None:
        """Kill microVMs of this backend, or those of processes of this machine that are dead."""
        found = _sdk().AsyncSandbox.list()
        while found.has_next:
            for microvm in await _ask("list the microVMs", CALL_S, found.next_items()):
                label = (microvm.metadata or {}).get(OWNER, "")
                if self._owner.left_behind(label) if leftovers else label == str(self._owner):
                    kill = _sdk().AsyncSandbox.kill(microvm.sandbox_id)
                    await _ask("kill a microVM", CALL_S, kill)


def _sdk() -> ModuleType:
    try:
        import e2b_code_interpreter
    except ImportError as error:
        raise ConfigError(
            "sandbox 'e2b' needs e2b-code-interpreter: pip install \"vtdata[e2b]\""
        ) from error
    return e2b_code_interpreter


def _run_s(runs: int, limits: Limits) -> float:
    return runs * (limits.wall_s + PER_RUN_S) + CALL_S


def _parts(inputs: Sequence[bytes], limits: Limits) -> Iterator[Sequence[bytes]]:
    """Cut inputs so that each part ends within a microVM's life even if every run is slow."""
    most = max(1, int((LONGEST_S - 6 * CALL_S) // (limits.wall_s + PER_RUN_S)))
    for start in range(0, len(inputs), most):
        yield inputs[start : start + most]


def _transfer_s(size: int) -> float:
    return CALL_S + size / 1e6  # 1 MB a second is slow


async def _batch(microvm: Any, job: bytes, run_s: float) -> asyncio.StreamReader:
    """Send a job, run it, and fetch the answer."""
    files = [{"path": DRIVER, "data": jobs.DRIVER}, {"path": JOB, "data": job}]
    upload_s = _transfer_s(len(job))
    upload = microvm.files.write_files(files, user="root", request_timeout=upload_s)
    await _ask("upload the job", upload_s, upload)
    run = microvm.commands.run(COMMAND, user="root", cwd="/", timeout=run_s)
    await _ask("run the job", run_s + CALL_S, run)
    download = microvm.files.read(ANSWER, format="bytes", user="root", request_timeout=DOWNLOAD_S)
    answer = asyncio.StreamReader()
    answer.feed_data(bytes(await _ask("download the answer", DOWNLOAD_S, download)))
    answer.feed_eof()
    return answer


async def _ask(what: str, within_s: float, call: Coroutine[Any, Any, T]) -> T:
    """Await a call of e2b's package, whose own time limits do not always fire.

    Raises:
        Refused: e2b says no to the key or the template.
        InfraError: it fails in any other way, or takes longer than ``within_s``.
    """
    task = asyncio.ensure_future(call)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # seen, if late
    try:
        await asyncio.wait({task}, timeout=within_s)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=5)
    if not task.done() or task.cancelled():
        raise InfraError(f"e2b did not {what} within {within_s:g} s")
    error = task.exception()
    if error is None:
        return task.result()
    if not _outage(error):
        raise error
    # Without its cause: an error of the HTTP client holds the request, and that the key.
    kind = Refused if _refusal(error) else InfraError
    raise kind(f"e2b could not {what}: {_said(error)}")


def _outage(error: BaseException) -> bool:
    """Tell an error of e2b, its package or the network from a mistake of ours."""
    if type(error) is Exception or isinstance(error, (OSError, ValueError, KeyError)):
        return True  # the package raises the bare class twice, the others for odd answers
    return type(error).__module__.partition(".")[0] in _FOREIGN


def _refusal(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"AuthenticationException", "InvalidArgumentException", "TemplateException"}:
        return True
    return getattr(error, "status_code", None) in (400, 403, 404)


def _said(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    key = os.environ.get("E2B_API_KEY")
    text = text.replace(key, "***") if key else text
    return text[:500]
