"""The e2b backend and e2b's own package against ``fake_e2b.py``; the real service was not asked."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandboxes.fake_e2b import KEY, FakeE2B, MicroVM, install, root_can_isolate
from tests.sandboxes.hostile import LOOKS_AROUND, NETWORK
from vtdata import sandbox
from vtdata.errors import ConfigError, InfraError
from vtdata.sandbox import Limits, Outcome

pytest.importorskip("e2b_code_interpreter", reason='needs e2b: pip install "vtdata[e2b]"')
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(not root_can_isolate(), reason="the fake microVM needs root"),
]

ROOT = Path(__file__).parents[2]
QUICK = Limits(cpu_s=1, wall_s=1)


@pytest.fixture
def e2b(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeE2B]:
    with FakeE2B() as fake:
        install(fake.url, monkeypatch)
        yield fake


def within(work: Callable[[Any], Awaitable[list[Outcome]]]) -> list[Outcome]:
    async def go() -> list[Outcome]:
        async with sandbox.load("e2b", ROOT) as box:
            return await work(box)

    return asyncio.run(go())


def run(source: str, *inputs: bytes, limits: Limits = QUICK) -> list[Outcome]:
    return within(lambda box: box.run(source, inputs, limits))


def test_a_program_costs_five_requests(e2b: FakeE2B) -> None:
    outcomes = run("print(input())", *(b"%d" % n for n in range(20)))
    assert [o.stdout for o in outcomes] == [b"%d\n" % n for n in range(20)]
    once = ["create", "upload", "run", "download", "kill"]
    assert e2b.calls == ["list", *once, *once, "list"]  # the first program is the probe


def test_a_microvm_is_cut_off_and_ends_by_itself(e2b: FakeE2B) -> None:
    run("print(1)", *[b""] * 3, limits=Limits(wall_s=100))
    created = e2b.created[-1]
    assert created["allow_internet_access"] is False
    assert created["templateID"] == "code-interpreter-v1"
    assert created["timeout"] == 3 * 101 + 6 * 60
    assert created.get("envVars", {}) == {}
    assert created.get("autoPause", False) is False


def test_the_template_is_a_setting(e2b: FakeE2B, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTDATA_E2B_TEMPLATE", "mine")
    run("print(1)", b"")
    assert [body["templateID"] for body in e2b.created] == ["mine", "mine"]


def test_runs_share_nothing(e2b: FakeE2B) -> None:
    source = "import os\nprint(os.listdir('.'))\nopen('x', 'w')\nos.chmod('.', 0)"
    assert [o.stdout for o in run(source, b"", b"")] == [b"[]\n"] * 2


def test_the_driver_and_the_other_inputs_are_out_of_reach(e2b: FakeE2B) -> None:
    inputs = [f"a-secret-input-{secrets.token_hex(16)}".encode() for _ in range(2)]
    assert [o.stdout for o in run(LOOKS_AROUND, *inputs)] == [b"True\n"] * 2
    source = f"""
import os
for name in ('job', 'answer', 'driver.py', 'box/new'):
    try:
        open(os.path.join(os.path.dirname(__file__), '..', name), 'ab' if '/' in name else 'rb')
        print('REACHED', name)
    except PermissionError:
        print('blocked')
