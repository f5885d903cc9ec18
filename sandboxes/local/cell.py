"""A cell as the host sees it: a channel into which programs go, and out of which outcomes come."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
from collections.abc import Sequence

from vtdata.sandbox import Limits, Outcome, State

_FRAME = struct.Struct("<BiddQQQ")
_STATES: tuple[State, ...] = (
    "ok", "time_limit", "time_limit", "output_limit", "memory_limit", "sandbox_error",
)  # fmt: skip
_GONE = len(_STATES)
"""Not an outcome: the cell's last words."""
_DETAILS = ("", "CPU time", "wall time", "", "", "the process could not be locked down")
_READ_BYTES = 1 << 16
_GRACE_S = 20.0
"""How long after its wall limit a run may be silent before its cell is taken for dead."""


class Cell:
    """One cell; a program at a time.

    Args:
        channel: the socket to it, not blocking.
    """

    def __init__(self, channel: socket.socket) -> None:
        self.used = 0
        self.calm = True
        """No run in it had to be ended."""
        self._channel = channel
        self._read_ahead = bytearray()

    def send(self, bundle: int) -> None:
        """Hand a program in, and close its file here.

        Where the cell is gone, what it said before is what `outcome` raises.
        """
        self.used += 1
        try:
            with contextlib.suppress(ConnectionError):
                socket.send_fds(self._channel, [b"p"], [bundle])
        finally:
            os.close(bundle)

    async def outcome(self, limits: Limits, isolation: str) -> Outcome:
        """Wait for what became of the next input.

        Raises:
            TimeoutError: the cell is silent for much longer than the wall limit.
            EOFError: it ended, or was ended.
            OSError: it had to end, with the errno that it met.
        """
        async with asyncio.timeout(limits.wall_s + _GRACE_S):
            head = _FRAME.unpack(await self._read(_FRAME.size))
            how, exit_code, cpu_s, wall_s, rss_kib, out_bytes, err_bytes = head
            stdout = await self._read(out_bytes)
            stderr = await self._read(err_bytes)
        if how == _GONE:
            raise OSError(exit_code, stderr.decode(errors="replace"))
        state = _STATES[how]
        detail = _DETAILS[how]
        if state == "ok" and exit_code != 0:
            state = "runtime_error"
        if state == "sandbox_error" and stderr:
            detail += f": {stderr.decode(errors='replace')}"
        self.calm = self.calm and exit_code >= 0
        return Outcome(
            state,
            stdout,
            stderr,
            exit_code,
            cpu_s,
            wall_s,
            isolation,
            detail,
            rss_kib / 1024,
        )

    async def _read(self, size: int) -> bytes:
        """Take so many bytes; small pieces come out of one call of the system."""
        loop = asyncio.get_running_loop()
        while len(self._read_ahead) < size:
            try:
                more = await loop.sock_recv(self._channel, max(_READ_BYTES, size))
            except ConnectionResetError:
                more = b""
            if not more:
                raise EOFError("its supervisor ended without a word, so it was killed")
            self._read_ahead += more
        taken = bytes(self._read_ahead[:size])
        del self._read_ahead[:size]
        return taken

    def close(self) -> None:
        """Let it go; it ends, with what runs in it."""
        self._channel.close()


def pack(source: str, inputs: Sequence[bytes], limits: Limits, key: str) -> int:
    """Write a program and what it reads into one file in memory; returns its number.

    Args:
        source: the program.
        inputs: what its runs read.
        limits: what each may use.
        key: the name of the source under which a cell keeps its compiled code; empty for not.
    """
    text = source.encode("utf-8", "surrogatepass")
    head = {
        "source_bytes": len(text),
        "key": key,
        "input_bytes": [len(data) for data in inputs],
        "cpu_s": limits.cpu_s,
        "wall_s": limits.wall_s,
        "memory_mib": limits.memory_mib,
        "output_mib": limits.output_mib,
        "disk_mib": limits.disk_mib,
    }
    encoded = json.dumps(head).encode()
    fd = os.memfd_create("program")
    data = memoryview(b"".join((len(encoded).to_bytes(8, "little"), encoded, text, *inputs)))
    while data:
        data = data[os.write(fd, data) :]
    return fd
