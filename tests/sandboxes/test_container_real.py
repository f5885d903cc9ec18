"""The contract of every sandbox, held against a real docker or podman where one is set up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.contract import *  # noqa: F403
from tests.sandboxes.contract import Box, opened
from vtdata import sandbox
from vtdata.errors import ConfigError

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(
        "VTDATA_CONTAINER_IMAGE" not in os.environ,
        reason="needs an engine, and an image by digest in VTDATA_CONTAINER_IMAGE",
    ),
]

LACKS = frozenset({"network", "fork", "kernel"})
"""A container has a loopback and processes of its own; of the kernel it hides what its engine does."""


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    try:
        with opened(
            sandbox.load("container", Path(__file__).parent), lacks=LACKS, has_numpy=False
        ) as it:
            yield it
    except ConfigError as error:
        pytest.skip(str(error))
