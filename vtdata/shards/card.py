"""The dataset card of a shards block: README.md with the Hub's YAML header."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from vtdata.shards.manifest import ShardManifest, read_manifest, write_text
from vtdata.shards.measure import HISTOGRAM
from vtdata.shards.spill import SIDE_SPLIT

_HUB_LICENSES = frozenset(
    {
        "apache-2.0",
        "bsd-2-clause",
        "bsd-3-clause",
        "cc-by-3.0",
        "cc-by-4.0",
        "cc-by-nc-4.0",
        "cc-by-nc-sa-4.0",
        "cc-by-sa-3.0",
        "cc-by-sa-4.0",
        "cc0-1.0",
        "cdla-permissive-2.0",
        "cdla-sharing-1.0",
        "gpl-3.0",
        "mit",
        "odbl",
        "odc-by",
        "unlicense",
    }
)
"""Names that the Hub knows, as far as sources of questions carry them; others become ``other``."""

_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B")
"""The Hub's words for 10**3 rows and each power of ten above."""


def write_card(folder: Path, names: Sequence[str], *, description: str = "") -> Path:
    """Write the card of a block from its sets' manifests, atomically.

    Args:
        folder: the block's folder.
        names: its sets' folders, one or more, in the order of the recipe.
        description: the recipe's; may be empty.

    Raises:
        RunError: a set has no manifest.
    """
    manifests = [read_manifest(folder / name) for name in names]
    path = folder / "README.md"
    header = yaml.safe_dump(_header(manifests), sort_keys=False, allow_unicode=True)
    sections = [
        f"# {manifests[0].recipe}",
        description.strip(),
        _contents(manifests),
        _loading(manifests),
        _steps(manifests[0]),
        _models(manifests),
        _pass_rates(manifests),
        _sources(manifests),
        _benchmarks(manifests[0]),
        _LIMITS,
        _origin(manifests),
    ]
    body = "\n\n".join(section for section in sections if section)
    write_text(path, f"---\n{header}---\n\n{body}\n")
    return path


def _header(manifests: Sequence[ShardManifest]) -> dict[str, Any]:
    found = sorted({name for one in manifests for name in one.totals.licenses})
    named = sorted({_hub_license(name) for name in found})
    rows = sum(one.totals.rows for one in manifests)
    return {
        "license": named[0] if len(named) == 1 else named or ["other"],
        "pretty_name": manifests[0].recipe,
        "task_categories": ["text-generation"],
        "size_categories": [_size(rows)],
        "tags": ["reasoning", "synthetic", "vtdata", *_kinds(manifests)],
        "configs": [config for one in manifests for config in _configs(one)],
    }


def _hub_license(name: str) -> str:
    return name.lower() if name.lower() in _HUB_LICENSES else "other"


def _size(rows: int) -> str:
    """Return the Hub's word for a number of rows.

    >>> _size(999), _size(1000), _size(5 * 10**9)
    ('n<1K', '1K<n<10K', 'n>1B')
    """
    sizes = enumerate(_SIZES, 3)
    return next((word for power, word in sizes if rows < 10**power), "n>1B")


def _kinds(manifests: Sequence[ShardManifest]) -> list[str]:
    return sorted({"sft" if one.kind == "sft" else "reinforcement-learning" for one in manifests})


