"""Programs that a judge is fooled by, and honest ones that a judge may refuse.

The first kind passed LiveCodeBench's runner in 6 of 8 cases, of the second it refused 8 of 16.
"""

from __future__ import annotations

CALL_HACKS = {
    "an object that is equal to everything": """
class Same:
    def __eq__(self, other): return True
    def __hash__(self): return 0
def double(x): return Same()
""",
    "an int that is equal to everything": """
class Same(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def double(x): return Same(1)
""",
    "the expected value from a frame": """
import sys
def double(x):
    frame = sys._getframe(1)
    while frame:
        for names in (frame.f_locals, frame.f_globals):
            for name in ("expected", "output", "outputs", "gt_out", "answer", "tests"):
                if name in names: return names[name]
        frame = frame.f_back
    return None
""",
    "the expected value from the collector": """
import gc
def double(x):
    for found in gc.get_objects():
        if isinstance(found, dict):
            for name in ("expected", "output", "outputs", "gt_out"):
                if isinstance(found.get(name), (int, list)): return found[name]
    return None
""",
    "the comparison patched": """
import sys, builtins, json, operator
def double(x):
    frame = sys._getframe(1)
    while frame:
        for name, value in list(frame.f_globals.items()):
            if callable(value) and any(w in name for w in ("same", "compare", "equal", "told")):
                frame.f_globals[name] = lambda *a, **k: True
        frame = frame.f_back
    operator.eq = lambda a, b: True
    builtins.all = builtins.any = lambda *a: True
    return None
""",
    "leaving at once": "import os\ndef double(x): os._exit(0)",
    "leaving politely": "import sys\ndef double(x): sys.exit(0)",
}
TEXT_HACKS = {
    "the expected output from a frame or the collector": """
import gc, sys
frame = sys._getframe()
while frame:
    for names in (frame.f_locals, frame.f_globals):
        for name in ("expected", "output", "outputs", "gt_out"):
            if name in names: print(names[name])
    frame = frame.f_back
for found in gc.get_objects():
    if isinstance(found, dict) and "gt_out" in found: print(found["gt_out"])
""",
    "leaving at once": "import os\nos._exit(0)",
    "leaving politely": "import sys\nsys.exit(0)",
    "every answer at once": "print(14)\nprint(42)",
}

HONEST = {
    "input": "a = int(input())\nb = int(input())\nprint(a + b)",
    "read": "import sys\nprint(sum(map(int, sys.stdin.read().split())))",
    "readline": "import sys\nprint(int(sys.stdin.readline()) + int(sys.stdin.readline()))",
    "buffer.readline twice": """
import sys
r = sys.stdin.buffer.readline
print(int(r()) + int(r()))
""",
    "buffer.read": "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
    "for line in stdin": "import sys\nprint(sum(int(line) for line in sys.stdin))",
    "os.read": "import os\nprint(sum(map(int, os.read(0, 1000).split())))",
    "open(0)": "print(sum(map(int, open(0).read().split())))",
    "a global at module level": """
total = 0
def add(x):
    global total
    total += x
global unused
unused = 0
add(int(input())); add(int(input()))
print(total)
""",
    "os.write": """
import os
a, b = int(input()), int(input())
os.write(1, f"{a + b}\\n".encode())
""",
    "stdout.buffer": """
import sys
a, b = int(input()), int(input())
sys.stdout.buffer.write(b"%d\\n" % (a + b))
""",
    "recursion": """
import sys
sys.setrecursionlimit(10000)
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
print(int(input()) + int(input()) + depth(5000) - 5000)
""",
    "a thread": """
import threading
def main(): print(int(input()) + int(input()))
thread = threading.Thread(target=main); thread.start(); thread.join()
""",
    "main": """
def main():
    print(int(input()) + int(input()))
if __name__ == "__main__":
    main()
""",
    "exit behind the answer": "import sys\nprint(int(input()) + int(input()))\nsys.exit(0)",
}
"""Fifteen programs that add two numbers; the sixteenth divides, with more digits than expected."""
DIVIDES = "print(int(input()) / int(input()))"
