from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from vtdata.errors import ConfigError
from vtdata.verify.guard import JOBS, ask, ask_many, close
from vtdata.verify.guard.batch import REQUEST_BYTES
from vtdata.verify.guard.child import JOBS_PER_CHILD, VALUE_BYTES
from vtdata.verify.guard.limits import MEMORY_BYTES, let_memory_errors_through

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or needs RLIMIT_AS")


@pytest.mark.parametrize(
    ("job", "args", "reason", "detail"),
    [
        ("echo", [{"a": [1, None, "\ud800 ü"]}], "ok", ""),
        ("sleep", [60], "timeout", ""),
        ("spin", [], "timeout", ""),
        ("c_code", [], "timeout", ""),  # no signal handler would run before it ends
        ("die", ["abort"], "died", "signal SIGABRT"),
        ("die", ["exit"], "died", "exit status 7"),
        ("die", ["sys.exit"], "error", "SystemExit: 3"),
        ("fail", [], "error", "LookupError: no such thing"),
        ("deep", [0], "error", "RecursionError: maximum recursion depth exceeded"),
        ("unwritable", [], "error", "TypeError: Object of type set is not JSON serializable"),
        ("echo", ["x" * VALUE_BYTES], "error", "its value is 65538 bytes, at most 65536"),
        pytest.param("grow", [], "memory", "", marks=linux),
    ],
)
def test_every_end_has_a_name_and_only_ok_has_a_value(
    job: str, args: list[Any], reason: str, detail: str
) -> None:
    begin = time.monotonic()
    limit_s = 5.0 if job in ("grow", "deep") else 0.3
    reply = ask(job, args, limit_s=limit_s)
    assert (reply.reason, reply.detail) == (reason, detail)
    assert reply.value == (args[0] if reason == "ok" else None)
    assert time.monotonic() - begin < limit_s + 5.0
    assert ask("echo", ["next"]).value == "next"


def test_time_is_told_and_the_limit_kept() -> None:
    ask("echo", [1])
    assert 100 <= ask("sleep", [0.1]).ms < 1_000
    begin = time.monotonic()
    assert 200 <= ask("sleep", [60], limit_s=0.2).ms < 1_000
    assert time.monotonic() - begin < 1.0


def test_replies_come_in_the_order_of_the_questions() -> None:
    begin = time.monotonic()
    args = [[0.6], [0.0], [60], [0.3], [0.0]]
    replies = ask_many("sleep", args, limit_s=1.0, children=3)
    assert [r.reason for r in replies] == ["ok", "ok", "timeout", "ok", "ok"]
    assert [round(r.ms, -2) // 100 for r in replies] == [6, 0, 10, 3, 0]
    assert time.monotonic() - begin < 1.9  # side by side


def test_several_children_work_and_one_is_kept() -> None:
    assert len({r.value for r in ask_many("pid", [[]] * 40, children=4)}) == 4
    assert len({r.value for r in ask_many("pid", [[]] * 40)}) == 1
    assert ask_many("echo", []) == []


def test_a_child_does_many_jobs_and_then_gives_way() -> None:
    replies = ask_many("pid", [[]] * (2 * JOBS_PER_CHILD))
    assert 2 <= len({r.value for r in replies}) <= 3


@linux
def test_a_child_that_has_grown_gives_way() -> None:
    small, first = ask("keep", [2**20]).value, ask("keep", [2**20]).value
    assert small == first
    assert ask("keep", [100 * 2**20]).value == small
    assert ask("pid", []).value != small


@pytest.mark.parametrize(
    ("job", "settings", "message"),
    [
        ("no_such", {}, "no job 'no_such'; there are "),
        ("echo", {"limit_s": 0.0}, "need limit_s > 0 and children >= 1, got 0.0 and 1"),
        ("echo", {"children": 0}, "need limit_s > 0 and children >= 1, got 4.0 and 0"),
    ],
)
def test_a_wrong_question_is_refused(job: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ask_many(job, [[1]], **settings)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("target", "detail"),
    [
        ("no.such.module:f", "ModuleNotFoundError: No module named 'no'"),
        ("tests.vtdata.verify.guard.strange:nothing", "AttributeError: module"),
    ],
)
def test_a_job_that_cant_be_imported_is_an_error(
    target: str, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(JOBS, "broken", target)
    reply = ask("broken", [])
    assert (reply.reason, reply.value) == ("error", None)
    assert reply.detail.startswith(detail)
    assert ask("echo", [2]).value == 2


def test_requests_are_long_but_not_endless() -> None:
    assert ask("echo", [len("x" * 10)]).value == 10
    text = "x" * 5_000_000
    assert ask("echo", [text]).detail == "its value is 5000002 bytes, at most 65536"  # it arrived
    reply = ask("echo", ["x" * REQUEST_BYTES])
    assert (reply.reason, reply.value) == ("error", None)
    assert "bytes, at most 16777216" in reply.detail


def test_what_a_job_prints_reaches_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    assert ask("loud", []).value == "said"
    out, err = capfd.readouterr()
    assert out == ""
    assert "to stderr" not in err
    assert "to fd 2" not in err


@linux
def test_a_child_has_limits_and_nothing_of_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    with Path(__file__).open() as file:
        os.set_inheritable(file.fileno(), True)
        close()
        seen = ask("surroundings", []).value
    close()
    assert "SOME_API_KEY" not in seen["environ"]
    assert seen["environ"]["PYTHONHASHSEED"] == "0"
    assert [seen["fds"].pop(fd) for fd in "012"] == ["/dev/null"] * 3
    assert [where.partition(":")[0] for where in seen["fds"].values()] == ["socket"]
    assert seen["core"] == [0, 0]
    assert seen["memory"] == [MEMORY_BYTES, MEMORY_BYTES]
    assert seen["threads"] == 1
    assert not {"pyarrow", "torch", "vtdata.records"} & set(seen["modules"])
    assert seen["hash"] == ask("surroundings", []).value["hash"]


def test_a_swallowed_memory_error_comes_through() -> None:
    source = (
        "def swallow(error):\n"
        "    try:\n"
        "        raise error\n"
        "    except Exception:\n"
        "        return False\n"
    )
    module = type(sys)("swallower.part")
    exec(source, vars(module))
    assert module.swallow(MemoryError()) is False
    sys.modules["swallower.part"] = module
    try:
        let_memory_errors_through(["swallower"])
    finally:
        del sys.modules["swallower.part"]
    for kind in (ValueError, RecursionError, KeyError, OSError):
        assert module.swallow(kind()) is False
    with pytest.raises(MemoryError):
        module.swallow(MemoryError())


def test_a_child_whose_helper_is_gone_runs_out_of_processor_time() -> None:
    code = "from vtdata.verify.guard.limits import *\nconfine(); limit_cpu(0.0)\nwhile True: pass"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == -signal.SIGXCPU
