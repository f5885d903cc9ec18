"""The table of step versions: a step's module can't change without somebody looking at its version.

``python -m tests.step_versions`` renews ``step_versions.json`` after the look.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path

from vtdata import verify
from vtdata.corpora.checks import Check
from vtdata.corpora.unite import Unite
from vtdata.recipe.catalog import ANYWHERE, STEPS, find

VERDICTS = "vtdata.verify"
BELOW = {
    "vtdata.queries.decontaminate:Decontaminate": (
        "vtdata.decontam.marks",
        "vtdata.decontam.queries",
    ),
    "vtdata.queries.judge_suspects:JudgeSuspects": (
        "vtdata.decontam.judging",
        "vtdata.decontam.queries",
    ),
}
"""Modules below the stages that a step's rows hang on, too; what scans has a version of its own."""
TABLE = Path(__file__).with_name("step_versions.json")


def targets() -> list[str]:
    """Every step that a recipe can name, those that are always there, and the verifiers."""
    implied = [f"{cls.__module__}:{cls.__qualname__}" for cls in (Unite, Check)]
    named = [target for names in STEPS.values() for target in names.values()]
    return sorted([VERDICTS, *implied, *named, *ANYWHERE.values()])


def verdicts() -> dict[str, object]:
    """The version of the verifiers, and everything that decides a verdict."""
    folder = Path(verify.__file__).parent
    sources = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        sources.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return {"version": verify.VERSION, "sha256": sources.hexdigest()}


def entry(target: str) -> dict[str, object]:
    if target == VERDICTS:
        return verdicts()
    source = b""
    for module in (target.partition(":")[0], *BELOW.get(target, ())):
        spec = importlib.util.find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        source += Path(spec.origin).read_bytes()
    return {"version": find(target).version, "sha256": hashlib.sha256(source).hexdigest()}


def main() -> None:
    table = {target: entry(target) for target in targets()}
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")
    print(f"{TABLE}: {len(table)} steps")


if __name__ == "__main__":
    main()
