"""Hint strategies as data: which advice the kernel gets about a file, and when.

A strategy is one base and any of the additions. Advice changes how fast bytes arrive, never which:
its failure is recorded and shown, and the sort goes on. Every call covers the whole file (offset 0,
length 0), as GNU sort's does.

What one whole-file WILLNEED is worth is bounded: Linux starts at most one read-ahead window
(measured: 8 MiB, 16 MiB after SEQUENTIAL) and returns.
"""

from __future__ import annotations

import errno
import os

from pysort.errors import SortError, quote

BASES = ("none", "sequential", "random")
ADDITIONS = ("noreuse", "willneed")

# hint -> (name of the advice in os, None where nothing is said; when it is given)
HINTS: dict[str, tuple[str | None, str]] = {
    "none": (None, "open"),
    "sequential": ("POSIX_FADV_SEQUENTIAL", "open"),
    "random": ("POSIX_FADV_RANDOM", "open"),
    "noreuse": ("POSIX_FADV_NOREUSE", "open"),
    "willneed": ("POSIX_FADV_WILLNEED", "open"),
}


class Strategy:
    """base: one of BASES. additions: some of ADDITIONS, given after the base in that table's order
    (SEQUENTIAL before WILLNEED doubles what WILLNEED reads)."""

    __slots__ = ("additions", "base")

    def __init__(self, base: str = "sequential", additions: tuple[str, ...] = ()) -> None:
        self.base = base
        self.additions = additions

    @property
    def hints(self) -> tuple[str, ...]:
        return (self.base, *self.additions)

    def __str__(self) -> str:
        return ",".join(self.hints)


class HintResult:
    """errno: 0 when the kernel took the hint, ENOSYS where the system has no such advice. ns: how long that took."""

    __slots__ = ("errno", "name", "ns")

    def __init__(self, name: str, error: int, ns: int = 0) -> None:
        self.name = name
        self.errno = error
        self.ns = ns


def parse_hints(text: bytes, option: bytes) -> Strategy:
    """The strategy that `option` names, such as b"random" or b"sequential,noreuse". Without a base
    it is sequential.

    Raises SortError for an unknown hint and for two bases.
    """
    bases: set[str] = set()
    additions: set[str] = set()
    for word in text.split(b","):
        name = word.decode("ascii", "replace")
        if name not in HINTS:
            raise _invalid(word, option)
        (bases if name in BASES else additions).add(name)
    if len(bases) > 1:
        raise _invalid(text, option)
    base = bases.pop() if bases else "sequential"
    return Strategy(base, tuple(name for name in ADDITIONS if name in additions))


def _invalid(argument: bytes, option: bytes) -> SortError:
    listed = [part for name in HINTS for part in (b"\n  - ", quote(name.encode()))]
    return SortError(
        b"invalid argument ",
        quote(argument),
        b" for ",
        quote(option),
        b"\nValid arguments are:",
        *listed,
        usage=True,
    )


def apply(strategy: Strategy, when: str, fd: int) -> list[HintResult]:
    """Give the advice that is due at the moment `when` ("open"). Raises OSError only for EBADF,
    which is a bug of the caller's."""
    results = []
    for name in strategy.hints:
        advice, moment = HINTS[name]
        if advice is not None and moment == when:
            results.append(HintResult(name, _advise(fd, advice)))
    return results


def _advise(fd: int, advice: str) -> int:
    # posix_fadvise is missing on macOS.
    if not hasattr(os, "posix_fadvise") or not hasattr(os, advice):
        return errno.ENOSYS
    try:
        os.posix_fadvise(fd, 0, 0, getattr(os, advice))
    except OSError as error:
        if error.errno == errno.EBADF:
            raise
        return error.errno or errno.EINVAL
    return 0
