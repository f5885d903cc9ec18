"""Runs programs in containers of docker or podman: one fresh container per program.

The engine's command-line program is all that is needed. A driver is PID 1 of the container; it
reads the program and its inputs from the pipe that ``run --interactive`` holds open, runs each
input in a fresh process, and answers through the same pipe (``_batch/driver.py``). Nothing of this
machine is mounted.

Settings from the environment, because they say where and not what: ``VTDATA_CONTAINER_IMAGE`` (by
digest), ``VTDATA_CONTAINER_ENGINE`` (docker or podman; the first that works), and
``VTDATA_CONTAINER_SIZE`` (containers at once in this worker; one per core).

Covered: the network (none), files of this machine and of other programs, memory, processes, CPU,
disk and output (limited), other processes' memory and signals, programs that outlive their run
(every process is killed between inputs, the container is removed after the program).

Not covered: the kernel is shared, so a hole in it is a way out (choose ``e2b``, or an engine with a
runtime such as gVisor or Kata); caches and timing of the processor; runs of *one* program share a
user and, one after the other, a memory limit; the driver is the same user, and is out of the
program's reach by being PID 1, not dumpable, and by a filter on ``prlimit`` (x86_64 and aarch64).
Whoever may talk to the docker daemon is root on this machine: that is true of your account before
vtdata comes in.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Self

from vtdata.errors import ConfigError, InfraError
from vtdata.sandbox import Limits, Outcome, beside

jobs = beside(__file__, "_batch")

ENGINES = ("docker", "podman")
LABEL = "vtdata.owner"
TEXT, SCRATCH = "/box", "/tmp"
"""The only places in a container that can be written to: for the program's text, and by it."""
PROCESSES = 128
"""Most processes and threads in a container (ours)."""
SPARE_MIB = 64
"""Memory for the driver itself, beside the program's and its input and output (ours)."""
START_S = 60.0
"""Longest wait for a container to start (ours)."""
GRACE_S = 15.0
"""How much longer than the wall limit an outcome may take to arrive (ours)."""
COMMAND_S = 30.0
"""Longest wait for an engine's short commands (ours)."""

_DIGEST = re.compile(r"[^@\s-][^@\s]*@sha256:[0-9a-f]{64}")


class Backend:
    """A sandbox of containers.

    Args:
        image: a name by digest, with a ``python3`` of 3.9 or newer; from the environment if None.
        engine: docker or podman; from the environment, or the first that works, if None.
        size: containers at once; from the environment, or one per core, if None.
    """

    isolation = "container"

    def __init__(
        self, image: str | None = None, engine: str | None = None, size: int | None = None
    ) -> None:
        self.image = image or os.environ.get("VTDATA_CONTAINER_IMAGE", "")
        self.engine = engine or os.environ.get("VTDATA_CONTAINER_ENGINE", "")
        self.size = size or int(jobs.setting("VTDATA_CONTAINER_SIZE", os.cpu_count() or 1))
        self._owner = jobs.Owner.here()
        self._slots = asyncio.Semaphore(self.size)

    async def __aenter__(self) -> Self:
        """Find an engine that works by running a program in it; remove what killed runs left.

        Raises:
            ConfigError: no image, an image by tag, or no engine that works; says what each said.
        """
        if not _DIGEST.fullmatch(self.image):
            raise ConfigError(_no_digest(self.image))
        candidates = [self.engine] if self.engine else ENGINES
        reasons: list[str] = []
        for engine in candidates:
            self.engine = engine
            if shutil.which(engine) is None:
                reasons.append(f"{engine} is not on PATH")
                continue
            try:
                await jobs.probe(self._container)
                await self._sweep(leftovers=True)
            except InfraError as error:
                reasons.append(f"{engine}: {error}")
                continue
            return self
        raise ConfigError(
            f"sandbox 'container' can't run a program in {self.image}: {'; '.join(reasons)}. "
            f"Start the engine and fetch the image ('{candidates[0]} pull {self.image}'), or "
            "choose the sandbox 'local' or 'e2b'"
        )

    async def __aexit__(self, *exc: object) -> None:
        """Remove containers whose removal was interrupted."""
        with contextlib.suppress(InfraError):  # the next start removes them
            await self._sweep(leftovers=False)

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        """Run a program once per input, all in one fresh container (see `vtdata.sandbox`)."""
        async with self._slots:
            outcomes: list[Outcome] = await jobs.run_all(
                self._container, source, inputs, limits, self.isolation
            )
        return outcomes

    async def _container(
        self, source: str, inputs: Sequence[bytes], limits: Limits
    ) -> AsyncIterator[Outcome]:
        name = f"vtdata-{secrets.token_hex(8)}"
        command = self._command(name, inputs, limits)
        process = await _start(self.engine, *command)
        assert process.stdin is not None
        assert process.stdout is not None
        feeding = asyncio.create_task(_feed(process.stdin, source, inputs, limits))
        try:
            async with _within(START_S, "to start"):
                await jobs.read_hello(process.stdout)
            for _ in inputs:
                async with _within(limits.wall_s + GRACE_S, "to answer"):
                    outcome = await jobs.read_outcome(process.stdout, limits, self.isolation)
                yield outcome
        except InfraError as error:
            raise InfraError(f"{error}; {await _last_words(process)}") from error
        finally:
            feeding.cancel()
            # Shielded, because a run that is being cancelled must not leave a container.
            await asyncio.shield(self._end(name, process))

    def _command(self, name: str, inputs: Sequence[bytes], limits: Limits) -> list[str]:
        largest_mib = max((len(data) for data in inputs), default=0) // jobs.MIB + 1
        # The driver holds one input and one output; what lies in the working folder is memory too.
        beside_mib = SPARE_MIB + 3 * largest_mib + 2 * limits.output_mib + limits.disk_mib
        memory = f"--memory={limits.memory_mib + beside_mib}m"
        flags = [
            f"--name={name}",
            f"--label={LABEL}={self._owner}",
            "--pull=never",
            "--network=none",
            "--ipc=none",
            "--read-only",
            f"--tmpfs={TEXT}:rw,nosuid,nodev,size=4m,mode=1777",
            f"--tmpfs={SCRATCH}:rw,nosuid,nodev,size={limits.disk_mib}m,mode=1777",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            f"--pids-limit={PROCESSES}",
            memory,
            memory.replace("--memory", "--memory-swap"),
            "--cpus=1",
            "--user=65534:65534",
            "--workdir=/",
            "--hostname=box",
            "--log-driver=none",
            "--entrypoint=python3",
        ]
        if Path(self.engine).name == "podman":
            flags.append("--read-only-tmpfs=false")  # podman would add writable places of its own
        driver = ["-I", "-S", "-c", jobs.DRIVER, TEXT, SCRATCH]
        return ["run", "--rm", "--interactive", *flags, self.image, *driver]

    async def _end(self, name: str, process: asyncio.subprocess.Process) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        with contextlib.suppress(InfraError):  # it may be gone, and a sweep finds what is left
            await _ask(self.engine, "rm", "--force", "--volumes", name)
        await process.wait()

    async def _sweep(self, *, leftovers: bool) -> None:
        """Remove containers of this backend, or those of processes of this machine that are dead.

        Raises:
            InfraError: the engine doesn't answer.
        """
        filters = f"--filter=label={LABEL}"
        ids = (await _ask(self.engine, "ps", "--all", "--quiet", filters)).split()
        if not ids:
            return
        form = f'--format={{{{index .Config.Labels "{LABEL}"}}}}'
        for found in ids:
            with contextlib.suppress(InfraError):  # removed meanwhile, by whoever owns it
                label = (await _ask(self.engine, "inspect", form, found)).strip()
                if self._owner.left_behind(label) if leftovers else label == str(self._owner):
                    await _ask(self.engine, "rm", "--force", "--volumes", found)


