"""The JSON Schema of a recipe, so that an editor completes keys and marks mistakes."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from vtdata.recipe.catalog import ANYWHERE, STEPS, find, lookup, named
from vtdata.recipe.model import From, RecipeModel
from vtdata.steps import Keep, Step

_TESTS = {
    "type": "array",
    "description": "Rows with what must happen to them; `vtdata check` runs them.",
    "items": {
        "type": "object",
        "properties": {"row": {"type": "object"}, "keep": {"type": "boolean"}},
        "required": ["row", "keep"],
        "additionalProperties": False,
    },
}
_USE = {
    "type": "object",
    "properties": {
        "use": {"type": "string", "pattern": r"^[\w.]+:\w+$"},
        "with": {"type": "object"},
        "tests": _TESTS,
    },
    "required": ["use"],
    "additionalProperties": False,
}


def recipe_schema() -> dict[str, Any]:
    """Return the JSON Schema of recipes, one branch per stage and step."""
    schema = RecipeModel.model_json_schema()
    definitions = schema.setdefault("$defs", {})
    patterns: dict[str, Any] = {}
    for name, target in ANYWHERE.items():
        definitions[name] = _settings(find(target), definitions)
    for stage, names in STEPS.items():
        for name in names:
            definitions[f"{stage}.{name}"] = _settings(lookup(stage, name), definitions)
        branches: list[dict[str, Any]] = [{"$ref": "#/$defs/use"}]
        for name in named(stage):
            key = name if name in ANYWHERE else f"{stage}.{name}"
            settings = {"anyOf": [{"$ref": f"#/$defs/{key}"}, {"type": "null"}]}
            branches.append(
                {
                    "type": "object",
                    "properties": {name: settings},
                    "required": [name],
                    "additionalProperties": False,
                }
            )
            if not definitions[key].get("required"):
                branches.append({"const": name})
        patterns[rf"^{stage}(\.[\w-]+)?$"] = {"type": "array", "items": {"anyOf": branches}}
    definitions["use"] = _USE
    definitions["from"] = From.model_json_schema()
    schema["properties"]["stages"]["items"] = {
        "type": "object",
        "properties": {"from": {"$ref": "#/$defs/from"}},
        "patternProperties": patterns,
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "vtdata recipe"
    return schema


def settings_schema(step: type[Step]) -> dict[str, Any]:
    """Return the JSON Schema of a step's settings, inherited ones described as well."""
    settings = TypeAdapter(step).json_schema(ref_template="#/$defs/{model}")
    for name, spec in settings["properties"].items():
        for base in step.__mro__:
            field = getattr(base, "__pydantic_fields__", {}).get(name)
            if field is not None and field.description and "description" not in spec:
                spec["description"] = field.description
    return settings


def _settings(step: type[Step], definitions: dict[str, Any]) -> dict[str, Any]:
    settings = settings_schema(step)
    definitions.update(settings.pop("$defs", {}))
    first = (step.__doc__ or "").strip().splitlines()
    settings["description"] = first[0] if first else ""
    if issubclass(step, Keep):
        settings["properties"]["tests"] = _TESTS
    return settings
