"""Writing a run into spill files, as it is."""

from __future__ import annotations

import errno

from pysort.storage.checksum import Checksums
from pysort.storage.handle import FULL
from pysort.storage.spillfile import Extent, SpilledRun, WriteOutError, run_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from pysort.errors import SortError
    from pysort.storage.checksum import Checksum
    from pysort.storage.compressor import Compressor
    from pysort.storage.iostats import IoStats, SpillCounters
    from pysort.storage.spillfile import SpillFile

    class Space(Protocol):
        """What a writer asks of SpillSpace."""

        block_bytes: int
        checksum: Checksum
        counters: SpillCounters
        stats: IoStats

        def add_file(self, directory: bytes) -> SpillFile: ...

        def file_beside(self, full: Sequence[bytes]) -> SpillFile | None: ...

        def shortage(self, failure: SortError) -> SortError: ...


class RunWriter:
    """Takes a run in pieces of any size; made by SpillSpace.start_run."""

    __slots__ = ("_checksums", "_compressor", "_extents", "_file", "_full", "_index", "_space", "length")

    def __init__(self, space: Space, file: SpillFile, index: int, compressor: Compressor | None = None) -> None:
        self._space = space
        self._file = file
        self._index = index
        self._compressor = compressor
        self._extents: list[Extent] = []
        self._checksums = Checksums(space.checksum, space.block_bytes)
        self._full: list[bytes] = []  # directories that have just refused bytes
        self.length = 0

    def write(self, view: memoryview) -> None:
        """Raises SortError `write failed: DIRECTORY: REASON (run N, offset M)`, and what space is needed and free where
        that is the reason; the run is lost."""
        self._checksums.add(view)
        while len(view):
            n = self._append(view)
            self._count(n)
            view = view[n:]

    def _count(self, n: int) -> None:
        """The run is longer by n bytes of lines."""
        self.length += n
        self._space.stats.line_bytes += n

    def _append(self, view: memoryview) -> int:
        file = self._file
        start = file.end
        started = self._space.stats.start()
        try:
            n = file.append(view)
        except OSError as error:
            other = None if isinstance(error, WriteOutError) else self._file_after(error, start)
            if other is None:
                raise self._error(error) from error
            file.align()
            self._file = other
            return self._append(view)
        self._full.clear()
        if not self._extents or self._extents[-1].file is not file:
            self._extents.append(Extent(file, start))
        self._extents[-1].length += n
        self._space.counters.wrote(n)
        self._space.stats.count_write(n, started)
        return n

    def _file_after(self, error: OSError, end: int) -> SpillFile | None:
        """Where a run goes on when a file of `end` bytes takes no more: in another file, unless not even an empty one
        takes a byte, or in the next directory, unless all are full."""
        if error.errno == errno.EFBIG and end:
            return self._space.add_file(self._file.directory)
        if error.errno not in FULL:
            return None
        self._full.append(self._file.directory)
        return self._space.file_beside(self._full)

    def _error(self, error: OSError) -> SortError:
        directory = self._full[0] if self._full else self._file.directory
        failure = run_error(b"write failed", directory, self._index, self.length, error)
        return self._space.shortage(failure) if error.errno in FULL else failure

    def finish(self) -> SpilledRun:
        space = self._space
        self._checksums.end()
        self._file.align()
        space.counters.runs_n += 1
        return SpilledRun(
            self._index,
            self._file.directory,
            self.length,
            self._extents,
            self._checksums,
            space.block_bytes,
            self._compressor,
        )
