from __future__ import annotations

import sys

import pytest

from vtdata.llm import serve

VLLM = ["vllm", "serve", "some/model", "--host", "127.0.0.1", "--port", "8123"]
CPU = [
    sys.executable,
    "-m",
    "vtdata.llm.embedded.server",
    "--model",
    "some/model",
    "--port",
    "8123",
]


@pytest.mark.parametrize(
    ("has_vllm", "has_gpu", "line", "why"),
    [
        (
            True,
            True,
            [*VLLM, "--generation-config", "vllm"],
            "vllm is installed and there is a CUDA GPU",
        ),
        (True, False, CPU, "vllm is installed, but there is no CUDA GPU"),
        (
            False,
            True,
            CPU,
            'there is a CUDA GPU, but vllm is not installed (pip install "vtdata[vllm]")',
        ),
        (False, False, CPU, "there is neither vllm nor a CUDA GPU"),
    ],
)
def test_which_server(*, has_vllm: bool, has_gpu: bool, line: list[str], why: str) -> None:
    assert serve.command("some/model", 8123, has_vllm=has_vllm, has_gpu=has_gpu) == line
    assert serve.choose("some/model", 8123, has_vllm=has_vllm, has_gpu=has_gpu).why == why


def test_the_embedded_model_is_always_served_on_the_cpu() -> None:
    way = serve.choose("embedded", 8000, has_vllm=True, has_gpu=True)
    assert way.command[:3] == [sys.executable, "-m", "vtdata.llm.embedded.server"]
    assert way.why == "the embedded model is made for the CPU server"
