"""A Hub on loopback with one dataset under any name: enough of its interface to be read from."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

NEWEST = "a" * 40


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: dict[str, bytes]
    asked: list[str]

    def log_message(self, format: str, *args: object) -> None:
        self.asked.append(f"{self.command} {self.path}")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(self.path.split("?")[0])
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/revision/([^/]+))?", path):
            names = [{"rfilename": name} for name in self.files]
            self._json({"id": match[1], "sha": match[2] or NEWEST, "siblings": names})
        elif match := re.fullmatch(r"/api/datasets/[^/]+/[^/]+/tree/[^/]+(?:/(.*))?", path):
            self._json(self._below(match[1] or ""))
        elif match := re.fullmatch(r"/datasets/[^/]+/[^/]+/resolve/([^/]+)/(.*)", path):
            self._file(match[1], match[2])
        else:
            self._send(404, b"{}")

    def _below(self, folder: str) -> list[dict[str, object]]:
        start = f"{folder}/" if folder else ""
        found: dict[str, dict[str, object]] = {}
        for name, content in self.files.items():
            if name.startswith(start):
                head, slash, _ = name[len(start) :].partition("/")
                kind = "directory" if slash else "file"
                size = 0 if slash else len(content)
                oid = sha1(content).hexdigest()
                found[head] = {"type": kind, "path": start + head, "size": size, "oid": oid}
        return list(found.values())

    def _file(self, commit: str, name: str) -> None:
        content = self.files.get(name)
        if content is None:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
            return
        etag = f'"{sha1(content).hexdigest()}"'
        self._send(200, content, {"X-Repo-Commit": commit, "ETag": etag})

    def _json(self, data: object) -> None:
        self._send(200, json.dumps(data).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def fake_hub(files: dict[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """Serve files; yields the address for HF_ENDPOINT, and what was asked."""
    asked: list[str] = []
    handler = type("Handler", (_Handler,), {"files": files, "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()
