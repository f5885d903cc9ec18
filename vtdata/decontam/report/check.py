"""Check an audit card against what it speaks of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import pyarrow.parquet as pq

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.candidate import EVIDENCE
from vtdata.decontam.report.card import (
    CARD_VERSION,
    HashedFile,
    corpus_totals,
    count_hits,
    describe,
    digest_of,
)
from vtdata.decontam.report.markdown import card_markdown
from vtdata.decontam.report.power import Power, as_power, power_data, verdict_sentence
from vtdata.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing in which a card and the world differ, or that nobody looked at."""

    kind: Literal["differs", "missing", "extra", "unchecked"]
    what: str
    said: str
    """What the card says."""
    found: str
    """What is there."""

    @property
    def fails(self) -> bool:
        """Whether the card is wrong; what was not looked at is neither right nor wrong."""
        return self.kind != "unchecked"

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}: the card says {self.said}, found {self.found}"


def verify_card(
    path: Path,
    *,
    corpus: Path | None = None,
    evidence: Path | None = None,
    benchmarks: Mapping[str, Benchmark] | None = None,
) -> list[Finding]:
    """Return every difference between a card and what it speaks of.

    Args:
        path: the card's JSON. The Markdown beside it is compared, too, if there is one.
        corpus: the folder that the card's file names start from, or the one file. Files of the
            same kinds beside them that the card doesn't name are found, too.
        evidence: the evidence's Parquet file.
        benchmarks: by name, loaded by whoever checks.

    Returns:
        Findings; an empty list only if all three were given and everything agrees. What isn't
        given yields an ``unchecked`` finding.

    Raises:
        ConfigError: the card is no JSON, no card, or of another version.
    """
    made = _read(path)
    try:
        findings = [*_itself(path, made)]
        findings += _corpus(made, corpus, evidence) if corpus else [_unchecked("corpus")]
        findings += _evidence(made, evidence) if evidence else [_unchecked("evidence")]
        findings += _benchmarks(made, benchmarks) if benchmarks else [_unchecked("benchmarks")]
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} has not the form of an audit card ({error!r}): ask for the original"
        ) from error
    return findings


def _read(path: Path) -> dict[str, Any]:
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} can't be read as an audit card: {error}") from None
    version = made.get("schema_version") if isinstance(made, dict) else None
    if version != CARD_VERSION:
        raise ConfigError(
            f"{path} has schema_version {version!r} and this vtdata checks {CARD_VERSION}: "
            "give an audit card, or use the version of vtdata that wrote it"
        )
    needed = {"corpus", "benchmarks", "hits", "power", "evidence", "sentence", "digest"}
    if missing := sorted(needed - made.keys()):
        raise ConfigError(f"{path} is no audit card: it lacks {', '.join(missing)}")
    return made


def _itself(path: Path, made: Mapping[str, Any]) -> Iterable[Finding]:
    """The digest, and what the card derives from its own numbers."""
    yield from _differs("digest", made["digest"], digest_of(made))
    totals = corpus_totals(made["corpus"]["files"])
    for name, value in totals.items():
        yield from _differs(f"corpus, {name}", made["corpus"][name], value)
    power: Power | None = None
    if made["power"] is not None:
        power = as_power({side: about["kinds"] for side, about in made["power"].items()})
    if power is not None:
        yield from _differs("power", made["power"], power_data(power))
    sentence = verdict_sentence(made["hits"]["all"], made["hits"]["dropped"], power)
    yield from _differs("sentence", made["sentence"], sentence)
    beside = path.with_suffix(".md")
    if beside.is_file() and beside.read_text(encoding="utf-8") != card_markdown(made):
        yield Finding("differs", f"{beside.name}", "what its JSON says", "other text")


def _corpus(made: Mapping[str, Any], folder: Path, evidence: Path | None) -> Iterable[Finding]:
    files = {file["name"]: file for file in made["corpus"]["files"]}
    if folder.is_file() and len(files) == 1:
        paths = dict.fromkeys(files, folder)
    else:
        paths = {name: folder / name for name in files}
        yield from _extra(paths.values(), folder, evidence, made["evidence"])
    for name, file in files.items():
        if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            yield Finding("differs", f"corpus file '{name}'", "a file of the corpus", "a way out")
            continue
        if not paths[name].is_file():
            yield Finding("missing", f"corpus file '{name}'", file["sha256"], f"no {paths[name]}")
            continue
        yield from _same_file(f"corpus file '{name}'", file, paths[name])