def _configs(manifest: ShardManifest) -> list[dict[str, Any]]:
    splits = list(dict.fromkeys(entry.split for entry in manifest.files))
    names = [(manifest.name, [split for split in splits if split != SIDE_SPLIT])]
    if SIDE_SPLIT in splits:
        names.append((f"{manifest.name}.{SIDE_SPLIT}", [SIDE_SPLIT]))
    return [
        {
            "config_name": name,
            "data_files": [
                {"split": split, "path": f"{manifest.name}/{split}-*.parquet"} for split in members
            ],
        }
        for name, members in names
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [list(head), ["---"] * len(head), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def _contents(manifests: Sequence[ShardManifest]) -> str:
    rows = []
    for one in manifests:
        totals = one.totals
        splits = ", ".join(f"{split} {count:,}" for split, count in sorted(totals.splits.items()))
        size = sum(entry.bytes for entry in one.files)
        rows.append(
            (
                f"`{one.name}`",
                "one verified response" if one.kind == "sft" else "one query",
                splits,
                totals.unique_prompts,
                totals.n_prompt_tokens if one.kind == "sft" else "-",
                totals.n_completion_tokens if one.kind == "sft" else "-",
                len(one.files),
                f"{size / 2**20:.1f}",
            )
        )
    head = ("set", "a row is", "rows", "unique prompts", "prompt tokens", "completion tokens")
    table = _table((*head, "files", "MiB"), rows)
    counted = manifests[0].tokenizer or "each model's server"
    return f"## What is in it\n\n{table}\n\nTokens as counted by {counted}."


def _loading(manifests: Sequence[ShardManifest]) -> str:
    lines = ["from datasets import load_dataset", ""]
    for one in manifests:
        lines.append(f'ds = load_dataset("PATH_OR_REPO", "{one.name}", split="train")')
    lines += ["", "import polars as pl", ""]
    lines += [f'df = pl.read_parquet("PATH/{one.name}/train-*.parquet")' for one in manifests]
    shell = [
        f"trl {one.kind} --model_name_or_path MODEL --dataset_name PATH --dataset_config {one.name}"
        if one.kind == "sft"
        else f"trl grpo --model_name_or_path MODEL --dataset_name PATH --dataset_config {one.name} "
        "--reward_funcs accuracy_reward"
        for one in manifests
    ]
    python, commands = "\n".join(lines), "\n".join(shell)
    shown = f"## How to load it\n\n```python\n{python}\n```\n\n```sh\n{commands}\n```"
    aside = [one.name for one in manifests if any(e.split == SIDE_SPLIT for e in one.files)]
    return "\n\n".join([shown, *(_side_note(name) for name in aside)])


def _side_note(name: str) -> str:
    return (
        f"A ground truth in `{name}` that begins with `sha256:` stands in `{name}.{SIDE_SPLIT}`, "
        "in the row with that `sha256`: tests too large to be carried along."
    )


def _steps(manifest: ShardManifest) -> str:
    if not manifest.steps:
        return ""
    rows = []
    for step in manifest.steps:
        why = {**step.get("rejected", {}), **step.get("rollouts_dropped", {})}
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(why.items()) if count)
        queries, rollouts = _balance(step, ""), _balance(step, "rollouts_")
        rows.append((step.get("block", ""), step.get("step", ""), *queries, *rollouts, reasons))
    head = ("block", "step", "queries in", "created", "kept", "dropped")
    more = ("rollouts in", "created", "kept", "dropped", "why")
    return f"## What became of it\n\n{_table((*head, *more), rows)}"


def _balance(step: Mapping[str, Any], prefix: str) -> tuple[int, int, int, int]:
    entered, created, kept = (
        int(step.get(f"{prefix}{name}", 0)) for name in ("entered", "created", "kept")
    )
    return entered, created, kept, entered + created - kept


def _models(manifests: Sequence[ShardManifest]) -> str:
    rows: dict[tuple[str, str, str], int] = {}
    for one in manifests:
        for text, count in one.totals.teachers.items():
            teacher = json.loads(text)
            key = (teacher["model"], teacher["revision"], f"`{teacher['sampling']}`")
            rows[key] = rows.get(key, 0) + count
    parts = ["## Models"]
    if manifests[0].models:
        asked = [
            (name, spec.get("model", ""), spec.get("revision", ""), _settings(spec))
            for name, spec in sorted(manifests[0].models.items())
        ]
        parts.append(_table(("asked as", "model", "revision", "settings"), asked))
    if rows:
        wrote = [(*key, rows[key]) for key in sorted(rows)]
        parts.append("Who wrote the responses:")
        parts.append(_table(("model", "revision", "sampling", "rows"), wrote))
    cost = manifests[0].cost_usd
    if cost is not None:
        parts.append(f"The model calls behind it cost {cost:.2f} US dollars.")
    return "\n\n".join(parts) if len(parts) > 1 else ""


def _settings(spec: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in spec.items() if key not in ("model", "revision")}
    return f"`{json.dumps(rest, sort_keys=True)}`"


def _pass_rates(manifests: Sequence[ShardManifest]) -> str:
    rows = [
        (f"`{one.name}`", *(one.totals.pass_rates[bar] for bar in HISTOGRAM))
        for one in manifests
        if one.totals.rollouts
    ]
    if not rows:
        return ""
    cut = "; ".join(
        f"`{one.name}` {one.totals.truncated:,} of {one.totals.rollouts:,} "
        f"({one.totals.truncated / one.totals.rollouts:.1%})"
        for one in manifests
        if one.totals.rollouts
    )
    return (
        "## Pass rates\n\nQueries by right answers over rollouts asked for.\n\n"
        f"{_table(('set', *HISTOGRAM), rows)}\n\nRollouts cut at their token limit: {cut}. In the "
        "table they count as not solved."
    )


def _sources(manifests: Sequence[ShardManifest]) -> str:
    rows = [
        (f"`{one.name}`", what, name, count)
        for one in manifests
        for what, counts in (("source", one.totals.sources), ("license", one.totals.licenses))
        for name, count in sorted(counts.items())
    ]
    table = _table(("set", "", "name", "rows"), rows)
    return (
        f"## Sources and licenses\n\n{table}\n\nEach row names its license; what a model's terms "
        "say about its output comes on top."
    )


def _benchmarks(manifest: ShardManifest) -> str:
    if not manifest.benchmarks:
        return "## Decontamination\n\nNot checked against any benchmark."
    rows = [
        (
            bench["name"],
            (bench["revision"] or "-")[:12],
            bench["sha256"][:12],
            bench["license"] or "unknown",
            _items(bench),
            ", ".join(f"{verdict} {count:,}" for verdict, count in bench["hits"].items()) or "none",
            f"{bench['profile']}, {bench['block']}/{bench['step']}",
        )
        for bench in manifest.benchmarks
    ]
    head = ("benchmark", "revision", "sha256", "license", "items", "hits", "profile, step")
    dropped = list(dict.fromkeys(word for bench in manifest.benchmarks for word in bench["drop"]))
    return (
        f"## Decontamination\n\n{_table(head, rows)}\n\nA hit is a text and an item. Dropped: "
        f"{', '.join(dropped) or 'nothing'}; other classes are reported. No hit means that this "
        "profile found none, not that there is none."
    )


def _items(bench: Mapping[str, Any]) -> str:
    lost = bench["unfindable"]
    return f"{bench['items']:,}" + (f", {lost:,} of them not findable" if lost else "")


_LIMITS = """## Limits

- A response is here because a program or a vote found its answer right. Nobody read its reasoning:
  a right answer may rest on a wrong argument.
- Where `answer_source` is `vote` the answer is a majority's, not a reference's.
- A pass rate of few rollouts is a rough estimate; its counts are in each row.
- Questions come from the sources above and share their errors and their bias."""


def _origin(manifests: Sequence[ShardManifest]) -> str:
    rows = [(f"`{one.name}`", f"`{one.fingerprint}`", one.seed) for one in manifests]
    versions = ", ".join(f"{name} {v}" for name, v in sorted(manifests[0].versions.items()))
    return (
        f"## How it was made\n\n{_table(('set', 'fingerprint', 'seed'), rows)}\n\n"
        f"With {versions}. Each set's `manifest.json` lists its files with rows, bytes and sha256."
    )
