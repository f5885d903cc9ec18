"""Which text of a response is its program, and which text runs."""

from __future__ import annotations

import pytest

from vtdata.verify.code import extract_program, read_tests
from vtdata.verify.code.program import whole

F = "def f(x):\n    return x"


@pytest.mark.parametrize(
    ("response", "program"),
    [
        (f"```python\n{F}\n```", F),
        (f"```py\n{F}\n```\nand\n```\n1 2\n```", F),  # the tag is preferred
        (f"```\n{F}\n```", F),
        (f"```Python\n{F}\n```", F),
        (f"~~~python\n{F}\n~~~", F),
        (f"first\n```python\nold = 1\n```\nbetter\n```python\n{F}\n```", F),  # the last one
        (f"```python\n{F}\n```\nuse it:\n```python\nf(1) ->\n```", F),  # that is a program
        (f"```python\n{F}\n```\nlike\n```python\nprint(f(1))\n```", F),  # that has the function
        (f"<think>```python\nwrong\n```</think>```python\n{F}\n```", F),
        (f"<think>```python\n{F}\n```", None),
        (f"```python\n{F}", None),
        (f"```python\n{F}\n```\nno:\n```python\ndef f(", None),  # cut off in the last
        ("```cpp\nint main() {}\n```", None),
        ("```python\ndef f(:\n```", "def f(:"),
        (f"````python\n{F}\n'''```'''\n````", f"{F}\n'''```'''"),
        (F, F),
        ("I don't know.", None),
        ("42", None),
        ("", None),
    ],
)
def test_the_program_of_a_response(response: str, program: str | None) -> None:
    assert extract_program(response, "f") == program


def test_without_a_function_the_last_program_counts() -> None:
    assert extract_program(f"```python\n{F}\n```\n```python\nprint(1)\n```") == "print(1)"


def test_what_a_source_promises_stands_before_the_program() -> None:
    lcb = read_tests({"public_test_cases": [{"input": "", "output": "", "testtype": "stdin"}]})
    program = "from __future__ import annotations\nx: List[int] = []\nprint(gcd(4, 6))"
    assert whole(program, lcb) == (
        "from __future__ import annotations\nfrom math import gcd\nfrom typing import List\n"
        "x: List[int] = []\nprint(gcd(4, 6))"
    )
    assert whole("print(1)", lcb) == "print(1)"
    row = {
        "prompt": "import re\ndef g(x): return x\n\ndef f(x):\n    '''Doc.'''\n",
        "test": "def check(c): assert c(1)",
        "entry_point": "f",
    }
    tests = read_tests(row)
    assert whole("    return g(x)", tests) == row["prompt"].rstrip() + "\n    return g(x)"
    assert whole(F, tests) == f"import re\ndef g(x): return x\n\n{F}"
