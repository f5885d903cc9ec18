"""Hostile programs that reach for nothing outside: they last, print, grow or break themselves."""

from __future__ import annotations

from tests.sandboxes.hostile import hostile
from tests.sandboxes.programs import Program

_ENDLESS = "import os\nwhile True:\n    os.write({fd}, b'x' * 65536)"

LASTING: list[Program] = [
    hostile("endless output", _ENDLESS.format(fd=1), "output_limit"),
    hostile("endless errors", _ENDLESS.format(fd=2), "output_limit"),
    hostile("os._exit(0)", "print('lost')\nos._exit(0)", "ok", stdout=b""),
    hostile("sleeps", "import time\ntime.sleep(1000)", "time_limit"),
    hostile("waits for itself", "import threading\nthreading.Event().wait()", "time_limit"),
    hostile("stops itself", "import signal\nos.kill(os.getpid(), signal.SIGSTOP)", "time_limit"),
    hostile("busy", "while True: pass", "time_limit"),
    hostile(
        "busy and deaf",
        """
        import signal
        for n in range(1, 65):
            try:
                signal.signal(n, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        while True: pass
        """,
        "time_limit",
    ),
    hostile(
        "busy with its streams closed",
        "for fd in range(3): os.close(fd)\nwhile True: pass",
        "time_limit",
    ),
    hostile("streams closed", "for fd in range(3): os.close(fd)\nos._exit(0)", "ok", stdout=b""),
    hostile("busy in one long call", "sum(range(10**12))", "time_limit"),
    hostile("a number without end", "x = 9**9**8", "time_limit", "memory_limit"),
    hostile(
        "recursion without end",
        "sys.setrecursionlimit(1 << 30)\ndef f(): return f()\nf()",
        "runtime_error",
        "memory_limit",
        "time_limit",
    ),
    hostile(
        "threads without end",
        """
        import threading
        go = threading.Event()
        for _ in range(2000):
            try:
                threading.Thread(target=go.wait, daemon=True).start()
            except RuntimeError:
                break
        print('done', flush=True)
        os._exit(0)
        """,
        stdout=b"done\n",
    ),
    hostile("nested brackets", "(" * 100_000, "runtime_error", "memory_limit"),
    hostile("a zero in the source", "print(1)\0", "runtime_error"),
    hostile("half a character", "print('\ud800')", "runtime_error"),
    hostile(
        "builtins of its own",
        "import builtins\nbuiltins.print = builtins.exec = builtins.compile = None\n"
        "sys.stdout = sys.exit = os._exit = None\nsys.modules.clear()",
        "ok",
        "runtime_error",
        stdout=b"",
    ),
    hostile(
        "deaf at its end",
        "import atexit\n@atexit.register\ndef end():\n    while True: pass",
        "time_limit",
    ),
    hostile("closed streams at its end", "sys.stdout.close()\nsys.stderr.close()", "ok"),
]
