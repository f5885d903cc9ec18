"""``vtdata serve``: vLLM where it can run, else our server on the CPU."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

from vtdata.llm.embedded import start
from vtdata.llm.embedded.weights import EMBEDDED

_LIST_GPUS_S = 20.0


@dataclass(frozen=True, slots=True)
class Way:
    """What will run, and why this and not the other."""

    command: list[str]
    why: str


def choose(model: str, port: int, *, has_vllm: bool, has_gpu: bool) -> Way:
    """Return the way a model is served on a machine.

    vLLM gets ``--generation-config vllm``: by default it fills what a request leaves out from the
    model's own generation_config.json, which caps and changes what was asked for.

    >>> choose("Qwen/Qwen3-8B", 8000, has_vllm=True, has_gpu=True).command[:3]
    ['vllm', 'serve', 'Qwen/Qwen3-8B']
    >>> choose("embedded", 8000, has_vllm=True, has_gpu=True).why
    'the embedded model is made for the CPU server'
    """
    if has_vllm and has_gpu and model != EMBEDDED:
        options = ["--host", "127.0.0.1", "--port", str(port), "--generation-config", "vllm"]
        return Way(["vllm", "serve", model, *options], "vllm is installed and there is a CUDA GPU")
    if model == EMBEDDED:
        why = "the embedded model is made for the CPU server"
    elif has_gpu:
        why = 'there is a CUDA GPU, but vllm is not installed (pip install "vtdata[vllm]")'
    elif has_vllm:
        why = "vllm is installed, but there is no CUDA GPU"
    else:
        why = "there is neither vllm nor a CUDA GPU"
    return Way(start.command(model, "--port", str(port)), why)


def command(model: str, port: int, *, has_vllm: bool, has_gpu: bool) -> list[str]:
    """Return the command line that serves a model."""
    return choose(model, port, has_vllm=has_vllm, has_gpu=has_gpu).command


def find_vllm() -> bool:
    """Whether vLLM is installed; it is not imported, which takes seconds."""
    return importlib.util.find_spec("vllm") is not None


def find_gpu() -> bool:
    """Whether the NVIDIA driver lists a GPU."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return False
    try:
        listed = subprocess.run(
            [tool, "-L"], capture_output=True, text=True, timeout=_LIST_GPUS_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return listed.returncode == 0 and "GPU" in listed.stdout


def serve(model: str = EMBEDDED, port: int = 8000) -> int:
    """Serve until interrupted; says on stderr which server it starts and why.

    Args:
        model: ``embedded``, a local folder or file, or with vLLM a name on a hub.
        port: on loopback.

    Returns:
        The server's exit code; 0 after Ctrl-C.

    Raises:
        ConfigError: the CPU server is to be used, and a package or the model is not there.
    """
    way = choose(model, port, has_vllm=find_vllm(), has_gpu=find_gpu())
    on_cpu = way.command[0] == sys.executable
    sys.stderr.write(
        f"serving {model} by {'the CPU server' if on_cpu else 'vLLM'}: {way.why}\n"
        f"its url is http://127.0.0.1:{port}/v1\n"
    )
    if not on_cpu:
        return _wait(way.command, dict(os.environ))
    start.check_installed(model)
    return _wait([*way.command, "--parent", str(os.getpid())], start.environment())


def _wait(line: list[str], env: dict[str, str]) -> int:
    process = subprocess.Popen(line, env=env)
    try:
        return process.wait()
    except KeyboardInterrupt:  # the server got it too, and ends by itself
        process.wait()
        return 0
