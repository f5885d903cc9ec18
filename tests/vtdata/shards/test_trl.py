"""The files through TRL: what is trained on holds the reasoning and exactly one think block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from vtdata.shards.manifest import shard_files

pytest.importorskip("torch", reason='needs torch: pip install "vtdata[train]"')
trl = pytest.importorskip("trl", reason='needs trl: pip install "vtdata[train]"')

from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402  after the skips
from tokenizers.decoders import ByteLevel  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast  # noqa: E402
from trl.rewards import accuracy_reward  # noqa: E402

pytestmark = [
    # TRL 1.16 sets options by names that transformers 5.24 calls deprecated.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch.utils.data.dataloader"),
]

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% if message['role'] == "
    "'assistant' %}{% generation %}{{ message['content'] }}<|im_end|>{% endgeneration %}{% else %}"
    "{{ message['content'] }}<|im_end|>{% endif %}\n{% endfor %}{% if add_generation_prompt %}"
    "<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """One token per byte, and a ChatML template."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: at for at, letter in enumerate(alphabet)}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|pad|>", bos_token="<|im_start|>"
    )
    made.chat_template = CHATML
    return made


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    config = GPT2Config(n_layer=1, n_head=1, n_embd=8, n_positions=1024, vocab_size=len(tokenizer))
    return GPT2LMHeadModel(config)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")


def load(folder: Path, cache: Path) -> Any:
    files = [str(path) for path in shard_files(folder, "train")]
    return datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=str(cache))


@pytest.mark.parametrize("assistant_only", [False, True])
def test_sft_trains_on_the_reasoning(
    block: Path, tmp_path: Path, tokenizer: Any, model: Any, assistant_only: bool
) -> None:
    rows = load(block / "sft.stage1", tmp_path / "cache")
    config = trl.SFTConfig(
        output_dir=str(tmp_path / "out"),
        max_length=1024,
        use_cpu=True,
        bf16=False,
        report_to="none",
        assistant_only_loss=assistant_only,
    )
    trainer = trl.SFTTrainer(
        model=model, args=config, train_dataset=rows, processing_class=tokenizer
    )
    assert len(trainer.train_dataset) == len(rows)
    for row, prepared in zip(rows, trainer.train_dataset, strict=True):
        text = tokenizer.decode(prepared["input_ids"])
        asked, answered = row["messages"]
        thinks = answered["content"].count("<think>")
        assert thinks == (1 if row["sample_idx"] == 0 else 0)
        assert (text.count("<think>"), text.count("</think>")) == (thinks, thinks)
        assert asked["content"] in text
        assert f"{answered['content']}<|im_end|>" in text
        kept = tokenizer.decode([label for label in prepared["labels"] if label != -100])
        assert kept == (f"{answered['content']}<|im_end|>" if assistant_only else text)


def test_grpo_reads_prompts_and_hands_columns_to_the_reward(
    block: Path, tmp_path: Path, tokenizer: Any, model: Any
) -> None:
    rows = load(block / "rl", tmp_path / "cache")
    seen: list[dict[str, Any]] = []

    def reward(prompts: list, completions: list, **columns: Any) -> list[float]:
        seen.append({"prompts": prompts, **columns})
        return [float(at) for at in range(len(completions))]

    config = trl.GRPOConfig(
        output_dir=str(tmp_path / "out"),
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=4,
        max_steps=1,
        use_cpu=True,
        bf16=False,
        report_to="none",
        save_strategy="no",
    )
    trainer = trl.GRPOTrainer(
        model=model,
        args=config,
        train_dataset=rows,
        processing_class=tokenizer,
        reward_funcs=reward,
    )
    trainer.train()
    (batch,) = seen
    by_id = {row["id"]: row for row in rows}
    for at, own in enumerate(batch["id"]):
        assert batch["prompts"][at] == by_id[own]["prompt"]
        assert batch["solution"][at] == by_id[own]["solution"]
        assert batch["reward_model"][at] == by_id[own]["reward_model"]
        assert batch["extra_info"][at]["question"] in batch["prompts"][at][-1]["content"]


def test_trl_s_own_reward_reads_the_solution(block: Path, tmp_path: Path) -> None:
    rows = load(block / "rl", tmp_path / "cache").filter(lambda row: row["ability"] == "math")
    told = [[{"role": "assistant", "content": f"So {row['solution']}."}] for row in rows]
    untold = [[{"role": "assistant", "content": r"So \boxed{77}."}] for _ in rows]
    solutions = list(rows["solution"])
    assert accuracy_reward(told, solutions) == [1.0] * len(rows)
    assert accuracy_reward(untold, solutions) == [0.0] * len(rows)
