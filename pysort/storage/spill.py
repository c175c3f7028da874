"""Spilled runs: written one after the other into the temporary directories, read back by many
readers.

Order of calls: start_run, write..., finish; then open_run any number of times. One run is written
at a time; reading others meanwhile is what a merge does.
"""

from __future__ import annotations

import errno
import zlib

from pysort.errors import SortError
from pysort.storage.handle import NO_MORE_DESCRIPTORS
from pysort.storage.iostats import IoStats
from pysort.storage.spillfile import (
    FULL,
    Extent,
    Packing,
    SpillCounters,
    SpilledRun,
    SpillFile,
    WriteOutError,
    run_error,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysort.storage.access import Access
    from pysort.storage.codecs import Codec
    from pysort.storage.compressor import Child, Compressor
    from pysort.storage.packed import Packer
    from pysort.storage.runreader import RunReader
    from pysort.storage.workers import Workers


class RunWriter:
    """Takes a run in pieces of any size; made by SpillSpace.start_run."""

    __slots__ = ("_checksum", "_checksums", "_compressor", "_extents", "_file", "_full", "_index", "_space", "length")

    def __init__(self, space: SpillSpace, file: SpillFile, index: int, compressor: Compressor | None = None) -> None:
        self._space = space
        self._file = file
        self._index = index
        self._compressor = compressor
        self._extents: list[Extent] = []
        from array import array  # imports collections: 1 ms that only a spill has to pay

        self._checksums = array("I")
        self._full: list[bytes] = []  # directories that have just refused bytes
        self._checksum = 0  # of the block that is not full yet
        self.length = 0

    def write(self, view: memoryview) -> None:
        """Raises SortError `write failed: DIRECTORY: REASON (run N, offset M)`, and what space is needed and free where
        that is the reason; the run is lost."""
        self._add_checksums(view)
        while len(view):
            n = self._append(view)
            self._count(n)
            view = view[n:]

    def _count(self, n: int) -> None:
        """The run is longer by n bytes of lines."""
        self.length += n
        self._space.stats.line_bytes += n

    def _add_checksums(self, view: memoryview) -> None:
        block_bytes = self._space.block_bytes
        filled = self.length % block_bytes
        while len(view):
            piece = view[: block_bytes - filled]
            self._checksum = zlib.crc32(piece, self._checksum)
            filled += len(piece)
            if filled == block_bytes:
                self._checksums.append(self._checksum)
                self._checksum = filled = 0
            view = view[len(piece) :]

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
        if len(self._checksums) * space.block_bytes < self.length:
            self._checksums.append(self._checksum)
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


class CompressedRunWriter(RunWriter):
    """Gives the run to a program, and stores what that puts out."""

    __slots__ = ("_child", "_piece")

    def __init__(self, space: SpillSpace, file: SpillFile, index: int, compressor: Compressor, child: Child) -> None:
        super().__init__(space, file, index, compressor)
        self._child = child
        from pysort.storage.compressor import PIPE_BYTES

        self._piece = memoryview(bytearray(PIPE_BYTES))

    def write(self, view: memoryview) -> None:
        """Raises SortError `write failed: ...` also when the program reads no more."""
        self._add_checksums(view)
        while len(view):
            takes_input, has_output = self._child.ready()
            if has_output:
                self._store()
            if takes_input:
                try:
                    n = self._child.give(view)
                except OSError as error:
                    raise self._error(error) from error
                self._count(n)
                view = view[n:]

    def _store(self) -> bool:
        """Store what the program has put out. False at the end."""
        try:
            n = self._child.take(self._piece)
        except OSError as error:
            raise self._error(error) from error
        view = self._piece[:n]
        while len(view):
            view = view[self._append(view) :]
        return n > 0

    def finish(self) -> SpilledRun:
        """Raises SortError `'NAME' [-d] terminated abnormally`, or that the rest cannot be stored."""
        self._child.end_input()
        while self._store():
            pass
        self._child.wait()
        return super().finish()


class PackedRunWriter(RunWriter):
    """Compresses the run, block by block."""

    __slots__ = ("_codec", "_ends", "_packer")

    def __init__(self, space: SpillSpace, file: SpillFile, index: int, codec: Codec, packer: Packer) -> None:
        super().__init__(space, file, index)
        from array import array

        self._codec = codec
        self._packer = packer
        self._ends = array("Q")

    def write(self, view: memoryview) -> None:
        for piece, length in self._packer.pack(view):
            self._store(piece, length)

    def _store(self, piece: memoryview, length: int) -> None:
        """Store a block that was `length` bytes before."""
        self._checksums.append(zlib.crc32(piece))
        self._ends.append((self._ends[-1] if self._ends else 0) + len(piece))
        while len(piece):
            piece = piece[self._append(piece) :]
        self._count(length)

    def finish(self) -> SpilledRun:
        """Raises SortError when the rest cannot be stored."""
        for piece, length in self._packer.rest():
            self._store(piece, length)
        run = super().finish()
        run.packing = Packing(self._codec, self._ends)
        return run


class SpillSpace:
    """The temporary directories and all runs in them.

    directories: take the runs in turn; each is touched only when its turn comes. block_bytes: unit
    of reading, of checksums and of compression. access: how runs are read. compressor: the program that runs pass
    through. codec: what compresses them otherwise.
    needed_bytes: most that all runs together take at one time, None where that is not known.
    """

    __slots__ = (
        "_access",
        "_codec",
        "_compressor",
        "_directories",
        "_files",
        "_needed_bytes",
        "block_bytes",
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
    ) -> None:
        self._directories = directories
        self.block_bytes = block_bytes
        self._access = access
        self.stats = stats
        self._compressor = compressor
        self._codec = codec
        self._needed_bytes = needed_bytes
        self._files: list[SpillFile] = []
        self.counters = SpillCounters()

    def start_run(self, workers: Workers | None = None) -> RunWriter:
        """workers: that may help whoever writes the run, who must be none of them. Raises SortError `cannot create
        temporary file in 'DIRECTORY': ...`."""
        try:  # while there is a descriptor to load them with; without one the file is not to be had either
            import array  # noqa: F401

            import pysort.storage.runreader
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
            from pysort.storage.packed import Packer

            return PackedRunWriter(self, file, index, self._codec, Packer(self._codec, self.block_bytes, workers))
        child = self._compressor.compress() if self._compressor else None
        if self._compressor is None or child is None:
            return RunWriter(self, file, index)
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
            file = SpillFile(directory)
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
        from pysort.storage.runreader import CompressedRunReader, RunReader

        for extent in run.extents:
            extent.file.advise(self._access.strategy, self.stats)
        if run.packing is not None:
            from pysort.storage.packed import PackedRunReader

            return PackedRunReader(run, self.counters, self.stats, self._access, readers_n, run.packing)
        if run.compressor is not None:
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
