"""A row of a file or a Hub dataset as a query, by a declared mapping; a bad row as a reject."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

from vtdata.corpora.answers import final_answer
from vtdata.corpora.columns import MISSING, Columns, lookup
from vtdata.corpora.values import (
    AnswerFormat,
    Options,
    answer_of,
    chat_of,
    date_of,
    only_text,
    options_of,
    shown,
    spec_of,
    text_of,
)
from vtdata.errors import ConfigError, DataError
from vtdata.records import (
    VERIFIER_KINDS,
    Origin,
    Provenance,
    Query,
    Turn,
    Verifier,
    query_id,
)
from vtdata.records.query import VerifierKind
from vtdata.steps import Source, step
from vtdata.verify.policy import Policy

NEEDS_ANSWER = frozenset({"math", "choice"})
"""Verifier kinds that compare with a reference answer, so that a row without one is a reject."""

ROW_REASONS = (
    "bad_encoding",
    "bad_options",
    "empty_question",
    "no_answer",
    "no_license",
    "row_too_large",
    "wrong_type",
)


@step
class Mapped(Source):
    """A source whose rows become queries by declared columns.

    Drops: ``empty_question``, ``no_answer`` (the verifier needs one; a solution that ends in none
    included), ``no_license``, ``wrong_type``, ``bad_encoding``, ``bad_options``,
    ``row_too_large``.

    Raises:
        ConfigError: no question or two, no license or two, no way of verifying, a policy that
            there is not.
    """

    columns: Columns
    """Which of the source's columns is which of ours."""
    source: str | None = None
    """Name of the source in every record; None takes the file's name without its ending."""
    license: str | None = None
    """SPDX id of the whole source; mandatory unless a column holds it."""
    date: str | None = None
    """When the source was published: ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``."""
    domain: str = "math"
    """Domain of rows that name none (ours)."""
    subdomain: str | None = None
    """Topic of rows that name none."""
    verifier: VerifierKind | None = None
    """How the answers are checked; None is ``choice`` where options are mapped, else an error."""
    answer_format: AnswerFormat = "letter"
    """How the answer of a choice question names its option: its letter (or the source's own
    label), its index from 0, its number from 1, or its text (ours)."""
    policy: dict[str, str] | None = None
    """Conventions of math answers where they aren't the default ones, by name: percent, units,
    names, order, bases (see ``vtdata.verify.policy``); a row's own spec comes first."""
    max_row_bytes: int = 16 << 20
    """Largest row in bytes (ours); a larger one is rejected and never held in memory."""

    label: ClassVar[str] = ""
    """The step's name in a recipe and in ``dropped_by``."""

    def __post_init__(self) -> None:
        columns = self.columns
        if (columns.question is None) == (columns.messages is None):
            raise ConfigError(
                "columns needs either question or messages, got "
                f"question={columns.question!r} and messages={columns.messages!r}"
            )
        if (self.license is None) == (columns.license is None):
            raise ConfigError(
                "a source needs one license, as license: SPDX-ID or as a column, got "
                f"license={self.license!r} and columns.license={columns.license!r}"
            )
        if self.verifier is not None and columns.verifier is not None:
            raise ConfigError(
                f"the verifier is '{self.verifier}' and also in column '{columns.verifier}'; "
                "keep one of them"
            )
        if self.verifier is None and columns.verifier is None and columns.options is None:
            raise ConfigError(
                f"say how the answers are verified: verifier is one of {', '.join(VERIFIER_KINDS)}"
            )
        Policy.of(self.policy or {})
        if self.max_row_bytes < 1:
            raise ConfigError(f"max_row_bytes must be at least 1, got {self.max_row_bytes}")
        try:
            date_of(self.date)
        except DataError as error:
            raise ConfigError(error.detail) from error

    def query_of(self, row: Mapping[str, Any], source: str, where: str) -> Query:
        """Return the row as a query, already dropped where it can't be one."""
        try:
            return _build(_Row(row, self), source, where)
        except DataError as error:
            return self.reject(source, where, error.reason, error.detail)

    def reject(self, source: str, where: str, reason: str, detail: str) -> Query:
        """Return a row that can't be a query; its id is that of its place.

        Args:
            source: the source's name.
            where: file and row.
            reason: one of the step's ``reasons``.
            detail: what was found.
        """
        place = blake2b(f"{source}\x1f{where}".encode(), digest_size=16).hexdigest()
        license_ = self.license or "unknown"
        query = Query(
            id=place,
            prompt=[Turn("user", "")],
            verifier=Verifier(self.verifier or "none"),
            source=source,
            license=license_,
            provenance=Provenance(place, origins=[Origin(source, where, license_, self.date)]),
            domain=self.domain,
            date=self.date,
        )
        query.drop(self.label, reason, f"{where}: {detail}")
        return query


