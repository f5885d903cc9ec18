"""A run made by one Python, rebuilt by another: the same bytes.

``VTDATA_OTHER_PYTHON`` names the other interpreter, in an environment that has vtdata.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake_server import Handle
from tests.runs import environment, shard_bytes

OTHER = os.environ.get("VTDATA_OTHER_PYTHON", "")

pytestmark = pytest.mark.skipif(
    not OTHER, reason="VTDATA_OTHER_PYTHON names no interpreter with vtdata in its environment"
)


def ask_other(*arguments: object, cwd: Path) -> str:
    done = subprocess.run(
        [OTHER, *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_python_rebuilds_the_same_bytes(finished: Path, fake: Handle) -> None:
    program = "import sys; print(sys.version_info[:2])"
    assert ask_other("-c", program, cwd=finished.parent).strip() != str(sys.version_info[:2])
    program = "from vtdata.cli import main; main()"
    told = json.loads(
        ask_other("-c", program, "replay", "run", "--workers", 1, "--json", cwd=finished.parent)
    )
    replayed = {name: hashes["replay"] for name, hashes in told["files"].items()}
    assert replayed == shard_bytes(finished.parent / "run")
    assert fake.counters().get("chat", 0) == 0
