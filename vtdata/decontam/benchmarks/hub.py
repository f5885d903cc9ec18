"""Rows of a benchmark on the Hugging Face Hub, or of a folder in the same layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from vtdata.decontam.benchmarks.readers import columns_of, rows_of
from vtdata.decontam.benchmarks.registry import UNPINNED, Entry
from vtdata.errors import ConfigError, InfraError

_SECRET = re.compile(r"(?<=//)[^/@\s]+(?=@)|(?<=\?)\S+")
"""Credentials in an address, and the signature of one."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A split, ready to be read."""

    columns: list[str]
    rows: Callable[[list[str]], Iterator[dict[str, Any]]]
    """Rows with at least these columns; a name that isn't there is left out."""
    revision: str | None
    """The commit that is read; None of a folder."""
    split: str | None


def open_hub(name: str, entry: Entry, folder: Path) -> Opened:
    """Open a dataset with ``datasets``: of the Hub through its cache, of a folder as it lies there.

    A token for private and gated sets comes from the environment (HF_TOKEN).

    Args:
        name: the benchmark's, for messages.
        entry: with ``hub``.
        folder: where ``hub`` starts if it is a relative folder.

    Raises:
        ConfigError: no such dataset, commit, config or split, or no access to it.
        InfraError: the Hub can't be reached.
    """
    try:
        from datasets import get_dataset_split_names, load_dataset
    except ImportError as error:
        raise ConfigError("benchmarks on the Hub need datasets: pip install datasets") from error
    path = _path(entry, folder)
    with _Guard(name, entry, path):
        revision = None if entry.is_local else _commit(entry)
        if entry.files:
            return _open_files(path, entry, revision)
        split = entry.split
        if split is None:
            split = _split(get_dataset_split_names(path, entry.config, revision=revision), name)
        data = load_dataset(
            path, entry.config, split=split, revision=revision, streaming=entry.is_local
        )
        first: dict[str, Any] | None = next(iter(data), None)
    if first is None:
        raise ConfigError(f"{name}: {entry.hub} has no rows in split '{split}'")
    names = list(first)

    def rows(columns: list[str]) -> Iterator[dict[str, Any]]:
        there = [name for name in names if name in columns]
        with _Guard(name, entry, path):
            yield from data.select_columns(there) if there else data

    return Opened(names, rows, revision, split)


def _open_files(path: str, entry: Entry, revision: str | None) -> Opened:
    """Open some files of a repository, which need no table of contents that ``datasets`` reads."""
    from huggingface_hub import hf_hub_download

    local = [Path(path) / file for file in entry.files]
    if revision is not None:
        local = [
            Path(hf_hub_download(path, file, repo_type="dataset", revision=revision))
            for file in entry.files
        ]

    def rows(columns: list[str]) -> Iterator[dict[str, Any]]:
        return (row for file in local for row in rows_of(file, columns))

    return Opened(columns_of(local[0]), rows, revision, entry.split)


def _path(entry: Entry, folder: Path) -> str:
    hub = entry.hub or ""
    if entry.is_local:
        whole = folder / hub
        if not whole.is_dir():
            raise ConfigError(f"{hub} is no folder; it starts at {folder}")
        return str(whole)
    if Path(hub).exists():
        raise ConfigError(
            f"the current folder holds '{hub}', which would be read in place of the Hub's "
            f"dataset; write ./{hub} to read it, or run elsewhere"
        )
    return hub


def _commit(entry: Entry) -> str:
    if entry.revision and entry.revision != UNPINNED:
        return entry.revision
    from huggingface_hub import HfApi

    info = HfApi().dataset_info(entry.hub or "")
    if info.sha is None:
        raise ConfigError(f"{entry.hub}: the Hub names no commit; give one with --revision")
    return info.sha


def _split(names: list[str], name: str) -> str:
    if "test" in names:
        return "test"
    if len(names) == 1:
        return names[0]
    raise ConfigError(f"{name} has the splits {', '.join(names)}: name one with --split")


class _Guard:
    """Turns what ``datasets`` and the Hub's client raise into errors of ours."""

    def __init__(self, name: str, entry: Entry, path: str) -> None:
        self._name, self._entry, self._path = name, entry, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, ConfigError | InfraError):
            return
        from datasets.exceptions import DatasetsError
        from huggingface_hub.errors import (
            GatedRepoError,
            HfHubHTTPError,
            HTTPError,
            LocalEntryNotFoundError,
            RemoteEntryNotFoundError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )

        if isinstance(error, GatedRepoError):
            raise self._closed(error) from error
        absent = RepositoryNotFoundError | RevisionNotFoundError | RemoteEntryNotFoundError
        if isinstance(error, absent):
            raise self._wrong(error) from error
        if isinstance(
            error, LocalEntryNotFoundError | HfHubHTTPError | HTTPError | ConnectionError
        ):
            raise self._unreachable(error) from error
        if isinstance(error, DatasetsError | ValueError | FileNotFoundError | RuntimeError):
            closed = self._entry.gated or "gated" in str(error)
            raise (self._closed(error) if closed else self._wrong(error)) from error
        if isinstance(error, StopIteration | pa.ArrowException | TypeError):
            raise self._wrong(error) from error
        if isinstance(error, OSError):
            raise self._unreachable(error) from error

    def _unreachable(self, error: BaseException) -> InfraError:
        return InfraError(
            f"{self._name}: {self._entry.hub} can't be fetched ({_first_line(error)}); check the "
            f"network, HF_ENDPOINT and HF_HUB_OFFLINE, or lay {self._name}.jsonl into a folder and "
            "name that with --benchmarks DIR or in VTDATA_BENCHMARKS"
        )

    def _closed(self, error: BaseException) -> ConfigError:
        return ConfigError(
            f"{self._name}: {self._entry.hub} is gated ({_first_line(error)}): accept its terms on "
            f"its page and set HF_TOKEN, or lay {self._name}.jsonl into a folder and name that "
            "with --benchmarks DIR or in VTDATA_BENCHMARKS"
        )

    def _wrong(self, error: BaseException) -> ConfigError:
        entry = self._entry
        said = _first_line(error).replace(self._path, entry.hub or "")
        if "scripts are no longer supported" in said:
            said += "; name its data files with --files"
        files = f", files {', '.join(entry.files)}" if entry.files else ""
        return ConfigError(
            f"{self._name}: {entry.hub} can't be read (config {entry.config!r}, split "
            f"{entry.split!r}, revision {entry.revision!r}{files}): {said}"
        )


def _first_line(error: BaseException) -> str:
    text = _SECRET.sub("...", str(error)).strip()
    return f"{type(error).__name__}: {text.splitlines()[0] if text else 'nothing said'}"
