"""Runs inside a container or a microVM: one program, many inputs, each in a fresh process.

A job comes on stdin as frames (8 bytes of length, big endian, and the bytes): settings as JSON, the
program's source, then one frame per input. Answers go to stdout: a frame that says hello, then
three per run: facts as JSON, stdout, stderr. Needs Python 3.9 and Linux, and nothing of vtdata.

The wall is the container or the microVM. What this driver adds is order between the runs of one
program: it is either PID 1 of a container, which its children can't signal, or root in a microVM,
while the program gets a private uid. A program can't read the driver's memory (not dumpable), where
the other inputs are, nor outlive its run: every process it started is killed and reaped.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import selectors
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

MIB = 1 << 20
PROCESSES = 128
"""Most processes and threads of a program (ours)."""
FILES = 256
"""Most open files of one process (ours)."""
KEPT = 64 * 1024
"""Bytes of output that are kept of a program that printed too much (ours)."""
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET = 0x20000, 0x8000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 4, 36, 38, 22
PRLIMIT = {"x86_64": (0xC000003E, 302), "aarch64": (0xC00000B7, 261)}
"""The kernel's name of a calling convention, and the number of prlimit64 in it."""

LIBC = ctypes.CDLL(None, use_errno=True)


def read_frame() -> bytes:
    """Read one frame of the job."""
    head = sys.stdin.buffer.read(8)
    size = struct.unpack(">Q", head)[0] if len(head) == 8 else 0
    data = sys.stdin.buffer.read(size)
    if len(head) < 8 or len(data) < size:
        raise SystemExit("the job ended early")
    return data


def write_frames(*frames: bytes) -> None:
    """Write frames of the answer."""
    for frame in frames:
        sys.stdout.buffer.write(struct.pack(">Q", len(frame)) + frame)
    sys.stdout.buffer.flush()


