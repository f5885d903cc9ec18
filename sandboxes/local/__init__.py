"""The local sandbox: programs in namespaces of this machine, a fork of a clean Python each.

One launcher per worker is started with an empty environment. It gives up root if it has it, enters
new user, mount, network, IPC, host name and process namespaces, and builds a root that holds
``/usr``, the libraries, the interpreter and numpy (all read-only), ``/dev/null`` and its like, and
nothing else. Programs run in cells: process, mount and IPC namespaces of their own, and a private
working folder of limited size. Each input gets a fresh process in the cell, a fork of the launcher,
without capabilities, under Landlock and resource limits, and last under a seccomp filter that lists
what is allowed: threads, files, memory, time; no processes, no sockets, no other programs.

A cell serves up to 64 programs, one at a time, because making one costs as much as a run. Its first
process, from which runs are forked, never holds a program, an input or an output: the kernel moves
them between files. The folder is made anew when a run touched it, and a cell in which a run was
killed is thrown away.

Levels: ``namespaces`` is the above; ``landlock`` is for machines that refuse user namespaces, and
keeps the filter, Landlock, the limits and the ban on processes.

Threat model. Covered, under the level ``namespaces``:

- the network, loopback and abstract Unix sockets included;
- files: nothing outside the list above can be seen, nothing outside the working folder written; the
  folder is empty for every input and limited in bytes and in files; home is never mounted;
- other processes: they can't be seen, read, traced or signaled; nor can the sandbox's own;
- secrets: the environment is empty, and expected outputs never enter; an input is not in the memory
  of the run of another;
- CPU (TLE by CPU time, wall time as a backstop), memory (address space, exact because there is one
  process), output, disk, threads, open files; a fork bomb can't start;
- other sandboxes of this machine: what the kernel counts per user is counted apart, by a user
  namespace each, and where we are root by a user id each;
- survivors: a process that leaves its session dies with the namespace, and all of it dies with the
  worker, SIGKILL included;
- the kernel's riskier calls (new namespaces, mounts, bpf, io_uring, keys, perf, userfaultfd,
  ptrace, 32-bit and x32 calls): refused by the filter, whose default is to refuse.

Not covered:

- a hole in the calls that are allowed: programs share this machine's kernel. For programs of an
  adversary and not of a model use ``e2b``;
- side channels through caches, timing and load; reading ``/usr`` and the interpreter;
- memory of files in the working folder and in pipes comes on top of ``memory_mib``, at most
  ``disk_mib`` and a few MiB;
- what a program prints: it may be 16 MiB of anything, and whoever compares it must not run it;
- GPUs: no device node is there;
- programs that one sandbox runs at the same time share its 512 threads;
- under ``landlock`` as a normal user: his sandboxes share what the kernel counts per user, so a
  program of many threads can keep one in another sandbox from starting its own while it lasts;
- under ``landlock``: file names and sizes outside can be asked for (not read), other processes' ids
  are visible, and the disk is limited per file only.
"""

from __future__ import annotations

from .backend import Backend

__all__ = ["Backend"]
