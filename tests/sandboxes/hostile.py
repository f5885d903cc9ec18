"""Hostile programs, bounded and on loopback only, with what must become of each.

A program says ``REACHED`` when it got through; that word must never come out. What a line of
standard input holds (a port, a path, a secret) is made by the test.
"""

from __future__ import annotations

from textwrap import dedent

from tests.sandboxes.programs import Program
from vtdata.sandbox import Limits, State

QUICK = Limits(cpu_s=1, wall_s=2, memory_mib=256, output_mib=2, disk_mib=16)
"""For programs that a limit must end."""
STEADY = Limits(cpu_s=10, wall_s=40, memory_mib=256, output_mib=2, disk_mib=16)
"""For programs that must come to their end, on a busy machine too."""

_PRELUDE = """
import ctypes, errno, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what, do):
    try:
        got = do()
    except (OSError, RuntimeError, ValueError, MemoryError) as error:
        print(what, 'blocked')
    else:
        print(what, 'REACHED', repr(got)[:200])
def call(number, *args):
    got = libc.syscall(ctypes.c_long(number), *args)
    if got == -1:
        raise OSError(ctypes.get_errno(), 'refused')
    return got
X86 = platform.machine() == 'x86_64'
"""


def hostile(
    name: str,
    source: str,
    *states: State,
    stops: str = "",
    stdout: bytes | None = None,
    limits: Limits | None = None,
) -> Program:
    if limits is None:
        limits = QUICK if "time_limit" in states else STEADY
    body = _PRELUDE + dedent(source)
    return Program(name, body, b"", stdout, states or ("ok",), None, stops, limits)


