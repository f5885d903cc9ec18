"""Honest programs that every sandbox must run as a plain Python would.

Each reads standard input and prints; half of them fail under runners that replace ``sys.stdin`` by
a string buffer or wrap the program in a function.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent

from vtdata.sandbox import Limits, Outcome, State


@dataclass(frozen=True, slots=True)
class Program:
    """A program, what it reads, and what must come out."""

    name: str
    source: str
    stdin: bytes = b""
    stdout: bytes | None = b""
    """Exactly what it prints; None where a test of its own looks."""
    states: tuple[State, ...] = ("ok",)
    exit_code: int | None = None
    """None where any will do."""
    stops: str = ""
    """What a backend must be able to stop for this to hold, as in `contract.Box.lacks`."""
    limits: Limits = field(
        default_factory=lambda: Limits(cpu_s=10, wall_s=40, memory_mib=512, output_mib=16)
    )


def check(program: Program, outcome: Outcome) -> None:
    """Hold an outcome against what the program's table says."""
    about = f"{program.name}: {outcome.state} {outcome.detail} {outcome.exit_code} " + str(
        (outcome.stdout[-600:], outcome.stderr[-600:])
    )
    assert outcome.state in program.states, about
    if program.stdout is not None and "output_limit" not in program.states:
        assert outcome.stdout == program.stdout, about
    if program.exit_code is not None:
        assert outcome.exit_code == program.exit_code, about
    assert b"REACHED" not in outcome.stdout, about


def honest(
    name: str, source: str, stdin: bytes = b"", stdout: bytes = b"", exit_code: int = 0
) -> Program:
    states: tuple[State, ...] = ("ok",) if exit_code == 0 else ("runtime_error",)
    return Program(name, dedent(source), stdin, stdout, states, exit_code)


_BIG = b"".join(b"%d\n" % n for n in range(2_900_000))  # 20 MB

