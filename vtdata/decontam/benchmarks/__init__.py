"""Benchmarks as data: a registry of names, and loading by name, file or Hub id.

from vtdata.decontam.benchmarks import load
aime = load("aime24")
mine = load("./my_bench.jsonl")
"""

from __future__ import annotations

from vtdata.decontam.benchmarks.loading import canonical_sha256, load
from vtdata.decontam.benchmarks.registry import Registry

__all__ = ["Registry", "canonical_sha256", "load"]
