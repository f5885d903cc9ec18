r"""What a response says, after its thoughts and without its programs."""

from __future__ import annotations

import re

_OPENERS = (
    "<think>",
    "<thinking>",
    "<thought>",
    "<reasoning>",
    "<seed:think>",
    "[THINK]",
    "◁think▷",
    "<|begin_of_thought|>",
    "<|channel|>analysis",
)
_CLOSERS = (
    "</think>",
    "</thinking>",
    "</thought>",
    "</reasoning>",
    "</seed:think>",
    "[/THINK]",
    "◁/think▷",
    "<|end_of_thought|>",
    "<|channel|>final<|message|>",
)
_BARE_ANALYSIS = re.compile(r"\s*analysis(?=[A-Z])")
_BARE_FINAL = "assistantfinal"
_FENCE = "```"
_PROGRAM = re.compile(
    r"```(?:python3?|py|c|cpp|c\+\+|java|javascript|js|typescript|ts|rust|go|bash|sh|shell|sql"
    r"|r|julia|matlab|mathematica|haskell|sage|tool_code|tool_call)[ \t]*\n.*?(?:```|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TOOL_CALL = re.compile(r"<tool_call>.*?(?:</tool_call>|\Z)", re.DOTALL)
_END_MARK = re.compile(
    r"(?:\s|<\|(?:im_end|eot_id|endoftext|end_of_text|return|end|end_of_solution)\|>|</s>"
    r"|<｜end▁of▁sentence｜>|<end_of_turn>)+\Z"
)
_END_CHARS = 200


def spoken(response: str) -> str | None:
    r"""Return the text after the thoughts, without programs; None where a thought is unfinished.

    The last mark of a thought decides: an opener leaves everything unsaid, a closer starts what
    is said. Programs in fences and tool calls are nothing that is said, nor are end marks.

    Source: the marks of DeepSeek-R1 and Qwen, Magistral, Kimi, Seed-OSS, Sky-T1, and of gpt-oss
    with its channel marks and without.

    >>> spoken("<think>7?</think> It is 8.<|im_end|>")
    ' It is 8.'
    >>> spoken("It is 8. <think> or 9") is None
    True
    """
    text = after_thoughts(response)
    if text is None:
        return None
    if text[-_END_CHARS:].rstrip().endswith(">"):
        end = _END_MARK.search(text, max(0, len(text) - _END_CHARS))
        text = text[: end.start()] if end else text
    return without_programs(text)


def after_thoughts(response: str) -> str | None:
    """Return all that stands after the thoughts; None where a thought is unfinished.

    >>> after_thoughts("<think>7?</think>It is 8."), after_thoughts("It is <think> 9")
    ('It is 8.', None)
    """
    closed = max((at + len(m) for m in _CLOSERS if (at := response.rfind(m)) >= 0), default=0)
    opened = max(response.rfind(m) for m in _OPENERS) + 1
    if _BARE_ANALYSIS.match(response):
        final = response.find(_BARE_FINAL)
        opened, closed = (opened, max(closed, final + len(_BARE_FINAL))) if final >= 0 else (1, 0)
    return None if opened > closed else response[closed:]


def has_marks(text: str) -> bool:
    """Whether a text has any mark of a thought, or of a call to a tool."""
    marks = (*_OPENERS, *_CLOSERS, "<tool_call>")
    return any(mark in text for mark in marks) or bool(_BARE_ANALYSIS.match(text))


def without_programs(text: str) -> str:
    """Take programs in fences and tool calls out; a fence without a language stays."""
    if _FENCE in text:
        text = _PROGRAM.sub("\n", text)
    return _TOOL_CALL.sub("\n", text) if "<tool_call>" in text else text
