"""The client: what is sent, what is not sent again, and when it stops."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fake_server import Handle, start_fake
from tests.vtdata.llm.conftest import ask, client_on, generate, run, spec
from vtdata.errors import ConfigError, RunError, Stopped
from vtdata.llm import Budget, Ledger, open_store
from vtdata.llm.plan import estimate
from vtdata.llm.preflight import Known

ROOT = Path(__file__).parents[3]
PROBES = 6


def test_nothing_is_bought_twice(tmp_path: Path, fake: Handle) -> None:
    asked = [ask(f"{n} + 1") for n in range(20)]
    fake.reset()
    first = generate(tmp_path, spec(fake.url), *asked, *asked)  # the same twice at once
    assert fake.counters()["chat"] == 20 + PROBES
    second = generate(tmp_path, spec(fake.url, concurrency=3), *asked)
    assert fake.counters()["chat"] == 20 + PROBES  # not even a probe
    assert [g.content for g in second] == [g.content for g in first[:20]]
    assert all(g.cached for g in second)


def test_another_seed_or_setting_is_another_request(tmp_path: Path, fake: Handle) -> None:
    generate(tmp_path, spec(fake.url), *(ask("1 + 1", seed=n) for n in range(8)))
    fake.reset()
    generate(tmp_path, spec(fake.url), *(ask("1 + 1", seed=n) for n in range(16)))
    assert fake.counters()["chat"] == 8 + PROBES  # exactly eight more
    for changed in ({"temperature": 0.5}, {"revision": "b"}, {"max_tokens": 65}):
        (got,) = generate(tmp_path, spec(fake.url, **changed), ask("1 + 1"))
        assert not got.cached


def test_the_store_alone_answers_offline(tmp_path: Path, fake: Handle) -> None:
    model = spec(fake.url, attempts=1)
    asked = [ask("1 + 1"), ask("[[500]] 1 + 1")]
    bought = generate(tmp_path, model, *asked)
    fake.reset()
    replayed = generate(tmp_path, spec(None), *asked, offline=True, read_only=True)
    assert [(g.state, g.content, g.error) for g in replayed] == [
        (g.state, g.content, g.error) for g in bought
    ]
    with pytest.raises(RunError, match="the store holds no answer to request"):
        generate(tmp_path, spec(None), ask("2 + 2"), offline=True, read_only=True)
    assert "chat" not in fake.counters()


def test_a_budget_is_overshot_by_what_is_in_flight_at_most(tmp_path: Path) -> None:
    async def work() -> None:
        with start_fake(latency_s=0.02) as fake:
            model = spec(fake.url, concurrency=8)
            async with client_on(tmp_path, model, budget=Budget(max_tokens=3000)) as client:
                calls = [client.generate(ask(f"{n}")) for n in range(400)]
                got = await asyncio.gather(*calls, return_exceptions=True)
                stopped = [g for g in got if isinstance(g, Stopped)]
                assert str(stopped[0]).startswith("budget: used 3")
                total = client._ledger.total()
                used = total.prompt_tokens + total.completion_tokens
                assert 3000 <= used <= 3000 + 8 * 25
                assert len(got) - len(stopped) == client.stats()["m"]["sent"]

    run(work)


def test_a_request_limit_is_exact_and_belongs_to_the_run(tmp_path: Path, fake: Handle) -> None:
    asked = [ask(f"{n} + 7") for n in range(10)]
    fake.reset()
    for limit, sent in ((4, 4 + PROBES), (4, 4 + PROBES), (6, 6 + 2 * PROBES)):
        with pytest.raises(Stopped, match=f"budget: sent {limit} of max_requests={limit}"):
            generate(tmp_path, spec(fake.url), *asked, budget=Budget(max_requests=limit))
        assert fake.counters()["chat"] == sent


WORKER = """
import asyncio, sys
from pathlib import Path
from tests.vtdata.llm.conftest import ask, spec
from vtdata.errors import Stopped
from vtdata.llm import Budget, Client, Ledger, open_store

async def main(folder, url, worker):
    ranges = range(worker * 32, worker * 32 + 32)
    ledger = Ledger(folder / "ledger", 2, Budget(max_requests=100))
    with open_store(folder / "store", ranges) as store:
        options = {"ledger": ledger, "workers": 2, "worker": worker}
        async with Client({"m": spec(url, concurrency=8)}, store, **options) as client:
            calls = [client.generate(ask(f"{worker} {n}", bucket=512 * worker)) for n in range(200)]
            got = await asyncio.gather(*calls, return_exceptions=True)
    print(sum(isinstance(g, Stopped) for g in got))

asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
"""


def test_two_workers_share_budget_and_concurrency(tmp_path: Path) -> None:
    with start_fake(latency_s=0.05) as fake, Ledger(tmp_path / "ledger", 2) as ledger:
        command = [sys.executable, "-c", WORKER, str(tmp_path), fake.url]
        workers = [
            subprocess.Popen([*command, str(n)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
            for n in (0, 1)
        ]
        stopped = [int(worker.communicate()[0]) for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0]
        sent = 400 - sum(stopped)
        assert 100 <= sent <= 100 + 8
        assert ledger.total().requests == sent
        assert fake.counters()["chat"] == sent + 2 * PROBES
        assert fake.counters()["most_in_flight"] <= 8 + 2 * PROBES


def test_asked_to_stop_it_sends_nothing_more_and_keeps_what_is_in_flight(tmp_path: Path) -> None:
    asked_to_stop = False

    async def work() -> None:
        nonlocal asked_to_stop
        with start_fake(latency_s=0.3) as fake:
            options = {"stopping": lambda: asked_to_stop}
            async with client_on(tmp_path, spec(fake.url), **options) as client:
                await client.generate(ask("first"))
                second = asyncio.ensure_future(client.generate(ask("second")))
                await asyncio.sleep(0.1)
                asked_to_stop = True
                with pytest.raises(Stopped, match="the run was asked to end"):
                    await client.generate(ask("third"))
                second.cancel()  # its caller gives up; what it asked for is waited for
        with open_store(tmp_path / "store", range(64)) as store:
            assert store.count() == 2  # the second was in flight

    run(work)


def test_who_gives_up_does_not_lose_what_was_bought(tmp_path: Path) -> None:
    async def work() -> None:
        with start_fake(latency_s=0.2) as fake:
            async with client_on(tmp_path, spec(fake.url)) as client:
                await client.generate(ask("warm"))
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(client.generate(ask("x")), 0.05)
                await asyncio.sleep(0.5)
                assert (await client.generate(ask("x"))).cached

    run(work)


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.vtdata.llm.conftest import ask, client_on, spec

async def main():
    async with client_on(Path(sys.argv[1]), spec(sys.argv[2], concurrency=8)) as client:
        await asyncio.gather(*(client.generate(ask(f"question {n}")) for n in range(2000)))

asyncio.run(main())
"""


def test_after_sigkill_only_what_was_in_flight_is_sent_again(tmp_path: Path) -> None:
    with start_fake(latency_s=0.02) as fake:
        folder = tmp_path / "run"
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(folder), fake.url], cwd=ROOT)
        deadline = time.monotonic() + 60
        while fake.counters().get("chat", 0) < 200:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait()
        sent = fake.counters()["chat"] - PROBES
        with open_store(folder / "store", range(64)) as store:
            kept = store.count()
        assert sent - 8 <= kept + 64  # answered, but not yet committed
        fake.reset()
        asked = [ask(f"question {n}") for n in range(600)]
        got = generate(folder, spec(fake.url), *asked)
        assert fake.counters()["chat"] == 600 - kept + PROBES
        fresh = generate(tmp_path / "other", spec(fake.url), *asked)
        assert [g.content for g in got] == [g.content for g in fresh]  # as without the kill


def test_a_plan_counts_what_will_be_sent(tmp_path: Path, fake: Handle) -> None:
    model = spec(fake.url, price={"input": 1.0, "output": 10.0})
    asked = [ask(f"{n} + 5") for n in range(30)]
    generate(tmp_path, model, *asked[:10])
    with open_store(tmp_path / "store", range(64), read_only=True) as store:
        plan = estimate([*asked, *asked], {"m": model, "unused": model}, store)
    (m,) = plan.models
    assert (m.requests, m.stored, m.to_send, plan.to_send) == (30, 10, 20, 20)
    assert m.most_completion_tokens == 20 * 64
    assert m.mean_completion_tokens == 9  # "5 + 5 = 10. The answer is \boxed{10}."
    assert m.usd_expected == pytest.approx((m.prompt_tokens + 20 * 9 * 10) / 1e6)
    assert "30 requests, 10 in the store, 20 to send" in plan.lines()[0]
    fake.reset()
    generate(tmp_path, model, *asked)
    assert fake.counters()["chat"] == plan.to_send + PROBES
    assert estimate(asked, {"m": model}, None).to_send == 30


