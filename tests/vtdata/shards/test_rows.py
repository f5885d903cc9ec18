from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

from tests.factories import query, rate, rollout, verdict
from vtdata.errors import ConfigError
from vtdata.records import Turn, Verdict, Verifier, Vote
from vtdata.shards.facts import answer_of, answer_source
from vtdata.shards.rl import RL_SCHEMA, Rl
from vtdata.shards.sft import SFT_SCHEMA, Sft
from vtdata.shards.spill import SIDE
from vtdata.shards.template import INSTRUCTIONS, check_instructions
from vtdata.steps import Context

CTX = Context(seed=17, recipe="toy", fingerprint="f" * 64)


def sft_rows(*rewards: float | None, step: Sft | None = None, **changes: Any) -> list[dict]:
    return list((step or Sft()).rows(query(*rewards, **{"into": ["sft"], **changes}), CTX))


def rl_row(step: Rl | None = None, **changes: Any) -> dict[str, Any]:
    (row,) = (step or Rl()).rows(query(**{"into": ["rl"], **changes}), CTX)
    return row


def fields(schema: pa.Schema | pa.StructType, value: Any) -> None:
    """Every struct holds exactly its fields; Arrow would fill in nulls and drop the rest."""
    assert set(value) - {SIDE} == {field.name for field in schema}
    for field in schema:
        if pa.types.is_struct(field.type) and value[field.name] is not None:
            fields(field.type, value[field.name])


def test_sft_row_is_the_chat_with_its_reasoning_inline() -> None:
    (row,) = sft_rows(1.0)
    asked = f"What is 2+2?\n\n{INSTRUCTIONS['math']}"
    assert row["messages"] == [
        {"role": "user", "content": asked},
        {
            "role": "assistant",
            "content": "<think>\nTwo and two.\n</think>\n\nThe answer is \\boxed{4}.",
        },
    ]
    assert row["id"] == f"{row['query_id']}:teacher:0"
    assert row["teacher"]["model"] == "our/teacher"
    assert row["verdict"] == {"kind": "math", "reward": 1.0, "reason": "correct"}
    assert row["provenance"]["recipe"] == "toy"
    assert (row["answer"], row["answer_source"], row["data_source"]) == ("4", "gold", "ours")


def test_rows_hold_every_field_of_their_schemas() -> None:
    vote = Vote("teacher", "4", 3, 4, 1, 2, "majority")
    (row,) = sft_rows(1.0, vote=vote)
    fields(SFT_SCHEMA, row)
    assert row["vote"] == {"answer": "4", "votes": 3, "asked": 4, "abstained": 1}
    fields(RL_SCHEMA, rl_row())
    assert not {"prompt", "text"} & set(SFT_SCHEMA.names)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({}, None),
        ({"verdict": None}, "unverified"),
        ({"verdict": verdict(None)}, "unverified"),
        ({"verdict": verdict(0.0)}, "wrong"),
        ({"verdict": Verdict(0.5, "half")}, "wrong"),
        ({"state": "truncated"}, "unfinished"),
        ({"content": " \n"}, "empty"),
        ({"content": None}, "empty"),
        ({"content": "so</think> 4"}, "bad_think_tags"),
        ({"reasoning": "<think>Two and two."}, "bad_think_tags"),
        ({"reasoning": None, "content": "<think>4"}, "bad_think_tags"),
    ],
)
def test_only_a_verified_whole_rollout_enters(changed: dict[str, Any], why: str | None) -> None:
    asked = query(into=["sft"], rollouts=[rollout(**changed)])
    rows = list(Sft().rows(asked, CTX))
    assert len(rows) == (why is None)
    assert asked.rollouts[0].drop_reason == why
    assert why is None or why in Sft.reasons


@pytest.mark.parametrize("reasoning", [None, "", " \n"])
def test_without_reasoning_there_is_no_empty_think_block(reasoning: str | None) -> None:
    (row,) = sft_rows(rollouts=[rollout(reasoning=reasoning)])
    assert row["messages"][-1]["content"] == r"The answer is \boxed{4}."


def test_a_dropped_rollout_and_another_set_stay_out() -> None:
    gone, other = rollout(), rollout(set="reference", sample_idx=1)
    gone.drop("hygiene", "looped")
    rows = sft_rows(rollouts=[gone, other, rollout(sample_idx=2)], step=Sft(of="teacher"))
    assert [row["sample_idx"] for row in rows] == [2]
    assert other.live
    assert (gone.dropped_by, gone.drop_reason) == ("hygiene", "looped")


def test_a_rollout_that_was_left_out_of_this_set_may_stand_in_another() -> None:
    shy = rollout()
    shy.leave_out("sft.stage1")
    both = query(into=["sft.stage1", "sft.stage2"], rollouts=[shy])
    assert list(Sft(set="sft.stage1").rows(both, CTX)) == []
    assert shy.live
    assert len(list(Sft(set="sft.stage2").rows(both, CTX))) == 1


def test_only_members_are_cut() -> None:
    assert sft_rows(1.0, into=["sft.stage2", "rl"]) == []
    assert len(sft_rows(1.0, into=["sft.stage2"], step=Sft(set="sft.stage2"))) == 1
    assert list(Rl().rows(query(1.0, into=["sft"]), CTX)) == []


