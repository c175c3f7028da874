"""What the storage tests share."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pysort import kernel
from pysort.errors import Quoted, SortError
from pysort.storage import guard
from pysort.storage.access import Access
from pysort.storage.hints import Strategy

KINDS = ["pread", "mmap", "direct"]


def access(kind: str = "pread", strategy: Strategy | None = None, **options) -> Access:
    """As the command line has it, which has the kernel catch SIGBUS before it maps inputs."""
    if kind == "mmap":
        guard.install(kernel.load(os.environb.get(b"PYSORT_KERNEL")))
    return Access(kind, strategy, **options)


needs_guard = pytest.mark.skipif(
    not hasattr(kernel.load(os.environb.get(b"PYSORT_KERNEL")), "install_guard"),
    reason="only the C kernel can catch SIGBUS",
)


def message(error: SortError) -> str:
    """The text that a user in the C locale would see for plain names."""
    shown = []
    for part in error.parts:
        if not isinstance(part, Quoted):
            shown.append(part)
        elif part.style in ("shell", "next-message"):
            shown.append(part.text)
        else:
            shown.append(b"'%s'" % part.text)
    return b"".join(shown).decode()


def read_all(reader, size: int = 1 << 16) -> bytes:
    """Everything that is left in a reader, through views of `size` bytes."""
    view = memoryview(bytearray(size))
    pieces = []
    while n := reader.readinto(view):
        pieces.append(bytes(view[:n]))
    return b"".join(pieces)


def run_python(script: str, *arguments: object, **options) -> subprocess.CompletedProcess[bytes]:
    """Run a script in a process of its own; it must end with status 0."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, timeout=60, check=False, **options)
    assert result.returncode == 0, result.stderr.decode()
    return result


def read_in_turns(readers, sizes, release):
    """What the readers of several runs give, a view of each of the sizes at a time, over and over; everything that is
    left in it when that is less. release: what has been read is given back at once."""
    got = [b""] * len(readers)
    turn = 0
    while any(reader.remaining for reader in readers):
        view = memoryview(bytearray(sizes[turn % len(sizes)]))
        turn += 1
        for i, reader in enumerate(readers):
            before = reader.remaining
            n = reader.readinto(view)
            assert n == min(len(view), before)
            got[i] += view[:n]
            if release:
                reader.release()
    return got
