"""What a sandbox promises, and how a recipe's ``sandbox:`` finds one.

A step that needs a sandbox holds its spec, a text, and never the object. Backends live in
``sandboxes/`` of a checkout and not in the wheel, because ``sandboxes`` is a stranger's import name
on the package index: a name is therefore loaded by its file's path, under a module name of ours.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Protocol, Self, runtime_checkable

from vtdata.errors import ConfigError
from vtdata.text import nearest

State = Literal[
    "ok", "runtime_error", "time_limit", "memory_limit", "output_limit", "sandbox_error"
]
"""Only ``sandbox_error`` is ours; every other state is the program's doing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of a program may use."""

    cpu_s: float = 10.0
    """CPU seconds; what decides a time limit (ours)."""
    wall_s: float = 50.0
    """Wall seconds, a backstop for programs that sleep (ours)."""
    memory_mib: int = 512
    """Address space of all its processes together (ours)."""
    output_mib: int = 16
    """Most that it may print (ours)."""
    disk_mib: int = 64
    """Size of its private working folder (ours)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run of a program."""

    state: State
    stdout: bytes
    stderr: bytes
    exit_code: int | None
    cpu_s: float
    wall_s: float
    isolation: str
    """How the program was kept apart: namespaces, landlock, microvm, container, none."""
    detail: str = ""
    """For people: what broke in a ``sandbox_error``, or which limit ended the program."""
    max_rss_mib: float | None = None
    """Most memory that was resident; None where the backend can't tell."""


@runtime_checkable
class Sandbox(Protocol):
    """Runs programs that nobody trusts.

    A backend is an async context manager. Expected outputs never enter it: a program gets its
    inputs, and what it prints is compared outside.
    """

    isolation: str
    """How programs are kept apart here, as in `Outcome`; known once the sandbox is entered."""

    async def __aenter__(self) -> Self:
        """Start whatever is shared by all programs.

        Raises:
            ConfigError: nothing safe works here; says why and the ways out.
        """
        ...

    async def __aexit__(self, *exc: object) -> None:
        """End every program and leave no process, mount or file."""
        ...

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        """Run a Python program once per input, each time in a fresh process.

        Args:
            source: the program's text.
            inputs: what it reads from standard input, one run each.
            limits: what each run may use.

        Returns:
            One outcome per input, in order; an outage is ``sandbox_error``, never a wrong answer.
        """
        ...


def load(spec: str, folder: Path) -> Sandbox:
    """Make the sandbox that a spec names.

    Args:
        spec: ``package.module:Class``, or a name: a file or package in a ``sandboxes`` folder that
            has a class ``Backend``.
        folder: the recipe's folder; ``sandboxes`` is looked for above it.

    Raises:
        ConfigError: it is nowhere; names the places that were looked at.
    """
    if ":" in spec:
        module_name, _, class_name = spec.partition(":")
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            raise ConfigError(
                f"sandbox '{spec}' can't be imported: {error}; put its folder on PYTHONPATH"
            ) from error
    else:
        module, class_name = _by_name(spec, folder), "Backend"
    found = getattr(module, class_name, None)
    if not isinstance(found, type) or not isinstance(found, _HasRun):
        hint = nearest(class_name, vars(module))
        raise ConfigError(
            f"sandbox '{spec}': {module.__name__} has no class {class_name} with run(source, "
            f"inputs, limits);{hint}"
        )
    backend: Any = found()
    return backend


@runtime_checkable
class _HasRun(Protocol):
    run: Any


def places(folder: Path) -> list[Path]:
    """Where ``sandboxes`` is looked for: above the recipe, here, and in the checkout."""
    above = [parent / "sandboxes" for parent in (folder, *folder.parents)]
    first = next((place for place in above if place.is_dir()), folder / "sandboxes")
    checkout = Path(__file__).parents[1] / "sandboxes"
    return list(dict.fromkeys([first, Path.cwd() / "sandboxes", checkout]))


def _by_name(name: str, folder: Path) -> ModuleType:
    looked = places(folder)
    for place in looked:
        for path in (place / f"{name}.py", place / name / "__init__.py"):
            if path.is_file():
                return _from_file(name, path)
    there = sorted(
        child.stem
        for place in looked
        if place.is_dir()
        for child in place.iterdir()
        if not child.name.startswith(("_", "."))
    )
    raise ConfigError(
        f"sandbox '{name}' is not in {', '.join(map(str, looked))};"
        f"{nearest(name, there)} give one of {there or 'none'}, or package.module:Class"
    )


def beside(file: str, name: str) -> ModuleType:
    """Load a package that backends of one folder share.

    Args:
        file: the backend's own ``__file__``.
        name: a folder next to it; an underscore in front keeps it from being taken for a backend.
    """
    return _from_file(name, Path(file).parent / name / "__init__.py")


def _from_file(name: str, path: Path) -> ModuleType:
    own_name = f"vtdata_sandbox_{name}"
    loaded = sys.modules.get(own_name)
    if loaded is not None and loaded.__file__ == str(path):
        return loaded
    for other in [m for m in sys.modules if m == own_name or m.startswith(f"{own_name}.")]:
        del sys.modules[other]  # a package's inner modules belong to the file they came with
    inner = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(own_name, path, submodule_search_locations=inner)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[own_name] = module
    spec.loader.exec_module(module)
    return module
