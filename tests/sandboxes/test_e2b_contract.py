"""The contract of every sandbox, held against e2b's own package and ``fake_e2b.py``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.contract import *  # noqa: F403
from tests.sandboxes.contract import Box, opened
from tests.sandboxes.fake_e2b import FakeE2B, install, root_can_isolate
from vtdata import sandbox

pytest.importorskip("e2b_code_interpreter", reason='needs e2b: pip install "vtdata[e2b]"')
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(not root_can_isolate(), reason="the fake microVM needs root"),
]

LACKS = frozenset({"network", "files", "fork", "kernel", "folder"})
"""What a microVM stops, or allows because it harms nobody there; a fake can't show it."""


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with FakeE2B() as fake, pytest.MonkeyPatch.context() as monkeypatch:
        install(fake.url, monkeypatch)
        backend = sandbox.load("e2b", Path(__file__).parent)
        asyncio.run(used(backend))  # its package keeps threads and their descriptors from now on
        with opened(backend, lacks=LACKS, has_numpy=False) as it:
            yield it
        assert fake.microvms == {}


async def used(backend: sandbox.Sandbox) -> None:
    async with backend:
        pass
