"""With gmpy2 sympy computes in C code that no signal handler interrupts."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

HOST = r"""
import json, sys, time
sys.path.insert(0, sys.argv[1])
from vtdata.verify.guard import JOBS, ask
JOBS["surroundings"] = "tests.vtdata.verify.guard.strange:surroundings"
ask("math", ["1", "1"])
begin = time.monotonic()
late = [ask("math", pair, limit_s=0.5) for pair in (["1000000000!", "1"], [r"\binom{10000000}{5000000}", "1"])]
taken = time.monotonic() - begin
after = ask("math", ["1/2", "0.5"])
seen = ask("surroundings", []).value["modules"]
print(json.dumps([[r.reason for r in late], taken, after.value, "gmpy2" in seen]))
"""


@pytest.fixture(scope="module")
def gmpy2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that gmpy2 can be imported from."""
    found = importlib.util.find_spec("gmpy2")
    if found is not None and found.origin is not None:
        return Path(found.origin).parents[1]
    folder = tmp_path_factory.mktemp("gmpy2")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
    done = subprocess.run(
        [*pip, "--retries=0", "--timeout=10", f"--target={folder}", "gmpy2"],
        capture_output=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        pytest.skip("gmpy2 is neither installed nor does pip find it here")
    return folder


@pytest.mark.network
def test_a_giant_factorial_is_stopped_in_c_code_too(gmpy2: Path) -> None:
    root = Path(__file__).parents[4]
    out = subprocess.run(
        [sys.executable, "-c", HOST, str(gmpy2)],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    reasons, taken, after, loaded = json.loads(out)
    assert loaded  # in the child: it was on the host's path
    assert set(reasons) <= {"timeout", "died", "memory"}
    assert reasons[0] == "timeout"
    assert taken < 3.0
    assert after == {"forward": True, "backward": True}
