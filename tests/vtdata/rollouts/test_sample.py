"""What is asked for a query, and what becomes of the answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.factories import query
from vtdata.errors import ConfigError
from vtdata.records import Turn
from vtdata.rollouts.sample import Sample
from vtdata.seeds import derive_seed
from vtdata.steps import Context, Generation, Request


class Answers:
    """Answers by a table, in the form that the client gives; remembers what it was asked."""

    def __init__(self, *contents: tuple[str, str | None]) -> None:
        self.contents = contents
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Generation:
        self.asked.append(request)
        index = len(self.asked) - 1
        await asyncio.sleep(0.001 * (len(self.contents) - index))  # the last one answers first
        state, content = self.contents[index]
        return Generation(
            key=f"{index:064x}",
            state=state,
            reasoning=None,
            content=content,
            think_source="none",
            finish_reason="stop",
            model="fake",
            revision="r1",
            sampling="{}",
            n_prompt_tokens=3,
            n_completion_tokens=index,
        )


def test_seeds_are_derived_from_names_and_grow_with_n() -> None:
    few = Sample(by="teacher", n=2).requests(query(), Context(seed=3))
    many = Sample(by="teacher", n=4).requests(query(), Context(seed=3))
    assert many[:2] == few
    assert [r.seed for r in many] == [
        derive_seed(3, "rollout", "", query().id, index) for index in range(4)
    ]
    assert {r.bucket for r in many} == {query().bucket}


@pytest.mark.parametrize(
    ("step", "ctx"),
    [
        (Sample(by="teacher", n=2, draw="b"), Context(seed=3)),
        (Sample(by="teacher", n=2), Context(seed=4)),
    ],
    ids=["another draw", "another seed"],
)
def test_another_draw_or_seed_asks_for_other_samples(step: Sample, ctx: Context) -> None:
    plain = Sample(by="teacher", n=2).requests(query(), Context(seed=3))
    assert not {r.seed for r in plain} & {r.seed for r in step.requests(query(), ctx)}


def test_a_name_of_the_set_does_not_change_what_is_asked() -> None:
    one, two = Sample(by="teacher", n=3), Sample(by="teacher", n=3, **{"as": "policy"})
    ctx = Context(seed=3)
    assert one.requests(query(), ctx) == two.requests(query(), ctx)
    assert (one.rollout_set(), two.rollout_set()) == ("teacher", "policy")


def test_shots_options_and_instruction_are_for_sampling_only(tmp_path: Path) -> None:
    (tmp_path / "shots.yaml").write_text(
        "messages:\n- {role: user, content: '1+1?'}\n- {role: assistant, content: '2'}\n"
    )
    step = Sample(by="teacher", n=1, prompt="shots.yaml", instruction="\nThink.")
    asked = query(options=["4", "5"], prompt=[Turn("system", "Be brief."), Turn("user", "2+2?")])
    (request,) = step.requests(asked, Context(seed=3, folder=tmp_path))
    assert request.messages == (
        Turn("user", "1+1?"),
        Turn("assistant", "2"),
        Turn("system", "Be brief."),
        Turn("user", "2+2?\nA. 4\nB. 5\nThink."),
    )
    assert asked.prompt == [Turn("system", "Be brief."), Turn("user", "2+2?")]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, r"^prompt file .*shots\.yaml can't be read: No such file or directory$"),
        ("- a", r"^prompt file .* needs 'messages:', a list of role and content$"),
        ("messages: []", r"^prompt file .* needs 'messages:', a list of role and content$"),
        ("messages: [", r"^prompt file .* is not valid YAML: "),
        (
            "messages: [{role: robot, content: a}]",
            r"messages\[0\] is \{'role': 'robot', 'content': 'a'\}; it needs a role \(system, user",
        ),
        ("messages: [{role: user, content: 3}]", r"messages\[0\] is .*; it needs a role"),
        ("messages: [{role: user}]", r"messages\[0\] is .*; it needs a role"),
    ],
)
def test_a_bad_prompt_file_is_a_sentence(tmp_path: Path, text: str | None, error: str) -> None:
    if text is not None:
        (tmp_path / "shots.yaml").write_text(text)
    with pytest.raises(ConfigError, match=error):
        Sample(by="teacher", prompt="shots.yaml").open(Context(seed=3, folder=tmp_path))


def test_rollouts_stand_in_the_order_of_their_seeds_and_are_counted() -> None:
    answers = Answers(
        ("ok", "4"), ("truncated", "4"), ("ok", "4"), ("ok", "5"), ("failed", None), ("ok", "4")
    )
    notes: Counter[str] = Counter()

    def note(name: str, count: int) -> None:
        notes[name] += count

    step = Sample(by="teacher", n=6)
    ctx = Context(seed=3, models=answers, note=note)
    (found,) = asyncio.run(step.process(query(), ctx))
    assert [r.sample_idx for r in found.rollouts] == list(range(6))
    assert [r.n_completion_tokens for r in found.rollouts] == list(range(6))
    assert [r.seed for r in found.rollouts] == [r.seed for r in step.requests(query(), ctx)]
    assert [r.state for r in found.rollouts] == [state for state, _ in answers.contents]
    assert notes == {"identical": 2, "truncated": 1, "failed": 1}, "a cut answer equals nothing"
    assert all(r.live and r.set == "teacher" for r in found.rollouts)
