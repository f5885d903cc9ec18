"""The jobs that a child can do: a short, explicit list.

A job is a function of JSON values that returns a JSON value. Its module is imported by the helper
before it forks, and where the module has a function ``warm`` that is called too, so that every
child begins with hot caches. A job module must not import ``pyarrow`` or anything else that starts
threads: the helper forks.
"""

from __future__ import annotations

JOBS: dict[str, str] = {
    "math": "vtdata.verify.guard.mathverify:compare",
    "prove": "vtdata.verify.prove:prove",
    "score": "vtdata.verify.guard.scorers:score",
}
"""Name of a job: ``module:function``."""
