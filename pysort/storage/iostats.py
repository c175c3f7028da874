"""Counters: of one side of the I/O (inputs, runs and output each have their own), and of what spilled runs take."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pysort.storage.hints import HintResult

BLOCK_BYTES = 4096  # what the page cache holds, whole, on most machines


class IoStats:
    """One for each side and each thread: no two threads use the same at a time, add() brings them together.

    Around each call: `started = io.start()`, then the call, then the count_... of what it did.

    read_calls, write_calls: system calls, or copies out of a mapping; *_bytes: what they moved. sync_calls: waits for
    data to be on the disk. *_ns: the time between start() and count_..., 0 where no clock runs.
    line_bytes: of runs, what was written as it was before it was compressed.
    blocks_n: blocks of BLOCK_BYTES that reads brought, each begun one counting as whole; hit_blocks_n and
    read_blocks_n: those that were in the page cache and those that were not, together blocks_n; None where a reader
    could not tell. count_hits: asks the readers to find out, which starts read-ahead itself.
    hints: how often each hint ended with which errno (0: accepted), keyed by (hint, errno); hint_ns: the time of all;
    hint_residency: bytes in the page cache before and after, over all times that a hint was given, by hint. residency:
    asks whoever gives hints to look at that.
    notes: what the user should know about the way files were read, and how often it happened.
    """

    __slots__ = (
        "_clock",
        "_hit_blocks_n",
        "_hit_bytes",
        "_untold_blocks_n",
        "blocks_n",
        "count_hits",
        "hint_ns",
        "hint_residency",
        "hints",
        "line_bytes",
        "notes",
        "read_bytes",
        "read_calls",
        "read_ns",
        "residency",
        "sync_calls",
        "sync_ns",
        "write_bytes",
        "write_calls",
        "write_ns",
    )

    def __init__(
        self, clock: Callable[[], int] | None = None, *, count_hits: bool = False, residency: bool = False
    ) -> None:
        """clock: nanoseconds, never 0; None where nothing is timed."""
        self._clock = clock
        self.count_hits = count_hits
        self.residency = residency
        self.blocks_n = 0
        self._hit_blocks_n = 0
        self._hit_bytes = 0
        self._untold_blocks_n = 0
        self.read_calls = 0
        self.read_bytes = 0
        self.read_ns = 0
        self.write_calls = 0
        self.write_bytes = 0
        self.line_bytes = 0
        self.write_ns = 0
        self.sync_calls = 0
        self.sync_ns = 0
        self.hints: dict[tuple[str, int], int] = {}
        self.hint_ns = 0
        self.hint_residency: dict[str, tuple[int, int]] = {}
        self.notes: dict[bytes, int] = {}

    def another(self) -> IoStats:
        """An empty one that counts the same, for another thread."""
        return IoStats(self._clock, count_hits=self.count_hits, residency=self.residency)

    def start(self) -> int:
        """The time, 0 where no clock runs."""
        return 0 if self._clock is None else self._clock()

    def _since(self, started: int) -> int:
        return self._clock() - started if started and self._clock is not None else 0

    def count_read(self, n: int, started: int = 0, hit_n: int | None = None) -> None:
        """n: bytes that a read brought. hit_n: how many of them were in the page cache, None if that is not known."""
        self.read_ns += self._since(started)
        self.read_calls += 1
        self.read_bytes += n
        blocks_n = -(-n // BLOCK_BYTES)
        self.blocks_n += blocks_n
        if hit_n is None:
            self._untold_blocks_n += blocks_n
        else:
            self._hit_blocks_n += min(-(-hit_n // BLOCK_BYTES), blocks_n)
            self._hit_bytes += hit_n

    @property
    def hit_blocks_n(self) -> int | None:
        return None if self._untold_blocks_n else self._hit_blocks_n

    @property
    def read_blocks_n(self) -> int | None:
        return None if self._untold_blocks_n else self.blocks_n - self._hit_blocks_n

    @property
    def missed_bytes(self) -> int | None:
        """Bytes of the reads that were not in the page cache, None where that is not known."""
        return None if self._untold_blocks_n else self.read_bytes - self._hit_bytes

    def count_write(self, n: int, started: int = 0) -> None:
        """n: bytes that a write took."""
        self.write_ns += self._since(started)
        self.write_calls += 1
        self.write_bytes += n

    def count_sync(self, started: int = 0) -> None:
        self.sync_ns += self._since(started)
        self.sync_calls += 1

    def count_hints(self, results: Iterable[HintResult]) -> None:
        for result in results:
            key = (result.name, result.errno)
            self.hints[key] = self.hints.get(key, 0) + 1
            self.hint_ns += result.ns
            if result.resident_before is not None and result.resident_after is not None:
                self._add_residency(result.name, result.resident_before, result.resident_after)

    def _add_residency(self, name: str, before: int, after: int) -> None:
        old = self.hint_residency.get(name, (0, 0))
        self.hint_residency[name] = (old[0] + before, old[1] + after)

    def note(self, text: bytes) -> None:
        self.notes[text] = self.notes.get(text, 0) + 1

    def add(self, other: IoStats) -> None:
        """Count what another one has counted here as well."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for key, n in other.hints.items():
            self.hints[key] = self.hints.get(key, 0) + n
        for name, (before, after) in other.hint_residency.items():
            self._add_residency(name, before, after)
        for text, n in other.notes.items():
            self.notes[text] = self.notes.get(text, 0) + n


_SETTINGS = ("_clock", "count_hits", "residency")
_COUNTED_BY_NAME = ("hint_residency", "hints", "notes")
_SUMS = tuple(name for name in IoStats.__slots__ if name not in _SETTINGS + _COUNTED_BY_NAME)


class SpillCounters:
    """runs_n, written_bytes: over the whole job. held_bytes: not given back yet; peak_bytes: its
    highest value. Bytes are those on disk."""

    __slots__ = ("held_bytes", "peak_bytes", "runs_n", "written_bytes")

    def __init__(self) -> None:
        self.runs_n = 0
        self.written_bytes = 0
        self.held_bytes = 0
        self.peak_bytes = 0

    def wrote(self, n: int) -> None:
        self.written_bytes += n
        self.held_bytes += n
        self.peak_bytes = max(self.peak_bytes, self.held_bytes)

    def gave_back(self, n: int) -> None:
        self.held_bytes -= n
