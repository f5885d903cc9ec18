"""The program of a worker, run by path: ``worker.py FD PARENT SYS_PATH``.

FD is the socket to the process that started it, PARENT that one's id, SYS_PATH its ``sys.path`` as
JSON. It is sent a Task, then chunks, and answers each with what is done or with our error.
"""

from __future__ import annotations

import json
import sys
from multiprocessing.connection import Connection


def main() -> None:
    """Work until the parent is gone, or wants no more."""
    fd, parent, path = sys.argv[1:]
    sys.path[:] = json.loads(path)

    from vtdata.errors import VtdataError
    from vtdata.verify.guard.limits import die_with

    die_with(int(parent))
    with Connection(int(fd)) as connection:
        try:
            task = connection.recv()
            while True:
                lines = connection.recv()
                try:
                    answer = task.judge(lines)
                except VtdataError as error:
                    answer = error
                connection.send(answer)
        except (EOFError, ConnectionError):
            return


if __name__ == "__main__":
    main()