HONEST = [
    honest(
        "readline of sys.stdin twice",
        "import sys\na = sys.stdin.readline()\nb = sys.stdin.readline()\nprint(int(a) - int(b))",
        b"5\n3\n",
        b"2\n",
    ),
    honest(
        "readline of the buffer twice",
        "import sys\nr = sys.stdin.buffer.readline\nprint(int(r()) - int(r()))",
        b"5\n3\n",
        b"2\n",
    ),
    honest("input() twice", "print(int(input()) - int(input()))", b"5\n3", b"2\n"),
    honest(
        "lines of sys.stdin",
        "import sys\nprint(sum(int(x) for x in sys.stdin))",
        b"1\n2\n3\n",
        b"6\n",
    ),
    honest("open(0)", "print(*[x.strip() for x in open(0)][::-1])", b"a\nb\n", b"b a\n"),
    honest("/dev/stdin", "print(open('/dev/stdin').read().split()[1])", b"a b", b"b\n"),
    honest("os.read(0)", "import os\nos.write(1, os.read(0, 100)[::-1])", b"abc", b"cba"),
    honest(
        "sys.stdout.buffer",
        "import sys\nsys.stdout.buffer.write(b'\\x00\\xff')\nsys.stdout.write('x')",
        b"",
        b"\x00\xffx",
    ),
    honest("input at the end", "input()\ninput()", b"only", b"", 1),
    honest(
        "a global of the module",
        "count = 0\ndef add():\n    global count\n    count += 1\nadd(); add()\nprint(count)",
        b"",
        b"2\n",
    ),
    honest(
        "its own name",
        """
        import __main__, sys
        def main():
            print(sys.modules['__main__'] is __main__, __main__.main is main, sys.argv[1:])
        if __name__ == "__main__":
            main()
        """,
        b"",
        b"True True []\n",
    ),
    honest(
        "dataclasses and typing",
        """
        from __future__ import annotations
        import pickle, typing
        from dataclasses import dataclass, field
        from typing import List, Optional
        @dataclass(order=True)
        class P:
            a: int
            b: List[int] = field(default_factory=list)
            c: Optional[P] = None
        print(sorted(typing.get_type_hints(P)), pickle.loads(pickle.dumps(P(1, [2]))), P(1) < P(2))
        """,
        b"",
        b"['a', 'b', 'c'] P(a=1, b=[2], c=None) True\n",
    ),
    honest(
        "deep recursion",
        """
        import sys
        sys.setrecursionlimit(200000)
        def depth(n):
            return 0 if n == 0 else 1 + depth(n - 1)
        print(depth(100000))
        """,
        b"",
        b"100000\n",
    ),
    honest(
        "recursion in a thread with a large stack",
        """
        import sys, threading
        sys.setrecursionlimit(1 << 20)
        threading.stack_size(1 << 27)
        def depth(n):
            return 0 if n == 0 else 1 + depth(n - 1)
        t = threading.Thread(target=lambda: print(depth(50000)))
        t.start()
        t.join()
        """,
        b"",
        b"50000\n",
    ),
    honest(
        "threads that end after the main one",
        """
        import threading, time
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(8) as pool:
            print(sum(pool.map(lambda n: n * n, range(100))))
        threading.Thread(target=lambda: (time.sleep(0.1), print("late"))).start()
        """,
        b"",
        b"328350\nlate\n",
    ),
    honest(
        "atexit",
        "import atexit\natexit.register(print, 'bye')\nprint('hello')",
        b"",
        b"hello\nbye\n",
    ),
    honest(
        "asyncio",
        """
        import asyncio
        async def double(n):
            await asyncio.sleep(0)
            return 2 * n
        async def main():
            print(await asyncio.gather(*map(double, range(4))))
        asyncio.run(main())
        """,
        b"",
        b"[0, 2, 4, 6]\n",
    ),
    honest(
        "20 MB in",
        "import sys\nprint(sum(map(int, sys.stdin.buffer)))",
        _BIG,
        b"%d\n" % (2_900_000 * 2_899_999 // 2),
    ),
    honest("20 MB in, unread", "print('done')", _BIG, b"done\n"),
    honest("10 MB out", "print('x' * 9 + '\\n', end='') \nprint('y' * 10_000_000)", b"",
           b"x" * 9 + b"\n" + b"y" * 10_000_000 + b"\n"),
    honest(
        "10 MB out in many writes",
        "import sys\nfor n in range(100_000):\n    sys.stdout.write('z' * 99 + '\\n')\n    "
        "if n % 100 == 0: sys.stdout.flush()",
        b"",
        (b"z" * 99 + b"\n") * 100_000,
    ),
    honest(
        "seconds of processor time",
        "n = 0\nfor i in range(3_000_000):\n    n = (n * 31 + i) % 1000003\nprint(n >= 0)",
        b"",
        b"True\n",
    ),
    honest(
        "whole numbers of 10,000 digits",
        "import sys\nsys.set_int_max_str_digits(0)\nn = int(input())\nprint(n + 1)",
        b"9" * 10_000,
        b"1" + b"0" * 10_000 + b"\n",
    ),
    honest("sys.exit(0)", "import sys\nprint('a')\nsys.exit(0)\nprint('b')", b"", b"a\n"),
    honest("exit()", "print('a')\nexit()", b"", b"a\n"),
    honest("sys.exit of a text", "import sys\nsys.exit('no')", b"", b"", 1),
    honest("sys.exit(3)", "import sys\nprint('a')\nsys.exit(3)", b"", b"a\n", 3),
    honest("an exception after output", "print('a')\nprint(1 // 0)", b"", b"a\n", 1),
    honest("no syntax", "print('a'\nif", b"", b"", 1),
    honest("text beyond ASCII", "s = input()\nprint(s[::-1], len(s))", "日本é😀".encode(),
           "😀é本日 4\n".encode()),
    honest("bytes that are no UTF-8", "import sys\nprint(len(sys.stdin.buffer.read()))",
           b"\xff\xfe\x00", b"3\n"),
    honest("a declared encoding", "# -*- coding: latin-1 -*-\nprint('é')", b"",
           "é\n".encode()),
    honest("a file of its own", "open('a.txt', 'w').write('x')\nprint(open('a.txt').read())", b"",
           b"x\n"),
    honest(
        "a temporary file",
        "import tempfile\nwith tempfile.TemporaryFile() as f:\n    f.write(b'q')\n    f.seek(0)\n"
        "    print(f.read())",
        b"",
        b"b'q'\n",
    ),
    honest(
        "the standard library",
        """
        import bisect, collections, decimal, fractions, functools, heapq, itertools, json, math
        import operator, random, re, statistics, string, time, zlib, hashlib, array, copy, io
        random.seed(1)
        print(json.dumps({"a": [1, 2]}), re.sub("a+", "b", "caat"), math.comb(5, 2),
              decimal.Decimal(1) / 4, fractions.Fraction(1, 3) + 1, hashlib.md5(b"").hexdigest()[:4])
        """,
        b"",
        b'{"a": [1, 2]} cbt 10 0.25 4/3 d41d\n',
    ),
    honest(
        "a local time",
        "import time, datetime\nprint(time.localtime(0).tm_year in (1969, 1970))",
        b"",
        b"True\n",
    ),
    honest(
        "a signal of its own",
        "import signal\nsignal.signal(signal.SIGALRM, lambda *a: print('rang'))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.05)\nsignal.pause()",
        b"",
        b"rang\n",
    ),
    honest("an alarm that nobody catches", "import signal, time\nsignal.alarm(1)\ntime.sleep(20)",
           b"", b"", -14),
    honest("abort", "import os\nos.abort()", b"", b"", -6),
    honest("a segmentation fault", "import ctypes\nctypes.string_at(0)", b"", b"", -11),
]  # fmt: skip

NUMPY = honest(
    "numpy",
    "import sys\nimport numpy as np\na = np.array(sys.stdin.read().split(), int).reshape(2, 2)\n"
    "print((a @ a).tolist(), round(float(np.linalg.det(a))))",
    b"1 2 3 4",
    b"[[7, 10], [15, 22]] -2\n",
)
"""For backends that offer numpy."""
