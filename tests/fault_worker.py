"""Runs sort jobs in which one system call goes wrong, each in a fork of its own.

A request is a line of JSON on standard input: argv (of text), cwd, threads (whether workers are used however little
there is to sort), named (whether no file can be without a name), fault (null, or [n, kind, persists]: the first call
from the n-th on that can end so does, and if it persists all like it that follow). The answer is a line of JSON: status
(below zero: the signal), calls (name and what it was about, in order), hit (the call that went wrong, null when none
did), threads and descriptors (more than at the start).

What the job writes is in cwd/.stdout and cwd/.stderr; its standard input is cwd/in.
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import signal
import sys
import time
from _thread import allocate_lock
from collections.abc import Callable
from typing import Any, NoReturn

from preload import preload

from pysort import cli, plan, rounds, sorting
from pysort.storage import runreader, spill, spillfile, syscalls, workers

TIMEOUT_S = 60  # a job that hangs has hung by then, however busy the machine is
ANSWER_FD = 200
SMALL_BYTES = 4096  # what is written out and given back at a time
SHORT, ZERO, DEAD = "short", "zero", "no thread"
READ = ("EIO", "EINTR", "ESTALE", SHORT, ZERO)
WRITE = ("EIO", "ENOSPC", "EDQUOT", "EFBIG", "EINTR", SHORT, ZERO)
# How each call can end. A zero is what a read says at the end of an input: there it is no fault. A pipe takes a byte at
# least.
KINDS: dict[str, tuple[str, ...]] = {
    "open": ("EIO", "ENOSPC", "EINTR", "EDQUOT", "EMFILE", "EACCES"),
    "close": ("EIO", "ENOSPC", "EINTR", "EDQUOT"),
    "read": READ,
    "readv": READ,
    "preadv": READ,
    "write": WRITE,
    "pwrite": WRITE,
    "ftruncate": ("EIO", "EINTR"),
    "fsync": ("EIO", "ENOSPC", "EDQUOT", "EINTR"),
    "link": ("EIO", "EPERM", "EEXIST"),
    "rename": ("EIO", "ENOSPC", "EACCES"),
    "fchmod": ("EIO", "EPERM"),
    "fchown": ("EIO", "EPERM"),
    "unlink": ("EIO",),
    "fstat": ("EIO", "ESTALE"),
    "lseek": ("EIO",),
    "posix_fadvise": ("EIO", "EINVAL", "EINTR"),
    "mmap": ("ENOMEM", "EMFILE", "ENODEV"),
    "sync_file_range": ("EIO", "ENOSPC", "EDQUOT", "EINTR", "ESPIPE"),
    "punch_hole": ("EIO", "ENOSPC", "EINTR", "EOPNOTSUPP"),
    "pipe": ("EMFILE", "ENFILE"),
    "posix_spawn": ("EAGAIN", "ENOMEM", "EMFILE"),
    "fcntl": ("EINVAL",),
    "start_new_thread": (DEAD,),
}
AFTERWARDS = ("close",)  # they have happened even when they fail


class Seam:
    """Every system call of the storage layer passes through here."""

    def __init__(self, fault: list[Any] | None) -> None:
        self._lock = allocate_lock()
        self._after, self._kind, self._persists = fault or (0, "", False)
        self.calls: list[tuple[str, str]] = []
        self.hit: tuple[str, str] | None = None

    def _fails(self, name: str, target: str) -> bool:
        with self._lock:
            self.calls.append((name, target))
            if len(self.calls) <= self._after or self._kind not in KINDS[name] or target == "stderr":
                return False
            if self._kind == ZERO and target not in (("temporary",) if "read" in name else ("temporary", "out")):
                return False
            if self.hit is not None and not (self._persists and self.hit == (name, target)):
                return False
            self.hit = (name, target)
            return True

    def wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if not self._fails(name, target_of(args[0] if args else None)):
                return real(*args, **options)
            if self._kind == DEAD:
                raise RuntimeError("can't start new thread")
            if self._kind == ZERO:
                return 0
            if self._kind == SHORT:
                return real(*shortened(name, args), **options)
            if name in AFTERWARDS:
                real(*args, **options)
            number = getattr(errno, self._kind)
            if name in ("sync_file_range", "punch_hole"):
                return number
            raise OSError(number, os.strerror(number))

        return call


def target_of(what: Any) -> str:
    if not isinstance(what, int) or what < 0:
        return "path" if isinstance(what, bytes | str) else ""
    if what == 2:
        return "stderr"
    try:
        name = os.path.basename(os.readlink(f"/proc/self/fd/{what}"))
    except OSError:
        return ""
    if name.endswith("(deleted)"):
        return "temporary"
    return name if name in ("in", "out") else "other"


def shortened(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    if name in ("write", "pwrite"):
        return (args[0], args[1][: max(len(args[1]) // 2, 1)], *args[2:])
    if name == "read":
        return (args[0], max(args[1] // 2, 1))
    view = args[1][0]
    return (args[0], [view[: max(len(view) // 2, 1)]], *args[2:])


def install(seam: Seam) -> None:
    for name in KINDS:
        if hasattr(os, name):
            setattr(os, name, seam.wrap(name, getattr(os, name)))
    mmap.mmap = seam.wrap("mmap", mmap.mmap)  # type: ignore[assignment,misc]
    fcntl.fcntl = seam.wrap("fcntl", fcntl.fcntl)
    for name in ("sync_file_range", "punch_hole"):
        setattr(syscalls, name, seam.wrap(name, getattr(syscalls, name)))
    workers.start_new_thread = seam.wrap("start_new_thread", workers.start_new_thread)


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def threads_left() -> int:
    """Those that have said they end may take a moment to do so."""
    for _ in range(2000):
        n = len(os.listdir("/proc/self/task")) - 1
        if not n:
            break
        time.sleep(0.001)
    return n


def run_in_child(job: dict[str, Any], answer_fd: int) -> NoReturn:
    signal.alarm(TIMEOUT_S)
    os.chdir(job["cwd"])
    os.dup2(answer_fd, ANSWER_FD)
    for fd, name, flags in ((0, "in", 0), (1, ".stdout", os.O_WRONLY), (2, ".stderr", os.O_WRONLY)):
        os.dup2(os.open(name, flags | (os.O_CREAT | os.O_TRUNC if flags else 0)), fd)
    os.closerange(3, ANSWER_FD)
    if job["threads"]:
        plan.PARALLEL_INPUT_BYTES = plan.PARALLEL_MEMORY_BYTES = 0
        rounds.LEAST_PART_N = 1
        sorting.LEAST_LEAF_N = 5
    spillfile.WRITE_BEHIND_BYTES = runreader.PUNCH_BYTES = SMALL_BYTES
    spill.LEAST_DIRTY_BYTES = 2 * SMALL_BYTES
    plan.DIRTY_SHARE = 1 << 40
    if job["named"]:
        del os.O_TMPFILE
    before = descriptors()
    seam = Seam(job["fault"])
    install(seam)
    status = cli.main([b"pysort", *map(os.fsencode, job["argv"])])
    text = json.dumps(
        {
            "calls": seam.calls,
            "hit": seam.hit,
            "threads": threads_left(),
            "descriptors": len(descriptors() - before),
        }
    ).encode()
    with open(ANSWER_FD, "wb", closefd=False) as file:
        file.write(text)
    os._exit(status)


def answer(job: dict[str, Any]) -> dict[str, Any]:
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        run_in_child(job, writer)
    os.close(writer)
    with open(reader, "rb") as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {"status": status, **(json.loads(text) if text else {})}


if __name__ == "__main__":
    preload()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