def _extra(
    named: Iterable[Path], folder: Path, evidence: Path | None, own: Mapping[str, Any]
) -> Iterable[Finding]:
    """Files of the corpus's kinds that no audit has seen.

    Beside the card's files they belong to the corpus. In other folders they may be anything, such
    as rejects, other blocks of a run or the evidence store, so they are counted alone.
    """
    paths = list(named)
    known = {path.resolve() for path in (*paths, *([evidence] if evidence else []))}
    suffixes, parents = {path.suffix for path in paths}, {path.parent.resolve() for path in paths}
    elsewhere = []
    for path in sorted(folder.rglob("*")):
        if path.suffix not in suffixes or path.resolve() in known or not path.is_file():
            continue
        if path.name == own["name"] and HashedFile.read(path).sha256 == own["sha256"]:
            continue
        name = str(path.relative_to(folder))
        if path.parent.resolve() in parents:
            yield Finding("extra", f"corpus file '{name}'", "nothing", "a file")
        else:
            elsewhere.append(name)
    if elsewhere:
        found = f"{len(elsewhere)}, the first '{elsewhere[0]}'"
        yield Finding("unchecked", "files in folders that it doesn't name", "nothing", found)


def _same_file(what: str, said: Mapping[str, Any], path: Path) -> Iterable[Finding]:
    found = HashedFile.read(path)
    yield from _differs(f"{what}, sha256", said["sha256"], found.sha256)
    yield from _differs(f"{what}, bytes", said["bytes"], found.bytes)
    if path.suffix == ".parquet" and said["rows"] is not None and said["sha256"] == found.sha256:
        yield from _differs(f"{what}, rows", said["rows"], pq.read_metadata(path).num_rows)


def _evidence(made: Mapping[str, Any], path: Path) -> Iterable[Finding]:
    """The file's hash, the counts, and that its benchmarks are the card's."""
    if not path.is_file():
        yield Finding("missing", "evidence", made["evidence"]["sha256"], f"no {path}")
        return
    yield from _same_file("evidence", made["evidence"], path)
    schema = pq.read_schema(path)
    if missing := [name for name in EVIDENCE.names if name not in schema.names]:
        yield Finding("differs", "evidence, columns", "evidence", f"none of {', '.join(missing)}")
        return
    columns = ["bench", "verdict", "side", "dates", "file", "row", "field", "bench_sha256"]
    table = pq.read_table(path, columns=columns)
    names = [bench["name"] for bench in made["benchmarks"]]
    found = count_hits(table, names)
    for name, value in found.items():
        yield from _differs(f"hits, {name}", made["hits"].get(name), value)
    said = {bench["name"]: bench["sha256"] for bench in made["benchmarks"]}
    pairs = (table.column(name).to_pylist() for name in ("bench", "bench_sha256"))
    for name, digest in sorted(set(zip(*pairs, strict=True))):
        yield from _differs(f"evidence, sha256 of benchmark '{name}'", said.get(name), digest)


def _benchmarks(made: Mapping[str, Any], given: Mapping[str, Benchmark]) -> Iterable[Finding]:
    for said in made["benchmarks"]:
        name = said["name"]
        if name not in given:
            have = ", ".join(given)
            yield Finding("missing", f"benchmark '{name}'", said["sha256"], f"only {have}")
            continue
        found = describe(given[name])
        for key in ("sha256", "items", "revision", "license", "gated", "non_commercial"):
            yield from _differs(f"benchmark '{name}', {key}", said[key], found[key])


def _differs(what: str, said: Any, found: Any) -> Iterable[Finding]:
    if said != found:
        yield Finding("differs", what, str(said), str(found))


def _unchecked(what: str) -> Finding:
    return Finding("unchecked", what, "something", f"nothing to check it by: give {what}")
