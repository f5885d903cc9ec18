"""What an audit is asked for, and what can be refused before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vtdata.decontam.candidate import DROPPED, VERDICTS
from vtdata.decontam.inputs import Shard
from vtdata.decontam.inputs.manifests import is_run, listed
from vtdata.decontam.outputs import check_out
from vtdata.errors import ConfigError
from vtdata.text import nearest

STORE = "decontam"
"""Name of a store's folder where none was given."""
DEFAULT = "evidence"
"""The profile."""
REPORTS = (".html", ".json", ".jsonl", ".parquet")
MARKS = (".json", ".jsonl", ".parquet")


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be audited, and how."""

    inputs: tuple[str, ...]
    against: tuple[str, ...]
    fields: tuple[str, ...] = ()
    """Columns to scan; none: chosen by the schema."""
    profile: str = DEFAULT
    drop: tuple[str, ...] = DROPPED
    """Verdicts that leave the corpus, and that ``--check`` fails on."""
    store: Path | None = None
    """None: inside a run that is audited alone, else beside what is written."""
    report: Path | None = None
    """html, json or parquet, by its ending."""
    out: Path | None = None
    """Folder of a cleaned copy."""
    marks: Path | None = None
    """jsonl or parquet, by its ending."""
    workers: int | None = None
    spread: bool = True
    dry_run: bool = False


def check(request: Request) -> None:
    """Refuse what can't be right whatever the files hold.

    Raises:
        ConfigError: an option is wrong, or the deny set is empty.
    """
    if not request.against:
        raise ConfigError(
            "nothing to audit against: name benchmarks or files with --against; "
            "'vtdata benchmarks list' shows the names"
        )
    if request.workers is not None and request.workers < 1:
        raise ConfigError(f"--workers must be at least 1, got {request.workers}")
    for verdict in request.drop:
        if verdict not in VERDICTS:
            raise ConfigError(
                f"--drop {verdict}: no such class;{nearest(verdict, VERDICTS)} there are "
                f"{', '.join(VERDICTS)}"
            )
    for option, path, endings in (
        ("--report", request.report, REPORTS),
        ("--marks", request.marks, MARKS),
    ):
        if path is not None and path.suffix not in endings:
            raise ConfigError(f"{option} {path}: its ending has to be one of {', '.join(endings)}")


def check_places(request: Request, shards: Sequence[Shard]) -> None:
    """Refuse to write where the corpus lies.

    Raises:
        ConfigError: a folder of the corpus would hold what is written, and be audited with it.
    """
    if request.out is not None:
        check_out(request.out, shards)
    _check_files(request, shards)
    folders = [Path(given) for given in request.inputs if Path(given).is_dir()]
    for folder in folders:
        if listed(folder) is not None:
            continue
        written = {
            "--report": request.report,
            "--marks": request.marks,
            "--out": request.out,
            "--store": store_of(request),
        }
        for option, path in written.items():
            if path is not None and folder.resolve() in (path.resolve(), *path.resolve().parents):
                raise ConfigError(
                    f"{option} {path} lies in {folder}, which is audited, and would be audited "
                    f"with it next time: name a place outside with {option}"
                )


def _check_files(request: Request, shards: Sequence[Shard]) -> None:
    """Refuse to write over what is read, or twice to one file."""
    read = {shard.path.resolve(): "is part of the corpus" for shard in shards if shard.path}
    for word in request.against:
        for path in (Path(word), Path(word.rpartition(":")[0] or word)):
            if path.is_file():
                read[path.resolve()] = "is a benchmark"
    taken = dict(read)
    for option, path in written_files(request):
        if reason := taken.get(path.resolve()):
            raise ConfigError(f"{option} would write {path}, which {reason}: choose another name")
        taken[path.resolve()] = f"{option} writes, too"


def written_files(request: Request) -> list[tuple[str, Path]]:
    """Every file that a report or marks write, with the option that asks for it."""
    found = []
    if request.report is not None:
        beside = (request.report.with_suffix(end) for end in (".parquet", ".card.json", ".card.md"))
        found += [("--report", path) for path in dict.fromkeys([request.report, *beside])]
    if request.marks is not None:
        found.append(("--marks", request.marks))
    return found


def store_of(request: Request) -> Path:
    """Return where evidence is kept."""
    if request.store is not None:
        return request.store
    first = Path(request.inputs[0]) if request.inputs else Path()
    if len(request.inputs) == 1 and is_run(first):
        return first / STORE
    written = request.report or request.out or request.marks
    return (written.parent if written else Path()) / STORE
