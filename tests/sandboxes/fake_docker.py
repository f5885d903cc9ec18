#!/usr/bin/env python3
"""Stands in for the ``docker`` program: understands what our backend asks, and really runs it.

A container is a process that is PID 1 of a pid namespace of its own (``unshare``), with
folders for its tmpfs. The other walls of a container are *not* built here: what they stop can't be shown with this
fake. Every call is recorded. ``fault.json``, ``{"kind": ..., "times": n}``, breaks the next calls:
``daemon`` (not running), ``image`` (missing), ``oom:N`` (killed after N frames of answer), ``hang``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

STATE = Path(os.environ.get("FAKE_DOCKER_STATE", "."))
PID_ONE = [
    "unshare", "--user", "--map-user=65534", "--map-group=65534", "--pid", "--fork", "--mount-proc",
    "--kill-child=SIGKILL",
]  # fmt: skip
SWITCHES = {"--rm", "--interactive", "--read-only"}
VALUES = {
    "--name", "--label", "--pull", "--network", "--ipc", "--tmpfs", "--cap-drop", "--security-opt",
    "--pids-limit", "--memory", "--memory-swap", "--cpus", "--user", "--workdir", "--hostname",
    "--log-driver", "--entrypoint",
}  # fmt: skip


def fault() -> str:
    path = STATE / "fault.json"
    if not path.exists():
        return ""
    planned = json.loads(path.read_text())
    if planned["times"] == 0 or (planned["kind"] != "daemon" and sys.argv[1] != "run"):
        return ""
    planned["times"] -= 1
    path.write_text(json.dumps(planned))
    return planned["kind"]


def fail(code: int, words: str) -> None:
    print(words, file=sys.stderr)
    sys.exit(code)


def parse(arguments: list[str]) -> tuple[dict[str, list[str]], str, list[str]]:
    options: dict[str, list[str]] = {}
    for place, word in enumerate(arguments):
        if not word.startswith("-"):
            return options, word, arguments[place + 1 :]
        name, _, value = word.partition("=")
        if name not in (VALUES if value else SWITCHES):
            fail(125, f"unknown flag: {word}")
        options.setdefault(name, []).append(value)
    fail(125, '"docker run" requires at least 1 argument')
    raise AssertionError


def records() -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((STATE / "containers").glob("*"))]


def remove(record: dict) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(record["pid"], signal.SIGKILL)  # unshare's --kill-child takes the container along
    shutil.rmtree(record["folder"], ignore_errors=True)
    (STATE / "containers" / record["name"]).unlink(missing_ok=True)


def copy(source: IO[bytes], target: IO[bytes]) -> None:
    """What docker's client does with its three pipes; they end when the client ends."""
    with contextlib.suppress(BrokenPipeError), target:
        while data := source.read1(1 << 16):  # ty: ignore[missing-attribute] it is buffered
            target.write(data)
            target.flush()


def copy_frames(source: IO[bytes], count: int) -> None:
    for _ in range(count):
        head = source.read(8)
        sys.stdout.buffer.write(head + source.read(int.from_bytes(head)))
    sys.stdout.buffer.flush()


def attach(container: subprocess.Popen, broken: str) -> int:
    assert container.stdin is not None
    assert container.stdout is not None
    assert container.stderr is not None
    threading.Thread(target=copy, args=(sys.stdin.buffer, container.stdin), daemon=True).start()
    if broken.startswith("oom:"):
        copy_frames(container.stdout, int(broken[4:]))
        container.kill()
        container.stdout.read()  # until the last process of the container is gone
        return 137
    last = threading.Thread(target=copy, args=(container.stderr, sys.stderr.buffer), daemon=True)
    last.start()
    copy(container.stdout, sys.stdout.buffer)
    last.join()
    return container.wait() % 256


def run(arguments: list[str], broken: str) -> int:
    options, image, command = parse(arguments)
    if broken == "image":
        fail(125, f"docker: Error response from daemon: No such image: {image}")
    [name] = options["--name"]
    folder = STATE / "rooms" / name
    rooms = [mount.partition(":")[0] for mount in options["--tmpfs"]]
    for room in rooms:
        (folder / room.strip("/")).mkdir(parents=True)
    inside = [f"{folder}{word}" if word in rooms else word for word in command]
    pipe = subprocess.PIPE
    container = subprocess.Popen(
        [*PID_ONE, sys.executable, *inside],
        env={"PATH": os.environ["PATH"]},
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,
    )
    label, _, value = options["--label"][0].partition("=")
    record = {
        "name": name, "folder": str(folder), "pid": container.pid, "labels": {label: value},
    }  # fmt: skip
    (STATE / "containers" / name).write_text(json.dumps(record))
    code = attach(container, broken)
    remove(record)
    return code


def main() -> int:
    (STATE / "containers").mkdir(exist_ok=True)
    with (STATE / "calls.jsonl").open("a") as file:
        file.write(json.dumps(sys.argv[1:]) + "\n")
    broken = fault()
    if broken == "daemon":
        words = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock."
        fail(125 if sys.argv[1] == "run" else 1, f"{words} Is the docker daemon running?")
    if broken == "hang":
        time.sleep(60)
    verb, arguments = sys.argv[1], sys.argv[2:]
    if verb == "run":
        return run(arguments, broken)
    if verb == "ps":
        wanted = arguments[-1].partition("=")[2].partition("=")[2]
        print("\n".join(r["name"] for r in records() if wanted in r["labels"]))
        return 0
    found = [record for record in records() if record["name"] == arguments[-1]]
    if not found:
        fail(1, f"Error response from daemon: No such container: {arguments[-1]}")
    if verb == "inspect":
        print(found[0]["labels"][arguments[0].split('"')[1]])
    elif verb == "rm":
        remove(found[0])
    else:
        fail(1, f"unknown command: docker {verb}")
    return 0


if __name__ == "__main__":
    ended = main()
    sys.stdout.flush()
    os._exit(ended)  # a thread may still wait for its standard input
