"""Which columns are scanned: what the user names, or what is known by its name and shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from vtdata.decontam.inputs.pieces import Field
from vtdata.decontam.inputs.walk import ROLES, is_list, is_text
from vtdata.errors import ConfigError
from vtdata.text import nearest

PROMPTS = (
    "prompt",
    "question",
    "problem",
    "query",
    "instruction",
    "input",
    "text",
    "extra_info.question",
)
"""Columns whose text is a prompt, in order (ours)."""
RESPONSES = (
    "response",
    "responses",
    "completion",
    "completions",
    "output",
    "generation",
    "generations",
    "reasoning",
    "solution",
    "chosen",
    "rejected",
)
"""Columns whose text is a response (ours). ``answer`` and ``reward_model.ground_truth`` aren't
among them: a bare answer is in no way a copy of a question."""
CHATS = ("messages", "conversations")
OURS = ("prompt.content", "rollouts.reasoning", "rollouts.content")
_SPOKEN = ("content", "value")
_NAMES = ("id", "uid", "uuid", "url", "source", "data_source", "license", "language")
"""Text columns that are never the one text of a file."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text column somewhere in a schema."""

    path: str
    spoken: bool
    """Whether a role stands beside it."""


def leaves(schema: pa.Schema) -> list[Leaf]:
    """Return every column that holds text, those inside structs and lists too.

    >>> turn = pa.struct([("role", pa.string()), ("content", pa.string())])
    >>> [leaf.path for leaf in leaves(pa.schema([("n", pa.int8()), ("messages", pa.list_(turn))]))]
    ['messages.role', 'messages.content']
    """
    return [leaf for field in schema for leaf in _leaves(field, "", spoken=False)]


def _leaves(field: pa.Field, above: str, *, spoken: bool) -> Iterator[Leaf]:
    kind, path = field.type, above + field.name
    while is_list(kind):
        kind = kind.value_type
    if is_text(kind):
        yield Leaf(path, spoken and field.name not in ROLES)
    elif pa.types.is_struct(kind):
        inner = {child.name for child in kind}
        for child in kind:
            yield from _leaves(child, f"{path}.", spoken=spoken or bool(inner & set(ROLES)))


def choose(schema: pa.Schema, asked: Sequence[str], shown: str) -> tuple[Field, ...]:
    """Return the columns to scan.

    In this order, the first that is there: our own records (prompt and rollouts); a chat
    (``messages`` or ``conversations``); all of ``PROMPTS`` and ``RESPONSES``, as text or as chat;
    the one text column that there is.

    Args:
        schema: of the file.
        asked: ``--field``, dotted paths; a struct or chat stands for its texts.
        shown: the file, for messages.

    Raises:
        ConfigError: a column that was asked for isn't there or holds no text, or nothing is known.
    """
    there = {leaf.path: leaf for leaf in leaves(schema)}
    if asked:
        return tuple(field for name in asked for field in _asked(name, there, schema, shown))
    if set(OURS) <= there.keys():
        return tuple(_field(path) for path in OURS)
    for names in (CHATS, (*PROMPTS, *RESPONSES)):
        found = [field for name in names for field in _known(name, there)]
        if found:
            return tuple(found)
    texts = [path for path in there if path not in _NAMES and "." not in path]
    if len(texts) == 1:
        return (Field(texts[0], "prompt"),)
    raise ConfigError(
        f"{shown}: nothing to scan is known by its name; text columns are: "
        f"{', '.join(there) or 'none'}; of all columns {', '.join(schema.names) or 'none'}: choose "
        "with --field COLUMN"
    )


def _known(name: str, there: Mapping[str, Leaf]) -> list[Field]:
    if name in there:
        return [_field(name)]
    spoken = [f"{name}.{word}" for word in _SPOKEN]
    return [
        _field(path)
        for path, leaf in there.items()
        if leaf.spoken and any(path == s or path.startswith(f"{s}.text") for s in spoken)
    ]


def _asked(name: str, there: Mapping[str, Leaf], schema: pa.Schema, shown: str) -> list[Field]:
    if "." in name and name in schema.names:
        raise ConfigError(
            f"--field {name}: the name of this column of {shown} has a dot, which stands for a way "
            "into a column: rename it"
        )
    if name in there:
        return [_field(name)]
    if found := _known(name, there):
        return found
    inside = [path for path in there if path.startswith(f"{name}.")]
    if inside:
        return [_field(path) for path in inside if path.rpartition(".")[2] not in ROLES]
    if name in schema.names:
        raise ConfigError(
            f"--field {name}: in {shown} it is {schema.field(name).type}, which holds no "
            f"text; text columns are: {', '.join(there) or 'none'}"
        )
    raise ConfigError(
        f"--field {name}: {shown} has no such column;{nearest(name, there)} text columns are: "
        f"{', '.join(there) or 'none'}"
    )


def _field(path: str) -> Field:
    words = path.split(".")
    response = words[0] in RESPONSES or words[0] == "rollouts" or words[-1] in RESPONSES
    return Field(path, "response" if response else "prompt")


def shown_fields(fields: Sequence[Field]) -> str:
    """Columns as people read them, with their side.

    >>> shown_fields([Field("prompt", "prompt"), Field("rollouts.content", "response")])
    'prompt, rollouts.content (response)'
    """
    return ", ".join(f.path if f.side == "prompt" else f"{f.path} (response)" for f in fields)
