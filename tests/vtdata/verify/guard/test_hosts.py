"""The guard in every kind of host: threads, loops, workers, forks, and hosts that are killed."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.base import PipelineStep

from vtdata.verify import guard
from vtdata.verify.guard import ask, ask_many, client


def helper() -> psutil.Process:
    """The guard's helper, the one child process that runs ``helper.py``."""
    ask("echo", [1])
    return running()


def running() -> psutil.Process:
    children = psutil.Process().children()
    [found] = [p for p in children if any("helper.py" in word for word in p.cmdline())]
    return found


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def gone(pids: list[int], within_s: float = 5.0) -> bool:
    end = time.monotonic() + within_s
    while any(alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(alive(pid) for pid in pids)


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_fifty_kills_leave_no_process_and_no_file() -> None:
    ask("echo", [1])
    me = psutil.Process()
    before = len(me.children(recursive=True)), me.num_fds(), helper().num_fds()
    replies = ask_many("sleep", [[60]] * 50, limit_s=0.01)
    assert [r.reason for r in replies] == ["timeout"] * 50
    assert ask("echo", [1]).value == 1
    assert (len(me.children(recursive=True)), me.num_fds(), helper().num_fds()) == before


def test_close_leaves_nothing_and_the_next_ask_starts_again() -> None:
    me = psutil.Process()
    guard.close()
    before = me.num_fds(), me.children(recursive=True)
    ask_many("echo", [[1]] * 4, children=2)
    assert len(me.children(recursive=True)) == len(before[1]) + 3
    guard.close()
    guard.close()
    assert (me.num_fds(), me.children(recursive=True)) == before


def test_threads_take_turns_and_get_their_own_replies() -> None:
    def talk(n: int) -> list[Any]:
        return [ask("echo", [[n, i]]).value for i in range(20)]

    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(talk, range(6)))
    assert said == [[[n, i] for i in range(20)] for n in range(6)]


def test_a_helper_outlives_the_thread_that_started_it() -> None:
    guard.close()
    pids: list[int] = []
    thread = threading.Thread(target=lambda: pids.append(ask("pid", []).value))
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert ask("pid", []).value == pids[0]


def test_inside_a_running_event_loop() -> None:
    async def main() -> list[str]:
        waiting = asyncio.create_task(asyncio.sleep(0.01, "the loop goes on"))
        here = ask("sleep", [60], limit_s=0.1).reason
        there = await asyncio.to_thread(ask, "echo", ["thread"])
        return [here, there.value, await waiting]

    assert asyncio.run(main()) == ["timeout", "thread", "the loop goes on"]


class Asks(PipelineStep):
    """Writes the child's and its own process id, after a hostile job."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        del data, world_size
        late = ask("math", ["1000000000!", "1"], limit_s=0.3)
        right = ask("math", ["1/2", "0.5"])
        text = f"{late.reason} {right.value['forward']} {os.getpid()}"
        Path(self.folder, str(rank)).write_text(text)
        yield from ()


def test_in_the_workers_of_datatrove(tmp_path: Path) -> None:
    ask("echo", [1])  # the host has a helper of its own, which the workers must leave alone
    out = tmp_path / "out"
    out.mkdir()
    LocalPipelineExecutor(
        [Asks(str(out))],
        tasks=2,
        workers=2,
        logging_dir=str(tmp_path / "logs"),
        skip_completed=False,
    ).run()
    said = [(out / str(rank)).read_text().split() for rank in range(2)]
    assert [words[:2] for words in said] == [["timeout", "True"]] * 2
    workers = {words[2] for words in said}
    assert str(os.getpid()) not in workers
    helpers = [p for p in psutil.process_iter() if "helper.py" in " ".join(words_of(p))]
    assert gone([p.pid for p in helpers if workers & set(words_of(p))])
    assert ask("echo", [2]).value == 2


def _in_a_fork(queue: Any) -> None:
    queue.put((ask("pid", []).value, os.getppid()))
    guard.close()


def test_a_fork_of_the_host_gets_a_helper_of_its_own() -> None:
    mine = ask("pid", []).value
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_in_a_fork, args=(queue,))
    process.start()
    theirs, parent = queue.get(timeout=30)
    process.join(30)
    assert process.exitcode == 0
    assert (parent, theirs != mine) == (os.getpid(), True)
    assert ask("pid", []).value == mine


def test_a_fork_while_another_thread_asks() -> None:
    helper()
    thread = threading.Thread(target=ask, args=("sleep", [0.5]))
    thread.start()
    time.sleep(0.1)
    assert client._state.lock.locked()
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(ask("echo", [7]).value)
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    thread.join()


def test_the_hosts_timer_fires_as_planned() -> None:
    assert ask("math", ["1/2", "0.5"]).value == {"forward": True, "backward": True}
    fired: list[float] = []
    old = signal.signal(signal.SIGALRM, lambda *_: fired.append(time.monotonic()))
    begin = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    try:
        assert ask("math", ["1/2", "0.5"]).reason == "ok"
        assert ask("math", ["1000000000!", "1"], limit_s=1.5).reason == "timeout"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert [0.4 <= at - begin < 1.2 for at in fired] == [True]  # once, while the host waited


def test_an_interrupt_leaves_a_usable_guard() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    old_pids = [helper().pid, ask("pid", []).value]
    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            ask("sleep", [60], limit_s=60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert gone(old_pids)
    assert ask("echo", ["again"]).value == "again"


def test_a_dead_helper_is_replaced() -> None:
    old = helper()
    child = ask("pid", []).value
    old.kill()
    assert gone([old.pid, child])
    assert ask("echo", ["again"]).value == "again"


@pytest.mark.parametrize(("kills", "reason"), [(1, "ok"), (2, "died")])
def test_a_job_is_tried_again_once_when_its_helper_dies(kills: int, reason: str) -> None:
    helper()
    replies: list[guard.Reply] = []
    args = [[1.0], [0.0]]
    thread = threading.Thread(target=lambda: replies.extend(ask_many("sleep", args)))
    thread.start()
    for _ in range(kills):
        time.sleep(0.5)
        found = running()
        found.kill()
        assert gone([found.pid])
    thread.join()
    assert [r.reason for r in replies] == [reason, "ok"]


def test_a_child_that_died_while_idle_blames_no_job() -> None:
    child = ask("pid", []).value
    os.kill(child, signal.SIGKILL)
    time.sleep(0.1)
    assert ask("pid", []).reason == "ok"
    assert ask("pid", []).value != child


HOST = """
from vtdata.verify.guard import JOBS, ask
JOBS["spin"] = "tests.vtdata.verify.guard.strange:spin"
ask("spin", [], limit_s=0.1)
print("warm", flush=True)
ask("spin", [], limit_s=60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_host_that_is_killed_leaves_nothing(how: signal.Signals) -> None:
    root = Path(__file__).parents[4]
    host = subprocess.Popen([sys.executable, "-c", HOST], cwd=root, stdout=subprocess.PIPE)
    with host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"warm\n"
        time.sleep(0.3)  # now the next child spins
        pids = [p.pid for p in psutil.Process(host.pid).children(recursive=True)]
        host.send_signal(how)
    assert len(pids) == 2  # the helper and its child
    assert gone(pids)


def test_nothing_starts_before_the_first_ask() -> None:
    code = (
        "import psutil, sys, vtdata.verify\n"
        "assert not psutil.Process().children()\n"
        "assert 'sympy' not in sys.modules and 'math_verify' not in sys.modules"
    )
    root = Path(__file__).parents[4]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)
