"""Where a model lives: one URL, several, or a file of them that changes while the run goes on.

Calls go to the endpoint with the fewest in flight. One that can't be reached is left alone for a
while, longer each time, and proves its identity again before it gets work.
"""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from vtdata.errors import ConfigError
from vtdata.llm.model import ModelSpec
from vtdata.llm.secrets import Secrets, has_env

REST_S = 2.0
"""How long a dead endpoint is left alone the first time (ours)."""
LONGEST_REST_S = 60.0
"""And at most (ours)."""
REREAD_S = 1.0
"""How often a file of URLs is looked at (ours)."""


@dataclass(eq=False, slots=True)
class Endpoint:
    """One server. ``label`` is the only part of it that people see."""

    label: str
    chat: str = field(repr=False)
    """Where completions are asked for."""
    models: str = field(repr=False)
    """Where the server lists what it serves."""
    headers: dict[str, str] = field(repr=False)
    in_flight: int = 0
    greeted: bool = False
    """Whether it was asked who it is, since it was last away."""
    greeting: asyncio.Future[None] | None = field(default=None, repr=False)
    """The asking, while it goes on."""
    resting_until: float = 0.0
    failures: int = 0

    def rest(self, scale: float) -> None:
        """It can't be reached: leave it for a while."""
        pause = min(REST_S * 2**self.failures, LONGEST_REST_S) * scale
        self.resting_until = time.monotonic() + pause
        self.failures += 1
        self.greeted = False

    def works(self) -> None:
        self.failures = 0
        self.resting_until = 0.0


class Endpoints:
    """All endpoints of one model.

    Args:
        name: the recipe's name of the model.
        spec: its entry.
        given: the base URL for an entry that has none (the embedded model).
        secrets: learns what is filled in.
        pace: scale of every wait.
        folder: where relative ``file:`` urls start.
    """

    def __init__(
        self,
        name: str,
        spec: ModelSpec,
        given: str | None,
        secrets: Secrets,
        pace: float,
        folder: Path | None = None,
    ) -> None:
        self._folder = folder or Path()
        self._who = f"model '{name}'"
        self._spec = spec
        self._secrets = secrets
        self._pace = pace
        url = spec.url if spec.url is not None else given
        self._urls = [url] if isinstance(url, str) else list(url or [])
        self._known: dict[str, Endpoint] = {}
        self._now: list[Endpoint] = []
        self._looked = float("-inf")
        self._stamp: list[tuple[int, int] | None] | None = None

    @property
    def labels(self) -> list[str]:
        """The endpoints that are in use, as people may see them."""
        return [endpoint.label for endpoint in self._now]

    def pick(self) -> Endpoint:
        """The endpoint for the next call.

        Raises:
            ConfigError: there is none, or an environment variable is missing.
        """
        self._refresh()
        now = time.monotonic()
        awake = [e for e in self._now if e.resting_until <= now]
        if awake:
            return min(awake, key=lambda e: e.in_flight)
        return min(self._now, key=lambda e: e.resting_until)

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._looked < REREAD_S * self._pace and self._now:
            return
        self._looked = now
        files = [self._path(url) for url in self._urls if url.startswith("file:")]
        stamp = [_stamp(path) for path in files]
        if stamp == self._stamp and self._now:
            return
        found = [line for url in self._urls for line in self._lines(url)]
        if found:
            self._now = [self._endpoint(template) for template in dict.fromkeys(found)]
            self._stamp = stamp
        elif not self._now:
            raise ConfigError(
                f"{self._who} has no url (it has {self._urls}): set url to a base URL that ends "
                "in /v1, or to file:PATH with one in each line"
            )

    def _lines(self, url: str) -> list[str]:
        """The templates that a setting stands for; a file that is away keeps the last ones."""
        if not url.startswith("file:"):
            return [url]
        try:
            text = self._path(url).read_text()
        except FileNotFoundError:
            return []
        lines = (line.strip() for line in text.splitlines())
        return [line for line in lines if line and not line.startswith("#")]

    def _path(self, url: str) -> Path:
        return self._folder / url.removeprefix("file:")

    def _endpoint(self, template: str) -> Endpoint:
        if template not in self._known:
            self._known[template] = self._make(template)
        return self._known[template]

    def _make(self, template: str) -> Endpoint:
        url = self._secrets.fill(template, f"{self._who}: url")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            shown = template if has_env(template) else _without_secrets(template)
            raise ConfigError(
                f"{self._who}: url {shown} is not a base URL: write http://HOST:PORT/v1"
            )
        headers = self._authorization(parts.username, parts.password)
        for key, value in self._spec.headers.items():
            headers[key] = self._secrets.fill(value, f"{self._who}: header {key}")
        if parts.query:
            self._secrets.add(parts.query)
        if has_env(template):
            self._secrets.add(parts.netloc)
        host = parts.netloc.rpartition("@")[2]
        base = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), parts.query, ""))
        label = template if has_env(template) else _without_secrets(url)
        headers["Content-Type"] = "application/json"
        chat, models = join(base, "/chat/completions"), join(base, "/models")
        return Endpoint(_without_secrets(label), chat, models, headers)

    def _authorization(self, user: str | None, password: str | None) -> dict[str, str]:
        if self._spec.api_key_env and user:
            raise ConfigError(
                f"{self._who} has both api_key_env and a user in its url: keep one of them"
            )
        if self._spec.api_key_env:
            key = self._secrets.env(self._spec.api_key_env, f"{self._who}: api_key_env")
            return {"Authorization": f"Bearer {key}"}
        if not user:
            return {}
        both = f"{unquote(user)}:{unquote(password or '')}"
        for secret in (both, unquote(user), unquote(password or "")):
            self._secrets.add(secret)
        return {"Authorization": f"Basic {base64.b64encode(both.encode()).decode()}"}


def join(base: str, path: str) -> str:
    """Append a path to a base URL, before its query.

    >>> join("http://host/v1?version=1", "/models")
    'http://host/v1/models?version=1'
    """
    parts = urlsplit(base)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))


def _without_secrets(url: str) -> str:
    """The URL without user, password and query.

    >>> _without_secrets("http://me:pw@host:1/v1?key=2")
    'http://host:1/v1'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size
