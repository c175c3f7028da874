"""Counters of one side of the I/O: inputs, runs or output each have their own."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pysort.storage.hints import HintResult


class IoStats:
    """read_calls, write_calls: system calls, or copies out of a mapping; *_bytes: what they moved.
    hints: how often each hint ended with which errno (0: accepted), keyed by (hint, errno)."""

    __slots__ = ("hints", "read_bytes", "read_calls", "write_bytes", "write_calls")

    def __init__(self) -> None:
        self.read_calls = 0
        self.read_bytes = 0
        self.write_calls = 0
        self.write_bytes = 0
        self.hints: dict[tuple[str, int], int] = {}

    def count_read(self, n: int) -> None:
        self.read_calls += 1
        self.read_bytes += n

    def count_write(self, n: int) -> None:
        self.write_calls += 1
        self.write_bytes += n

    def count_hints(self, results: Iterable[HintResult]) -> None:
        for result in results:
            key = (result.name, result.errno)
            self.hints[key] = self.hints.get(key, 0) + 1
