"""A fake server that solves sums, and a run that is finished once and copied for each test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_server import Handle, start_fake
from tests.runs import URL, full_recipe, run_here


@pytest.fixture(scope="session")
def shared_fake() -> Iterator[Handle]:
    with start_fake(answer="sum") as fake:
        before = os.environ.get(URL)
        os.environ[URL] = fake.url
        yield fake
        os.environ.pop(URL)
        if before is not None:
            os.environ[URL] = before


@pytest.fixture
def fake(shared_fake: Handle) -> Handle:
    """The server, with its counters at nothing."""
    shared_fake.reset()
    return shared_fake


@pytest.fixture(scope="session")
def original(shared_fake: Handle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``full.yaml``, its questions and its finished run; not to be changed."""
    recipe = full_recipe(tmp_path_factory.mktemp("original"))
    run_here(recipe)
    return recipe.parent


@pytest.fixture
def finished(original: Path, tmp_path: Path) -> Path:
    """The recipe of a finished run, to be changed at will."""
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    return tmp_path / "full.yaml"