class Keeper:
    """Who the program runs as and where, and how every trace of a run is removed.

    Args:
        root: a folder for the program's text.
        scratch: where a program may write; the first is its working folder. In a container these
            are the only places that can be written to; in a microVM, where a tmpfs is put on them
            for each run.
    """

    def __init__(self, root: str, scratch: list[str]) -> None:
        self.root = Path(root)
        self.scratch = [Path(place) for place in scratch]
        self.init = os.getpid() == 1
        if not self.init and os.geteuid() != 0:
            raise SystemExit("the driver must be PID 1 of a container or root in a microVM")
        # Unique among the drivers of a machine, because their process ids are.
        self.uid = None if self.init else 20_000 + os.getpid() % 20_000

    def cut_off(self) -> None:
        """Leave the services of a microVM's own loopback; a container has no network anyway.

        Raises:
            SystemExit: this root may not make namespaces.
        """
        if not self.init and LIBC.unshare(CLONE_NEWNET) != 0:
            raise SystemExit(f"no network namespace: {os.strerror(ctypes.get_errno())}")

    def become(self, disk_mib: int) -> None:
        """Turn this process, a child, into the program's user; no way back."""
        if self.uid is None:
            return
        _succeed(LIBC.unshare(CLONE_NEWNS | CLONE_NEWIPC))
        _succeed(LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
        first, *others = (bytes(place) for place in self.scratch if place.is_dir())
        options = b"size=%dm,nr_inodes=16k,mode=1777" % disk_mib
        _succeed(LIBC.mount(b"tmpfs", first, b"tmpfs", MS_NOSUID | MS_NODEV, options))
        for other in others:
            _succeed(LIBC.mount(first, other, None, MS_BIND, None))
        os.chdir(first)
        os.setgroups([])
        os.setresgid(self.uid, self.uid, self.uid)
        os.setresuid(self.uid, self.uid, self.uid)

    def end_all(self) -> None:
        """Kill every process of the program, also those that left its session."""
        if self.uid is not None:
            _kill_user(self.uid)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # as PID 1: all others in here, and never itself

    def clear(self) -> None:
        """Remove every file that the program left; a microVM's went with its mounts.

        Raises:
            SystemExit: some can't be removed; a fresh sandbox must go on.
        """
        if self.uid is not None:
            return
        left = [path for place in (self.root, *self.scratch) for path in place.iterdir()]
        # Programs, because shutil.rmtree fails on folders nested deeper than Python recurses.
        for command in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            left = [path for path in left if os.path.lexists(path)]
            if left:
                subprocess.run([*command, "--", *left], stderr=subprocess.DEVNULL, check=False)
        if any(os.path.lexists(path) for path in left):
            raise SystemExit("can't remove what the program left")


def _succeed(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _kill_user(uid: int) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            # May signal the program's uid, but has another real and saved uid, so that the program
            # can't signal back.
            mine = uid + 20_000
            os.setgroups([])
            os.setresuid(mine, uid, mine)
            if os.getresuid() == (mine, uid, mine):
                os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def confine(settings: dict, keeper: Keeper) -> None:
    """Limit this process, a child that is about to become the program."""
    LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else /proc/self is root's and the next line fails
    Path("/proc/self/oom_score_adj").write_text("1000")  # the kernel kills it before the driver
    cpu_s = int(-(-settings["cpu_s"] // 1))
    memory, disk = settings["memory_mib"] * MIB, settings["disk_mib"] * MIB
    bounds = {
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_AS: (memory, memory),
        resource.RLIMIT_FSIZE: (disk, disk),
        resource.RLIMIT_NOFILE: (FILES, FILES),
        resource.RLIMIT_CORE: (0, 0),
    }
    if keeper.uid is not None:  # in a container the uid is shared with others; it has a pids limit
        bounds[resource.RLIMIT_NPROC] = (PROCESSES, PROCESSES)
    for name, (soft, hard) in bounds.items():
        resource.setrlimit(name, (soft, hard))
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))  # deep recursion; memory bounds it
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    keeper.become(settings["disk_mib"])
    spare_driver(os.getpid())


def spare_driver(own: int) -> None:
    """Refuse to set limits of other processes, from here on and in all that comes of this one.

    In a container the driver is the program's own user, so it could be limited to death by it, and
    a verdict of wrong would be none. Machines that are not in the table go without.
    """
    convention, prlimit = PRLIMIT.get(os.uname().machine, (0, 0))
    if not prlimit:
        return
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000
    lines = (
        (load, 0, 0, 4),
        (equal, 0, 8, convention),
        (load, 0, 0, 0),
        (at_least, 6, 0, 1 << 30),  # x32, whose numbers are others
        (equal, 0, 4, prlimit),
        (load, 0, 0, 16),  # its first argument, a process; 0 is the caller
        (equal, 2, 0, 0),
        (equal, 1, 0, own),
        (answer, 0, 0, refuse | errno.EPERM),
        (answer, 0, 0, allow),
        (answer, 0, 0, refuse | errno.ENOSYS),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    whole = struct.pack("@HP", len(lines), ctypes.addressof(code))
    _succeed(LIBC.prctl(PR_SET_SECCOMP, 2, whole, 0, 0))


def start(source: bytes, data: bytes, settings: dict, keeper: Keeper) -> subprocess.Popen:
    """Start the program with ``data`` on its standard input."""
    main = keeper.root / "main.py"
    main.write_bytes(source)
    main.chmod(0o444)
    folder = keeper.scratch[0]
    given = os.memfd_create("input")
    try:
        with open(given, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(given, 0, os.SEEK_SET)
        return subprocess.Popen(
            [sys.executable, "-s", "-B", str(main)],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={
                "PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
                "HOME": str(folder),
                "TMPDIR": str(folder),
                "LC_ALL": "C.UTF-8",
                "PYTHONHASHSEED": "0",
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
            },
            start_new_session=True,
            preexec_fn=lambda: confine(settings, keeper),  # no thread is running here
        )
    finally:
        os.close(given)


class Output:
    """What a program prints, up to a limit for both streams together."""

    def __init__(self, stdout: int, stderr: int, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.out: list[bytes] = []
        self.err: list[bytes] = []
        self.chunks = {stdout: self.out, stderr: self.err}

    def take(self, fd: int) -> bool:
        """Read once; false at the end of the stream."""
        data = os.read(fd, 1 << 16)
        self.size += len(data)
        if not self.full():
            self.chunks[fd].append(data)
        return bool(data)

    def full(self) -> bool:
        """Tell whether more was printed than is allowed."""
        return self.size > self.limit


def watch(child: subprocess.Popen, output: Output, deadline: float, wake: int) -> str | None:
    """Collect output until the program's first process ends or a limit is passed.

    Returns:
        The limit that was passed, or None.
    """
    with selectors.DefaultSelector() as selector:
        for fd in (wake, *output.chunks):
            selector.register(fd, selectors.EVENT_READ)
        while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return "time_limit"
            for key, _ in selector.select(left):
                if key.fd == wake:
                    os.read(wake, 512)
                elif not output.take(key.fd):
                    selector.unregister(key.fd)
            if output.full():
                return "output_limit"
    return None


def reap(child: subprocess.Popen) -> int:
    """Wait for every process of the program; returns how the first one ended."""
    _, status = os.waitpid(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return child.returncode


def cpu_of_children() -> float:
    """CPU seconds of all children so far, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def judge(passed: str | None, code: int, cpu_s: float, settings: dict, stderr: bytes) -> str:
    """Name what became of a run; ``passed`` is the limit for which it was killed."""
    if passed is not None:
        return passed
    if cpu_s > settings["cpu_s"] or code == -signal.SIGXCPU:
        return "time_limit"
    if code == -signal.SIGKILL:
        return "memory_limit"  # not by us, so by the kernel, which kills for memory
    if code == 0:
        return "ok"
    last = stderr.rstrip().rpartition(b"\n")[2]
    return "memory_limit" if last.startswith(b"MemoryError") else "runtime_error"


def run(source: bytes, data: bytes, settings: dict, keeper: Keeper, wake: int) -> None:
    """Run the program once and write its frames."""
    begun, used = time.monotonic(), cpu_of_children()
    child = start(source, data, settings, keeper)
    assert child.stdout is not None
    assert child.stderr is not None
    with child.stdout as out, child.stderr as err:
        output = Output(out.fileno(), err.fileno(), settings["output_mib"] * MIB)
        passed = watch(child, output, begun + settings["wall_s"], wake)
        wall_s = time.monotonic() - begun
        keeper.end_all()
        code = reap(child)
        for fd in output.chunks:  # nobody is left who could hold a pipe open
            while output.take(fd):
                pass
    if output.full():
        passed = passed or "output_limit"
    cpu_s = cpu_of_children() - used
    kept = slice(KEPT) if passed == "output_limit" else slice(None)
    stdout, stderr = b"".join(output.out)[kept], b"".join(output.err)[kept]
    facts = {
        "state": judge(passed, code, cpu_s, settings, stderr),
        "exit_code": None if passed else code,
        "cpu_s": cpu_s,
        "wall_s": wall_s,
    }
    write_frames(json.dumps(facts).encode(), stdout, stderr)


def main(root: str, *scratch: str) -> None:
    """Run a job; see `Keeper` for the places."""
    keeper = Keeper(root, list(scratch))
    keeper.cut_off()
    LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans come to us, and so does their CPU time
    wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    write_frames(b'{"driver": 1}')
    settings, source = json.loads(read_frame()), read_frame()
    for _ in range(settings["runs"]):
        run(source, read_frame(), settings, keeper, wake)
        keeper.clear()


if __name__ == "__main__":
    main(*sys.argv[1:])
