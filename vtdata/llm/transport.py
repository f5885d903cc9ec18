"""One HTTP call, and what each way of failing means for the run."""

from __future__ import annotations

import email.utils
import json
import time
from typing import Any

import aiohttp

from vtdata.errors import InfraError, RunError, VtdataError
from vtdata.llm.answer import Answer, Stream, Unread, from_json, parse_json
from vtdata.llm.endpoints import Endpoint
from vtdata.llm.secrets import Secrets

CONNECT_S = 30.0
"""Longest time to a connection. There is no total limit: one of 300 s, aiohttp's own default,
would cancel every long answer and buy it again (ours)."""
LONGEST_RETRY_AFTER_S = 600.0
"""More is not believed (ours)."""
REFUSING = frozenset({400, 405, 406, 409, 410, 411, 413, 414, 415, 422, 431})
"""That request is at fault, and no other."""
AWAY = frozenset({502, 503, 504})
"""The server behind this address is gone for the moment."""

_encode = json.JSONEncoder(separators=(",", ":")).encode


class TurnedAway(InfraError):
    """429: too many calls."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unreachable(InfraError):
    """Nobody answers there, or the connection broke."""


class Refusal(VtdataError):
    """The server would not have this request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


class Transport:
    """Sends for one model.

    Args:
        session: an open one, without a total time limit.
        secrets: washes every text that a server sends in an error.
        name: the recipe's name of the model.
        model: the model id.
        idle_s: longest silence on an open response.
    """

    def __init__(
        self, session: aiohttp.ClientSession, secrets: Secrets, name: str, model: str, idle_s: float
    ) -> None:
        self._session = session
        self._secrets = secrets
        self._who = f"model '{name}' ({model})"
        self._time = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=idle_s)

    async def complete(self, endpoint: Endpoint, body: dict[str, Any]) -> Answer:
        """Post a chat completion.

        Raises:
            TurnedAway: 429.
            Unreachable: no connection, a broken one, or 502 to 504.
            InfraError: another 5xx, or something that is not a completion.
            Refusal: the request itself is at fault.
            RunError: the key or the model is wrong, so no request can succeed.
        """
        try:
            async with self._session.post(
                endpoint.chat,
                data=_encode(body).encode(),
                headers=endpoint.headers,
                timeout=self._time,
            ) as response:
                if response.status != 200:
                    raise self._failure(endpoint, response, await response.read())
                if response.content_type == "text/event-stream":
                    return from_json(await _read_stream(response))
                return from_json(parse_json(await response.read()))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._broke(endpoint, error) from None  # its text names the address
        except Unread as error:
            said = self._secrets.wash(str(error))
            raise InfraError(f"{self._who} at {endpoint.label}: {said}") from None

    async def models(self, endpoint: Endpoint) -> Any:
        """What GET /models says; None where the server doesn't have it.

        Raises: as ``complete``.
        """
        try:
            async with self._session.get(
                endpoint.models, headers=endpoint.headers, timeout=self._time
            ) as response:
                if response.status == 200:
                    return parse_json(await response.read())
                if response.status in (404, 405, 501):
                    return None
                raise self._failure(endpoint, response, await response.read())
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._broke(endpoint, error) from None
        except Unread:
            return None

    def _failure(
        self, endpoint: Endpoint, response: aiohttp.ClientResponse, raw: bytes
    ) -> VtdataError:
        status = response.status
        where = f"{self._who} at {endpoint.label}"
        said = self._secrets.wash(raw.decode(errors="replace"))[:500].strip()
        if status in (401, 402, 403):  # what it says may hold a part of the key
            return RunError(
                f"{where} answered {status}: the key is missing, wrong, not allowed to use this "
                "model or out of credit; set the environment variable that api_key_env names"
            )
        if status == 404:
            return RunError(
                f"{where} answered 404: the server has no such model or no such address ({said}); "
                "does the url end in /v1, and does GET /v1/models list the model?"
            )
        if status == 429 and "insufficient_quota" in said:
            return RunError(f"{where} answered 429: the account's quota is used up")
        if status == 429:
            wait = _retry_after(response.headers.get("Retry-After"))
            return TurnedAway(f"{where} answered 429: {said}", wait)
        if status in REFUSING:
            return Refusal(status, f"{where} answered {status}: {said}")
        kind = Unreachable if status in AWAY else InfraError
        return kind(f"{where} answered {status}: {said}")

    def _broke(self, endpoint: Endpoint, error: Exception) -> Unreachable:
        if isinstance(error, TimeoutError):
            what = f"silent for longer than {self._time.sock_read:g} s"
        else:
            what = self._secrets.wash(str(error)) or type(error).__name__
        return Unreachable(f"{self._who} at {endpoint.label}: {type(error).__name__}: {what}")


async def _read_stream(response: aiohttp.ClientResponse) -> dict[str, Any]:
    """Read server-sent events, of any length of line."""
    stream, left = Stream(), b""
    async for piece in response.content.iter_any():
        *lines, left = (left + piece).split(b"\n")
        for line in lines:
            stream.feed(line)
    stream.feed(left)
    return stream.whole()


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date.

    >>> _retry_after("1.5"), _retry_after("soon"), _retry_after(None)
    (1.5, None, None)
    """
    if value is None:
        return None
    try:
        wait = float(value)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(wait, 0.0), LONGEST_RETRY_AFTER_S) if wait == wait else None
