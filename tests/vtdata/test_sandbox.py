from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from vtdata import sandbox
from vtdata.errors import ConfigError

ECHO = '''
from vtdata.sandbox import Outcome

class Backend:
    """Runs nothing: it says what it was given."""

    isolation = "none"

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc):
        pass

    async def run(self, source, inputs, limits):
        return [Outcome("ok", data, b"", 0, 0.0, 0.0, "none") for data in inputs]
'''


def test_a_name_is_found_in_sandboxes_above_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "sandboxes").mkdir()
    (tmp_path / "sandboxes" / "echo.py").write_text(ECHO)
    recipes = tmp_path / "recipes" / "deep"
    recipes.mkdir(parents=True)
    found = sandbox.load("echo", recipes)
    assert isinstance(found, sandbox.Sandbox)
    assert type(found).__module__ == "vtdata_sandbox_echo"
    outcomes = asyncio.run(found.run("print(1)", [b"a", b"b"], sandbox.Limits()))
    assert [outcome.stdout for outcome in outcomes] == [b"a", b"b"]


def test_a_package_is_found_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sandboxes" / "boxed").mkdir(parents=True)
    (tmp_path / "sandboxes" / "boxed" / "__init__.py").write_text(ECHO)
    assert isinstance(sandbox.load("boxed", tmp_path), sandbox.Sandbox)


def test_a_package_has_inner_modules_of_its_own(tmp_path: Path) -> None:
    for place in ("one", "two"):
        box = tmp_path / place / "sandboxes" / "inner"
        box.mkdir(parents=True)
        (box / "__init__.py").write_text("from .parts import PLACE\n" + ECHO)
        (box / "parts.py").write_text(f"PLACE = {place!r}\n")
        found = type(sandbox.load("inner", tmp_path / place))
        module = sys.modules[found.__module__]
        assert place == module.PLACE


def test_backends_of_a_folder_share_a_package(tmp_path: Path) -> None:
    box = tmp_path / "sandboxes"
    (box / "_shared").mkdir(parents=True)
    (box / "_shared" / "__init__.py").write_text("from .parts import WORD\n")
    (box / "_shared" / "parts.py").write_text("WORD = 'both'\n")
    code = "from vtdata.sandbox import beside\nWORD = beside(__file__, '_shared').WORD\n" + ECHO
    for name in ("first", "second"):
        (box / f"{name}.py").write_text(code)
        found = type(sandbox.load(name, tmp_path))
        assert sys.modules[found.__module__].WORD == "both"


def test_a_class_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_box.py").write_text(ECHO)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert isinstance(sandbox.load("their_box:Backend", tmp_path), sandbox.Sandbox)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("ehco", "did you mean 'echo'?"),
        ("nowhere_at_all:Box", "can't be imported"),
        ("json:Backend", "has no class Backend with run"),
    ],
)
def test_a_miss_says_where_it_looked(tmp_path: Path, spec: str, says: str) -> None:
    (tmp_path / "sandboxes").mkdir()
    (tmp_path / "sandboxes" / "echo.py").write_text(ECHO)
    with pytest.raises(ConfigError) as caught:
        sandbox.load(spec, tmp_path)
    assert says in str(caught.value)
    if ":" not in spec:
        assert all(str(place) in str(caught.value) for place in sandbox.places(tmp_path))
