"""PAPER.md's table, made from the code: ``python -m tests.paper_table`` renews it.

A default's source stands in the docstring under its field, in parentheses: a page of a report, or
``ours``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from vtdata.llm.model import ModelSpec
from vtdata.recipe.catalog import ANYWHERE, STEPS, find, lookup
from vtdata.recipe.model import RecipeModel
from vtdata.recipe.schema import settings_schema

PAGE = Path(__file__).parents[1] / "PAPER.md"
BEGIN, END = "<!-- table -->", "<!-- end -->"
_SOURCE = re.compile(r"\(([^()]*(?:\bours\b|\bp\.\s?\d+)[^()]*)\)")


def rows() -> list[tuple[str, str, str]]:
    """Setting, default and source of every number and choice that a recipe can leave out."""
    found = []
    for stage, names in STEPS.items():
        for name in names:
            found += _of(f"{stage}.{name}", settings_schema(lookup(stage, name)))
    for name, target in ANYWHERE.items():
        found += _of(name, settings_schema(find(target)))
    found += _of("models.NAME", ModelSpec.model_json_schema())
    found += _of("recipe", RecipeModel.model_json_schema())
    return found


def _of(owner: str, schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = []
    for key, spec in schema.get("properties", {}).items():
        default = spec.get("default")
        if isinstance(default, bool) or default in (None, "", [], {}):
            continue
        source = _SOURCE.search(" ".join(spec.get("description", "").split()))
        if isinstance(default, int | float) or source:
            found.append((f"{owner}.{key}", repr(default), source[1] if source else "MISSING"))
    return found


def table() -> str:
    lines = ["| setting | default | source |", "|---|---|---|"]
    lines += [f"| `{setting}` | `{default}` | {source} |" for setting, default, source in rows()]
    return "\n".join(lines)


def main() -> None:
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n{table()}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
