"""Runs that pass through the program of --compress-program."""

from __future__ import annotations

from pysort.storage.compressor import PIPE_BYTES
from pysort.storage.runreader import RunReader
from pysort.storage.runwriter import RunWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.storage.access import Access
    from pysort.storage.compressor import Child, Compressor
    from pysort.storage.iostats import IoStats, SpillCounters
    from pysort.storage.runwriter import Space
    from pysort.storage.spillfile import SpilledRun, SpillFile


class CompressedRunWriter(RunWriter):
    """Gives the run to a program, and stores what that puts out."""

    __slots__ = ("_child", "_piece")

    def __init__(self, space: Space, file: SpillFile, index: int, compressor: Compressor, child: Child) -> None:
        super().__init__(space, file, index, compressor)
        self._child = child
        self._piece = memoryview(bytearray(PIPE_BYTES))

    def write(self, view: memoryview) -> None:
        """Raises SortError `write failed: ...` also when the program reads no more."""
        self._checksums.add(view)
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


class CompressedRunReader(RunReader):
    """Reads what is stored, and has it decompressed by the program that compressed it. Checksums and offsets
    in messages are those of the run. Raises SortError also when the program cannot be run or fails."""

    __slots__ = ("_child", "_given", "_piece")

    def __init__(
        self,
        run: SpilledRun,
        counters: SpillCounters,
        stats: IoStats,
        access: Access,
        readers_n: int,
        compressor: Compressor,
    ) -> None:
        super().__init__(run, counters, stats, access, readers_n)
        self.may_wait = True
        self._child = compressor.decompress()
        self._given = 0  # stored bytes that the program has taken
        self._piece = memoryview(b"")  # what it has not taken of those that were read
        if not run.stored_bytes:
            self._child.end_input()

    def _load(self, view: memoryview) -> None:
        if not len(view):
            return  # at the end, which has been seen
        at = self.position
        while len(view):
            n = self._take(view)
            if not n:
                self._child.wait()
                raise self._error(at, b"unexpected end of file")
            at += n
            view = view[n:]
        if at == self._run.length:
            self._end()

    def _end(self) -> None:
        """The whole run has been read: no more may follow."""
        if self._take(memoryview(bytearray(1))):
            raise self._error(self._run.length, b"more data than was written")
        self._child.wait()

    def _take(self, view: memoryview) -> int:
        """Fill the front of view with what the program puts out, feeding it meanwhile. Returns 0 at the end."""
        while True:
            takes_input, has_output = self._child.ready()
            if has_output:
                try:
                    return self._child.take(view)
                except OSError as error:
                    raise self._error(self.position, error) from error
            if takes_input:
                self._give()

    def _give(self) -> None:
        if not self._piece:
            self._piece = self._next_piece()
        try:
            n = self._child.give(self._piece)
        except BrokenPipeError:  # it knows where its data end; whether all is well its output will tell
            n = self._run.stored_bytes - self._given
        except OSError as error:
            raise self._error(self.position, error) from error
        self._given += n
        self._piece = self._piece[n:]
        if self._given == self._run.stored_bytes:
            self._child.end_input()

    def _next_piece(self) -> memoryview:
        extent, offset, n = next(self._pieces(self._given, self._given + PIPE_BYTES))
        piece = memoryview(bytearray(n))
        self._fill(self._given, extent, offset, piece)
        return piece

    @property
    def stored_position(self) -> int:
        return self._given

    def close(self) -> None:
        self._child.abandon()
        super().close()
