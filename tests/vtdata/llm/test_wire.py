"""The key of a request: what changes it and what doesn't."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vtdata.llm.conftest import ask, spec
from vtdata.errors import ConfigError
from vtdata.llm.wire import SAMPLING, Wire, canonical
from vtdata.records import Turn
from vtdata.steps import Request

GOLDEN = "26947076a135ec28aef44a253ecb16c01e82065d3d7193713fbcad0517e4bd62"


def key(request: Request | None = None, **changes: Any) -> str:
    return Wire("m", spec(changes.pop("url", None), **changes)).key(
        request or ask("What is 2 + 3? ü", seed=7)
    )


def test_the_key_is_the_same_on_every_machine_and_python() -> None:
    assert key() == GOLDEN


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "fake2"},
        {"revision": "abc"},
        {"temperature": 0.7},
        {"top_p": 1.0},
        {"top_k": 20},
        {"min_p": 0.1},
        {"repetition_penalty": 1.1},
        {"max_tokens": 65},
        {"stop": ["\n"]},
        {"extra_body": {"adapter": "a"}},
    ],
)
def test_what_decides_the_answer_changes_the_key(changes: dict[str, Any]) -> None:
    assert key(**changes) != key()


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "http://elsewhere/v1"},
        {"api_key_env": "KEY"},
        {"headers": {"X-Team": "a"}},
        {"concurrency": 7},
        {"price": {"input": 1.0, "output": 2.0}},
        {"stream": True},
        {"idle_timeout_s": 5.0},
        {"attempts": 2},
    ],
)
def test_where_and_how_fast_does_not(changes: dict[str, Any]) -> None:
    assert key(**changes) == key()


def test_the_request_itself() -> None:
    base = ask("x")
    assert key(ask("y")) != key(base)
    assert key(ask("x", seed=2)) != key(base)
    assert key(ask("x", bucket=9)) == key(base)
    turns = (Turn("user", "a"), Turn("user", "b"))
    assert key(Request("m", turns, 1, 0)) != key(Request("m", turns[::-1], 1, 0))
    assert key(Request("m", (Turn("system", "x"),), 1, 0)) != key(base)


def test_an_override_is_the_same_request_as_an_entry_that_says_so() -> None:
    assert key(ask("x", temperature=0.5)) == key(ask("x"), temperature=0.5)
    assert key(ask("x", temperature=1)) == key(ask("x"))  # 1 and 1.0 are one request
    assert key(ask("x", stop=("a",))) == key(ask("x"), stop=["a"])


def test_every_sampling_parameter_is_sent() -> None:
    body = Wire("m", spec(None, extra_body={"adapter": "a", "min_p": None})).body(ask("x"))
    assert body == {
        "model": "fake",
        "messages": [{"role": "user", "content": "x"}],
        "seed": 1,
        "temperature": 1.0,
        "top_p": 0.95,
        "top_k": -1,
        "repetition_penalty": 1.0,  # min_p was taken out by a null
        "max_tokens": 64,
        "adapter": "a",
    }
    assert set(SAMPLING) - {"stop", "extra_body", "min_p"} <= set(body)


def test_bad_overrides_are_named() -> None:
    with pytest.raises(ConfigError, match="'temprature' is no sampling parameter; did you mean"):
        key(ask("x", temprature=1.0))
    with pytest.raises(ConfigError, match="temperature: Input should be greater than or equal to"):
        key(ask("x", temperature=-1.0))
    with pytest.raises(ConfigError, match=r"extra_body may not set \['seed'\]"):
        key(extra_body={"seed": 3})


def test_a_model_without_a_revision_is_refused() -> None:
    with pytest.raises(ConfigError, match="model 'e' has no revision"):
        Wire("e", spec(None, model="embedded", revision=None))
    assert Wire("e", spec(None, model="embedded", revision=None), "abc").revision == "abc"


@given(st.text(), st.text())
def test_different_texts_have_different_keys(a: str, b: str) -> None:
    assert (key(ask(a)) == key(ask(b))) == (a == b)


@given(st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.text()))
def test_canonical_does_not_depend_on_order(value: dict[str, Any]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))