def test_several_urls_share_the_work_and_a_dead_one_is_left_alone(tmp_path: Path) -> None:
    async def work() -> None:
        with start_fake(latency_s=0.02) as a, start_fake(latency_s=0.02) as b:
            model = spec([a.url, b.url, "http://127.0.0.1:9/v1"], concurrency=8)
            async with client_on(tmp_path, model) as client:
                got = await asyncio.gather(*(client.generate(ask(f"{n}")) for n in range(100)))
                assert {g.state for g in got} == {"ok"}
                counts = [fake.counters()["chat"] for fake in (a, b)]
                assert min(counts) > 25
                assert client.stats()["m"]["errors"]["Unreachable"] < 30

    run(work)


def test_a_file_of_urls_is_read_again(tmp_path: Path) -> None:
    async def work() -> None:
        with start_fake() as a, start_fake() as b:
            urls = tmp_path / "urls"
            urls.write_text(f"# servers\n{a.url}\n\n")
            async with client_on(tmp_path, spec("file:urls"), folder=tmp_path) as client:
                await client.generate(ask("one"))
                urls.write_text(f"{b.url}/\n")
                await asyncio.sleep(0.05)
                await client.generate(ask("two"))
                urls.unlink()  # being written anew: the last ones stay
                await asyncio.sleep(0.05)
                await client.generate(ask("three"))
                assert (a.counters()["chat"], b.counters()["chat"]) == (1 + PROBES, 2)

    run(work)


@pytest.mark.parametrize(
    ("ignored", "name"),
    [(None, None), *((n, n) for n in ("seed", "temperature", "stop", "max_tokens"))],
)
def test_the_preflight_finds_what_a_server_ignores(
    tmp_path: Path, ignored: str | None, name: str | None
) -> None:
    async def work() -> None:
        with start_fake(ignores=frozenset({ignored} - {None}), words=50) as fake:
            async with client_on(tmp_path, spec(fake.url)) as client:
                await client.generate(ask("hello"))
                stats = client.stats()["m"]
                found = stats["preflight"]
                for what in ("seed", "temperature", "stop", "max_tokens"):
                    assert found[what] == ("ignored" if what == name else "honored"), what
                assert (found["served"], found["context"]) == ("fake", 32768)
                assert (found["calls"], stats["sent"]) == (PROBES, 1)
                assert fake.counters()["chat"] == PROBES + 1

    run(work)


def test_a_server_without_a_list_of_models_is_tolerated_with_a_note(tmp_path: Path) -> None:
    async def work() -> None:
        with start_fake(no_models=True) as fake:
            async with client_on(tmp_path, spec(fake.url)) as client:
                assert (await client.generate(ask("hello"))).state == "ok"
                notes = client.stats()["m"]["preflight"]["notes"]
                assert notes == [
                    "the server has no GET /v1/models: its identity and context are not known"
                ]

    run(work)


def test_max_tokens_that_cannot_fit_is_said_before_anything_is_refused(tmp_path: Path) -> None:
    with start_fake(max_model_len=4096) as fake:
        with pytest.raises(ConfigError, match="max_tokens=4096 leaves no room for a prompt in the"):
            generate(tmp_path, spec(fake.url, max_tokens=4096), ask("hello"))
        assert "chat" not in fake.counters()


def test_a_form_that_the_server_refuses_ends_the_run(tmp_path: Path) -> None:
    with (
        start_fake(max_prompt_chars=3) as fake,
        pytest.raises(ConfigError, match="it refuses the form of our requests"),
    ):
        generate(tmp_path, spec(fake.url), ask("hi"))


def test_what_is_known_is_handed_on(tmp_path: Path) -> None:
    with start_fake() as fake:
        known: dict[str, Known] = {}
        generate(tmp_path / "a", spec(fake.url), ask("1"), known=known)
        generate(tmp_path / "b", spec(fake.url), ask("2"), known=known)
        assert fake.counters()["chat"] == 2 + PROBES
        fake.configure(model="other")
        with pytest.raises(RunError, match="was 'fake' and is now 'other'"):
            generate(tmp_path / "c", spec(fake.url), ask("3"), known=known)


def test_every_state_is_counted_and_usage_is_estimated_where_it_is_missing(
    tmp_path: Path, fake: Handle
) -> None:
    async def work() -> None:
        async with client_on(tmp_path, spec(fake.url)) as client:
            await client.generate(ask("[[usage-none]] 2 + 2"))
            stats = client.stats()["m"]
            assert stats["usage_missing"] == 1
            assert stats["completion_tokens"] > 8
            assert json.loads(json.dumps(stats)) == stats  # plain data

    run(work)
