"""Files of results: there when all is in them, and nothing else is touched."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.runs import PROGRAM
from vtdata import api
from vtdata.errors import ConfigError, RunError
from vtdata.verify.output import Sink, opened

LINE = '{"id": 1, "gold": "1/2", "pred": "0.5"}\n'


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("cases.jsonl")
    path.write_text(LINE)
    return path


def names(folder: str = ".") -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_a_neighbor_with_a_like_name_is_left_alone(cases: Path) -> None:
    cases = cases.rename("out.jsonl.tmp")
    api.verify_cases("math", cases, out="out.jsonl")
    assert cases.read_text() == LINE
    assert Path("out.jsonl").read_text().startswith('{"id": 1, "reward": 1.0')
    assert names() == ["out.jsonl", "out.jsonl.tmp"]


def test_what_was_there_stays_until_all_is_written_and_keeps_its_mode(cases: Path) -> None:
    out = Path("out.jsonl")
    out.write_text("before")
    out.chmod(0o640)
    with opened({"--out": out}, cases) as sinks:
        sinks["--out"].write("after")
        assert out.read_text() == "before"
    assert (out.read_text(), out.stat().st_mode & 0o777) == ("after", 0o640)


def test_what_fails_leaves_everything_as_it_was(cases: Path) -> None:
    out = Path("out.jsonl")
    out.write_text("before")
    with pytest.raises(KeyError), opened({"--out": out}, cases) as sinks:
        sinks["--out"].file.write(sinks["--in"].name)
    assert out.read_text() == "before"
    assert names() == ["cases.jsonl", "out.jsonl"]


@pytest.mark.parametrize("link", ["symbolic", "hard", "dots", "dangling"])
def test_the_cases_and_each_other_are_refused(cases: Path, link: str) -> None:
    other = Path("other.jsonl")
    target = Path("nothing.jsonl") if link == "dangling" else cases
    if link == "hard":
        other.hardlink_to(cases)
    elif link == "dots":
        other = Path("folder/../cases.jsonl")
        Path("folder").mkdir()
    else:
        other.symlink_to(target)
    if link != "dangling":
        for option in ("out", "disagreements"):
            with pytest.raises(ConfigError) as raised:
                api.verify_cases("math", cases, **{option: other})
            text = f"--{option} {other} is the file of the cases: give another name"
            assert str(raised.value) == text
    with pytest.raises(ConfigError) as raised, opened({"--a": other, "--b": target}, Path("none")):
        pytest.fail("both were opened")
    assert str(raised.value) == f"--b {target} is also --a: give another name"
    assert cases.read_text() == LINE


def test_the_same_new_file_twice_is_refused(tmp_path: Path, cases: Path) -> None:
    with pytest.raises(ConfigError, match="/o is also --out: give another name"):
        api.verify_cases("math", cases, out="o", disagreements=tmp_path / "o")
    assert names() == ["cases.jsonl"]


def test_a_link_stays_and_leads_to_the_results(cases: Path) -> None:
    Path("folder").mkdir()
    link = Path("link")
    link.symlink_to("folder/out.jsonl")
    api.verify_cases("math", cases, out=link)
    assert link.is_symlink()
    assert Path("folder/out.jsonl").read_text().startswith('{"id": 1')
    assert names("folder") == ["out.jsonl"]


def test_a_pipe_is_written_straight(cases: Path) -> None:
    pipe = Path("pipe")
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    api.verify_cases("math", cases, out=pipe)
    reader.join(10)
    assert read[0].startswith('{"id": 1, "reward": 1.0')
    assert pipe.is_fifo()
    assert names() == ["cases.jsonl", "pipe"]


def test_a_pipe_without_a_reader_is_a_sentence(cases: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    sink = Sink("--out pipe", os.fdopen(write, "w", buffering=1))
    with pytest.raises(RunError) as raised:
        sink.write("line\n")
    assert str(raised.value) == "--out pipe can't be written: Broken pipe"
    with pytest.raises(BrokenPipeError):
        sink.file.close()
    assert cases.exists()


@pytest.mark.parametrize("redirect", ["> o", ">> o"])
def test_stdout_by_its_name_is_what_the_shell_opened(cases: Path, redirect: str) -> None:
    if not os.path.lexists("/dev/stdout"):
        pytest.skip("there is no /dev/stdout")
    Path("o").write_text("before\n")
    line = f"'{PROGRAM}' verify math {cases} --out /dev/stdout {redirect}"
    subprocess.run(["sh", "-c", line], check=True, stderr=subprocess.DEVNULL)
    text = Path("o").read_text()
    assert text.removeprefix("before\n").startswith('{"id": 1')
    assert text.startswith("before\n") == (redirect == ">> o")
    assert names() == ["cases.jsonl", "o"]


@pytest.mark.parametrize("option", ["> /dev/full", "--out /dev/full", "--disagreements /dev/full"])
def test_a_full_disk_is_a_sentence(cases: Path, option: str) -> None:
    full = Path("/dev/full")
    if full.is_symlink() or not full.is_char_device():
        pytest.skip("there is no /dev/full, a disk that is always full")
    cases.write_text(
        '{"id": 1, "gold": "\\\\arcsin x+\\\\arccos x", "pred": "\\\\frac{\\\\pi}{2}"}'
    )
    done = subprocess.run(
        f"'{PROGRAM}' verify math {cases} {option}", shell=True, capture_output=True, text=True
    )
    name = "stdout" if option.startswith(">") else option
    expected = f"vtdata: {name} can't be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, expected)
    assert full.is_char_device()
    assert names() == ["cases.jsonl"]


def test_a_reader_that_goes_away_is_no_error(cases: Path) -> None:
    cases.write_text(LINE * 3_000)
    done = subprocess.run(
        f"'{PROGRAM}' verify math {cases} | head -n 1", shell=True, capture_output=True, text=True
    )
    assert (done.stderr, done.stdout.count("\n")) == ("", 1)
