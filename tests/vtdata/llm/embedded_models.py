"""Small models on disk for the tests of the embedded server."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason='needs torch: pip install "vtdata[local]"')

from vtdata.llm.embedded.engine import Engine, Row
from vtdata.llm.embedded.sampling import Sampling


def tiny(folder: Path, kind: str = "llama", **settings: Any) -> Path:
    """Save a random model of two layers with the embedded model's tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    from vtdata.llm.embedded.load import checkpoint
    from vtdata.llm.embedded.weights import find_gguf

    tokenizer = AutoTokenizer.from_pretrained(checkpoint(find_gguf()))
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        eos_token_id=2,
        pad_token_id=2,
        bos_token_id=1,
        **settings,
    )
    torch.manual_seed(0)
    net = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():  # sharper than random weights are, so that greedy ties don't occur
        net.get_output_embeddings().weight.mul_(20)
    net.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def decode(engine: Engine, jobs: list[tuple[list[int], Sampling, int]]) -> list[Row]:
    """Submit all jobs at once to a started engine and wait for their rows."""
    left = threading.Semaphore(0)
    rows = [
        Row(prompt, sampling, seed, lambda row, _text: left.release() if row.finish else None)
        for prompt, sampling, seed in jobs
    ]
    for row in rows:
        engine.submit(row)
    for _ in rows:
        assert left.acquire(timeout=60), "the engine did not finish within 60 s"
    return rows