NETWORK = hostile(
    "network",
    """
    import socket
    port, name = int(input()), input()
    def connect(family, kind, address):
        with socket.socket(family, kind) as s:
            s.settimeout(1)
            s.connect(address)
            s.send(b'REACHED')
            return address
    attempt('tcp', lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', port)))
    attempt('udp', lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', port)))
    attempt('unix', lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, chr(0) + name))
    attempt('listen', lambda: socket.create_server(('127.0.0.1', 0)))
    attempt('raw', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
    attempt('netlink', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
    """,
    stops="network",
)
FILES = hostile(
    "files outside",
    """
    secret = input()
    folder = os.path.dirname(secret)
    attempt('read', lambda: open(secret).read())
    attempt('write', lambda: open(secret + '.new', 'w').write('REACHED'))
    attempt('delete', lambda: os.unlink(secret))
    attempt('list', lambda: os.listdir(folder))
    attempt('rename', lambda: os.rename(secret, 'mine'))
    attempt('hard link', lambda: os.link(secret, 'mine'))
    os.symlink(secret, 'result')
    attempt('symlink', lambda: open('result').read())
    attempt('up', lambda: open('../' * 40 + secret).read())
    attempt('root', lambda: open('/proc/1/root' + secret).read())
    attempt('its cwd', lambda: open('/proc/1/cwd/../../../../../..' + secret).read())
    attempt('usr', lambda: open('/usr/vtdata-test', 'w'))
    attempt('prefix', lambda: open(os.path.join(sys.prefix, 'vtdata-test'), 'w'))
    attempt('etc', lambda: open('/etc/shadow').read())
    for name in ('/dev/sda', '/dev/vda', '/dev/mem', '/dev/kmsg', '/dev/nvidia0', '/dev/dri/card0'):
        attempt(name, lambda: open(name, 'rb').read(1))
    """,
    stops="files",
)
SECRETS = hostile(
    "the environment and command lines of others",
    """
    import glob
    secret = input()
    def look(path):
        try:
            return secret.encode() in open(path, 'rb').read(1 << 20)
        except OSError:
            return False
    if any(secret in value for value in os.environ.values()):
        print('REACHED own environment')
    for pattern in ('environ', 'cmdline', 'task/*/environ'):
        for path in glob.glob('/proc/[0-9s]*/' + pattern):
            if look(path):
                print('REACHED', path)
    print(sorted(set(os.environ) & {'HOME', 'VTDATA_SECRET', 'OPENAI_API_KEY', 'SSH_AUTH_SOCK'}))
    """,
    stops="processes",
)
MEMORY_OF_OTHERS = hostile(
    "the memory of its parent",
    """
    import resource
    for pid in sorted({1, os.getppid()} - {0, os.getpid()}):
        attempt('ptrace', lambda: call(101 if X86 else 117, 16, pid, 0, 0))
        attempt('seize', lambda: call(101 if X86 else 117, 0x4206, pid, 0, 0))
        buffer = ctypes.create_string_buffer(16)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 16)
        attempt('process_vm_readv', lambda: call(310 if X86 else 270, pid, vector, 1, vector, 1, 0))
        attempt('process_vm_writev', lambda: call(311 if X86 else 271, pid, vector, 1, vector, 1, 0))
        attempt('mem', lambda: open(f'/proc/{pid}/mem', 'r+b'))
        attempt('fds', lambda: os.listdir(f'/proc/{pid}/fd'))
        limit = resource.RLIM_INFINITY
        attempt('its limits', lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, limit)))
        attempt('pidfd_getfd', lambda: call(438, call(434, pid, 0), 0, 0))
    """,
    stops="processes",
)
SIGNALS = hostile(
    "signals to others",
    """
    import signal
    parent = os.getppid()
    for pid in [1, parent, *range(2, 400)]:
        if pid not in (0, os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
    print('alive', os.getppid() == parent)
    """,
    stops="processes",
    stdout=b"alive True\n",
)
FORK_BOMB = hostile(
    "fork bomb",
    """
    import subprocess, time
    made = 0
    for _ in range(2000):
        try:
            pid = os.fork()
        except OSError:
            continue
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
    for number in ((56, 57, 58) if X86 else (220,)):
        attempt(f'syscall {number}', lambda: call(number, 17, 0, 0, 0, 0))
    arguments = (ctypes.c_uint64 * 11)(0, 0, 0, 0, 17)
    attempt('clone3', lambda: call(435, arguments, 88))
    attempt('exec', lambda: os.execv('/bin/sh', ['sh', '-c', 'echo REACHED']))
    attempt('shell', lambda: subprocess.check_output(['/bin/sh', '-c', 'echo REACHED']))
    attempt('posix_spawn', lambda: os.posix_spawn('/bin/true', ['true'], {}))
    print(os.system('echo REACHED') != 0, made, 'forks')
    """,
    stops="fork",
)
SURVIVORS = hostile(
    "children that outlive their session",
    """
    import time
    for _ in range(50):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(120)
            os._exit(0)
    print('done')
    """,
    "ok",
    "time_limit",
    stops="survivors",
)
OWN_NAMESPACES = hostile(
    "namespaces, mounts and roots of its own",
    """
    os.makedirs('d/e')
    for name, flag in dict(user=0x10000000, mount=0x20000, pid=0x20000000, net=0x40000000).items():
        attempt('unshare ' + name, lambda: call(272 if X86 else 97, flag))
    attempt('mount', lambda: call(165 if X86 else 40, b'none', b'd', b'tmpfs', 0, 0))
    attempt('bind', lambda: call(165 if X86 else 40, b'/', b'd', 0, 4096, 0))
    attempt('remount', lambda: call(165 if X86 else 40, 0, b'/', 0, 32 | 4096, 0))
    attempt('umount', lambda: call(166 if X86 else 39, b'/proc', 2))
    attempt('pivot_root', lambda: call(155 if X86 else 41, b'd', b'd/e'))
    attempt('chroot', lambda: os.chroot('d'))
    attempt('open_tree', lambda: call(428, -100, b'/', 1))
    attempt('fsopen', lambda: call(430, b'tmpfs', 0))
    attempt('setns', lambda: call(308 if X86 else 268, os.open('/proc/self/ns/net', 0), 0))
    attempt('mknod', lambda: os.mknod('null', 0o20666, os.makedev(1, 5)))
    attempt('sethostname', lambda: call(170 if X86 else 161, b'x', 1))
    attempt('setuid', lambda: os.setuid(0) if os.getuid() else os.mknod('n', 0o20666, 259))
    """,
    stops="kernel",
)
KERNEL = hostile(
    "risky calls of the kernel",
    """
    numbers = dict(keyctl=(250, 219), add_key=(248, 217), bpf=(321, 280),
        perf_event_open=(298, 241), io_uring_setup=(425, 425), userfaultfd=(323, 282),
        kexec_load=(246, 104), init_module=(175, 105), finit_module=(313, 273), reboot=(169, 142),
        swapon=(167, 224), acct=(163, 89), quotactl=(179, 60), personality=(135, 92),
        name_to_handle_at=(303, 264), open_by_handle_at=(304, 265), vmsplice=(316, 75),
        shmget=(29, 194), msgget=(68, 186), semget=(64, 190), mq_open=(240, 180),
        fanotify_init=(300, 262), migrate_pages=(256, 238), kcmp=(312, 272), ptrace=(101, 117),
        settimeofday=(164, 170), clock_settime=(227, 112), adjtimex=(159, 171), seccomp=(317, 277),
        future_call=(1023, 1023))
    for name, (x86, arm) in numbers.items():
        attempt(name, lambda: call(x86 if X86 else arm, 0, 0, 0, 0, 0))
    if X86:
        attempt('x32', lambda: call(0x40000000 + 39))
    """,
    stops="kernel",
)
OTHER_ABI = hostile(
    "the 32-bit calls of the kernel",
    r"""
    import mmap
    if not X86:
        sys.exit(1)
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')  # mov eax, getpid; int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    got = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if got > 0:
        print('REACHED', got)
    sys.exit(1)
    """,
    "runtime_error",
    stops="kernel",
)
LIMITS_RAISED = hostile(
    "limits raised by itself",
    """
    import resource
    for name in ('RLIMIT_AS', 'RLIMIT_CPU', 'RLIMIT_FSIZE', 'RLIMIT_NPROC', 'RLIMIT_NOFILE'):
        limit = resource.RLIM_INFINITY
        attempt(name, lambda: resource.setrlimit(getattr(resource, name), (limit, limit)))
    attempt('nice', lambda: os.nice(-5))
    """,
    stops="limits",
)
MEMORY = hostile(
    "memory in one process",
    "held = []\nwhile True:\n    held.append(bytearray(16 << 20))",
    "memory_limit",
    stops="memory",
    stdout=b"",
    limits=Limits(cpu_s=5, wall_s=20, memory_mib=256),
)
MEMORY_IN_THREADS = hostile(
    "memory in threads",
    """
    import threading
    held = []
    go = threading.Event()
    def grow():
        go.wait()
        try:
            for _ in range(64):
                held.append(bytearray(16 << 20))
        except MemoryError:
            pass
    threads = [threading.Thread(target=grow) for _ in range(4)]
    for thread in threads: thread.start()
    go.set()
    for thread in threads: thread.join()
    print('within' if len(held) * 16 <= 256 else 'REACHED')
    """,
    stops="memory",
    stdout=b"within\n",
    limits=Limits(cpu_s=5, wall_s=20, memory_mib=256),
)
DISK = hostile(
    "disk",
    """
    total = 0
    for n in range(40):
        try:
            with open(f'f{n}', 'wb', buffering=0) as f:
                for _ in range(15):
                    total += f.write(bytes(1 << 20))
        except OSError:
            pass
    print('within' if total <= 64 << 20 else f'REACHED {total}')
    made = 0
    try:
        for n in range(200_000):
            os.close(os.open(f'g{n}', os.O_CREAT | os.O_WRONLY))
            made += 1
    except OSError:
        pass
    print('within' if made < 20_000 else 'REACHED')
    """,
    stops="disk",
    stdout=b"within\nwithin\n",
    limits=Limits(cpu_s=10, wall_s=40, disk_mib=64),
)

