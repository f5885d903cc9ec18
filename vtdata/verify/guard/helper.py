"""The program of the helper, run by path: ``helper.py FD PARENT BOUND SYS_PATH``.

FD is the socket to the host, PARENT the host's process id, BOUND 1 where the kernel shall kill the
helper when the thread that started it ends (that thread lives as long as the host), SYS_PATH the
host's ``sys.path`` as JSON.

It is run by path and puts an empty ``vtdata.verify`` in place, because the real one imports
pyarrow, which costs 40 MB and starts a thread in a process that forks.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import types


def main() -> None:
    """Serve the host until it is gone."""
    fd, parent, bound, path = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's to answer
    sys.path[:] = json.loads(path)
    package = types.ModuleType("vtdata.verify")
    package.__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]  # noqa: PTH100, PTH120
    sys.modules["vtdata.verify"] = package
    guard = types.ModuleType("vtdata.verify.guard")
    guard.__path__ = [os.path.dirname(os.path.abspath(__file__))]  # noqa: PTH100, PTH120
    sys.modules["vtdata.verify.guard"] = guard

    from vtdata.verify.guard.forks import Forks
    from vtdata.verify.guard.limits import die_with

    if bound == "1":
        die_with(int(parent))
    Forks(socket.socket(fileno=int(fd)), int(parent)).serve()


if __name__ == "__main__":
    main()
    os._exit(0)
