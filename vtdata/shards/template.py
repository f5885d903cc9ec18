"""The messages of a shard: the stored prompt, and what only the shard adds to it.

The answer-format instruction and the rendered options belong here and not to the stored question:
baked in, an instruction makes every row of a 10-gram scan a false hit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase

from vtdata.errors import ConfigError
from vtdata.records import VERIFIER_KINDS, Query, Turn
from vtdata.text import nearest
from vtdata.verify import answer_kind

INSTRUCTIONS: dict[str, str] = {
    "math": r"Let's think step by step and output the final answer within \boxed{}.",
    "reasoning_gym": r"Let's think step by step and output the final answer within \boxed{}.",
    "choice": r"Please reason step by step and put the letter of your choice within \boxed{}.",
    "code": "Please reason step by step and give the whole program in one fenced code block.",
}
"""Appended to the last user turn, by the kind of answer (a ``vote`` has choice's where there are
options, else math's). Math: the suffix of the prompts on which
VibeThinker was evaluated (its published evaluation data); the others ours."""

MAX_OPTIONS = len(ascii_uppercase)

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_TAG = re.compile(r"</?think>")


def check_instructions(instruction: Mapping[str, str]) -> None:
    """Raise ConfigError for a kind of verifier that there is not."""
    for kind in instruction:
        if kind not in VERIFIER_KINDS:
            raise ConfigError(
                f"instruction: no verifier kind '{kind}';{nearest(kind, VERIFIER_KINDS)} there is: "
                f"{', '.join(VERIFIER_KINDS)}"
            )


def label(index: int) -> str:
    """Return the letter of an option.

    >>> label(0), label(3)
    ('A', 'D')
    """
    return ascii_uppercase[index]


def render_options(options: list[str]) -> str:
    r"""Return one line per option, lettered unless the options bring their letters along.

    >>> render_options(["red", "blue"])
    'A. red\nB. blue'
    >>> render_options(["(a) red", "(b) blue"])
    '(a) red\n(b) blue'
    """
    letters = [label(index) for index in range(len(options))]
    own = all(
        re.match(rf"\s*[(\[]?{letter}\s*[)\].:、]\s*\S", option, re.IGNORECASE)
        for letter, option in zip(letters, options, strict=True)
    )
    lines = options if own else map(". ".join, zip(letters, options, strict=True))
    return "\n".join(lines)


def without_thoughts(content: str) -> str:
    r"""Return an earlier assistant turn without its thoughts, whole or torn.

    >>> without_thoughts("<think>\nhm\n</think>\n\nIt is 4.")
    'It is 4.'
    >>> without_thoughts("hm</think>It is 4.")
    'It is 4.'
    >>> without_thoughts("It is 4.<think>or")
    'It is 4.'
    """
    said = _THOUGHT.sub("", content).rpartition("</think>")[2].partition("<think>")[0]
    return said.strip() if said != content else content


def prompt_messages(query: Query, instruction: Mapping[str, str]) -> list[dict[str, str]]:
    r"""Return the query's turns as a trainer gets them.

    Args:
        query: its last turn is the user's; at most 26 options.
        instruction: text by kind of verifier, over our own; an empty text adds nothing.

    >>> from vtdata.records import Provenance, Turn, Verifier
    >>> sky = Query("q", [Turn("user", "The sky is")], Verifier("choice"), "ours", "CC0-1.0",
    ...             Provenance("q"), options=["red", "blue"])
    >>> print(prompt_messages(sky, {"choice": "Answer with a letter."})[-1]["content"])
    The sky is
    <BLANKLINE>
    A. red
    B. blue
    <BLANKLINE>
    Answer with a letter.
    """
    parts = [query.question]
    if query.options:
        parts.append(render_options(query.options))
    read_as = answer_kind(query)
    ours = instruction.get(read_as, INSTRUCTIONS.get(read_as, ""))
    asked = instruction.get(query.verifier.kind, ours)
    if asked and asked not in query.question:
        parts.append(asked)
    last = Turn(query.prompt[-1].role, "\n\n".join(parts))
    return [_message(turn) for turn in [*query.prompt[:-1], last]]


def _message(turn: Turn) -> dict[str, str]:
    said = without_thoughts(turn.content) if turn.role == "assistant" else turn.content
    return {"role": turn.role, "content": said}


def assistant_content(reasoning: str | None, content: str) -> str | None:
    r"""Return a response with its reasoning inline, or None where a stray tag is inside.

    Inline, because Qwen2.5's template drops a separate field: the trained text would be the
    answer alone.

    >>> assistant_content("2 and 2", "4")
    '<think>\n2 and 2\n</think>\n\n4'
    >>> assistant_content(" ", "4")
    '4'
    >>> assistant_content("2 and 2</think>", "4") is None
    True
    """
    thought = (reasoning or "").strip()
    if _TAG.search(thought) or _TAG.search(content):
        return None
    return f"<think>\n{thought}\n</think>\n\n{content.strip()}" if thought else content
