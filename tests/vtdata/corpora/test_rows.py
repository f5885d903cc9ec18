from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.corpora.columns import Columns, all_paths, lookup, require
from vtdata.corpora.files import Jsonl
from vtdata.corpora.rows import Mapped
from vtdata.errors import ConfigError
from vtdata.records import Query, Turn, query_id


def source(columns: dict[str, Any] | None = None, **settings: Any) -> Mapped:
    given_columns = {"question": "q", "answer": "a"} if columns is None else columns
    known = {"verifier": "math", "license": "MIT", "path": "x.jsonl"} | settings
    return Jsonl(columns=Columns(**given_columns), **known)


def read(row: dict[str, Any], columns: dict[str, Any] | None = None, **settings: Any) -> Query:
    return source(columns, **settings).query_of(row, "src", "x.jsonl:3")


def why(query: Query) -> tuple[str | None, str | None]:
    return query.drop_reason, query.drop_detail


def test_a_row_becomes_a_query_with_its_origin() -> None:
    query = read(
        {"q": "What is 1 + 1?", "meta": {"a": 2, "when": "2024-05-01", "topic": "sums"}, "id": 7},
        {
            "question": "q",
            "answer": "meta.a",
            "date": "meta.when",
            "subdomain": "meta.topic",
            "id_in_source": "id",
        },
    )
    assert query.live
    assert query.id == query_id([Turn("user", "What is 1 + 1?")])
    assert (query.answer, query.date, query.domain, query.subdomain) == (
        "2",
        "2024-05-01",
        "math",
        "sums",
    )
    assert (query.verifier.kind, query.verifier.spec) == ("math", "{}")
    (origin,) = query.provenance.origins
    assert (origin.source, origin.row) == ("src", "x.jsonl:3#7")
    assert (origin.license, origin.date, query.license) == ("MIT", "2024-05-01", "MIT")
    assert query.provenance.seed_id == query.id


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("42", "42"),
        (" 42 ", " 42 "),  # as written; verifiers strip
        (42, "42"),
        (42.0, "42"),  # an integer column with a null reads as floats
        (0.5, "0.5"),
        (2.0**53, "9007199254740992.0"),
        (Decimal("3.10"), "3.10"),
        (10**40, "1" + "0" * 40),
        (["7"], "7"),
        (["7", "8"], None),
        ([], None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        ({"value": 1}, None),
        (b"42", None),
    ],
)
def test_answers_are_text_or_numbers(answer: Any, text: str | None) -> None:
    query = read({"q": "?!", "a": answer})
    assert query.answer == text
    assert query.drop_reason == (None if text else "wrong_type")


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        ({"q": None, "a": "1"}, "empty_question", "the question is blank"),
        ({"q": " \n", "a": "1"}, "empty_question", "the question is blank"),
        ({"a": "1"}, "empty_question", "the question is blank"),
        ({"q": 5, "a": "1"}, "wrong_type", "question is 5, need text"),
        ({"q": ["x"], "a": "1"}, "wrong_type", "question is ['x'], need text"),
        (
            {"q": "x", "a": None},
            "no_answer",
            "verifier 'math' needs an answer, the row has nothing",
        ),
        ({"q": "x", "a": ""}, "no_answer", "verifier 'math' needs an answer, the row has nothing"),
        ({"q": "x"}, "no_answer", "verifier 'math' needs an answer, the row has nothing"),
        ({"q": "a\ud83d", "a": "1"}, "bad_encoding", "question can't be UTF-8 at 1"),
        ({"q": "x", "a": "\udc00"}, "bad_encoding", "answer can't be UTF-8 at 0"),
    ],
)
def test_bad_rows_are_rejects_that_name_file_and_row(
    row: dict[str, Any], reason: str, detail: str
) -> None:
    query = read(row)
    assert why(query) == (reason, f"x.jsonl:3: {detail}")
    assert query.dropped_by == "jsonl"
    assert query.provenance.origins[0].row == "x.jsonl:3"
    other = source().query_of(row, "src", "x.jsonl:4")
    assert len({query.id, other.id}) == 2  # the id of a broken row is its place


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("math", "no_answer"), ("reasoning_gym", None), ("none", None), ("rubric", None)],
)
def test_only_some_verifiers_need_an_answer(kind: str, reason: str | None) -> None:
    assert read({"q": "x"}, verifier=kind).drop_reason == reason


