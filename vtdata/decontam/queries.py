"""Queries and their rollouts as texts to be scanned, and when they were written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vtdata.decontam.dates import UNUSED, effective, iso
from vtdata.decontam.inputs import Side
from vtdata.decontam.releases import released
from vtdata.records import Query, Rollout

JUDGED = ("judged_equal", "judged_different")
"""Reasons of verdicts that a model decided."""


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a query."""

    query: int
    """The query's place in its batch."""
    field: str
    """For people: ``prompt[0].content``, ``rollouts[2].reasoning``."""
    text: str
    whole: bool = True
    """Whether it is a question by itself, which may be another one in other words."""
    rollout: int | None = None
    """Position among the query's rollouts; None in its prompt."""

    @property
    def side(self) -> Side:
        """How it is scanned: suspects are looked for in whole questions alone."""
        return "prompt" if self.whole else "response"


def prompt_texts(query: Query, at: int = 0) -> Iterator[Text]:
    r"""Yield every turn, the last one with its options, and the starter code.

    >>> from vtdata.records import Provenance, Turn, Verifier
    >>> asked = Query("1", [Turn("user", "Which?")], Verifier("choice"), "s", "MIT",
    ...               Provenance("1"), options=["a cat", "a dog"])
    >>> [(text.field, text.text) for text in prompt_texts(asked)]
    [('prompt[0].content with options', 'Which?\na cat\na dog')]
    """
    for number, turn in enumerate(query.prompt):
        name = f"prompt[{number}].content"
        if query.options and number == len(query.prompt) - 1:
            yield Text(at, f"{name} with options", "\n".join([turn.content, *query.options]))
        else:
            yield Text(at, name, turn.content)
    if starter := _starter_code(query):
        yield Text(at, "starter_code", starter, whole=False)


def response_texts(query: Query, at: int = 0) -> Iterator[Text]:
    """Yield the thoughts and answers of all rollouts that are not dropped."""
    for number, rollout in enumerate(query.rollouts):
        if rollout.live:
            for name in ("reasoning", "content"):
                text = getattr(rollout, name)
                if text:
                    yield Text(at, f"rollouts[{number}].{name}", text, whole=False, rollout=number)


def _starter_code(query: Query) -> str | None:
    if query.verifier.kind != "code" or '"starter_code"' not in query.verifier.spec:
        return None
    found = json.loads(query.verifier.spec).get("starter_code")
    return found if isinstance(found, str) else None


def date_of(query: Query, rollout: Rollout | None, released_on: Mapping[str, str]) -> str | None:
    """Return the effective date of a query, or of one of its rollouts; None where unknown.

    Which model expanded a question or judged an answer is written nowhere in a record, so these
    make a row undated.

    Args:
        query: whose source, and transform if it was made from another.
        rollout: the response whose text it is; None for the prompt.
        released_on: release of models, by their id, beside those that are known.
    """
    origins = [iso(origin.date) for origin in query.provenance.origins]
    known = [date for date in origins if date is not None]
    source = iso(query.date)
    if source is None and known and len(known) == len(origins):
        source = max(known)
    expansion = None if query.provenance.transform else UNUSED
    if rollout is None:
        return effective(source, expansion)
    teacher = released_on.get(rollout.model) or released(rollout.model)
    judged = rollout.verdict is not None and rollout.verdict.reason in JUDGED
    return effective(source, expansion, teacher, None if judged else UNUSED)
