"""Start the embedded server as a child process, and stop it."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from vtdata.errors import ConfigError, InfraError
from vtdata.llm.embedded.weights import EMBEDDED, INSTALL, source_of

DEADLINE_S = 600.0
"""Until ``/health`` answers (ours): a first start converts the weights, which takes a minute."""

_NEEDS = ("torch", "transformers", "gguf", "accelerate")
_TAIL_LINES = 15


@dataclass(slots=True)
class RunningServer:
    """A server that runs on loopback until ``stop`` or until this process ends."""

    url: str
    """Base URL, ending in ``/v1``."""
    pid: int
    model: str
    """The id to ask for."""
    revision: str
    dtype: str
    max_model_len: int
    log: Path
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """End it; harmless when it has ended already."""
        _end(self.process)

    def __enter__(self) -> RunningServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def check_installed(model: str) -> None:
    """Raise ConfigError with the line to type where a package or the model's files are missing."""
    missing = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"model '{model}' is served on the CPU, which needs {', '.join(missing)}: {INSTALL}"
        )
    source_of(model)


def command(model: str, *options: str) -> list[str]:
    """Return the command line of the CPU server."""
    return [sys.executable, "-m", "vtdata.llm.embedded.server", "--model", model, *options]


def environment() -> dict[str, str]:
    """Return the server's environment: one passive thread, no hub, no telemetry.

    Spinning OpenMP threads on busy cores made generation 3 to 6 times slower.
    """
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }


def start_server(
    model: str = EMBEDDED, *, port: int = 0, log: Path | None = None, deadline_s: float = DEADLINE_S
) -> RunningServer:
    """Start the server and wait until it answers.

    Args:
        model: ``embedded``, a ``.gguf`` file or a transformers folder.
        port: on loopback; 0 takes a free one.
        log: where its output goes; None takes a temporary file.
        deadline_s: seconds until it must answer.

    Raises:
        ConfigError: a package, the model or the port is not there.
        InfraError: it died or did not answer; the message ends with the log's tail.
    """
    check_installed(model)
    if log is None:
        handle, name = tempfile.mkstemp(prefix="vtdata-serve-", suffix=".log")
        os.close(handle)
        log = Path(name)
    try:
        sock = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise ConfigError(
            f"port {port} on 127.0.0.1 can't be taken ({error}): use --port 0"
        ) from None
    with sock:
        address = sock.getsockname()
        process = _spawn(model, sock, log)
    try:
        _await_health(process, address, log, deadline_s)
        card = _get(address, "/v1/models", 30.0)["data"][0]
    except BaseException:
        _end(process)
        raise
    return RunningServer(
        url=f"http://127.0.0.1:{address[1]}/v1",
        pid=process.pid,
        model=card["id"],
        revision=card["revision"],
        dtype=card["dtype"],
        max_model_len=card["max_model_len"],
        log=log,
        process=process,
    )


def _spawn(model: str, sock: socket.socket, log: Path) -> subprocess.Popen[bytes]:
    main = threading.current_thread() is threading.main_thread()
    fd = sock.fileno()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        return subprocess.Popen(
            command(model, "--fd", str(fd), "--parent", str(os.getpid())),
            env={**environment(), "VTDATA_PARENT_THREAD": "main" if main else "other"},
            pass_fds=[fd],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            # Ctrl-C is for the run, which still wants the answers that are in flight
            start_new_session=True,
        )


def _await_health(
    process: subprocess.Popen[bytes], address: tuple[str, int], log: Path, deadline_s: float
) -> None:
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        if process.poll() is not None:
            raise InfraError(
                f"the embedded server ended with code {process.returncode} before it answered; "
                f"its log {log} ends with:\n{_tail(log)}"
            )
        try:
            _get(address, "/health", 2.0)
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
        else:
            return
    raise InfraError(
        f"the embedded server did not answer within {deadline_s:g} s; its log {log} ends with:\n"
        f"{_tail(log)}"
    )


def _get(address: tuple[str, int], path: str, timeout_s: float) -> Any:
    connection = http.client.HTTPConnection(*address, timeout=timeout_s)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:])


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
