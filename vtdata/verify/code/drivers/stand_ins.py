"""What stands for the program where only its tests run.

Every use of a name of the program is a call that is written down. Where its answer is known, the
test goes on with it; where not, with a stand-in, so that one run finds out about many calls.
"""

from __future__ import annotations

import builtins
from typing import Any

from vtdata.verify.code.wire import Malformed, Ref, pack, unpack


class Need(BaseException):
    """The test can't go on without an answer; no test catches it by ``except Exception``."""


class Unsendable(BaseException):
    """An argument is no data: this test can't be asked from outside the program's process."""


class Raised(Exception):
    """What the program raised, where it is no builtin exception."""


class World:
    """The calls of one test, with the answers that are known."""

    def __init__(self, calls: list[Any], answers: list[Any]) -> None:
        self.known = calls
        self.answers = answers
        self.calls: list[Any] = []
        self.guessing = False
        """True once an answer is missing: what is asserted then means nothing."""
        self.asserting = False
        self.unsendable: str | None = None
        self.spoiled = False
        """True once the program sent what no driver of ours sends."""

    def asked(self) -> bool:
        """Whether the program was called, and not only looked for."""
        return any(call[0] == "call" for call in self.calls)

    def begin(self) -> None:
        self.asserting = True

    def end(self) -> bool:
        """Whether a test goes on behind an assertion that failed."""
        self.asserting = False
        return self.guessing

    def make(self, call: list[Any], args: tuple[Any, ...] = ()) -> Any:
        k = len(self.calls)
        self.calls.append(call)
        if k >= len(self.answers) or not self._same(self.known[k], call):
            self.answers = self.answers[:k]
            self.guessing = True
            return Object(self, k) if call[0] == "name" else StandIn(self, k)
        return self._answer(k, args)

    def _answer(self, k: int, args: tuple[Any, ...]) -> Any:
        answer = self.answers[k]
        kind, value, more = answer[0], answer[1], answer[-1]
        if kind == "raised":
            found = vars(builtins).get(value)
            proper = isinstance(found, type) and issubclass(found, Exception)
            raise (found if proper else Raised)(more)
        if kind == "object":
            return Object(self, k)
        try:
            for at, new in more:
                _change(args[at], unpack(new))
            return unpack(value)
        except (Malformed, TypeError, ValueError, IndexError, RecursionError) as error:
            self.spoiled = True
            raise Raised("an answer is no data") from error

    def _same(self, one: Any, other: Any) -> bool:
        """Whether two calls are one, where one has the number and the other the answer."""
        if isinstance(one, dict) and one.get("t") == "ref" and one != other:
            answer = self.answers[one["v"]] if one["v"] < len(self.answers) else [""]
            return answer[0] == "data" and answer[1] == other
        if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            return all(map(self._same, one, other))
        if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
            return all(self._same(one[key], other[key]) for key in one)
        return one == other


def _change(target: Any, new: Any) -> None:
    """Do to an argument what the call did to it."""
    if isinstance(target, (list, bytearray)):
        target[:] = new
    elif isinstance(target, (dict, set)):
        target.clear()
        target.update(new)


class Object(Ref):
    """What is no data, and lives in the program's process: equal to nothing but itself."""

    _world: World

    def __init__(self, world: World, k: int) -> None:
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "_world", world)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whether it is equal, or long, is never the program's to say
            raise AttributeError(name)
        return self._world.make(["get", self.k, name])

    def __setattr__(self, name: str, value: Any) -> None:
        (sent,), _ = self._sent((value,), {})
        self._world.make(["set", self.k, name, sent])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._world.make(["call", self.k, *self._sent(args, kwargs)], args)

    def _sent(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        try:
            return [pack(arg) for arg in args], {key: pack(arg) for key, arg in kwargs.items()}
        except Malformed as error:
            if _has_stand_in((args, kwargs)):
                raise Need from error
            self._world.unsendable = str(error)
            raise Unsendable from error


def _has_stand_in(value: Any, depth: int = 0) -> bool:
    if isinstance(value, StandIn) or depth > 20:
        return True
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return any(_has_stand_in(item, depth + 1) for item in inner)
    return False


class StandIn(Object):
    """An answer that nobody has yet. Asserted about, it agrees with everything."""

    __hash__ = None  # type: ignore[assignment]

    def _needed(self, *_: Any) -> Any:
        raise Need

    def _agreed(self, *_: Any) -> bool:
        if not self._world.asserting:
            raise Need
        return True

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _agreed
    __bool__ = _agreed
    __iter__ = __len__ = __getitem__ = __contains__ = __next__ = __index__ = _needed
    __int__ = __float__ = __str__ = __abs__ = __round__ = __neg__ = _needed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _needed
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __and__ = __or__ = _needed
