"""Names of benchmarks: what ships, what the user adds, and what can't be."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from vtdata.decontam.benchmarks.add import add
from vtdata.decontam.benchmarks.registry import SHIPPED, Registry, entries_of
from vtdata.decontam.dates import bounds
from vtdata.errors import ConfigError

ASKED_FOR = [
    *("AIME24", "AIME25", "AIME26", "HMMT25", "BruMO25", "IMO-AnswerBench", "MATH-500", "GSM8K"),
    *("OlympiadBench", "LiveCodeBench-v5", "LiveCodeBench v6", "OJBench", "HumanEval", "MBPP"),
    *("IFEval", "IFBench", "GPQA-Diamond"),
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty config folder of the user."""
    folder = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder / "vtdata"


def bench(folder: Path, name: str = "mine.jsonl", *, question: str = "q") -> Path:
    path = folder / name
    path.write_text(f'{{"id": "a", "{question}": "How many cups are three cups?"}}\n')
    return path


def test_the_benchmarks_of_the_papers_have_names(tmp_path: Path) -> None:
    registry = Registry.read(tmp_path)
    assert len({registry.find(word).name for word in ASKED_FOR}) == len(ASKED_FOR)
    for named in registry:
        entry = named.entry
        assert named.origin == SHIPPED
        assert entry.hub
        assert entry.fields, named.name
        assert entry.split, named.name
        assert entry.homepage, named.name
        assert entry.revision == "unpinned" or re.fullmatch(r"[0-9a-f]{40}", entry.revision or "")
        assert (entry.published is None) == (entry.published_from is None), named.name
        assert bounds(entry.published or "2020"), named.name
        assert set(entry.unverified) <= set(type(entry).model_fields), named.name


def test_what_ships_says_who_may_quote_it(tmp_path: Path) -> None:
    registry = Registry.read(tmp_path)
    assert [one.name for one in registry if one.entry.gated] == ["gpqa-diamond"]
    assert [one.name for one in registry if one.entry.non_commercial] == [
        "aime26",
        "brumo25",
        "hmmt25",
    ]
    for one in registry:
        is_nc = "-nc" in (one.entry.license or "")
        assert is_nc == one.entry.non_commercial, one.name


@pytest.mark.parametrize("word", ["MATH-500", "math500", "Math_500", "math 500"])
def test_names_in_any_spelling(word: str) -> None:
    assert Registry.read().find(word).name == "math500"


def test_aliases_name_one_benchmark(tmp_path: Path) -> None:
    registry = Registry.read(tmp_path)
    for named in registry:
        for word in (named.name, *named.entry.aliases):
            assert registry.find(word).name == named.name


def test_a_near_name_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Registry.read(tmp_path).find("aimee24")
    assert str(caught.value) == (
        "no benchmark is called 'aimee24'; did you mean 'aime24'? vtdata benchmarks list shows "
        "all; a file is named by its path, such as ./my_bench.jsonl"
    )


