"""The run's books: shared by processes, kept through kills, carried over to the next run."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vtdata.llm.conftest import spec
from vtdata.errors import ConfigError, RunError
from vtdata.llm import Budget, Ledger, Spent

SPEND = """
import sys, time
from pathlib import Path
from vtdata.llm import Ledger
ledger = Ledger(Path(sys.argv[1]), 2)
writer = ledger.writer(int(sys.argv[2]))
for n in range(20000):
    writer.spend(usd=0.001, prompt_tokens=1, completion_tokens=2, requests=1)
print("spent", flush=True)
while ledger.stop_reason() is None:
    time.sleep(0.005)
print(ledger.stop_reason(), flush=True)
time.sleep(60)
"""


def test_two_processes_and_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with Ledger(path, 2, Budget(max_tokens=120_001)) as ledger:
        children = [
            subprocess.Popen(
                [sys.executable, "-c", SPEND, str(path), str(slot)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for slot in (0, 1)
        ]
        out = [child.stdout for child in children if child.stdout]
        assert [pipe.readline() for pipe in out] == ["spent\n"] * 2
        total = ledger.total()
        assert total == Spent(pytest.approx(40.0), 40_000, 80_000, 40_000)
        assert ledger.exceeded() is None
        ledger.writer(0).spend(prompt_tokens=1)
        assert ledger.exceeded() == "budget: used 120001 tokens of max_tokens=120001"
        ledger.request_stop("the budget is used up")
        ledger.request_stop("a second reason")
        assert [pipe.readline() for pipe in out] == ["the budget is used up\n"] * 2
        for child in children:
            child.send_signal(signal.SIGKILL)
            child.communicate()
        assert ledger.total().requests == 40_000
    with Ledger(path, 5) as again:  # the run goes on with other workers
        assert again.total() == Spent(pytest.approx(40.0), 40_001, 80_000, 40_000)
        assert again.stop_reason() is None


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(), None),
        (Budget(max_usd=1.5), "budget: spent 1.5000 USD of max_usd=1.5"),
        (Budget(max_usd=1.51), None),
        (Budget(max_tokens=30), "budget: used 30 tokens of max_tokens=30"),
        (Budget(max_tokens=31), None),
        (Budget(max_requests=3), "budget: sent 3 of max_requests=3"),
        (Budget(max_requests=4), None),
    ],
)
def test_limits(tmp_path: Path, budget: Budget, said: str | None) -> None:
    with Ledger(tmp_path / "ledger", 1, budget) as ledger:
        ledger.writer(0).spend(usd=1.5, prompt_tokens=10, completion_tokens=20, requests=3)
        assert ledger.exceeded() == said


def test_it_pickles_and_keeps_others_out(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with Ledger(path, 2, Budget(max_requests=1)) as ledger:
        ledger.request_stop("x" * 1000 + "ü")
        with pickle.loads(pickle.dumps(ledger)) as copy:
            assert copy.budget == ledger.budget
            assert (copy.stop_reason() or "").startswith("xxx")
        with pytest.raises(RunError, match="in use by a run with 2 workers, asked for 3"):
            Ledger(path, 3)
        with pytest.raises(RunError, match="has slots 0 to 1, asked for 2"):
            ledger.writer(2)


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_text("somebody's notes, of more than a few bytes")
    with pytest.raises(RunError, match="is not a ledger: move it away"):
        Ledger(path, 1)
    assert path.read_text().startswith("somebody's notes")


def test_dollars_need_prices() -> None:
    priced = spec("http://x/v1", price={"input": 1.0, "output": 2.0})
    Budget(max_usd=1.0).check({"a": priced, "e": spec(None, model="embedded")})
    Budget(max_tokens=1).check({"b": spec("http://x/v1")})
    with pytest.raises(ConfigError, match=r"max_usd=1 needs a price for every model, and \['b'\]"):
        Budget(max_usd=1.0).check({"a": priced, "b": spec("http://x/v1")})
