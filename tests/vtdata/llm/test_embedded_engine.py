from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason='needs torch: pip install "vtdata[local]"')

import torch

from tests.vtdata.llm.embedded_models import decode, tiny
from vtdata.errors import ConfigError
from vtdata.llm.embedded.engine import Engine
from vtdata.llm.embedded.load import Loaded, fast_dtype, load
from vtdata.llm.embedded.sampling import Sampling

GREEDY = Sampling(max_tokens=12, temperature=0.0, ignore_eos=True)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    torch.set_num_threads(1)
    return load(str(tiny(tmp_path_factory.mktemp("tiny"))), torch.float32)


@pytest.fixture
def engine(loaded: Loaded) -> Iterator[Engine]:
    engine = Engine(loaded, max_rows=4)
    engine.start()
    yield engine
    engine.close()


def prompts(count: int, shared: int = 40, own: int = 7) -> list[list[int]]:
    """Prompts of different lengths that begin alike."""
    start = list(range(100, 100 + shared))
    return [[*start, *range(1000 * (i + 1), 1000 * (i + 1) + own + i)] for i in range(count)]


def reference(loaded: Loaded, prompt: list[int], num_tokens: int) -> list[int]:
    """Greedy decoding by transformers' own generate."""
    with torch.inference_mode():
        ids = torch.tensor([prompt])
        out = loaded.net.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=num_tokens,
            min_new_tokens=num_tokens,
            pad_token_id=2,
        )
    return out[0, len(prompt) :].tolist()


def test_greedy_is_what_generate_gives(loaded: Loaded, engine: Engine) -> None:
    """Nine rows in four slots: rows wait, join while others decode, and take over beginnings."""
    asked = prompts(9)
    jobs = [
        (p, Sampling(max_tokens=6 + i, temperature=0.0, ignore_eos=True), 1)
        for i, p in enumerate(asked)
    ]
    for i, row in enumerate(decode(engine, jobs)):
        assert row.tokens == [t for t in reference(loaded, asked[i], 6 + i) if t != 2][: 6 + i]
        assert row.finish == "length"


@pytest.mark.parametrize("kind", ["qwen2", "qwen3", "mistral"])
def test_other_architectures_decode_like_generate(kind: str, tmp_path: Path) -> None:
    other = load(str(tiny(tmp_path, kind)), torch.float32)
    engine = Engine(other, max_rows=3)
    engine.start()
    rows = decode(engine, [(p, GREEDY, 1) for p in prompts(5)])
    engine.close()
    assert [r.tokens for r in rows] == [reference(other, p, 12) for p in prompts(5)]


def test_rows_with_nothing_in_common_decode_like_generate(loaded: Loaded, engine: Engine) -> None:
    """The others of this file share 40 tokens, whose keys are read once for all rows."""
    asked = [list(range(start, start + 9)) for start in (100, 900, 1800)]
    rows = decode(engine, [(p, GREEDY, 1) for p in asked])
    assert [r.tokens for r in rows] == [reference(loaded, p, 12) for p in asked]


def test_a_row_alone_equals_the_row_in_a_mixed_batch(engine: Engine) -> None:
    hot = Sampling(max_tokens=10, temperature=1.0, ignore_eos=True)
    cut = Sampling(max_tokens=9, temperature=0.8, top_p=0.9, top_k=50, ignore_eos=True)
    jobs = [(p, (hot, cut, GREEDY)[i % 3], 40 + i) for i, p in enumerate(prompts(8))]
    together = [row.tokens for row in decode(engine, jobs)]
    assert together == [decode(engine, [job])[0].tokens for job in jobs]


def test_seeds(engine: Engine) -> None:
    hot = Sampling(max_tokens=8, temperature=1.5, ignore_eos=True)
    prompt = prompts(1)[0]
    rows = decode(engine, [(prompt, hot, seed) for seed in (1, 2, 1, 3)])
    texts = [row.text for row in rows]
    assert texts[0] == texts[2]
    assert len(set(texts)) == 3


