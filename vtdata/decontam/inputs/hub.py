"""Datasets on the Hugging Face Hub, streamed at one commit by ``datasets``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from vtdata.decontam.inputs.fields import choose
from vtdata.decontam.inputs.parquet import arrow_batch, needed
from vtdata.decontam.inputs.pieces import Batch, Field
from vtdata.decontam.inputs.shard import Unit
from vtdata.errors import ConfigError, InfraError, RunError

if TYPE_CHECKING:
    from datasets import IterableDataset

HUB = "hf:"
BATCH_ROWS = 1_000
"""Rows decoded at a time (ours)."""
_NAME = re.compile(r"hf:(?P<name>[^@:]+)(?:@(?P<revision>[^:]+))?(?::(?P<config>.+))?")


@dataclass(frozen=True, slots=True)
class HubShard:
    """One file of one split of a dataset; one unit."""

    dataset: str
    """``owner/name``, or a folder in the same layout that starts with ``./``, ``../`` or ``/``."""
    commit: str | None
    """None for a folder."""
    config: str | None
    split: str
    index: int
    num_shards: int
    fields: tuple[Field, ...]
    schema: pa.Schema

    @property
    def file(self) -> str:
        name = Path(self.dataset).name if self.commit is None else self.dataset
        config = f"/{self.config}" if self.config else ""
        return f"{name}{config}/{self.split}-{self.index:05d}-of-{self.num_shards:05d}.parquet"

    @property
    def path(self) -> Path | None:
        return None

    def digest(self) -> str:
        """Return a hash of the commit and the place in it, or of a folder's files."""
        parts = [self.dataset, self.commit or "", self.config or "", self.split, str(self.index)]
        digest = hashlib.sha256("\x1f".join([*parts, str(self.num_shards)]).encode())
        if self.commit is None:
            for path in sorted(p for p in Path(self.dataset).rglob("*") if p.is_file()):
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()

    def units(self) -> list[Unit]:
        return [Unit(0, self.index, self.index + 1, 0, 0)]

    def batches(self, unit: Unit, fields: Sequence[Field]) -> Iterator[Batch]:
        tops = {path.split(".")[0] for path in needed(fields, self.schema)}
        row = 0
        for table in self._tables(sorted(tops)):
            batch = table.combine_chunks().to_batches()[0]
            yield arrow_batch(batch, fields, np.arange(row, row + table.num_rows, dtype=np.int64))
            row += table.num_rows

    def tables(self) -> Iterator[pa.Table]:
        """Yield all columns, for a cleaned copy."""
        yield from self._tables(None)

    def _tables(self, columns: list[str] | None) -> Iterator[pa.Table]:
        data = load(self.dataset, self.commit, self.config, self.split)
        if columns is not None:
            data = data.select_columns(columns)
        shard = data.shard(num_shards=self.num_shards, index=self.index).with_format("arrow")
        yield from _guarded(shard.iter(batch_size=BATCH_ROWS), self.file)


def hub_shards(given: str, asked: Sequence[str]) -> list[HubShard]:
    """Return the files of all splits of ``hf:owner/name[@revision][:config]``.

    Raises:
        ConfigError: no such dataset, or nothing to scan in it.
        InfraError: the Hub can't be reached.
    """
    match = _NAME.fullmatch(given)
    if match is None:
        raise ConfigError(f"'{given}': write hf:owner/name, hf:owner/name@revision or ...:config")
    name, config = match["name"], match["config"]
    commit = _commit(name, match["revision"])
    shards = []
    for split in _splits(name, commit, config):
        data = load(name, commit, config, split)
        schema = _schema(data, given)
        fields = choose(schema, asked, given)
        shards += [
            HubShard(name, commit, config, split, at, data.num_shards, fields, schema)
            for at in range(data.num_shards)
        ]
    return shards


def is_folder(dataset: str) -> bool:
    """Whether a folder in the Hub's layout is meant, and no dataset on the Hub."""
    return dataset.startswith(("./", "../", "/"))


def load(dataset: str, commit: str | None, config: str | None, split: str) -> IterableDataset:
    """Open a split for streaming.

    Raises:
        ConfigError: it isn't there.
        InfraError: the Hub can't be reached.
    """
    with _Errors(dataset):
        from datasets import load_dataset

        return load_dataset(dataset, config, split=split, streaming=True, revision=commit)


def _splits(dataset: str, commit: str | None, config: str | None) -> list[str]:
    with _Errors(dataset):
        from datasets import get_dataset_split_names

        return list(get_dataset_split_names(dataset, config, revision=commit))


def _commit(dataset: str, revision: str | None) -> str | None:
    """The commit that a branch or tag stands for: keys and evidence never hold what moves."""
    if is_folder(dataset):
        if not Path(dataset).is_dir():
            raise ConfigError(f"hf:{dataset} is no folder")
        return None
    with _Errors(dataset):
        from huggingface_hub import HfApi

        return HfApi().dataset_info(dataset, revision=revision).sha


def _schema(data: IterableDataset, shown: str) -> pa.Schema:
    if data.features is not None:
        return data.features.arrow_schema
    first = next(_guarded(data.with_format("arrow").iter(batch_size=BATCH_ROWS), shown), None)
    if first is None:
        raise ConfigError(f"{shown} has no rows")
    return first.schema


def _guarded(tables: Iterator[Any], shown: str) -> Iterator[pa.Table]:
    rows = iter(tables)
    while True:
        with _Errors(shown, reading=True):
            table = next(rows, None)
        if table is None:
            return
        yield table


class _Errors:
    """Says in our words what the libraries raise."""

    def __init__(self, shown: str, *, reading: bool = False) -> None:
        self._shown, self._reading = shown, reading

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, ConfigError):
            return
        if isinstance(error, ImportError):
            raise ConfigError("hf: inputs need datasets: pip install datasets") from error
        from huggingface_hub.errors import (
            HfHubHTTPError,
            HTTPError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )

        if isinstance(error, RepositoryNotFoundError | RevisionNotFoundError):
            raise ConfigError(f"{self._shown}: the Hub has no such dataset or revision") from error
        away = (HfHubHTTPError, HTTPError, LocalEntryNotFoundError, ConnectionError, TimeoutError)
        if isinstance(error, away):
            raise InfraError(
                f"{self._shown} can't be fetched ({type(error).__name__}); check the network, "
                "HF_TOKEN, HF_ENDPOINT and HF_HUB_OFFLINE, and run again"
            ) from error
        if isinstance(error, (ValueError, OSError, RuntimeError, TypeError, pa.ArrowException)):
            wrong = RunError if self._reading else ConfigError
            raise wrong(f"{self._shown} can't be read: {error}") from error
