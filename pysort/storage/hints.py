"""Hint strategies as data: which advice the kernel gets about a file, when, and about which part of it.

A strategy is one base and any of the additions that do not contradict it and each other. Advice changes how fast bytes
arrive, never which: its failure is recorded and shown, and the sort goes on. advice.py gives it.
"""

from __future__ import annotations

from pysort.errors import SortError, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MEBI = 1 << 20

# When a hint is given: once the file is open, before and after each read, with each read.
OPEN = "open"
AHEAD = "ahead"
BEHIND = "behind"
READ = "read"

RWF_DONTCACHE = 0x80  # Linux 6.14; os has no name for it


class Hint:
    """A row of the table. Frozen: mypy holds everybody to it.

    target: what takes it, "fd" (posix_fadvise) or "read" (preadv2). op: its name in os, None where nothing is said; a
    flag of preadv2 as a number. when: OPEN, AHEAD, BEHIND or READ. span: "file", or "range" of what is read. chunk:
    most bytes of one call, 0 for all; BEHIND: calls end on multiples of it.
    """

    __slots__ = ("chunk", "name", "op", "span", "target", "when")

    def __init__(
        self, name: str, target: str, op: str | int | None, when: str, span: str = "file", chunk: int = 0
    ) -> None:
        self.name = name
        self.target = target
        self.op = op
        self.when = when
        self.span = span
        self.chunk = chunk


# In the order in which those of one moment are given: SEQUENTIAL before WILLNEED doubles what WILLNEED reads, and
# clears no NOREUSE. Linux starts at most one read-ahead window for a WILLNEED (measured: 8 MiB, 16 MiB after
# SEQUENTIAL, 2.5 MiB on another device) and returns, so only chunks get more. It drops only what a DONTNEED covers
# whole, and holds pages in pieces of up to 2 MiB that begin on multiples of their size.
_TABLE = (
    Hint("none", "fd", None, OPEN),
    Hint("sequential", "fd", "POSIX_FADV_SEQUENTIAL", OPEN),
    Hint("random", "fd", "POSIX_FADV_RANDOM", OPEN),
    Hint("noreuse", "fd", "POSIX_FADV_NOREUSE", OPEN),
    Hint("willneed", "fd", "POSIX_FADV_WILLNEED", OPEN),
    Hint("willneed-chunked", "fd", "POSIX_FADV_WILLNEED", AHEAD, "range", MEBI),
    Hint("dontneed", "fd", "POSIX_FADV_DONTNEED", BEHIND, "range", 2 * MEBI),
    Hint("dontcache", "read", RWF_DONTCACHE, READ, "range"),
)
HINTS = {hint.name: hint for hint in _TABLE}
BASES = ("none", "sequential", "random")
# Of each of these at most one: opposites, and two ways to one end.
CONFLICTS = (BASES, ("willneed", "willneed-chunked"), ("dontneed", "dontcache"))


class Strategy:
    """base: one of BASES. additions: other hints, in the order of the table."""

    __slots__ = ("additions", "base")

    def __init__(self, base: str = "sequential", additions: tuple[str, ...] = ()) -> None:
        self.base = base
        self.additions = additions

    @property
    def hints(self) -> tuple[str, ...]:
        return (self.base, *self.additions)

    def at(self, when: str) -> list[Hint]:
        """Those that are given at that moment and say something."""
        return [HINTS[name] for name in self.hints if HINTS[name].when == when and HINTS[name].op is not None]

    def __str__(self) -> str:
        return ",".join(self.hints)


class HintResult:
    """One application. errno: 0 when the kernel took the hint, ENOSYS where the system has no such advice. ns: how long
    the call took, 0 where nothing is timed. resident_before, resident_after: bytes in the page cache, of the range
    that the hint was about; None where nobody asked or the system does not tell."""

    __slots__ = ("errno", "name", "ns", "resident_after", "resident_before")

    def __init__(
        self,
        name: str,
        error: int,
        ns: int = 0,
        resident_before: int | None = None,
        resident_after: int | None = None,
    ) -> None:
        self.name = name
        self.errno = error
        self.ns = ns
        self.resident_before = resident_before
        self.resident_after = resident_after


def parse_hints(text: bytes, option: bytes) -> Strategy:
    """The strategy that `option` names, such as b"random" or b"sequential,noreuse". Without a base it is sequential.

    Raises SortError for an unknown hint, with those there are, and for two that contradict each other.
    """
    names = set()
    for word in text.split(b","):
        name = word.decode("ascii", "replace")
        if name not in HINTS:
            raise invalid(word, option, HINTS)
        names.add(name)
    for conflict in CONFLICTS:
        both = [name for name in conflict if name in names]
        if len(both) > 1:
            first, second = (quote(name.encode()) for name in both[:2])
            raise SortError(
                b"hints ", first, b" and ", second, b" of ", quote(option), b" are incompatible", usage=True
            )
    base = next((name for name in BASES if name in names), "sequential")
    return Strategy(base, tuple(name for name in HINTS if name in names and name not in BASES))


def invalid(argument: bytes, option: bytes, valid: Iterable[str]) -> SortError:
    """`invalid argument ARGUMENT for OPTION`, and what is valid."""
    listed = [part for name in valid for part in (b"\n  - ", quote(name.encode()))]
    return SortError(
        b"invalid argument ",
        quote(argument),
        b" for ",
        quote(option),
        b"\nValid arguments are:",
        *listed,
        usage=True,
    )
