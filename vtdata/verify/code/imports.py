"""What LiveCodeBench's runner imports for a solution, which its questions rely on."""

from __future__ import annotations

import re

_MODULES = (
    "bisect collections copy datetime functools heapq itertools json math operator random re "
    "statistics string sys"
)
_NAMES = {
    "bisect": "bisect_left bisect_right insort insort_left insort_right",
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "copy": "deepcopy",
    "datetime": "timedelta",
    "functools": "cache cached_property cmp_to_key lru_cache partial reduce",
    "heapq": "heapify heappop heappush heappushpop heapreplace nlargest nsmallest",
    "itertools": "accumulate combinations combinations_with_replacement count cycle groupby "
    "islice pairwise permutations product starmap zip_longest",
    "math": "ceil comb factorial floor gcd inf isqrt lcm log10 log2 sqrt",
    "string": "ascii_letters ascii_lowercase ascii_uppercase digits",
    "typing": "Any Callable Deque Dict Generator Iterable Iterator List Optional Set Tuple Union",
}
_LINES = {word: f"import {word}" for word in _MODULES.split()} | {
    word: f"from {module} import {word}"
    for module, words in _NAMES.items()
    for word in words.split()
}
_WORD = re.compile(r"[A-Za-z_]\w*")


def imports_of(program: str) -> str:
    r"""Return the imports of those names that a program uses; its own definitions come later.

    Source: the imports of LiveCodeBench's runner, where a star takes all names of a module; here
    only what is used, so that a small program starts fast.

    >>> imports_of("def f(x: List[int]): return gcd(*x)")
    'from math import gcd\nfrom typing import List\n'
    """
    words = sorted(set(_WORD.findall(program)) & _LINES.keys(), key=_LINES.__getitem__)
    return "".join(f"{_LINES[word]}\n" for word in words)