SOLVED = {"question": "q", "answer": "a?", "solution": "s?"}


@pytest.mark.parametrize(
    ("row", "answer", "reason"),
    [
        ({"q": "x", "s": r"so \boxed{4}"}, "4", None),
        ({"q": "x", "a": "5", "s": r"so \boxed{4}"}, "5", None),  # the stated answer counts
        ({"q": "x", "a": None, "s": "1 + 3 = 4\n#### 4"}, "4", None),
        ({"q": "x", "s": "it is 4, I guess"}, None, "no_answer"),
    ],
)
def test_a_solution_gives_the_answer(
    row: dict[str, Any], answer: str | None, reason: str | None
) -> None:
    query = read(row, SOLVED)
    assert (query.answer, query.drop_reason) == (answer, reason)


def test_a_solution_without_answer_is_shown() -> None:
    assert why(read({"q": "x", "s": "it is 4, I guess"}, SOLVED)) == (
        "no_answer",
        "x.jsonl:3: verifier 'math' needs an answer, the row has a solution that ends "
        "'it is 4, I guess'",
    )


CHAT = {"messages": "m", "answer": "a?"}
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "2 + 2?"}
REPLY = {"role": "assistant", "content": "4. The answer is 4."}
AGAIN = {"role": "user", "content": "And doubled?"}


@pytest.mark.parametrize(
    ("messages", "roles", "answer", "reason"),
    [
        ([USER], ["user"], "8", None),
        ([SYSTEM, USER, REPLY, AGAIN], ["system", "user", "assistant", "user"], "8", None),
        ([USER, REPLY], ["user"], "8", None),  # what follows is a response
        ([{"from": "human", "value": "2 + 2?"}], ["user"], "8", None),
        ([{"role": "user", "content": [{"type": "text", "text": "hi"}]}], ["user"], "8", None),
        ('[{"role": "user", "content": "2 + 2?"}]', ["user"], "8", None),
        ([SYSTEM], ["user"], None, "empty_question"),
        ([], ["user"], None, "empty_question"),
        ([{"role": "user", "content": None}], ["user"], None, "empty_question"),
        ([{"role": "tool", "content": "x"}], ["user"], None, "wrong_type"),
        ([{"role": "user", "content": [{"type": "image"}]}], ["user"], None, "wrong_type"),
        (["2 + 2?"], ["user"], None, "wrong_type"),
        ("2 + 2?", ["user"], None, "wrong_type"),
        (None, ["user"], None, "wrong_type"),
    ],
)
def test_chats_keep_their_history(
    messages: Any, roles: list[str], answer: str | None, reason: str | None
) -> None:
    query = read({"m": messages, "a": "8"}, CHAT)
    assert [turn.role for turn in query.prompt] == roles
    assert (query.answer, query.drop_reason) == (answer, reason)


def test_the_reply_to_the_last_question_is_its_solution() -> None:
    assert read({"m": [USER, REPLY]}, CHAT).answer == "4"
    assert read({"m": [USER, REPLY, AGAIN]}, CHAT).drop_reason == "no_answer"


LIST = {"question": "q", "answer": "a", "options": "o"}