def test_a_stop_string_ends_only_its_own_row(loaded: Loaded, engine: Engine) -> None:
    prompt = prompts(1)[0]
    free = decode(engine, [(prompt, GREEDY, 1)])[0]
    third = loaded.tokenizer.decode(free.tokens[2:3])
    stop = Sampling(max_tokens=12, temperature=0.0, ignore_eos=True, stop=("@@", third))
    stopped, other = decode(engine, [(prompt, stop, 1), (prompt, GREEDY, 1)])
    assert stopped.text == free.text[: free.text.index(third)]
    assert (stopped.finish, other.finish) == ("stop", "length")
    assert other.tokens == free.tokens


def test_the_end_token_ends_a_row(loaded: Loaded, engine: Engine) -> None:
    """The end token is counted, as vLLM counts it, and is no part of the text."""
    prompt = prompts(1)[0]
    free = decode(engine, [(prompt, GREEDY, 1)])[0]
    changed = Loaded(
        **{k: getattr(loaded, k) for k in Loaded.__slots__} | {"eos": frozenset(free.tokens[3:4])}
    )
    ending = Engine(changed, max_rows=2)
    ending.start()
    row = decode(ending, [(prompt, Sampling(max_tokens=12, temperature=0.0), 1)])[0]
    ending.close()
    end = free.tokens.index(free.tokens[3])
    assert (row.tokens, row.finish) == (free.tokens[: end + 1], "stop")
    assert row.text == loaded.tokenizer.decode(free.tokens[:end])


def test_logprobs_equal_a_plain_forward_pass(loaded: Loaded, engine: Engine) -> None:
    """Also for a prompt longer than one chunk of the prefill."""
    prompt = [(7 * i) % 3000 + 10 for i in range(300)]
    rule = Sampling(max_tokens=3, temperature=0.0, ignore_eos=True, logprobs=2, prompt_logprobs=1)
    row = decode(engine, [(prompt, rule, 1)])[0]
    with torch.inference_mode():
        full = loaded.net(torch.tensor([prompt + row.tokens])).logits[0].log_softmax(-1)
    targets = torch.tensor([*prompt[1:], *row.tokens])
    plain = full[:-1].gather(1, targets[:, None])[:, 0]
    scored = [*row.prompt_scored, *row.scored]
    assert [s.token for s in scored] == targets.tolist()
    assert [s.logprob for s in scored] == pytest.approx(plain.tolist(), abs=1e-3)
    assert [s.top[0][1] for s in scored] == pytest.approx(
        full[:-1].max(-1).values.tolist(), abs=1e-3
    )
    assert [len(s.top) for s in scored] == [1] * 299 + [2] * 3
    assert all(s.rank == 1 for s in row.scored)


def test_rows_wait_where_memory_is_short(loaded: Loaded) -> None:
    small = Engine(loaded, max_rows=4, kv_bytes=70 * 512)  # 70 tokens of 2 x 2 x 2 x 16 x 4 bytes
    assert small.slots.bytes_per_token() == 512
    small.start()
    rows = decode(small, [(p, GREEDY, 1) for p in prompts(4)])
    small.close()
    assert [r.tokens for r in rows] == [reference(loaded, p, 12) for p in prompts(4)]


def test_a_model_without_attention_layers_is_refused(tmp_path: Path) -> None:
    folder = tiny(tmp_path, "qwen3_5_text", layer_types=["linear_attention", "full_attention"])
    with pytest.raises(ConfigError, match=r"linear_attention.*serve it with vLLM"):
        load(str(folder))


def test_bf16_only_where_the_cpu_multiplies_it() -> None:
    able = torch.cpu.get_capabilities()
    fast = able.get("avx512_bf16") or able.get("amx_bf16")
    assert fast_dtype() == (torch.bfloat16 if fast else torch.float32)