print(os.getuid() >= {20_000}, os.getgroups())
"""
    assert run(source, b"")[0].stdout == b"blocked\n" * 4 + b"True []\n"


def test_services_of_the_microvm_are_out_of_reach(e2b: FakeE2B) -> None:
    port = e2b.url.rpartition(":")[2]
    [outcome] = run(NETWORK.source, f"{port}\nnobody\n".encode(), limits=NETWORK.limits)
    lines = outcome.stdout.decode().splitlines()
    assert lines[:3] == ["tcp blocked", "udp blocked", "unix blocked"]


ONCE = [
    ("create", "429"),
    ("create", "500"),
    ("create", "503"),
    ("create", "409"),
    ("create", "drop"),
    ("create", "hang"),
    ("create", "late"),
    ("create", "garbage"),
    ("upload", "401"),
    ("upload", "429"),
    ("upload", "502"),
    ("upload", "507"),
    ("upload", "drop"),
    ("upload", "hang"),
    ("upload", "garbage"),
    ("run", "404"),
    ("run", "429"),
    ("run", "502"),
    ("run", "504"),
    ("run", "drop"),
    ("run", "hang"),
    ("run", "dies"),
    ("run", "no_end"),
    ("run", "exit"),
    ("run", "garbage"),
    ("download", "404"),
    ("download", "502"),
    ("download", "drop"),
    ("download", "hang"),
    ("download", "garbage"),
]


@pytest.mark.parametrize(("stage", "kind"), ONCE)
def test_an_outage_is_tried_again_and_never_a_wrong_answer(
    e2b: FakeE2B, monkeypatch: pytest.MonkeyPatch, stage: str, kind: str
) -> None:
    async def work(box: Any) -> list[Outcome]:
        module = sys.modules[type(box).__module__]
        monkeypatch.setattr(module, "CALL_S", 1.0)
        monkeypatch.setattr(module, "DOWNLOAD_S", 1.0)
        before = len(e2b.created)
        e2b.breaks(stage, kind)
        outcomes = await box.run("print(input())", [b"1", b"2"], QUICK)
        # E2b's package repeats a creation by itself where that can help.
        lost = stage == "create" and kind != "late"
        assert len(e2b.created) - before == (1 if lost else 2)
        e2b.breaks(stage, kind, times=99)
        outcomes += await box.run("print(input())", [b"3", b"4"], QUICK)
        e2b.breaks(stage, kind, times=0)
        return outcomes

    outcomes = within(work)
    assert [o.state for o in outcomes] == ["ok", "ok", "sandbox_error", "sandbox_error"]
    assert [o.stdout for o in outcomes] == [b"1\n", b"2\n", b"", b""]
    assert outcomes[2].detail.startswith("e2b ") or "the sandbox" in outcomes[2].detail
    assert KEY not in outcomes[2].detail
    assert e2b.microvms == {}


@pytest.mark.parametrize("kind", ["500", "404", "drop", "hang"])
def test_a_microvm_that_can_not_be_killed_costs_no_outcome(
    e2b: FakeE2B, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async def work(box: Any) -> list[Outcome]:
        monkeypatch.setattr(sys.modules[type(box).__module__], "CALL_S", 1.0)
        e2b.breaks("kill", kind)
        return await box.run("print(input())", [b"1"], QUICK)

    assert [o.stdout for o in within(work)] == [b"1\n"]
    assert e2b.microvms == {}  # the sweep at the end


def test_the_key_stays_in_the_environment(e2b: FakeE2B) -> None:
    async def work(box: Any) -> list[Outcome]:
        assert KEY not in repr(vars(box))
        e2b.breaks("create", "500", times=9)
        return await box.run("print(1)", [b""], QUICK)

    [outcome] = within(work)
    assert "injected, and *** told" in outcome.detail
    assert KEY not in str(e2b.created)


def test_no_key_is_said_before_anything_runs(e2b: FakeE2B, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("E2B_API_KEY")
    with pytest.raises(ConfigError) as caught:
        run("print(1)", b"")
    assert str(caught.value) == (
        "sandbox 'e2b' needs a key: set E2B_API_KEY (https://e2b.dev/dashboard), or choose the "
        "sandbox 'local' or 'container'"
    )
    assert e2b.calls == []


def test_a_wrong_key_is_said_before_anything_runs(
    e2b: FakeE2B, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("E2B_API_KEY", "e2b_wrong")
    with pytest.raises(ConfigError) as caught:
        run("print(1)", b"")
    assert "e2b could not list the microVMs: AuthenticationException: 401" in str(caught.value)
    assert caught.value.__cause__ is None
    assert "e2b_wrong" not in str(caught.value)
    assert e2b.created == []


def test_a_template_that_is_not_there_is_said_before_anything_runs(
    e2b: FakeE2B, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VTDATA_E2B_TEMPLATE", "lost")
    e2b.breaks("create", "404", times=9)
    with pytest.raises(ConfigError, match="can't be used with template lost: e2b could not create"):
        run("print(1)", b"")


def test_an_outage_at_the_start_is_no_fault_of_the_user(e2b: FakeE2B) -> None:
    e2b.breaks("create", "503", times=99)
    with pytest.raises(InfraError, match="ServiceBusyException"):
        run("print(1)", b"")


def test_the_package_is_asked_for(e2b: FakeE2B, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "e2b_code_interpreter", None)
    with pytest.raises(ConfigError, match=r'pip install "vtdata\[e2b\]"'):
        run("print(1)", b"")


def test_leftovers_of_dead_processes_are_killed_at_the_start(e2b: FakeE2B, tmp_path: Path) -> None:
    module = sys.modules[type(sandbox.load("e2b", ROOT)).__module__]
    here = module.jobs.Owner.here()
    dead = f"{here.host}/{here.boot}/999999999/1/aa"
    owners = {"dead": dead, "alive": str(here), "elsewhere": f"x{dead}", "strange": "none"}
    for name, owner in owners.items():
        e2b.microvms[name] = MicroVM(name, {"metadata": {"vtdata_owner": owner}}, tmp_path / name)
    e2b.microvms["unlabelled"] = MicroVM("unlabelled", {"metadata": {}}, tmp_path / "u")
    run("print(1)", b"")
    assert sorted(e2b.microvms) == ["alive", "elsewhere", "strange", "unlabelled"]


def test_cancelling_a_run_kills_its_microvm(e2b: FakeE2B) -> None:
    async def work(box: Any) -> list[Outcome]:
        task = asyncio.create_task(box.run("import time\ntime.sleep(60)", [b""], Limits(wall_s=90)))
        while "run" not in e2b.calls[7:]:
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert e2b.microvms == {}
        return []

    begun = time.monotonic()
    within(work)
    assert time.monotonic() - begun < 20


def test_size_and_pace_are_bounded(e2b: FakeE2B, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTDATA_E2B_CREATES_PER_S", "5")

    async def work(box: Any) -> list[Outcome]:
        begun = time.monotonic()
        source = "import time\ntime.sleep(0.5)"
        many = await asyncio.gather(*[box.run(source, [b""], QUICK) for _ in range(6)])
        assert time.monotonic() - begun > 5 * 0.75 / 5  # six creations have five gaps
        return [outcome for [outcome] in many]

    assert [o.state for o in within(work)] == ["ok"] * 6
    assert e2b.most == 2


def test_many_slow_inputs_are_cut_to_a_microvms_longest_life(e2b: FakeE2B) -> None:
    outcomes = run("print(input())", *(b"%d" % n for n in range(5)), limits=Limits(wall_s=1600))
    assert [o.stdout for o in outcomes] == [b"%d\n" % n for n in range(5)]
    assert len(e2b.created) == 1 + 3  # the probe, then 2 + 2 + 1 inputs
    assert all(body["timeout"] <= 3600 for body in e2b.created)


def test_a_setting_that_is_no_number_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTDATA_E2B_SIZE", "many")
    with pytest.raises(ConfigError, match="VTDATA_E2B_SIZE must be a positive number, got 'many'"):
        sandbox.load("e2b", ROOT)


@pytest.mark.network
@pytest.mark.skipif("E2B_API_KEY" not in os.environ, reason="needs a key of e2b in E2B_API_KEY")
def test_the_real_service_runs_a_program() -> None:
    assert [o.stdout for o in run("print(int(input()) ** 2)", b"3", b"4")] == [b"9\n", b"16\n"]