@dataclass(frozen=True, slots=True)
class _Row:
    """One row with the settings that read it."""

    values: Mapping[str, Any]
    settings: Mapped

    def get(self, field: str) -> Any:
        path = getattr(self.settings.columns, field)
        return MISSING if path is None else lookup(self.values, path)

    def prompt(self) -> tuple[list[Turn], str | None]:
        if self.settings.columns.messages is None:
            question = only_text(self.get("question"), "question")
            return [Turn("user", question)] if question else [], None
        turns, response = chat_of(self.get("messages"))
        return (turns if turns and turns[-1].content.strip() else []), response

    def options(self) -> Options:
        path = self.settings.columns.options
        if not isinstance(path, list):
            return options_of(self.get("options"))
        found = [text_of(lookup(self.values, one), "an option") for one in path]
        return options_of([text for text in found if text is not None])

    def kind(self, options: Options) -> str:
        declared = self.settings.verifier
        if declared is not None:
            return declared
        if self.settings.columns.verifier is None:
            return "choice"
        found = text_of(self.get("verifier"), "verifier") or ("choice" if options.texts else None)
        if found not in VERIFIER_KINDS:
            raise DataError(
                "wrong_type", f"verifier is {shown(found)}, need one of {', '.join(VERIFIER_KINDS)}"
            )
        return str(found)

    def license(self) -> str:
        license_ = self.settings.license or text_of(self.get("license"), "license")
        if license_ is None:
            raise DataError("no_license", f"column '{self.settings.columns.license}' is empty")
        return license_

    def answer(self, kind: str, options: Options, response: str | None) -> str | None:
        answer = answer_of(self.get("answer"))
        solution = only_text(self.get("solution"), "solution") or response
        if answer is None and solution is not None:
            answer = final_answer(solution)
        if answer is None and kind in NEEDS_ANSWER:
            found = "nothing" if solution is None else f"a solution that ends {solution[-60:]!r}"
            raise DataError("no_answer", f"verifier '{kind}' needs an answer, the row has {found}")
        if answer is None or kind != "choice":
            return answer
        return options.letter(answer, self.settings.answer_format)


def _with_policy(spec: str, policy: dict[str, str] | None) -> str:
    """A math verifier's spec with the source's conventions, unless the row has its own."""
    found = json.loads(spec)
    if policy and "policy" not in found:
        return json.dumps({**found, "policy": policy}, ensure_ascii=False, sort_keys=True)
    if found.get("policy") is not None:
        try:
            Policy.of(found["policy"])
        except (ConfigError, TypeError, AttributeError) as error:
            raise DataError("wrong_type", f"spec: {error}") from error
    return spec


def _build(row: _Row, source: str, where: str) -> Query:
    settings = row.settings
    prompt, response = row.prompt()
    if not prompt:
        raise DataError("empty_question", "the question is blank")
    options = row.options()
    kind = row.kind(options)
    starter = only_text(row.get("starter_code"), "starter_code")
    spec = spec_of(row.get("spec"), starter)
    if kind in ("math", "vote"):
        spec = _with_policy(spec, settings.policy)
    own_id = text_of(row.get("id_in_source"), "id_in_source")
    license_ = row.license()
    date = date_of(row.get("date")) or settings.date
    size = sum(len(t.content) for t in prompt) + sum(map(len, options.texts)) + len(spec)
    if size > settings.max_row_bytes:
        raise DataError("row_too_large", f"{size} characters, allowed {settings.max_row_bytes}")
    name = query_id(prompt, options.texts, starter or "")
    origin = Origin(source, f"{where}#{own_id}" if own_id else where, license_, date)
    return Query(
        id=name,
        prompt=prompt,
        verifier=Verifier(kind, spec),
        source=source,
        license=license_,
        provenance=Provenance(name, origins=[origin]),
        options=options.texts,
        answer=row.answer(kind, options, response),
        domain=text_of(row.get("domain"), "domain") or settings.domain,
        subdomain=text_of(row.get("subdomain"), "subdomain") or settings.subdomain,
        date=date,
    )
