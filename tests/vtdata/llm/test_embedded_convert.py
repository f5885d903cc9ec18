from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason='needs torch: pip install "vtdata[local]"')

_PROGRAM = """
from vtdata.llm.embedded.load import checkpoint
from vtdata.llm.embedded.weights import find_gguf
print(checkpoint(find_gguf()))
"""


@pytest.mark.slow
def test_two_processes_convert_at_the_same_time(tmp_path: Path) -> None:
    environment = {**os.environ, "VTDATA_CACHE": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _PROGRAM]
    both = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    folders = {process.communicate(timeout=230)[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert [str(path) for path in (tmp_path / "models").iterdir()] == list(folders)


def test_a_converted_model_loads_quickly() -> None:
    import torch

    from vtdata.llm.embedded.load import load

    load("embedded", torch.float32)  # converts where that was never done, and warms the imports
    start = time.thread_time()
    loaded = load("embedded", torch.float32)
    assert time.thread_time() - start < 2.0  # 0.3 s for the weights, 0.4 s for the tokenizer
    assert sum(p.numel() for p in loaded.net.parameters()) == 134_515_008
    assert "quantization_config" not in loaded.net.config.to_dict()
