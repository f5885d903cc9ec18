"""Errors, named by what a run does about them.

VtdataError
├── ConfigError (ValueError)    the run never starts; exit code 2
├── DataError   (ValueError)    one record is set aside, counted, kept for reading
├── InfraError  (RuntimeError)  retried; then the record stays unscored, never "wrong"
├── RunError    (RuntimeError)  the run ends; what was finished is kept; exit code 1
├── TooManyFailures (RunError)  more model calls failed than the recipe allows; exit code 4
└── Stopped     (VtdataError)   a budget, a deadline or a signal ended the run; exit code 3
"""

from __future__ import annotations


class VtdataError(Exception):
    """The root of every error that vtdata raises on purpose."""

    exit_code = 1


class ConfigError(VtdataError, ValueError):
    """The user's input is wrong, so nothing starts."""

    exit_code = 2


class DataError(VtdataError, ValueError):
    """One record can't be used: it is set aside under ``reason`` and the run goes on.

    Args:
        reason: a stable snake_case word, a key in the report.
        detail: what a person reads: the value found and where.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


class InfraError(VtdataError, RuntimeError):
    """A server, sandbox or judge is broken: retried, and then unscored, never wrong."""


class RunError(VtdataError, RuntimeError):
    """The run can't go on. Everything finished before it is kept for the next run."""


class TooManyFailures(RunError):
    """More model calls failed than ``max_failed_share`` allows."""

    exit_code = 4


class Stopped(VtdataError):
    """The run was asked to end: a budget, ``--stop-after`` or a signal. It resumes."""

    exit_code = 3