def _no_digest(image: str) -> str:
    found = f"the image '{image}' has no digest" if image else "VTDATA_CONTAINER_IMAGE is not set"
    name = image.partition("@")[0] or "python:3.12-slim"
    return (
        f"sandbox 'container': {found}, and a tag may name another image tomorrow; run "
        f"'docker pull {name}' and 'docker image inspect --format "
        f'"{{{{index .RepoDigests 0}}}}" {name}\', then set VTDATA_CONTAINER_IMAGE to '
        "NAME@sha256:..."
    )


@contextlib.asynccontextmanager
async def _within(seconds: float, what: str) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise InfraError(f"the container took longer than {seconds:g} s {what}") from error


async def _start(engine: str, *command: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    try:
        # A session of its own: Ctrl-C is for us, and we end the container.
        return await asyncio.create_subprocess_exec(
            engine, *command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except OSError as error:
        raise InfraError(f"{engine} can't be started: {error}") from error


async def _feed(
    stdin: asyncio.StreamWriter, source: str, inputs: Sequence[bytes], limits: Limits
) -> None:
    """Write the job, as fast as the driver reads it."""
    # A container that ends early is noticed by who reads its answer.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for frame in jobs.job(source, inputs, limits):
            stdin.write(frame)
            await stdin.drain()


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """What the engine or the driver said at the end, for people."""
    assert process.stderr is not None
    said = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2):
            said = (await process.stderr.read(1 << 16))[-500:]
            await process.wait()
    words = said.decode("utf-8", "replace").strip()
    return f"exit code {process.returncode}, stderr {words!r}"


async def _ask(engine: str, *command: str) -> str:
    """Run one of the engine's short commands and return what it printed.

    Raises:
        InfraError: it fails, or doesn't end in time.
    """
    process = await _start(engine, *command)
    try:
        async with asyncio.timeout(COMMAND_S):
            stdout, stderr = await process.communicate()
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise InfraError(f"'{engine} {command[0]}' took longer than {COMMAND_S:g} s") from error
    if process.returncode != 0:
        words = stderr.decode("utf-8", "replace").strip()
        raise InfraError(f"'{engine} {command[0]}' ended with {process.returncode}: {words}")
    return stdout.decode("utf-8", "replace")