def test_stratum_is_the_column_or_the_end_of_the_set_s_name() -> None:
    step = Sft(set="sft.stage2")
    assert sft_rows(1.0, into=["sft.stage2"], step=step)[0]["stratum"] == "stage2"
    marked = {"stratum": "hard"}
    assert sft_rows(1.0, into=["sft.stage2"], step=step, extra=marked)[0]["stratum"] == "hard"
    assert sft_rows(1.0)[0]["stratum"] is None


def test_earlier_turns_stand_without_thoughts() -> None:
    prompt = [
        Turn("user", "What is 1+1?"),
        Turn("assistant", "<think>\none\n</think>\n\n2"),
        Turn("user", "And 2+2?"),
    ]
    (row,) = sft_rows(1.0, prompt=prompt)
    said = [(turn["role"], turn["content"]) for turn in row["messages"]]
    assert said[:3] == [
        ("user", "What is 1+1?"),
        ("assistant", "2"),
        ("user", f"And 2+2?\n\n{INSTRUCTIONS['math']}"),
    ]
    assert said[3][1].count("<think>") == 1


def test_choice_renders_options_and_answers_with_a_letter() -> None:
    row = rl_row(verifier=Verifier("choice"), options=["red", "blue"], answer="blue")
    asked = row["prompt"][-1]["content"]
    assert asked == f"What is 2+2?\n\nA. red\nB. blue\n\n{INSTRUCTIONS['choice']}"
    assert (row["answer"], row["solution"]) == ("B", r"\boxed{B}")
    assert row["reward_model"]["ground_truth"] == "B"
    assert row["extra_info"]["question"] == "What is 2+2?"
    assert row["extra_info"]["choices"] == ["red", "blue"]


@pytest.mark.parametrize(
    ("answer", "letters"),
    [
        ("b", "B"),
        ("(B)", "B"),
        ("blue", "B"),
        ("B) blue", "B"),
        ("C, A", "A, C"),
        ("green", "green"),  # names no option: the gold check's business
    ],
)
@pytest.mark.parametrize("kind", ["choice", "vote"])
def test_answer_of_a_choice(answer: str, letters: str, kind: str) -> None:
    asked = query(verifier=Verifier(kind), options=["red", "blue", "gray"], answer=answer)
    assert answer_of(asked) == letters
    asked.verifier = Verifier("math")
    assert answer_of(asked) == answer


def test_a_vote_is_asked_like_the_answers_it_counts() -> None:
    plain = rl_row(verifier=Verifier("vote"), answer="4")
    assert plain["prompt"][-1]["content"].endswith(INSTRUCTIONS["math"])
    choice = {"verifier": Verifier("vote"), "answer": "A", "options": ["red", "blue"]}
    assert rl_row(**choice)["prompt"][-1]["content"].endswith(INSTRUCTIONS["choice"])
    own = rl_row(Rl(instruction={"choice": "Letter?"}), **choice)
    assert own["prompt"][-1]["content"].endswith("Letter?")
    own = rl_row(Rl(instruction={"choice": "Letter?", "vote": "Vote?"}), **choice)
    assert own["prompt"][-1]["content"].endswith("Vote?")


def test_more_than_26_options_reject_the_query() -> None:
    many = query(1.0, into=["sft", "rl"], options=[str(n) for n in range(27)])
    assert list(Sft().rows(many, CTX)) == []
    assert (many.dropped_by, many.drop_reason) == ("sft", "too_many_options")
    edge = query(1.0, into=["sft"], options=[str(n) for n in range(26)])
    assert len(list(Sft().rows(edge, CTX))) == 1


def test_instruction_of_the_recipe_replaces_ours_and_is_never_doubled() -> None:
    step = Sft(instruction={"math": "Box it."})
    assert sft_rows(1.0, step=step)[0]["messages"][0]["content"] == "What is 2+2?\n\nBox it."
    silent = Sft(instruction={"math": ""})
    assert sft_rows(1.0, step=silent)[0]["messages"][0]["content"] == "What is 2+2?"
    twice = sft_rows(1.0, step=step, question="What is 2+2? Box it.")
    assert twice[0]["messages"][0]["content"] == "What is 2+2? Box it."


def test_unknown_kind_of_instruction_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no verifier kind 'maths'; did you mean 'math'"):
        check_instructions({"maths": "x"})


@pytest.mark.parametrize(
    ("kind", "answer", "source"),
    [
        ("math", "4", "gold"),
        ("choice", "A", "gold"),
        ("reasoning_gym", "4", "gold"),
        ("vote", None, "vote"),
        ("code", None, "tests"),
        ("constraints", None, "tests"),
        ("rubric", None, None),
        ("none", "4", None),
    ],
)
def test_answer_source(kind: str, answer: str | None, source: str | None) -> None:
    assert answer_source(query(verifier=Verifier(kind), answer=answer)) == source


