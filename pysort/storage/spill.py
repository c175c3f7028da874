"""Spilled runs: written one after the other into the temporary directories, read back by many
readers.

Order of calls: start_run, write..., finish; then open_run any number of times. One run is written
at a time; reading others meanwhile is what a merge does.
"""

from __future__ import annotations

import errno
import os

from pysort.errors import SortError, creation_error
from pysort.storage.handle import FULL, NO_MORE_DESCRIPTORS
from pysort.storage.iostats import IoStats, SpillCounters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pysort.storage.access import Access
    from pysort.storage.checksum import Checksum
    from pysort.storage.codecs import Codec
    from pysort.storage.compressor import Compressor
    from pysort.storage.runreader import RunReader
    from pysort.storage.runwriter import RunWriter
    from pysort.storage.spillfile import SpilledRun, SpillFile
    from pysort.storage.workers import Workers

LEAST_DIRTY_BYTES = 64 << 20


class SpillSpace:
    """The temporary directories and all runs in them.

    directories: take the runs in turn; each is touched only when its turn comes. block_bytes: unit
    of reading, of checksums and of compression. access: how runs are read. compressor: the program that runs pass
    through. codec: what compresses them otherwise.
    needed_bytes: most that all runs together take at one time, None where that is not known. dirty_bytes: that may wait
    in memory to be written to each directory, LEAST_DIRTY_BYTES at least. kernel: computes checksums if it can.
    """

    __slots__ = (
        "_access",
        "_codec",
        "_compressor",
        "_directories",
        "_dirty_bytes",
        "_files",
        "_kernel",
        "_needed_bytes",
        "block_bytes",
        "checksum",
        "counters",
        "stats",
    )

    def __init__(
        self,
        directories: Sequence[bytes],
        block_bytes: int,
        access: Access,
        stats: IoStats,
        *,
        compressor: Compressor | None = None,
        codec: Codec | None = None,
        needed_bytes: int | None = None,
        dirty_bytes: int = 0,
        kernel: Any = None,
    ) -> None:
        self._directories = directories
        self.block_bytes = block_bytes
        self._access = access
        self.stats = stats
        self._compressor = compressor
        self._codec = codec
        self._needed_bytes = needed_bytes
        self.checksum: Checksum  # of blocks, from the first run on
        self._kernel = kernel
        self._dirty_bytes = max(dirty_bytes, LEAST_DIRTY_BYTES)
        self._files: list[SpillFile] = []
        self.counters = SpillCounters()

    def start_run(self, workers: Workers | None = None) -> RunWriter:
        """workers: that may help whoever writes the run, who must be none of them. Raises SortError `cannot create
        temporary file in 'DIRECTORY': ...`."""
        try:  # while there is a descriptor to load them with; without one the file is not to be had either
            from pysort.storage.checksum import checksum_of

            self.checksum = checksum_of(self._kernel)
            import pysort.storage.runreader
            import pysort.storage.runwriter
            import pysort.storage.space  # noqa: F401
        except (ImportError, OSError):
            pass
        index = self.counters.runs_n
        try:
            file = self._file_in_turn(self._turns(index))
        except SortError as error:
            if error.errno not in NO_MORE_DESCRIPTORS or not self._files:
                raise
            file = self._files[-1]
        if self._codec is not None:
            from pysort.storage.packed import PackedRunWriter

            return PackedRunWriter(self, file, index, self._codec, workers)
        from pysort.storage.runwriter import RunWriter

        child = self._compressor.compress() if self._compressor else None
        if self._compressor is None or child is None:
            return RunWriter(self, file, index)
        from pysort.storage.piped import CompressedRunWriter

        return CompressedRunWriter(self, file, index, self._compressor, child)

    def _turns(self, first: int) -> list[bytes]:
        n = len(self._directories)
        return [self._directories[(first + i) % n] for i in range(n)]

    def _file_in_turn(self, directories: Sequence[bytes]) -> SpillFile:
        """A file in the first of the directories, one at least, that is not full. Raises SortError."""
        for directory in directories[:-1]:
            try:
                return self._file_in(directory)
            except SortError as error:
                if error.errno not in FULL:
                    raise
        return self._file_in(directories[-1])

    def _file_in(self, directory: bytes) -> SpillFile:
        for file in reversed(self._files):
            if file.directory == directory:
                return file
        return self.add_file(directory)

    def file_beside(self, full: Sequence[bytes]) -> SpillFile | None:
        """A file in the directory whose turn comes after those, None when there is none. Raises SortError."""
        turns = self._turns(self._directories.index(full[-1]))
        left = [directory for directory in turns if directory not in full]
        return self._file_in_turn(left) if left else None

    def add_file(self, directory: bytes) -> SpillFile:
        """Raises SortError `cannot create temporary file in 'DIRECTORY': ...`."""
        try:
            from pysort.storage.spillfile import SpillFile
        except (ImportError, OSError) as error:  # no descriptor to load it with, nor for the file
            raise creation_error(directory, OSError(errno.EMFILE, os.strerror(errno.EMFILE))) from error
        try:
            file = SpillFile(directory, self._dirty_bytes)
        except SortError as error:
            if error.errno not in FULL:
                raise
            raise self.shortage(error) from error
        self._files.append(file)
        return file

    def shortage(self, failure: SortError) -> SortError:
        """The failure, and what space runs need and have."""
        from pysort.storage.space import shortage

        return shortage(failure, self.counters.held_bytes, self._needed_bytes, self._directories)

    def open_run(self, run: SpilledRun, readers_n: int = 1) -> RunReader:
        """A reader from the start of the run, one of readers_n. The hints reach each spill file once, before its
        first read."""
        from pysort.storage.runreader import RunReader

        for extent in run.extents:
            extent.file.advise(self._access.strategy, self.stats)
        if run.packing is not None:
            from pysort.storage.packed import PackedRunReader

            return PackedRunReader(run, self.counters, self.stats, self._access, readers_n, run.packing)
        if run.compressor is not None:
            from pysort.storage.piped import CompressedRunReader

            return CompressedRunReader(run, self.counters, self.stats, self._access, readers_n, run.compressor)
        return RunReader(run, self.counters, self.stats, self._access, readers_n)

    def drop_cache(self) -> int | None:
        """Write all runs out and drop them from the page cache. Returns the bytes that stayed, None where the system
        does not tell. Raises OSError."""
        from pysort.storage.cache import drop

        left = [drop(file.handle.fd) for file in self._files]
        known = [n for n in left if n is not None]
        return sum(known) if len(known) == len(left) else None

    def close(self) -> None:
        """Every run is gone, readers must not be used any more, and no program runs any more. What close(2) says does
        not matter: whatever was read had its checksum."""
        if self._compressor is not None:
            self._compressor.close()
        files, self._files = self._files, []
        for file in files:
            file.close()

    def __enter__(self) -> SpillSpace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
