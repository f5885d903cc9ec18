"""Secrets are filled in when a call is made and are nowhere afterwards."""

from __future__ import annotations

import base64
import pickle
import traceback
from pathlib import Path
from typing import Any

import pytest

from tests.fake_server import start_fake
from tests.vtdata.llm.conftest import ask, generate, spec
from vtdata.errors import ConfigError, RunError

KEY = "sk-very-secret-0123456789"
USER, PASSWORD = "someone", "hunter2/hunter2"
FORMS = [
    KEY,
    PASSWORD,
    "hunter2%2Fhunter2",
    base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode(),
]


def shows_no_secret(folder: Path, *texts: object) -> None:
    """Neither the texts nor any file holds a secret in any form."""
    everything = [str(text) for text in texts]
    everything += [
        p.read_bytes().decode(errors="replace") for p in folder.rglob("*") if p.is_file()
    ]
    for text in everything:
        assert not [form for form in FORMS if form in text]


@pytest.mark.parametrize(
    "marker", ["", "[[echo]]", "[[400]]", "[[500]]", "[[drop]]", "[[garbage]]"]
)
@pytest.mark.parametrize("place", ["key", "userinfo", "env url", "header"])
def test_a_secret_reaches_the_server_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, marker: str
) -> None:
    expected = KEY if place in ("key", "header") else f"{USER}:{PASSWORD}"
    with start_fake(key=expected) as fake:
        model = model_with(place, fake.url, monkeypatch)
        (got,) = generate(tmp_path, model, ask(f"{marker} hello"))
        assert got.state == {"": "ok", "[[echo]]": "ok", "[[400]]": "refused"}.get(marker, "failed")
        if marker == "[[echo]]":
            assert got.content in ("you sent Bearer ***", "you sent Basic ***")
        if place == "env url" and got.error:
            assert "at ${env:TEST_URL}" in got.error
            assert fake.url not in got.error
        shows_no_secret(tmp_path, got, model)


@pytest.mark.parametrize("place", ["key", "userinfo", "env url", "header"])
def test_a_server_that_echoes_the_key_in_its_401(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    with start_fake(key="another") as fake:
        model = model_with(place, fake.url, monkeypatch)
        with pytest.raises(RunError, match="answered 401") as caught:
            generate(tmp_path, model, ask("hello"))
        lines = "".join(traceback.format_exception(caught.value))
        shows_no_secret(tmp_path, caught.value, lines, pickle.dumps(caught.value))


def model_with(place: str, url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model entry that holds its secret in that place."""
    monkeypatch.setenv("TEST_KEY", KEY)
    inside = url.replace("http://", f"http://{USER}:hunter2%2Fhunter2@")
    monkeypatch.setenv("TEST_URL", inside)
    monkeypatch.setenv("TEST_USER", f"{USER}:hunter2%2Fhunter2")
    if place == "key":
        return spec(url, api_key_env="TEST_KEY", attempts=2)
    if place == "userinfo":
        return spec(url.replace("http://", "http://${env:TEST_USER}@"), attempts=2)
    if place == "env url":
        return spec("${env:TEST_URL}", attempts=2)
    return spec(url, headers={"Authorization": "Bearer ${env:TEST_KEY}"}, attempts=2)


def test_a_missing_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    for model in (spec("${env:NOT_THERE}"), spec("http://x/v1", api_key_env="NOT_THERE")):
        with pytest.raises(ConfigError, match="needs the environment variable NOT_THERE, which is"):
            generate(tmp_path, model, ask("hello"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (None, r"model 'm' has no url \(it has \[\]\)"),
        ("localhost:8000", "url localhost:8000 is not a base URL: write http://HOST:PORT/v1"),
        ("file:nowhere", "has no url"),
    ],
)
def test_a_bad_url_is_named(tmp_path: Path, url: str | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        generate(tmp_path, spec(url), ask("hello"))


def test_a_key_and_a_user_are_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    model = spec(f"http://{USER}:{KEY}@x/v1", api_key_env="TEST_KEY")
    with pytest.raises(ConfigError, match="has both api_key_env and a user in its url"):
        generate(tmp_path, model, ask("hello"))
