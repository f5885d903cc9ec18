"""An HTTP server on loopback that answers e2b's own package as e2b does, and runs what it is given.

Written from the source of e2b 2.63.0: the control plane's REST calls (``/v2/sandboxes``,
``/sandboxes/ID``), and of envd its ``/health``, ``/files`` (multipart up, raw down) and
``/process.Process/Start`` (the Connect protocol: JSON in envelopes of five bytes, over HTTP/1.1,
which the package speaks wherever there is no TLS). ``E2B_API_URL`` and ``E2B_SANDBOX_URL`` point
the package here.

A microVM is a folder and a pid namespace in which the command runs as root. The wall of a microVM
is *not* built here: what it stops can't be shown with this fake.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import random
import re
import secrets
import shutil
import struct
import subprocess
import tempfile
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import BodyPartReader, web

KEY = "e2b_0123456789abcdef0123456789abcdef"
TIMES = {"startedAt": "2026-01-01T00:00:00Z", "endAt": "2026-01-01T01:00:00Z"}
SIZES = {"cpuCount": 2, "memoryMB": 1024, "diskSizeMB": 1024}
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL"]

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class MicroVM:
    """One microVM: its folder, and the process that runs in it."""

    name: str
    body: dict
    folder: Path
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    process: asyncio.subprocess.Process | None = None

    def inside(self, text: str) -> str:
        """Move the absolute paths of a command into the folder, as a root of its own would."""
        return re.sub(r"(?<![\w/])/(?=vtdata|tmp|var/tmp|dev/shm)", f"{self.folder}/", text)

    async def end(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class FakeE2B:
    """The server; runs in a thread of its own, so that any event loop may talk to it."""

    def __init__(self) -> None:
        self.microvms: dict[str, MicroVM] = {}
        self.calls: list[str] = []
        self.created: list[dict] = []
        self.most = 0
        self._faults: dict[str, tuple[str, int]] = {}
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> FakeE2B:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def breaks(self, stage: str, kind: str, times: int = 1) -> None:
        """Let the next ``times`` requests of a stage fail: create, list, upload, run, ...

        Kinds: a status, ``drop`` (the connection), ``hang``, ``garbage``; of a creation also
        ``late`` (it is made, and nobody is told); of a run ``dies`` (with the microVM), ``no_end``
        and ``exit`` (of the command, with 3).
        """
        self._faults[stage] = (kind, times)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()

    async def _start(self) -> None:
        app = web.Application(client_max_size=1 << 30, middlewares=[self._middleware])
        app.add_routes(
            [
                web.post("/v2/sandboxes", self._create, name="create"),
                web.get("/v2/sandboxes", self._list, name="list"),
                web.delete("/sandboxes/{name}", self._kill, name="kill"),
                web.get("/health", self._health, name="health"),
                web.post("/files", self._upload, name="upload"),
                web.get("/files", self._download, name="download"),
                web.post("/process.Process/Start", self._run, name="run"),
            ]
        )
        app.on_response_prepare.append(close_after)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _stop(self) -> None:
        for microvm in list(self.microvms.values()):
            await microvm.end()
        await self._runner.cleanup()

    @web.middleware
    async def _middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        stage = request.match_info.route.name or ""
        self.calls.append(stage)
        kind, times = self._faults.get(stage, ("", 0))
        if times > 0:
            self._faults[stage] = (kind, times - 1)
            request["fault"] = kind
            if (answer := await self._fail(request, kind)) is not None:
                return answer
        if stage in ("create", "list", "kill") and request.headers.get("X-API-KEY") != KEY:
            return said(401, "Invalid API key")
        return await handler(request)

    async def _fail(self, request: web.Request, kind: str) -> web.StreamResponse | None:
        if kind.isdigit():
            code = (
                {"error_code": "sandbox_snapshot_guest_agent_unresponsive"} if kind == "409" else {}
            )
            return said(int(kind), FAULTS.get(kind, f"injected, and {KEY} told"), **code)
        if kind == "drop":
            assert request.transport is not None
            request.transport.abort()
            raise asyncio.CancelledError
        if kind == "hang":
            await asyncio.sleep(60)
        if kind == "garbage":
            return web.Response(status=201 if request.method == "POST" else 200, text="{]")
        return None

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.created.append(body)
        folder = Path(tempfile.mkdtemp(prefix="fake-microvm-"))
        folder.chmod(0o755)
        for place in ("tmp", "var/tmp", "dev/shm"):
            (folder / place).mkdir(parents=True)
        microvm = MicroVM(f"i{secrets.token_hex(8)}", body, folder)
        self.microvms[microvm.name] = microvm
        self.most = max(self.most, len(self.microvms))
        if request.get("fault") == "late":
            await asyncio.sleep(60)
        return web.json_response(
            {
                "templateID": body["templateID"],
                "sandboxID": microvm.name,
                "clientID": "fake",
                "envdVersion": "0.6.7",
                "envdAccessToken": microvm.token,
                "domain": None,
            },
            status=201,
        )

    async def _list(self, _request: web.Request) -> web.Response:
        rows = [
            {
                "templateID": "t",
                "sandboxID": microvm.name,
                "clientID": "fake",
                "envdVersion": "0.6.7",
                "state": "running",
                "metadata": microvm.body["metadata"],
                **TIMES,
                **SIZES,
            }
            for microvm in self.microvms.values()
        ]
        return web.json_response(rows)

    async def _kill(self, request: web.Request) -> web.Response:
        microvm = self.microvms.pop(request.match_info["name"], None)
        if microvm is None:
            return said(404, "sandbox not found")
        await microvm.end()
        return web.Response(status=204)

    def _of(self, request: web.Request) -> MicroVM:
        microvm = self.microvms.get(request.headers.get("E2b-Sandbox-Id", ""))
        if microvm is None:
            raise web.HTTPBadGateway(
                text=json.dumps({"code": 502, "message": "The sandbox was not found"}),
                content_type="application/json",
            )
        if request.headers.get("X-Access-Token") != microvm.token:
            raise web.HTTPUnauthorized(text=json.dumps({"code": 401, "message": "bad token"}))
        return microvm

    async def _health(self, request: web.Request) -> web.Response:
        self._of(request)
        return web.Response(status=204)

    async def _upload(self, request: web.Request) -> web.Response:
        microvm = self._of(request)
        assert request.query["username"] == "root"
        written = []
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            # Not ``part.filename``, from which aiohttp takes the leading slash.
            path = part.headers["Content-Disposition"].split('filename="')[1].rstrip('"')
            target = Path(microvm.inside(path))
            assert target.is_relative_to(microvm.folder)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(await part.read(decode=False))
            written.append({"name": target.name, "path": path, "type": "file"})
        return web.json_response(written)

    async def _download(self, request: web.Request) -> web.Response:
        path = Path(self._of(request).inside(request.query["path"]))
        if not path.exists():
            return said(404, f"path '{request.query['path']}' does not exist")
        return web.Response(body=path.read_bytes())

    async def _run(self, request: web.Request) -> web.StreamResponse:
        microvm = self._of(request)
        assert request.headers["Content-Type"] == "application/connect+json"
        assert request.headers["Authorization"] == "Basic cm9vdDo="  # root:
        start = json.loads((await request.read())[5:])["process"]
        assert (start["cmd"], start["args"][:2]) == ("/bin/bash", ["-l", "-c"])
        response = web.StreamResponse(headers={"Content-Type": "application/connect+json"})
        await response.prepare(request)
        fault = request.get("fault", "")
        command = "exit 3" if fault == "exit" else microvm.inside(start["args"][2])
        # Process numbers that differ between microVMs, because the driver's user follows from them.
        numbers = f"echo {random.randrange(1000, 30000)} > /proc/sys/kernel/ns_last_pid"
        microvm.process = await asyncio.create_subprocess_exec(
            *NAMESPACE,
            "/bin/sh",
            "-c",
            f'{numbers}; /bin/bash -c "$0"; exit $?',
            command,
            env={"PATH": "/usr/bin:/bin:/usr/local/bin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        await response.write(envelope({"event": {"start": {"pid": microvm.process.pid}}}))
        if fault == "dies":
            await asyncio.sleep(0.1)
            del self.microvms[microvm.name]
            await microvm.end()
            raise ConnectionResetError
        _, stderr = await microvm.process.communicate()
        code = microvm.process.returncode
        if stderr:
            words = {"data": {"stderr": base64.b64encode(stderr).decode()}}
            await response.write(envelope({"event": words}))
        if fault != "no_end":
            end = {"exitCode": code, "exited": True, "status": f"exit status {code}"}
            await response.write(envelope({"event": {"end": end}}))
        await response.write(envelope({}, flags=2))
        await response.write_eof()
        return response


async def close_after(_request: web.Request, response: web.StreamResponse) -> None:
    """Keep no connection, so that a test can count descriptors."""
    response.headers["Connection"] = "close"
    response.force_close()


FAULTS = {
    "429": "too many creations",
    "502": "The sandbox is running but port is not open",
    "503": "no capacity",
}


def install(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point e2b's package to ``url``."""
    monkeypatch.setenv("E2B_API_KEY", KEY)
    monkeypatch.setenv("E2B_API_URL", url)
    monkeypatch.setenv("E2B_SANDBOX_URL", url)
    monkeypatch.setenv("VTDATA_E2B_CREATES_PER_S", "100")
    monkeypatch.setenv("VTDATA_E2B_SIZE", "2")
    monkeypatch.delenv("VTDATA_E2B_TEMPLATE", raising=False)


def envelope(message: dict, flags: int = 0) -> bytes:
    data = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(data)) + data


def said(status: int, message: str, **more: str) -> web.Response:
    return web.json_response({"code": status, "message": message, **more}, status=status)


def root_can_isolate() -> bool:
    """Whether this user is a root that may make the namespaces of which a fake microVM consists."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or not Path("/bin/bash").exists():
        return False
    probe = [*NAMESPACE, "--net", "--mount", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0
