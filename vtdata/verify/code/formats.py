"""Tests as data sets hold them, read into one type.

``read_tests`` knows: LiveCodeBench (``public_test_cases``), APPS, TACO and PRIME
(``input_output``), CodeContests (``public_tests`` ...), open-r1/codeforces (``official_tests``),
HumanEval (``test``), MBPP (``test_list``), verl's ``assert_case`` and plain ``{inputs, outputs,
fn_name?}``. Every reader gives ``Tests`` or says in a ``DataError`` what is wrong.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vtdata.text import nearest
from vtdata.verify.code.model import CPU_S, MEMORY_MIB, Asserts, Call, Test, Tests, Text
from vtdata.verify.code.private import private_tests
from vtdata.verify.code.values import bad, loads, value_of
from vtdata.verify.code.wire import Malformed, pack

Row = Mapping[str, Any]
_PYTHON3 = (3, "3", "PYTHON3", "python3", "python")
"""What CodeContests calls the language of a solution: its number, or its name."""
_UNITS = {"byte": 1, "kilobyte": 1 << 10, "kb": 1 << 10, "megabyte": 1 << 20, "mb": 1 << 20}
_UNITS |= {"gigabyte": 1 << 30, "gb": 1 << 30}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*?)s?\.?\s*")


def read_tests(row: Row) -> Tests:
    """Read the tests of one problem.

    Args:
        row: the columns of a data set's row, or the spec of a query's verifier; ``format`` names
            the reader where the columns don't. Beside it may stand ``starter_code``,
            ``order: any``, and ``accepted`` and ``rejected``, which are lists of programs.

    Raises:
        DataError: ``bad_tests``, with what was found.
    """
    reader = READERS[_format(row)]
    tests = reader(row)
    if not tests.tests:
        raise bad("there is no test in it")
    order = row.get("order", "kept")
    if order not in ("kept", "any"):
        raise bad(f"order is {order!r}: write kept or any")
    return dataclasses.replace(
        tests,
        order=order,
        starter_code=tests.starter_code or _text(row.get("starter_code") or "", "starter_code"),
        accepted=(*tests.accepted, *_texts(row.get("accepted") or [], "accepted")),
        rejected=(*tests.rejected, *_texts(row.get("rejected") or [], "rejected")),
    )


def read_spec(spec: str) -> Tests:
    """Read the tests in the spec of a query's verifier: the columns, or under ``tests``.

    Raises:
        DataError: ``bad_tests``, with what was found.
    """
    found = _object(spec or "{}", "spec")
    inner = found.get("tests")
    return read_tests(inner if isinstance(inner, Mapping) else found)


def _format(row: Row) -> str:
    named = row.get("format")
    if named is not None:
        if named not in READERS:
            raise bad(
                f"format is {named!r};{nearest(str(named), READERS)} there is: {', '.join(READERS)}"
            )
        return str(named)
    for column, name in _COLUMNS.items():
        if row.get(column) is not None:
            return name
    raise bad(
        f"no tests among {', '.join(row) or 'no columns'}: write inputs and outputs, or one of "
        f"{', '.join(_COLUMNS)}"
    )


def _livecodebench(row: Row) -> Tests:
    cases = [*_cases(row.get("public_test_cases")), *private_tests(row.get("private_test_cases"))]
    kinds = {case.get("testtype") for case in cases if isinstance(case, dict)}
    metadata = _object(row.get("metadata") or {}, "metadata")
    if kinds == {"functional"}:
        name = metadata.get("func_name") or row.get("fn_name")
        if not isinstance(name, str):
            raise bad("functional tests need metadata.func_name")
        tests = [
            _call(_arguments(_of(case, "input")), value_of(_of(case, "output"))) for case in cases
        ]
        return Tests("call", tuple(tests), name, imports=True)
    if kinds == {"stdin"}:
        return Tests("stdin", tuple(_text_test(case) for case in cases), imports=True)
    raise bad(f"testtype is {', '.join(map(str, kinds))}: one of stdin and functional for all")


def _input_output(row: Row) -> Tests:
    inner = _object(row["input_output"], "input_output")
    tests = _plain({"fn_name": row.get("fn_name"), **inner})
    cpu_s = _seconds(row.get("time_limit"))
    return dataclasses.replace(tests, cpu_s=cpu_s, memory_mib=_memory(row.get("memory_limit")))


def _plain(row: Row) -> Tests:
    inputs, outputs = (_list(row.get(name), name) for name in ("inputs", "outputs"))
    if len(inputs) != len(outputs):
        raise bad(f"{len(inputs)} inputs and {len(outputs)} outputs")
    cpu_s = _seconds(row.get("time_limit"))
    memory = _memory(row.get("memory_limit"))
    name = row.get("fn_name")
    if name is None:
        pairs = zip(inputs, outputs, strict=True)
        tests = tuple(Text(_lines(a, "input"), _lines(b, "output")) for a, b in pairs)
        return Tests("stdin", tests, cpu_s=cpu_s, memory_mib=memory)
    if not isinstance(name, str) or not name.isidentifier():
        raise bad(f"fn_name is {name!r}: write the name of a function")
    pairs = zip(inputs, outputs, strict=True)
    values = [value_of(out) if isinstance(args, str) else out for args, out in pairs]
    calls = [_call(_arguments(args), out) for args, out in zip(inputs, values, strict=True)]
    # A result that is a list of one for some and not for others stands for itself.
    wrapped = all(isinstance(value, list) and len(value) == 1 for value in values)
    imports = bool(row.get("starter_code"))
    return Tests(
        "call", tuple(calls), name, imports=imports, wrapped=wrapped, cpu_s=cpu_s, memory_mib=memory
    )


def _codecontests(row: Row) -> Tests:
    tests: list[Test] = []
    for name in ("public_tests", "private_tests", "generated_tests"):
        tests += [_text_test(case) for case in _cases(row.get(name))]
    return Tests(
        "stdin",
        tuple(tests),
        cpu_s=_seconds(row.get("time_limit")),
        memory_mib=_memory(row.get("memory_limit_bytes")),
        accepted=_solutions(row.get("solutions")),
        rejected=_solutions(row.get("incorrect_solutions")),
    )


def _codeforces(row: Row) -> Tests:
    if row.get("interaction_format"):
        raise bad("the problem is interactive: there is no judge for it here")
    return Tests(
        "stdin",
        tuple(_text_test(case) for case in _cases(row["official_tests"])),
        files=row.get("input_mode") == "file",
        checker=_text(row.get("generated_checker") or "", "generated_checker") or None,
        cpu_s=_seconds(row.get("time_limit")),
        memory_mib=_memory(row.get("memory_limit"), unit=1 << 20),
    )


def _humaneval(row: Row) -> Tests:
    name = row.get("entry_point")
    if not isinstance(name, str) or not name.isidentifier():
        raise bad(f"entry_point is {name!r}: write the name of a function")
    code = f"{_text(row.get('test'), 'test')}\n\ncheck({name})\n"
    return Tests("assert", (Asserts(code),), name, _text(row.get("prompt") or "", "prompt"))


def _mbpp(row: Row) -> Tests:
    before = _text(row.get("test_setup_code") or "", "test_setup_code")
    if not before and row.get("test_imports"):
        before = "\n".join(_texts(row["test_imports"], "test_imports"))
    codes = _texts(row.get("test_list") or row.get("assert_case"), "test_list")
    return Tests("assert", tuple(Asserts(f"{before}\n{code}\n") for code in codes))


READERS: dict[str, Callable[[Row], Tests]] = {
    "plain": _plain,
    "livecodebench": _livecodebench,
    "apps": _input_output,
    "taco": _input_output,
    "prime": _input_output,
    "codecontests": _codecontests,
    "codeforces": _codeforces,
    "humaneval": _humaneval,
    "mbpp": _mbpp,
}
_COLUMNS = {
    "public_test_cases": "livecodebench",
    "private_test_cases": "livecodebench",
    "input_output": "apps",
    "official_tests": "codeforces",
    "test_list": "mbpp",
    "assert_case": "mbpp",
    "public_tests": "codecontests",
    "private_tests": "codecontests",
    "inputs": "plain",
    "test": "humaneval",
}
"""Which column gives a format away; the first that is there."""


def _cases(value: Any) -> list[Any]:
    """Tests as a list of objects, as JSON of one, or as an object of two lists."""
    value = loads(value, "tests") if isinstance(value, str) else value
    if value is None:
        return []
    if isinstance(value, Mapping):
        inputs, outputs = (_list(value.get(name), name) for name in ("input", "output"))
        if len(inputs) != len(outputs):
            raise bad(f"{len(inputs)} inputs and {len(outputs)} outputs")
        return [{"input": a, "output": b} for a, b in zip(inputs, outputs, strict=True)]
    return _list(value, "tests")


def _of(case: Any, name: str) -> Any:
    if not isinstance(case, Mapping) or case.get(name) is None:
        raise bad(f"a test without {name}: {str(case)[:80]}")
    return case[name]


def _text_test(case: Any) -> Text:
    return Text(_lines(_of(case, "input"), "input"), _lines(_of(case, "output"), "output"))


def _lines(value: Any, name: str) -> bytes:
    """Text as it is; a list of texts is its lines."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = "\n".join(_text(line, name) for line in value)
    return _text(value, name).encode("utf-8", "surrogatepass")


