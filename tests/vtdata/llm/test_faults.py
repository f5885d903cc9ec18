"""What each way of failing makes of a request, on a real server."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.fake_server import Handle, start_fake
from tests.vtdata.llm.conftest import ask, client_on, generate, run, spec
from vtdata.errors import RunError, Stopped
from vtdata.llm import open_store

TRIES = 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("marker", "state", "source", "sent"),
    [
        ("", "ok", "none", 1),
        ("[[429*4]]", "ok", "none", 5),  # 429 does not use up the tries
        ("[[429-after*2]]", "ok", "none", 3),
        ("[[500*2]]", "ok", "none", 3),
        ("[[500]]", "failed", "none", TRIES),
        ("[[502*2]]", "ok", "none", 3),
        ("[[502]]", "failed", "none", TRIES),
        ("[[400]]", "refused", "none", 1),
        ("[[drop*1]]", "ok", "none", 2),
        ("[[drop]]", "failed", "none", TRIES),
        ("[[slow]]", "ok", "none", 1),
        ("[[hang]]", "failed", "none", TRIES),
        ("[[null]]", "empty", "none", 3),
        ("[[empty]]", "empty", "none", 3),
        ("[[null*1]]", "ok", "none", 2),
        ("[[usage-extra]]", "ok", "none", 1),
        ("[[usage-none]]", "ok", "none", 1),
        ("[[usage-null]]", "ok", "none", 1),
        ("[[weird]]", "failed", "none", 1),
        ("[[abort*1]]", "ok", "none", 2),
        ("[[abort]]", "failed", "none", TRIES),
        ("[[filter]]", "refused", "none", 1),
        ("[[repetition]]", "looped", "none", 1),
        ("[[refusal]]", "refused", "none", 1),
        ("[[length]]", "truncated", "none", 1),
        ("[[reasoning-content]]", "ok", "field", 1),
        ("[[reasoning]]", "ok", "field", 1),
        ("[[think]]", "ok", "tags", 1),
        ("[[think-closer]]", "ok", "closer", 1),
        ("[[think-open]]", "truncated", "tags", 1),
        ("[[error-200]]", "failed", "none", TRIES),
        ("[[garbage]]", "failed", "none", TRIES),
        ("[[no-choices]]", "failed", "none", TRIES),
    ],
)
def test_state(
    tmp_path: Path, fake: Handle, marker: str, state: str, source: str, sent: int, stream: bool
) -> None:
    if stream and marker in ("[[slow]]", "[[hang]]"):
        pytest.skip("the same without a stream: the fault comes before the first byte")
    model = spec(fake.url, attempts=TRIES, idle_timeout_s=0.5, stream=stream)
    fake.reset()
    got, other = generate(tmp_path, model, ask(f"{marker} 2 + 3"), ask("4 + 5"))
    assert (got.state, got.think_source) == (state, source)
    assert other.state == "ok"  # the neighbor is unharmed
    assert fake.counters()["chat"] == sent + 1 + 6  # with the neighbor and the probes
    if state == "ok":
        assert got.content is not None
        assert "The answer is" in got.content
        assert got.error is None
    if state in ("failed", "refused") and marker not in ("[[filter]]", "[[refusal]]"):
        assert got.error


@pytest.mark.parametrize(
    ("marker", "reasoning"),
    [
        ("[[reasoning-content]]", "I thought in a field."),
        ("[[reasoning]]", "I thought in a field."),
        ("[[think]]", "I thought in tags."),
        ("[[think-closer]]", "I thought unopened."),
        ("[[parts]]", "I thought in parts."),
    ],
)
def test_thought_and_answer_are_told_apart(
    tmp_path: Path, fake: Handle, marker: str, reasoning: str
) -> None:
    (got,) = generate(tmp_path, spec(fake.url), ask(f"{marker} 2 + 3"))
    assert got.reasoning == reasoning
    assert got.content is not None
    assert got.content.startswith("2 + 3 = ")


def test_an_unfinished_thought_is_no_content(tmp_path: Path, fake: Handle) -> None:
    (got,) = generate(tmp_path, spec(fake.url), ask("[[think-open]] 2 + 3"))
    assert got.content is None
    assert got.reasoning is not None
    assert got.reasoning.startswith("I think: 2 + 3")


def test_an_unknown_finish_reason_is_shown(tmp_path: Path, fake: Handle) -> None:
    async def work() -> None:
        async with client_on(tmp_path, spec(fake.url)) as client:
            got = await client.generate(ask("[[weird]] 2 + 3"))
            assert got.error == "unknown finish_reason 'tool_calls'"
            assert client.stats()["m"]["unknown_finish"] == {"tool_calls": 1}
            assert client.failed_share() == 1.0

    run(work)


def test_an_answer_cut_by_the_context_is_counted(tmp_path: Path, fake: Handle) -> None:
    async def work() -> None:
        async with client_on(tmp_path, spec(fake.url)) as client:
            await client.generate(ask("[[length]] 2 + 3"))
            await client.generate(ask("2 + 3", max_tokens=4))
            stats = client.stats()["m"]
            assert stats["states"] == {"truncated": 2}
            assert stats["cut_by_context"] == 2 - 1  # the other had max_tokens=4 and 4 tokens

    run(work)


def test_failed_is_asked_again_by_the_next_run_and_final_states_are_not(
    tmp_path: Path, fake: Handle
) -> None:
    asked = [ask(f"[[{m}]] 1 + 1") for m in ("500", "null", "400", "length", "filter", "weird")]
    model = spec(fake.url, attempts=1)
    first = generate(tmp_path, model, *asked)
    second = generate(tmp_path, model, *asked)
    assert [g.state for g in first] == [
        "failed",
        "empty",
        "refused",
        "truncated",
        "refused",
        "failed",
    ]
    assert [g.state for g in second] == [g.state for g in first]
    assert [g.cached for g in second] == [False, True, True, True, True, False]


@pytest.mark.parametrize(
    ("marker", "words"),
    [
        ("401", "answered 401: the key is missing, wrong, not allowed to use this model"),
        ("404", "answered 404: the server has no such model or no such address"),
    ],
)
def test_what_no_request_can_survive_ends_the_run(
    tmp_path: Path, fake: Handle, marker: str, words: str
) -> None:
    async def work() -> None:
        async with client_on(tmp_path, spec(fake.url)) as client:
            with pytest.raises(RunError, match=words):
                await client.generate(ask(f"[[{marker}]] 2 + 3"))
            with pytest.raises(Stopped, match=words):  # nothing more is sent
                await client.generate(ask("2 + 3"))
            assert client.stats()["m"]["sent"] == 1

    run(work)


@pytest.mark.parametrize("marker", ["other-model", "other-print"])
def test_another_model_under_the_same_name_ends_the_run(tmp_path: Path, marker: str) -> None:
    async def work() -> None:
        with start_fake(fingerprint="fp_1") as fake:
            async with client_on(tmp_path, spec(fake.url)) as client:
                assert (await client.generate(ask("hello"))).state == "ok"
                with pytest.raises(RunError, match="another model answers under the same name"):
                    await client.generate(ask(f"[[{marker}]] hello"))
        assert await count(tmp_path) == 1  # what the other one said was not stored

    run(work)


def test_a_model_that_changes_in_mid_run(tmp_path: Path) -> None:
    async def work() -> None:
        with start_fake(change_model_after=6 + 3) as fake:
            async with client_on(tmp_path, spec(fake.url)) as client:
                for n in range(3):
                    await client.generate(ask(f"question {n}"))
                with pytest.raises(RunError, match=r"its model was 'fake' and is now 'another-m"):
                    await client.generate(ask("question 3"))

    run(work)


async def count(folder: Path) -> int:
    with open_store(folder / "store", range(64)) as store:
        return store.count()


def test_retry_after_is_kept(tmp_path: Path) -> None:
    with start_fake(retry_after_s=0.4) as fake:
        start = time.monotonic()
        (got,) = generate(tmp_path, spec(fake.url), ask("[[429-after*1]] hello"), pace=1.0)
        assert got.state == "ok"
        assert time.monotonic() - start >= 0.4


def test_429_halves_what_is_in_flight_and_no_request_is_lost(tmp_path: Path) -> None:
    with start_fake(latency_s=0.02, most_at_once=4) as fake:
        asked = [ask(f"question {n}") for n in range(200)]
        got = generate(tmp_path, spec(fake.url, concurrency=32), *asked, pace=0.05)
        assert [g.state for g in got] == ["ok"] * 200
        assert fake.counters()["chat"] < 200 * 3  # without AIMD most calls would be turned away


def test_a_pause_is_spent_outside_the_slot(tmp_path: Path) -> None:
    async def work() -> None:
        with start_fake() as fake:
            async with client_on(tmp_path, spec(fake.url, concurrency=1), pace=1.0) as client:
                await client.generate(ask("warm"))
                slow = asyncio.create_task(client.generate(ask("[[500*1]] first")))
                await asyncio.sleep(0.1)
                start = time.monotonic()
                await client.generate(ask("second"))  # the only slot is free meanwhile
                assert time.monotonic() - start < 0.4
                assert not slow.done()
                assert (await slow).state == "ok"

    run(work)


def test_long_answers_are_not_cut_by_a_total_limit_but_silence_is(tmp_path: Path) -> None:
    with start_fake(slow_s=0.8) as fake:
        patient = spec(fake.url, idle_timeout_s=2.0, attempts=1)
        hasty = spec(fake.url, idle_timeout_s=0.3, attempts=1)
        (got,) = generate(tmp_path / "a", patient, ask("[[slow]] x"))
        assert got.state == "ok"
        (got,) = generate(tmp_path / "b", hasty, ask("[[slow]] x"))
        assert got.state == "failed"
        assert "silent for longer than 0.3 s" in (got.error or "")
