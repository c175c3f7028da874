"""Reading a spilled run back, block by block, every block against its checksum.

Descriptors: all pread readers of a spill file share its one descriptor, so the fan-in of a merge
costs none and a merge of hundreds of runs works under `ulimit -n 7`. The price is a shared
read-ahead state. Measured, streams taking turns on one description against one description each: 4
streams 964 requests of 68 KiB against 524 of 125 KiB, 16 streams 941 against 560. Reading in large
blocks makes that difference small. A mapping holds a descriptor of its own while it lives; where
there is none left, that window is read by pread.
"""

from __future__ import annotations

from pysort.storage.advice import Advisor, advise
from pysort.storage.hints import HintResult
from pysort.storage.opening import open_positional
from pysort.storage.positional import ALIGN_BYTES, CutShort, note_refusal
from pysort.storage.spillfile import Extent, SpilledRun, run_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysort.errors import SortError
    from pysort.storage.access import Access
    from pysort.storage.iostats import IoStats, SpillCounters
    from pysort.storage.positional import Pread
    from pysort.storage.spillfile import SpillFile

PUNCH_BYTES = 8 << 20


class RunReader:
    """position: bytes read so far."""

    __slots__ = (
        "_access",
        "_asked",
        "_counters",
        "_file",
        "_held_n",
        "_offset",
        "_positional",
        "_readers_n",
        "_released",
        "_run",
        "_stats",
        "_total",
        "may_wait",
        "position",
    )

    def __init__(
        self, run: SpilledRun, counters: SpillCounters, stats: IoStats, access: Access, readers_n: int
    ) -> None:
        """readers_n: how many runs are read at the same time."""
        self._run = run
        self._counters = counters
        self._total = stats
        self._stats = stats.another()  # the runs of a merge may be read in different threads
        self._asked = stats.another()  # for blocks ahead, perhaps while another thread reads
        self._access = access
        self._readers_n = readers_n
        self._file: SpillFile | None = None  # the one that is read
        self._positional: Pread | None = None
        self._offset = 0  # in that file, behind what has been read
        self._held_n = 0  # bytes before it that must stay where they are
        self._released = 0
        self.position = 0
        self.may_wait = False  # for somebody else than the disk

    @property
    def block_bytes(self) -> int:
        return self._run.block_bytes

    @property
    def remaining(self) -> int:
        return self._run.length - self.position

    def readinto(self, view: memoryview) -> int:
        """Fill the front of view with the next blocks, as many whole ones as it holds and one read may ask for; the
        last block of the run is shorter. Returns the bytes, 0 at the end of the run.

        view holds a block at least, or all that remains (else ValueError). Raises SortError `read
        failed: DIRECTORY: REASON (run N, offset M)` when a read fails, falls short or does not match
        its checksum.
        """
        length = min(len(view), self.remaining, self._access.read_bytes or len(view))
        if length < self.remaining:
            length -= length % self._run.block_bytes
            if not length:
                raise ValueError("the view is shorter than a block")
        self._load(view[:length])
        self._verify(view[:length])
        self.position += length
        return length

    @property
    def stored_position(self) -> int:
        """Bytes read so far of what is stored."""
        return self.position

    def prefetch(self, start: int, stop: int) -> None:
        """Ask the kernel for stored bytes start..stop-1, or what there is of them; where reads do not use its cache,
        nothing. Another thread may be reading."""
        if self._access.kind == "direct":
            return
        for extent, offset, length in self._pieces(start, stop):
            started = self._asked.start()
            with extent.file.handle.use() as fd:
                error = advise(fd, "POSIX_FADV_WILLNEED", offset, length)
            self._asked.count_hints([HintResult("prefetch", error, self._asked.start() - started)])

    def _load(self, view: memoryview) -> None:
        """Fill view with the run's next bytes."""
        self._load_stored(self.position, view)

    def _load_stored(self, start: int, view: memoryview) -> None:
        """Fill view with what is stored from byte `start` on."""
        at = start
        for extent, offset, n in self._pieces(start, start + len(view)):
            self._fill(at, extent, offset, view[at - start :][:n])
            at += n

    def _place(self, stored: int) -> int:
        """Where in the run byte `stored` of what is stored belongs."""
        return stored

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[Extent, int, int]]:
        """Where bytes start..stop-1 of what is stored lie: extent, offset within its file, length."""
        base = 0
        for extent in self._run.extents:
            low = max(start, base)
            high = min(stop, base + extent.length)
            if low < high:
                yield extent, extent.offset + low - base, high - low
            base += extent.length

    def _fill(self, at: int, extent: Extent, offset: int, view: memoryview) -> None:
        """Fill view with what follows stored byte `at` of the run, which is byte `offset` of the extent's
        file."""
        while len(view):
            try:
                positional = self._positional_for(extent, offset)
                n = positional.read(offset, view, extent.end)
            except OSError as error:
                raise self._error(self._place(at), error) from error
            except CutShort as error:
                raise self._error(self._place(at), b"unexpected end of file") from error
            if not n:
                raise self._error(self._place(at), b"unexpected end of file")
            at += n
            offset += n
            view = view[n:]
            self._offset, self._held_n = offset, offset - positional.held_from(offset)

    def _positional_for(self, extent: Extent, offset: int) -> Pread:
        if self._positional is None or self._file is not extent.file:
            self._finish()
            handle, kind = extent.file.handle, self._access.kind
            if kind == "direct":
                try:
                    handle = extent.file.direct_handle()
                except OSError as error:
                    note_refusal(self._stats, b"direct reading", error)
                    kind = "pread"
            # Only as far ahead as the next read will reach: a merge of many runs has as many windows in the page cache.
            advisor = Advisor(handle, self._access.strategy, self._stats, ahead_bytes=0)
            advisor.start(offset)
            self._positional = open_positional(
                handle, kind, self._access, self._stats, advisor, self._readers_n, foreign=False
            )
            self._file = extent.file
        return self._positional

    def _verify(self, view: memoryview) -> None:
        block_bytes = self._run.block_bytes
        wrong = self._run.checksums.first_wrong(view, self.position // block_bytes)
        if wrong is not None:
            raise self._error(wrong * block_bytes, b"checksum mismatch")

    def _error(self, offset: int, reason: bytes | OSError) -> SortError:
        directory = self._run.directory if self._file is None else self._file.directory
        return run_error(b"read failed", directory, self._run.index, offset, reason)

    def release(self) -> None:
        """What has been read is not needed any more: its space goes back to the file system, in
        batches of PUNCH_BYTES and at the end of the run. The same bytes can not be read again."""
        stop = self._releasable()
        if stop - self._released < PUNCH_BYTES and stop < self._run.stored_bytes:
            return
        for extent, offset, n in self._pieces(self._released, stop):
            # Only whole blocks of the file system are freed: the one in which the last batch ended
            # is covered by this one, and the last of an extent up to its end, where nothing else
            # lies.
            end = offset + n
            end += -end % ALIGN_BYTES if end == extent.end else -(end % ALIGN_BYTES)
            if extent.file.punch(offset - offset % ALIGN_BYTES, end):
                self._counters.gave_back(n)
        self._released = stop

    def _releasable(self) -> int:
        """How many stored bytes are not needed any more."""
        return self.stored_position - self._held_n

    def _finish(self) -> None:
        if self._positional is not None:
            self._positional.close(self._offset)
            self._positional = None
            self._held_n = 0

    def close(self) -> None:
        """The descriptor stays open: it is the spill file's."""
        self._finish()
        for stats in (self._stats, self._asked):
            self._total.add(stats)
        self._stats, self._asked = self._total.another(), self._total.another()

    def __enter__(self) -> RunReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
