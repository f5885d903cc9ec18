"""What the fake server answers: settings, and completions by hash. See ``tests.fake_server``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import blake2b, shake_256
from typing import Any

from tests.fake_judge import program, said

WORDS = (  # noqa: SIM905
    "amber badger cobalt dolphin ebony falcon green heron indigo jackal khaki lemur magenta newt "
    "ochre otter purple quail red salmon teal urchin violet walrus yellow zebra"
).split()
MARKER = re.compile(r"\[\[([a-z0-9-]+)(?:\*(\d+))?\]\]")
SUM = re.compile(r"(-?\d+)\s*\+\s*(-?\d+)")


@dataclass
class Setting:
    """What the server does; see the module's text."""

    model: str = "fake"
    root: str | None = "/weights/fake"
    fingerprint: str | None = None
    max_model_len: int | None = 32768
    no_models: bool = False
    key: str | None = None
    answer: str = "words"
    """words; sum: solve "a + b" of the last message; judge: see ``tests.fake_judge``;
    code: one of the programs that the question says, in a fence."""
    words: int = 24
    filler_bytes: int = 0
    """So much text without meaning stands before every answer, which no compression makes small."""
    right_share: float = 0.5
    thinks: bool = False
    """Every answer has a thought in tags before it."""
    latency_s: float = 0.0
    tail: float = 0.0
    """Sigma of a lognormal with mean latency_s; 0 is a fixed latency."""
    slow_s: float = 2.0
    retry_after_s: float = 1.0
    max_prompt_chars: int = 1_000_000
    most_at_once: int | None = None
    """More than this in flight get a 429."""
    change_model_after: int | None = None
    ignores: frozenset[str] = frozenset()
    shares: dict[str, float] = field(default_factory=dict)


def digest_of(setting: Setting, body: dict[str, Any]) -> bytes:
    """Hash of what decides the answer."""
    drop = {"stream", "stream_options", "stop", "max_tokens"}
    if "seed" in setting.ignores or body.get("temperature") == 0:
        drop.add("seed")
    if body.get("temperature") == 0 and "temperature" in setting.ignores:
        drop.discard("seed")
    kept = {name: value for name, value in body.items() if name not in drop}
    return blake2b(json.dumps(kept, sort_keys=True).encode(), digest_size=32).digest()


def completion_of(
    setting: Setting, body: dict[str, Any], fault: str | None, key: str, *, changed: bool
) -> dict[str, Any]:
    """The whole answer; ``key`` is the Authorization header, ``changed`` another model's name."""
    digest = digest_of(setting, body)
    words = _words(setting, body, digest)
    text, finish = _shortened(setting, words, body, fault)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    message |= _shaped(text, fault, key)
    finish = FINISHES.get(fault or "", finish)
    usage: dict[str, Any] = {
        "prompt_tokens": sum(len(str(m.get("content")).split()) for m in body["messages"]),
        "completion_tokens": len(text.split()),
    }
    if fault == "usage-extra":
        usage |= {"completion_tokens_details": {"reasoning_tokens": 3}, "cost": 0.5}
    other = fault == "other-model" or changed
    data = {
        "id": digest.hex()[:16],
        "object": "chat.completion",
        "model": "another-model" if other else setting.model,
        "system_fingerprint": "fp_2" if fault == "other-print" else setting.fingerprint,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": None if fault == "usage-null" else usage,
    }
    if fault == "usage-none":
        del data["usage"]
    return data


def _words(setting: Setting, body: dict[str, Any], digest: bytes) -> str:
    found = SUM.search(str(body["messages"][-1].get("content")))
    if setting.answer == "sum" and found:
        a, b = int(found[1]), int(found[2])
        right = fraction_of(digest, "right") < setting.right_share
        c = a + b if right else a + b + 1 + digest[0] % 9
        text = f"{a} + {b} = {c}. The answer is \\boxed{{{c}}}."
    elif setting.answer == "judge":
        text = said(body, digest)
    elif setting.answer == "code":
        text = program(body, digest)
    else:
        chosen = blake2b(digest, digest_size=setting.words % 65 or 64).digest()
        text = " ".join(WORDS[byte % len(WORDS)] for byte in chosen)
    if setting.filler_bytes:
        text = f"{shake_256(digest).hexdigest(setting.filler_bytes // 2)} {text}"
    return f"<think>let me see</think>{text}" if setting.thinks else text


def _shortened(
    setting: Setting, text: str, body: dict[str, Any], fault: str | None
) -> tuple[str, str]:
    finish = "stop"
    words = text.split(" ")
    limit = body.get("max_tokens")
    if limit and len(words) > limit and "max_tokens" not in setting.ignores:
        text, finish = " ".join(words[:limit]), "length"
    if fault in ("length", "think-open"):
        text, finish = " ".join(words[: max(1, len(words) // 2)]), "length"
    if "stop" not in setting.ignores:
        for stop in body.get("stop") or []:
            if stop in text:
                text, finish = text[: text.index(stop)], "stop"
    return text, finish


FINISHES = {
    "weird": "tool_calls",
    "abort": "abort",
    "filter": "content_filter",
    "repetition": "repetition",
}


def _shaped(text: str, fault: str | None, key: str) -> dict[str, Any]:
    """The parts of a message that a fault changes."""
    shapes: dict[str, dict[str, Any]] = {
        "null": {"content": None},
        "empty": {"content": ""},
        "refusal": {"content": None, "refusal": "I can't help with that."},
        "reasoning-content": {"reasoning_content": "I thought in a field."},
        "reasoning": {"reasoning": "I thought in a field.", "reasoning_content": None},
        "think": {"content": f"<think>\nI thought in tags.\n</think>\n\n{text}"},
        "think-closer": {"content": f"I thought unopened.\n</think>\n\n{text}"},
        "think-open": {"content": f"<think>\nI think: {text}"},
        "half-pair": {"content": f"{text} \ud83d"},
        "echo": {"content": f"you sent {key}"},
        "parts": {
            "content": [
                {"type": "thinking", "thinking": "I thought in parts."},
                {"type": "text", "text": text},
            ]
        },
    }
    return shapes.get(fault or "", {})


def fraction_of(digest: bytes, what: str) -> float:
    raw = blake2b(digest + what.encode(), digest_size=8).digest()
    return int.from_bytes(raw) / 2**64


def spelled(value: Any) -> str:
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    if isinstance(value, dict):
        return ",".join(f"{k}={v}" for k, v in value.items())
    return str(value)


def parsed(name: str, text: str) -> Any:
    kind = str(Setting.__dataclass_fields__[name].type)
    if kind.startswith("frozenset"):
        return frozenset(text.split(","))
    if kind.startswith("dict"):
        return {k: float(v) for k, v in (part.rsplit("=", 1) for part in text.split(","))}
    if kind.startswith("bool"):
        return text == "True"
    if text == "None":
        return None
    return int(text) if kind.startswith("int") else float(text) if kind == "float" else text