REACHING = [
    MEMORY_OF_OTHERS,
    SIGNALS,
    FORK_BOMB,
    SURVIVORS,
    OWN_NAMESPACES,
    KERNEL,
    OTHER_ABI,
    LIMITS_RAISED,
    MEMORY,
    MEMORY_IN_THREADS,
    DISK,
]

INHERITED = """
import os
found = []
for fd in range(3, 1024):
    try:
        os.fstat(fd)
    except OSError:
        continue
    try:
        os.write(fd, b'{"state": "ok"}' * 10)
    except OSError:
        pass
    found.append(fd)
print(found)
"""

LEAVES_TRACES = """
import os
left = []
for place in ('.', '/tmp', '/dev/shm'):
    try:
        left += os.listdir(place)
    except OSError:
        pass  # it can't leave anything there either
print(left)
if os.getuid() != 0:
    os.makedirs('a/' * 60)
    open('a/file', 'w').write(input())
    os.chmod('a', 0)
    os.chmod('.', 0o500)
"""

LOOKS_AROUND = """
import ctypes, re, sys
own = input()
found = {own}
frame = sys._getframe()
while frame is not None:
    for name, value in list(frame.f_locals.items()):
        if isinstance(value, (str, bytes)) and len(value) == len(own) and name != 'own':
            found.add(str(value))
    frame = frame.f_back
pattern = re.compile(b'[a]-secret-input-[0-9a-f]{32}')
try:
    maps = list(open('/proc/self/maps'))
except OSError:
    maps = []  # nor can it be found where to look
for line in maps:
    span, mode, *_ = line.split()
    if 'rw' not in mode:
        continue
    begin, end = (int(part, 16) for part in span.split('-'))
    data = ctypes.string_at(begin, end - begin)
    found.update(match.decode() for match in pattern.findall(data))
print(sorted(found) == [own])
"""
"""It looks for what other runs of the same program read, in its frames and in its memory."""
