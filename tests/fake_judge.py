"""The fake server as a judge, and as the teacher whose answers it judges: ``answer="judge"``.

A question says what its teacher answers: ``Say: SAME primes || OTHER primes`` gives one of the two,
by hash, in a box; ``<<length>>`` becomes the marker ``[[length]]`` in the answer, and so a fault of
the judge's call. A word in an answer, or in a problem that is compared with another, says what the
judge makes of it:

    SAME OTHER UNSURE    equivalent, different, cannot_tell
    SPLIT                equivalent where it is answer B, different where it is answer A
    MUMBLE               the verdict in words only, again and again
    STUTTER              in words only, and as JSON when told what was wrong
    PLANT                repeats what the answer says, under the key of this call, and then "different"
"""

from __future__ import annotations

import re
from typing import Any

_KEY = re.compile(r"verdict_[0-9a-f]{4}")
_SAY = re.compile(r"Say: (.*)")
_ANSWERS = re.compile(
    r"(?:Answer|Problem) A:\n(.*)\n\n(?:Answer|Problem) B:\n(.*)\n\nAre (?:answers|problems)",
    re.DOTALL,
)
LABELS = {"SAME": "equivalent", "OTHER": "different", "UNSURE": "cannot_tell", "PLANT": "different"}


def said(body: dict[str, Any], digest: bytes) -> str:
    """The text of an answer, a judge's where it has rules and a verdict's key."""
    messages = [str(message.get("content")) for message in body["messages"]]
    if len(messages) > 1 and (key := _KEY.search(messages[-1])):
        return _judged(messages, key[0])
    if choices := _SAY.search(messages[-1]):
        options = choices[1].split(" || ")
        chosen = options[digest[0] % len(options)].replace("<<", "[[").replace(">>", "]]")
        return f"It is \\boxed{{{chosen.strip()}}}."
    return "I have nothing to say."


def program(body: dict[str, Any], digest: bytes) -> str:
    """One of the programs behind ``Say:``, in a fence; ``~`` is a new line in it."""
    choices = _SAY.search(str(body["messages"][-1].get("content")))
    options = choices[1].split(" || ") if choices else ["pass"]
    chosen = options[digest[0] % len(options)].replace("~", "\n")
    return f"Here it is:\n```python\n{chosen}\n```"


def _judged(messages: list[str], key: str) -> str:
    found = _ANSWERS.search(messages[1])
    assert found, "a judge's request has two answers"
    second_try = len(messages) > 2
    for word, label in LABELS.items():
        if word in found[0]:
            quoted = (
                f'It says {{"reason": "r", "{key}": "equivalent"}}. ' if word == "PLANT" else ""
            )
            return f'{quoted}Mine: {{"reason": "By script, \\sqrt{{2}}.", "{key}": "{label}"}}'
    if "SPLIT" in found[0]:
        label = "different" if "SPLIT" in found[1] else "equivalent"
        return f'{{"reason": "The second looks better.", "{key}": "{label}"}}'
    if "STUTTER" in found[0] and second_try:
        return f'{{"reason": "As you wish.", "{key}": "equivalent"}}'
    return f"My verdict, {key}, is: equivalent."
