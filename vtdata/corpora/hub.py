"""Seeds from datasets on the Hugging Face Hub, streamed at a pinned commit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from vtdata.corpora.columns import all_paths, require, top_level
from vtdata.corpora.parquet import column_paths
from vtdata.corpora.rows import ROW_REASONS, Mapped
from vtdata.errors import ConfigError, InfraError, RunError
from vtdata.records import Query
from vtdata.steps import Context, step

if TYPE_CHECKING:
    from datasets import IterableDataset

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SECRET = re.compile(r"(?<=//)[^/@\s]+(?=@)|(?<=\?)\S+")
"""Credentials in an address, and the signature of one."""


@step
class Hub(Mapped):
    """Read questions from a Hub dataset, or from a local folder in the same layout.

    Nothing is downloaded but what is read, and of Parquet only the mapped columns. Origins are
    ``dataset@commit split:row`` with the number of the file where the split has several, rows
    counted from 0. Rank r of w takes every w-th file, or every w-th row where there are fewer
    files than ranks. A token for private datasets comes from the environment (HF_TOKEN), read by
    ``datasets`` itself.

    Drops: as ``Mapped``.

    Raises:
        ConfigError: no such dataset, commit, config, split or column; a dataset without rows.
        InfraError: the Hub can't be reached.
        RunError: a file of the dataset is corrupt, or is Parquet without rows (datasets 5.2 fails).
    """

    dataset: str
    """``owner/name``, or a folder that starts with ``./``, ``../`` or ``/``."""
    revision: str
    """Commit of the dataset, 40 hexadecimal digits; ``unpinned`` reads whatever is newest."""
    config: str | None = None
    """Name of the dataset's configuration, where it has several."""
    split: str = "train"
    """Name of the split."""

    label: ClassVar[str] = "hub"
    reasons: ClassVar[tuple[str, ...]] = ROW_REASONS

    def __post_init__(self) -> None:
        if self.revision != "unpinned" and not _COMMIT.fullmatch(self.revision):
            raise ConfigError(
                f"revision '{self.revision}' of {self.dataset} is no commit: branches and tags "
                "move; give the 40 digits of the commit, or write unpinned"
            )
        super().__post_init__()

    @property
    def _is_local(self) -> bool:
        return self.dataset.startswith(("./", "../", "/"))

    def files(self, folder: Path) -> list[Path]:
        if not self._is_local:
            return []
        return sorted(path for path in (folder / self.dataset).rglob("*") if path.is_file())

    def open(self, ctx: Context) -> None:
        data = self._load(ctx.folder)
        if data.features is not None:
            there = set(column_paths(data.features.arrow_schema))
            require(self.columns, there, self._shown)
        rows = self._guarded(iter(data), f"{self._shown} {self.split}")
        first = next(rows, None)
        if first is None:
            raise ConfigError(f"{self._shown} has no rows in split '{self.split}'")
        if data.features is None:
            require(self.columns, all_paths(first), self._shown, " in its first row")

    def read(self, ctx: Context) -> Iterator[Query]:
        data = self._load(ctx.folder)
        if data.features is not None:
            data = data.select_columns(top_level(self.columns, data.features))
        num_files = data.num_shards
        by_file = num_files >= ctx.world
        left = ctx.limit
        for file in range(num_files):
            mine = not by_file or file % ctx.world == ctx.rank
            if left == 0 or (left is None and not mine):
                continue
            name = self.split if num_files == 1 else f"{self.split}/{file}"
            shard = data.shard(num_shards=num_files, index=file)
            rows = self._guarded(iter(shard), f"{self._shown} {name}")
            num_rows = 0
            for at, row in enumerate(islice(rows, left)):
                num_rows += 1
                if mine and (by_file or at % ctx.world == ctx.rank):
                    yield self.query_of(
                        row, self.source or self._name, f"{self._shown} {name}:{at}"
                    )
            left = None if left is None else left - num_rows

    @property
    def _name(self) -> str:
        """The source's name where none is declared; shows no folder of the machine."""
        return Path(self.dataset).name if self._is_local else self.dataset

    @property
    def _shown(self) -> str:
        config = f"/{self.config}" if self.config else ""
        if self._is_local or self.revision == "unpinned":
            return f"{self._name}{config}"
        return f"{self._name}{config}@{self.revision[:12]}"

    def _load(self, folder: Path) -> IterableDataset:
        try:
            from datasets import load_dataset
            from huggingface_hub.errors import HfHubHTTPError, HTTPError, LocalEntryNotFoundError
        except ImportError as error:
            raise ConfigError("vtdata.corpora.hub needs datasets: pip install datasets") from error
        path = self.dataset
        if self._is_local:
            path = str(folder / self.dataset)
            if not Path(path).is_dir():
                raise ConfigError(f"{self.dataset} is no folder; it starts at the recipe's folder")
        elif Path(path).exists():
            raise ConfigError(
                f"the current folder holds '{path}', which would be read in place of the Hub's "
                f"dataset; write ./{path} to read it, or run elsewhere"
            )
        revision = None if self._is_local or self.revision == "unpinned" else self.revision
        try:
            return load_dataset(
                path, self.config, split=self.split, streaming=True, revision=revision
            )
        except (LocalEntryNotFoundError, HfHubHTTPError, HTTPError, ConnectionError) as error:
            raise self._unreachable(error) from error
        except StopIteration as error:  # how datasets says that a JSON file has no line
            raise ConfigError(f"{self._shown} has no rows in split '{self.split}'") from error
        except pa.ArrowException as error:
            raise RunError(f"{self._shown} can't be read: {error}") from error
        except (ValueError, FileNotFoundError, RuntimeError) as error:
            raise ConfigError(
                f"{self._shown} can't be read (config {self.config!r}, split '{self.split}', "
                f"revision {self.revision}): {self._without_folder(error, folder)}"
            ) from error
        except OSError as error:
            raise self._unreachable(error) from error

    def _guarded(self, rows: Iterator[Any], where: str) -> Iterator[dict[str, Any]]:
        from datasets.exceptions import DatasetsError
        from huggingface_hub.errors import HTTPError

        for at in itertools.count():
            try:
                row = next(rows, None)
            except (HTTPError, ConnectionError, TimeoutError) as error:
                raise self._unreachable(error) from error
            except (DatasetsError, OSError, RuntimeError, TypeError, ValueError) as error:
                raise RunError(f"{where} can't be read from row {at} on: {error}") from error
            if row is None:
                return
            yield row

    def _unreachable(self, error: Exception) -> InfraError:
        said = _SECRET.sub("...", str(error))
        return InfraError(
            f"{self._shown} can't be fetched ({type(error).__name__}: {said}); check the network, "
            "HF_ENDPOINT and HF_HUB_OFFLINE, and run again"
        )

    def _without_folder(self, error: Exception, folder: Path) -> str:
        return str(error).replace(str(folder / self.dataset), self.dataset)