@pytest.mark.parametrize(
    ("options", "answer", "form", "letter", "reason"),
    [
        (["3", "4"], "B", "letter", "B", None),
        (["3", "4"], "(b)", "letter", "B", None),
        (["3", "4"], r"\text{B}", "letter", "B", None),
        (["3", "4"], "C", "letter", None, "bad_options"),
        (["3", "4"], "4", "letter", None, "bad_options"),
        (["3", "4"], 0, "index", "A", None),
        (["3", "4"], 1, "index", "B", None),
        (["3", "4"], 2, "index", None, "bad_options"),
        (["3", "4"], -1, "index", None, "bad_options"),
        (["3", "4"], 0, "number", None, "bad_options"),
        (["3", "4"], 2, "number", "B", None),
        (["3", "4"], 3, "number", None, "bad_options"),
        (["3", "4 "], "4", "text", "B", None),
        (["3", "3"], "3", "text", None, "bad_options"),  # which of the two?
        (["3", "4"], "5", "text", None, "bad_options"),
        (["3", None, "4"], "C", "letter", "C", None),  # the blank one is for the check to find
        ({"A": "3", "B": "4", "C": None}, "B", "letter", "B", None),
        ({"text": ["3", "4"], "label": ["1", "2"]}, "2", "letter", "B", None),
        ({"text": ["3", "4"], "label": ["1"]}, "1", "letter", None, "wrong_type"),
        ('["3", "4"]', "B", "letter", "B", None),  # JSON in a cell
        ("3 or 4", "B", "letter", None, "wrong_type"),
        (7, "B", "letter", None, "wrong_type"),
        ([str(n) for n in range(27)], "B", "letter", None, "wrong_type"),
        (None, "B", "letter", None, "bad_options"),
    ],
)
def test_choices(options: Any, answer: Any, form: str, letter: str | None, reason: str) -> None:
    row = {"q": "x", "a": answer, "o": options}
    query = read(row, LIST, verifier=None, answer_format=form)
    assert (query.answer, query.drop_reason) == (letter, reason)
    assert query.dropped_by or query.verifier.kind == "choice"


def test_options_may_stand_in_columns_of_their_own() -> None:
    columns = {"question": "q", "answer": "a", "options": ["oa", "ob", "oc?"]}
    query = read({"q": "x", "a": "B", "oa": 3, "ob": 4}, columns, verifier=None)
    assert (query.options, query.answer) == (["3", "4"], "B")
    assert query.id == query_id([Turn("user", "x")], ["3", "4"])


CODE = {"question": "q", "spec": "t", "starter_code": "c?"}


@pytest.mark.parametrize(
    ("tests", "spec"),
    [
        ({"b": [1], "a": 0.5}, '{"a": 0.5, "b": [1]}'),
        ('{"b": 0.10000000000000000555}', '{"b": 0.10000000000000000555}'),  # every digit
        (None, "{}"),
        ({"a": "\ud83d"}, None),
        ({"a": float("nan")}, None),
        ({"a": b"x"}, None),
        ([1], None),
        ("def", None),
    ],
)
def test_specs_are_json_objects(tests: Any, spec: str | None) -> None:
    query = read({"q": "x", "t": tests}, CODE, verifier="code")
    assert query.live == (spec is not None)
    assert spec is None or query.verifier.spec == spec


def test_starter_code_is_part_of_the_question() -> None:
    query = read({"q": "x", "t": '{"n": 1}', "c": "def f():"}, CODE, verifier="code")
    assert query.verifier.spec == '{"n": 1, "starter_code": "def f():"}'
    assert query.id == query_id([Turn("user", "x")], [], "def f():")


@pytest.mark.parametrize(
    ("kind", "found", "reason"),
    [("math", "math", None), ("none", "none", None), ("maths", None, "wrong_type")],
)
def test_a_column_may_name_the_verifier(kind: str, found: str | None, reason: str | None) -> None:
    columns = {"question": "q", "answer": "a", "verifier": "v"}
    query = read({"q": "x", "a": "1", "v": kind}, columns, verifier=None)
    assert query.drop_reason == reason
    assert found is None or query.verifier.kind == found