def _call(args: tuple[Any, ...], output: Any) -> Call:
    """A test whose values can travel; a literal may be of another type, or nested without end."""
    try:
        pack([*args, output])
    except (Malformed, RecursionError) as error:
        raise bad(f"an argument or result: {error}") from error
    return Call(args, output)


def _arguments(value: Any) -> tuple[Any, ...]:
    """Arguments as a list, or as text with the JSON of one in a line."""
    if isinstance(value, str):
        return tuple(value_of(line) for line in value.split("\n") if line.strip())
    return tuple(_list(value, "arguments"))


def _solutions(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise bad("solutions are an object with language and solution")
    languages, programs = (_list(value.get(name), name) for name in ("language", "solution"))
    pairs = zip(languages, programs, strict=False)
    return tuple(_text(text, "solution") for language, text in pairs if language in _PYTHON3)


def _seconds(value: Any) -> float:
    """A limit as a number of seconds, as ``2 seconds``, or as {seconds, nanos}."""
    if value is None:
        return CPU_S
    if isinstance(value, Mapping):
        return float(value.get("seconds") or 0) + float(value.get("nanos") or 0) / 1e9 or CPU_S
    amount = _AMOUNT.fullmatch(str(value))
    if amount is None or amount[2] not in ("", "s", "sec", "second", "m", "ms", "millisecond"):
        raise bad(f"time_limit is {value!r}: write seconds")
    scale = 1e-3 if amount[2].startswith("m") else 1.0
    return float(amount[1]) * scale or CPU_S


def _memory(value: Any, unit: int = 1) -> int:
    """A limit in bytes, or ``unit``, or as ``256 megabytes``; in MiB."""
    if value is None:
        return MEMORY_MIB
    amount = _AMOUNT.fullmatch(str(value))
    if amount is None or amount[2].lower() not in ("", *_UNITS):
        raise bad(f"memory limit is {value!r}: write bytes, or 256 megabytes")
    size = float(amount[1]) * _UNITS.get(amount[2].lower(), unit)
    return max(1, round(size / 2**20)) if size else MEMORY_MIB


def _object(value: Any, name: str) -> Row:
    value = loads(value, name) if isinstance(value, str) else value
    if not isinstance(value, Mapping):
        raise bad(f"{name} is {type(value).__name__}, need an object")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if isinstance(value, str) and value[:1] == "[":
        value = loads(value, name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise bad(f"{name} is {type(value).__name__}, need a list")
    return list(value)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise bad(f"{name} is {type(value).__name__}, need text")
    return value


def _texts(value: Any, name: str) -> tuple[str, ...]:
    value = [value] if isinstance(value, str) else value
    return tuple(_text(item, name) for item in _list(value, name))