def test_the_folder_hides_the_users_own_and_that_what_ships(tmp_path: Path, home: Path) -> None:
    home.mkdir(parents=True)
    (home / "benchmarks.yaml").write_text("aime24: {file: ./u.jsonl}\nours: {file: u.jsonl}\n")
    assert Registry.read(tmp_path).find("aime24").entry.file == "./u.jsonl"
    (tmp_path / "benchmarks.yaml").write_text("aime24: {file: ./p.jsonl}\n")
    registry = Registry.read(tmp_path)
    assert registry.find("aime24").entry.file == "./p.jsonl"
    assert registry.find("aime24").origin == str(tmp_path / "benchmarks.yaml")
    assert registry.find("ours").folder == home
    assert registry.find("aime25").origin == SHIPPED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mine: {file: a, filed: b}", "mine.filed: there is no such key; did you mean 'file'?"),
        ("mine: {}", "mine: name either a hub id or a file"),
        ("mine: {file: a, hub: b/c}", "mine: name either a hub id or a file"),
        ("mine: {hub: b/c}", "mine: revision 'None' is no commit"),
        ("mine: {hub: b/c, revision: main}", "mine: revision 'main' is no commit"),
        ("mine: {hub: bc, revision: unpinned}", "hub 'bc' is no owner/name"),
        ("mine: {file: a, published: soon}", "mine.published: date 'soon' can't be read"),
        ("mine: {file: a, rows: {id: [1]}}", "rows: id: [1] is no [first, last]"),
        ("mine: {file: a}\nmine: {file: b}", "key 'mine' is written twice"),
        ("My Bench: {file: a}", "name 'My Bench': use small letters"),
        ("mine: a.jsonl", "mine is 'a.jsonl'; write {file: ...} or {hub: ...}"),
        ("- mine", "holds a list; write NAME: {file: ...}"),
        ("mine: {file: [", "is no YAML"),
    ],
)
def test_a_wrong_registry_file(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "benchmarks.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        entries_of(path)
    assert says in str(caught.value)


def test_yaml_dates_need_no_quotes(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.yaml"
    path.write_text(
        "a: {file: a, published: 2025-02-06}\nb: {file: b, published: 2025}\n"
        "c: {file: c, published: 2025-02}\n"
    )
    assert [one.entry.published for one in entries_of(path)] == ["2025-02-06", "2025", "2025-02"]


def test_add_writes_what_it_found_out(tmp_path: Path) -> None:
    bench(tmp_path, question="problem")
    to = tmp_path / "benchmarks.yaml"
    to.write_text("# our own\nother: {file: ./other.jsonl}  # of May\n")
    done = add("mine", "./mine.jsonl", {"license": "mit"}, to=to, folder=tmp_path)
    assert to.read_text().startswith("# our own\nother: {file: ./other.jsonl}  # of May\nmine:\n")
    entry = Registry.read(tmp_path).find("mine").entry
    assert entry == done.named.entry
    assert (entry.file, entry.fields, entry.key) == ("./mine.jsonl", ("problem",), "id")
    assert (entry.num_items, entry.license) == (1, "mit")
    assert entry.sha256 == done.benchmark.sha256
    assert sorted(p.name for p in tmp_path.iterdir()) == ["benchmarks.yaml", "mine.jsonl"]


def test_a_taken_name_is_refused_unless_replaced(tmp_path: Path) -> None:
    bench(tmp_path, question="problem")
    bench(tmp_path, "second.jsonl", question="question")
    to = tmp_path / "benchmarks.yaml"
    with pytest.raises(ConfigError, match=r"'aime_24' is taken \(aime24 of vtdata\)"):
        add("aime_24", "./mine.jsonl", {}, to=to, folder=tmp_path)
    assert not to.exists()
    add("mine", "./mine.jsonl", {}, to=to, folder=tmp_path)
    add("zz", "./mine.jsonl", {}, to=to, folder=tmp_path)
    with pytest.raises(ConfigError, match="choose another name, or give --replace"):
        add("mine", "./second.jsonl", {}, to=to, folder=tmp_path)
    add("mine", "./second.jsonl", {}, to=to, folder=tmp_path, replace_it=True)
    assert {one.name: one.entry.file for one in entries_of(to)} == {
        "mine": "./second.jsonl",
        "zz": "./mine.jsonl",
    }


def test_what_can_not_be_loaded_is_not_added(tmp_path: Path) -> None:
    bench(tmp_path, question="problem")
    to = tmp_path / "benchmarks.yaml"
    with pytest.raises(ConfigError, match="has no 'problm'; did you mean 'problem'"):
        add("mine", "./mine.jsonl", {"fields": ["problm"]}, to=to, folder=tmp_path)
    with pytest.raises(ConfigError, match="name 'Mine'"):
        add("Mine", "./mine.jsonl", {}, to=to, folder=tmp_path)
    assert not to.exists()


def test_a_registry_elsewhere_names_the_file_whole(tmp_path: Path, home: Path) -> None:
    bench(tmp_path, question="problem")
    add("mine", "mine.jsonl", {}, to=home / "benchmarks.yaml", folder=tmp_path)
    assert Registry.read(tmp_path).find("mine").entry.file == str(tmp_path / "mine.jsonl")


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, vtdata.decontam.benchmarks, vtdata.decontam.releases; "
        "print([m for m in ('datasets', 'polars', 'torch', 'huggingface_hub') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
