"""Messages between host, helper and child: JSON behind a length of four bytes."""

from __future__ import annotations

import json
import socket
import struct
from collections import deque
from typing import Any

READ_BYTES = 1 << 16
"""Bytes per read: twice as much and malloc asks the kernel for every buffer, at 30 µs each."""

_HEAD = struct.Struct("!I")
_encode = json.JSONEncoder(separators=(",", ":")).encode


def pack(message: Any) -> bytes:
    """Return the bytes of one message."""
    body = _encode(message).encode("ascii")
    return _HEAD.pack(len(body)) + body


class Inbox:
    """Cuts what arrives on a socket into messages."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._data = bytearray()
        self._ready: deque[Any] = deque()

    def read(self) -> list[Any]:
        """Read what there is; return the messages that it completes.

        Raises:
            EOFError: the other end is gone.
        """
        try:
            return self.feed(self._sock.recv(READ_BYTES))
        except ConnectionResetError as error:
            raise EOFError("the other end is gone") from error

    def feed(self, data: bytes) -> list[Any]:
        """Take bytes that arrived; return the messages that they complete.

        Raises:
            EOFError: there are none, which is how an end is told.
        """
        if not data:
            raise EOFError("the other end is gone")
        self._data += data
        found = []
        while len(self._data) >= _HEAD.size:
            end = _HEAD.size + _HEAD.unpack_from(self._data)[0]
            if len(self._data) < end:
                break
            found.append(json.loads(self._data[_HEAD.size : end]))
            del self._data[:end]
        return found

    def receive(self) -> Any:
        """Return the next message, after waiting for it.

        Raises:
            EOFError: the other end is gone.
            TimeoutError: nothing came within the socket's time-out.
        """
        while not self._ready:
            self._ready.extend(self.read())
        return self._ready.popleft()
