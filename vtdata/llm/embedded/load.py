"""Convert a GGUF once, and load a model in well under a second afterwards.

Traps of the conversion: transformers refuses ``save_pretrained`` on a model that came from a GGUF
even when its tensors are dequantized, so the tensors go into a new model whose config lacks
``quantization_config``. Nothing is rounded: the checkpoint is fp32, like the dequantized tensors.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from vtdata.errors import ConfigError
from vtdata.llm.embedded import attention
from vtdata.llm.embedded.weights import converted_folder, model_id, revision_of, source_of

MAX_MODEL_LEN = 4096
"""Longest prompt plus response in tokens, where the model itself allows more: bounds memory."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to serve, and who it is."""

    id: str
    root: str
    revision: str
    net: Any
    tokenizer: Any
    dtype: torch.dtype
    max_model_len: int
    eos: frozenset[int]


def fast_dtype() -> torch.dtype:
    """Return bf16 where the CPU multiplies bf16 in hardware (AVX512-BF16 or AMX), else fp32.

    Measured on SmolLM2-135M, one thread, 32 rows: with AVX512-BF16 bf16 makes 1.3 times the tokens
    of fp32; without it bf16 takes 5 times as long. A timing at start would be noisy, and the
    same machine would then serve different numbers from one day to the next.
    """
    capabilities = torch.cpu.get_capabilities()
    fast = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")
    return torch.bfloat16 if fast else torch.float32


def checkpoint(source: Path) -> Path:
    """Return a transformers folder for a GGUF file or a folder; converts a GGUF the first time.

    Writes the cache folder: a temporary folder, then one rename. Of two processes that convert at
    the same time the second finds the first one's folder there and drops its own.
    """
    if source.is_dir():
        return source
    target = converted_folder(source)
    if (target / "config.json").is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=".converting-"))
    try:
        _convert(source, scratch)
        scratch.rename(target)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _convert(gguf: Path, folder: Path) -> None:
    place = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    quantized = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    settings = quantized.config.to_dict()
    settings.pop("quantization_config", None)
    config = type(quantized.config).from_dict(settings)
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(quantized.state_dict())
    plain.save_pretrained(folder)
    tokenizer: Any = AutoTokenizer.from_pretrained(**place)
    tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        file.chmod(0o644)


def load(model: str, dtype: torch.dtype | None = None) -> Loaded:
    """Load a local model for serving.

    Args:
        model: ``embedded``, a ``.gguf`` file or a transformers folder.
        dtype: None takes ``fast_dtype()``.

    Raises:
        ConfigError: there is no such model, or it has layers without a key-value cache.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    disable_progress_bar()  # a log file is no terminal
    source = source_of(model)
    folder = checkpoint(source)
    dtype = dtype or fast_dtype()
    net = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa")
    net.set_attn_implementation(attention.NAME)  # only now: loading with sdpa checked that it fits
    net.eval()
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    stops = net.generation_config.eos_token_id
    eos = set(stops if isinstance(stops, list) else [stops]) | {tokenizer.eos_token_id}
    return Loaded(
        id=model_id(model),
        root=str(source) if model != "embedded" else "HuggingFaceTB/SmolLM2-135M-Instruct",
        revision=revision_of(source),
        net=net,
        tokenizer=tokenizer,
        dtype=dtype,
        max_model_len=_max_len(model, net.config),
        eos=frozenset(token for token in eos if token is not None),
    )


def _max_len(model: str, config: Any) -> int:
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if kinds - {"full_attention", "sliding_attention"}:
        raise ConfigError(
            f"model '{model}' has layers of kind {sorted(kinds)}; the CPU server knows attention "
            "layers only: serve it with vLLM and put its url into the recipe"
        )
    limits = [MAX_MODEL_LEN, config.max_position_embeddings]
    if window := getattr(config, "sliding_window", None):
        limits.append(window)  # up to here, full attention and the window are the same thing
    return min(limits)
