"""Prompts as data: a YAML file each, with a version and its texts by name.

A step that asks with one names the file in ``files()``, so that its content is in the block's
fingerprint: who changes a word gets other answers, and the run knows it. In a text, ``$name`` is
filled in, once; what is filled in is never looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

import yaml

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file."""

    version: int
    texts: Mapping[str, Template]

    def fill(self, text: str, /, **values: str) -> str:
        """Return a text with its names filled in; one that is missing is a KeyError."""
        return self.texts[text].substitute(values).strip()


def path_of(name: str) -> Path:
    """Return the file of a prompt."""
    return FOLDER / f"{name}.yaml"


@cache
def prompt(name: str) -> Prompt:
    """Read a prompt that ships with vtdata.

    >>> prompt("judge_answers").version
    1
    """
    data = yaml.safe_load(path_of(name).read_text(encoding="utf-8"))
    version = data.pop("version")
    return Prompt(version, {key: Template(text) for key, text in data.items()})
