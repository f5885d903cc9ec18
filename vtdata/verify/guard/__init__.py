"""Work on strange input, done in processes that can be killed.

sympy on a model's answer may take a year or all memory, and nothing inside a Python process can
stop it: a signal handler waits for C code, a thread can't be killed. So such work is a **job**,
asked for by name, and runs in a child process: ``ask("math", [gold, pred])``. What it answers is a
Reply; no limit that was hit ever reads as a verdict.

    host --fork, end--> helper (exec'd, warmed, one thread) --forks--> child (limited)
        |                                                              |
        +--------------- jobs, over a socket of its own ---------------+

A host has at most one helper, started by the first ask, ended with the host however it ends. A
child that is killed costs one fork of the warmed helper, not a cold start.
"""

from __future__ import annotations

from vtdata.verify.guard.client import Reply, ask, ask_many, close
from vtdata.verify.guard.jobs import JOBS

__all__ = ["JOBS", "Reply", "ask", "ask_many", "close"]