def test_rl_row_has_a_string_to_hold_a_response_to() -> None:
    row = rl_row(pass_rates=[rate(1.0, 0.0), rate(0.0, None, of="reference", truncated=2)])
    assert row["reward_model"] == {"style": "rule", "ground_truth": "4"}
    assert (row["answer"], row["solution"]) == ("4", r"\boxed{4}")
    assert (row["data_source"], row["ability"]) == ("vtdata/math", "math")
    extra = row["extra_info"]
    assert extra["pass_rate_set"] == "reference"
    assert [extra[f"pass_rate_{c}"] for c in ("n", "correct", "wrong", "truncated")] == [4, 0, 1, 2]
    named = rl_row(Rl(rate_of="teacher"), pass_rates=[rate(1.0), rate(0.0, of="reference")])
    assert named["extra_info"]["pass_rate_correct"] == 1


def test_sft_row_carries_the_rate_of_its_own_set_or_of_a_named_one() -> None:
    rates = [rate(1.0), rate(0.0, 0.0, of="reference")]
    (own,) = sft_rows(1.0, step=Sft(of="teacher"), pass_rates=rates)
    assert (own["pass_rate"]["set"], own["pass_rate"]["correct"]) == ("teacher", 1)
    (named,) = sft_rows(1.0, step=Sft(of="teacher", rate_of="reference"), pass_rates=rates)
    assert (named["pass_rate"]["set"], named["pass_rate"]["n"]) == ("reference", 2)


def test_rl_keeps_a_spec_that_is_not_the_ground_truth() -> None:
    spec = '{"tolerance": 0.1}'
    math = rl_row(verifier=Verifier("math", spec))
    assert math["extra_info"]["verifier_spec"] == spec
    large = rl_row(Rl(max_inline_bytes=3), verifier=Verifier("math", spec))
    assert large["extra_info"]["verifier_spec"] is None
    assert large["reward_model"]["ground_truth"] == "4"
    assert large[SIDE].sha256 == large["extra_info"]["tests_sha256"]
    rubric = rl_row(verifier=Verifier("rubric", spec), answer=None)
    assert rubric["reward_model"] == {"style": "model", "ground_truth": spec}
    assert rubric["extra_info"]["verifier_spec"] is None


def test_a_rejected_query_gives_no_rows() -> None:
    gone = query(1.0, into=["sft", "rl"])
    gone.drop("queries", "too_long")
    assert list(Sft().rows(gone, CTX)) == []
    assert list(Rl().rows(gone, CTX)) == []


def test_rl_data_source_maps_onto_a_name_the_trainer_knows() -> None:
    step = Rl(data_source={"math": "lighteval/MATH"})
    assert rl_row(step)["data_source"] == "lighteval/MATH"
    assert rl_row(step, domain="code")["data_source"] == "vtdata/code"


def test_rl_vote_label_is_the_ground_truth_and_says_so() -> None:
    vote = Vote("teacher", "5", 3, 4, 1, 2, "majority")
    row = rl_row(verifier=Verifier("vote"), answer=None, vote=vote)
    assert row["reward_model"]["ground_truth"] == "5"
    assert row["extra_info"]["answer_source"] == "vote"


@pytest.mark.parametrize(
    ("kind", "answer"), [("none", "4"), ("math", None), ("vote", None), ("choice", None)]
)
def test_rl_rejects_what_a_reward_can_t_judge(kind: str, answer: str | None) -> None:
    asked = query(into=["rl"], verifier=Verifier(kind), answer=answer)
    assert list(Rl().rows(asked, CTX)) == []
    assert (asked.dropped_by, asked.drop_reason) == ("rl", "no_ground_truth")


def test_large_specs_go_to_the_side_table_by_hash() -> None:
    spec = json.dumps({"tests": ["assert f(1) == 2"]})
    step = Rl(max_inline_bytes=len(spec))
    inline = rl_row(step, verifier=Verifier("code", spec), answer=None)
    assert inline["reward_model"]["ground_truth"] == spec
    assert inline[SIDE] is None
    assert inline["solution"] is None
    large = rl_row(Rl(max_inline_bytes=len(spec) - 1), verifier=Verifier("code", spec), answer=None)
    sha256 = large["extra_info"]["tests_sha256"]
    assert large["reward_model"]["ground_truth"] == f"sha256:{sha256}"
    assert (large[SIDE].sha256, large[SIDE].spec) == (sha256, spec)


def test_a_query_is_split_with_all_its_traces() -> None:
    half = Sft(validation_share=0.5)
    asked = [query(id=f"q{n}") for n in range(200)]
    splits = [half.split(one, CTX) for one in asked]
    assert 70 < splits.count("validation") < 130
    assert splits == [Rl(validation_share=0.5).split(one, CTX) for one in asked]
    assert {Sft().split(one, CTX) for one in asked} == {"train"}
    assert rl_row(Rl(validation_share=0.5), id="q1")["extra_info"]["split"] == splits[1]


def test_the_steps_load_no_heavy_library() -> None:
    program = (
        "import sys, vtdata.shards.sft, vtdata.shards.rl, vtdata.shards.cut, vtdata.shards.card\n"
        "print(sorted({'torch', 'transformers', 'polars', 'datasets', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "[]\n"
