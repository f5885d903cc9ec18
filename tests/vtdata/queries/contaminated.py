"""A benchmark of our own, and questions that hold its items, come near them, or don't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.runs import write_rows

CARPETS = (
    "A corridor of length twelve is covered with red and blue carpets so that no two red carpets "
    "touch. Find the number of coverings."
)
BUOY = (
    "A lighthouse flashes every 14 seconds and a buoy blinks every 21 seconds; both start together "
    "at midnight. When do they next flash together?"
)
CHEST = (
    "Seven sailors share a chest of 2401 coins, each taking a seventh of what is left. How many "
    "coins remain in the chest?"
)
FACTOR = "What is the largest prime factor of 1001?"
ITEMS = (CARPETS, BUOY, CHEST, FACTOR)

OTHER_NUMBERS = BUOY.replace("14", "18").replace("21", "30")
IN_OTHER_WORDS = (
    "carpets, red or blue, cover a corridor whose length is twelve. In how many coverings do red "
    "carpets never touch?"
)
UNRELATED = "Name the river that flows through the capital of France."

LOW = {"suspect_similarity": 0.25}
"""A benchmark of four items knows few words, so that similarities are small."""


def write_bench(folder: Path, name: str = "mine") -> str:
    """Write the benchmark and return how a recipe in ``folder`` names it."""
    write_rows(folder / f"{name}.jsonl", [{"question": text} for text in ITEMS])
    return f"./{name}.jsonl"


def register(folder: Path, **entry: Any) -> str:
    """Write the benchmark with an entry in the folder's registry, as ``ours``."""
    write_bench(folder, "ours")
    known = {"ours": {"file": "ours.jsonl", "fields": ["question"], **entry}}
    (folder / "benchmarks.yaml").write_text(yaml.safe_dump(known))
    return "ours"