@pytest.mark.parametrize(("said", "kept"), [("MIT", "MIT"), (None, None), (" ", None)])
def test_a_license_per_row_is_never_missing(said: str | None, kept: str | None) -> None:
    columns = {"question": "q", "answer": "a", "license": "l"}
    query = read({"q": "x", "a": "1", "l": said}, columns, license=None)
    assert query.drop_reason == (None if kept else "no_license")
    assert query.license == (kept or "unknown")


@pytest.mark.parametrize(
    ("when", "date", "reason"),
    [
        ("2024", "2024", None),
        (2024, "2024", None),
        ("2024-05", "2024-05", None),
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z", None),
        (datetime.datetime(2024, 5, 1), "2024-05-01T00:00:00", None),
        (datetime.date(2024, 5, 1), "2024-05-01", None),
        (None, "2020", None),
        ("May 2024", None, "wrong_type"),
        ("24", None, "wrong_type"),
    ],
)
def test_dates_sort(when: Any, date: str | None, reason: str | None) -> None:
    columns = {"question": "q", "answer": "a", "date": "d"}
    query = read({"q": "x", "a": "1", "d": when}, columns, date="2020")
    assert query.drop_reason == reason
    assert reason or query.date == date


@pytest.mark.parametrize(("size", "reason"), [(18, None), (19, "row_too_large")])
def test_the_size_limit_holds_its_edge(size: int, reason: str | None) -> None:
    query = read({"q": "x" * size, "a": "1"}, max_row_bytes=20)  # and 2 of the spec
    assert query.drop_reason == reason
    assert len(query.question) == (size if reason is None else 0)


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        ({"answer": "a"}, {}, "columns needs either question or messages"),
        ({"question": "q", "messages": "m"}, {}, "columns needs either question or messages"),
        (None, {"license": None}, "a source needs one license"),
        ({"question": "q", "license": "l"}, {}, "a source needs one license"),
        (None, {"verifier": None}, "say how the answers are verified: verifier is one of math"),
        ({"question": "q", "verifier": "v"}, {}, "keep one of them"),
        (None, {"max_row_bytes": 0}, "max_row_bytes must be at least 1, got 0"),
        (None, {"date": "May"}, "date is 'May', need YYYY"),
        (None, {"verifier": "maths"}, "Input should be 'math'"),
        ({"question": "q", "anwser": "a"}, {}, "anwser"),
    ],
)
def test_settings_that_cannot_work(columns: Any, settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        source(columns, **settings)


def test_a_missing_column_is_named_with_what_is_there() -> None:
    with pytest.raises(ConfigError) as caught:
        require(Columns(question="qestion", date="when?"), ["question", "answer"], "a.csv")
    assert str(caught.value) == (
        "a.csv has no column 'qestion': did you mean 'question'? it has answer, question"
    )


names = st.text("abc", min_size=1, max_size=2)
nested = st.dictionaries(names, st.integers() | st.dictionaries(names, st.integers()), max_size=4)


@given(nested)
def test_every_path_of_a_row_is_found(row: dict[str, Any]) -> None:
    for path in all_paths(row):
        head, _, rest = path.partition(".")
        assert lookup(row, path) == (row[head][rest] if rest else row[head])


def test_conventions_of_a_source_are_in_the_spec_of_its_math_queries() -> None:
    policy = {"percent": "hundredth"}
    assert read({"q": "x", "a": "28%"}, policy=policy).verifier.spec == (
        '{"policy": {"percent": "hundredth"}}'
    )
    own = {"question": "q", "answer": "a", "spec": "s"}
    row = {"q": "x", "a": "1", "s": '{"policy": {"units": "strict"}}'}
    assert read(row, own, policy=policy).verifier.spec == row["s"]
    wrong = read({**row, "s": '{"policy": {"percent": "half"}}'}, own)
    assert wrong.drop_reason == "wrong_type"
    assert "percent='half'" in (wrong.drop_detail or "")
    with pytest.raises(ValueError, match=r"percent=.half."):
        source(policy={"percent": "half"})
