"""The work of a sort: runs are made of inputs, and merged in passes until one more merge is the output."""

from __future__ import annotations

from pysort.arena import Arena
from pysort.errors import SortError
from pysort.plan import merge_pass
from pysort.runs import RunGenerator
from pysort.storage.handle import NO_MORE_DESCRIPTORS
from pysort.storage.workers import Workers, write_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from pysort.kernel import Order
    from pysort.merging import Merge, Reader
    from pysort.plan import SortPlan
    from pysort.runs import Readable
    from pysort.stats import SortStats
    from pysort.storage.forecast import Forecast
    from pysort.storage.readers import InputReader
    from pysort.storage.spill import SpillSpace
    from pysort.storage.spillfile import SpilledRun

    Write = Callable[[memoryview], None]
    OpenInput = Callable[..., InputReader]  # name, number of readers at a time, what it counts with
    IsOutput = Callable[[bytes], bool]
    Source = SpilledRun | bytes  # what is merged: bytes name an input
    Pieces = Generator[memoryview]  # of lines in order


class Sorter:
    """The executor of one plan: sort(), merge() or sorted() once, then close()."""

    __slots__ = (
        "_are_sorted",
        "_arena",
        "_before_pass",
        "_generator",
        "_input_fan_in",
        "_open_input",
        "_order",
        "_outs",
        "_plan",
        "_spill",
        "_stats",
        "_tick",
        "_workers",
    )

    def __init__(
        self,
        order: Order,
        plan: SortPlan,
        spill: SpillSpace,
        stats: SortStats,
        before_pass: Callable[[SpillSpace], None] | None = None,
        tick: Callable[[], None] | None = None,
    ) -> None:
        """before_pass, tick: see sort()."""
        self._order = order
        self._plan = plan
        self._open_input: OpenInput
        self._spill = spill
        self._stats = stats
        self._before_pass = before_pass
        self._tick = tick or _nothing
        self._input_fan_in = plan.input_fan_in
        self._are_sorted = True  # what is merged
        self._arena = Arena(plan.arena_bytes)
        self._generator: RunGenerator | None = None
        self._workers = Workers(plan.thread_n)
        self._outs = [memoryview(bytearray(plan.out_bytes)) for _ in range(self._workers.n + 1)]

    def sort(self, inputs: Readable, write: Write) -> None:
        """Sort all lines of the inputs. Raises SortError."""
        generator, runs = self._generate(inputs)
        if runs:
            write_pieces(self._merged_all(runs), write, self._workers, self._tick)
            return
        for piece in generator.pieces():
            write(piece)
            self._tick()

    def sorted(self, inputs: Readable) -> Pieces:
        """All lines of the inputs. When this returns they have been read, and merged but for the last time. Raises
        SortError and whatever reading raises; the former comes also out of asking for a piece."""
        generator, runs = self._generate(inputs)
        pieces = self._merged_all(runs) if runs else generator.pieces()
        self._workers.keep(pieces)
        return pieces

    def merge(self, names: Sequence[bytes], open_input: OpenInput, is_output: IsOutput, write: Write) -> None:
        """Merge the inputs, each as it is. is_output: whether reading a name reads what is written. Raises
        SortError."""
        load_merge()
        self._open_input = open_input
        self._are_sorted = False  # nobody knows
        sources: list[Source] = list(names)
        for i, name in enumerate(names):
            if is_output(name):  # gone as soon as the first line is written: it becomes a run
                sources[i], _ = self._merge_to_run([name])
        write_pieces(self._merged_all(sources), write, self._workers, self._tick)

    def _generate(self, inputs: Readable) -> tuple[RunGenerator, list[Source]]:
        self._generator = generator = RunGenerator(
            self._order,
            self._plan,
            self._arena,
            self._outs,
            self._workers,
            inputs,
            self._spill,
            self._stats,
            load_merge,
            self._tick,
        )
        runs = generator.generate()
        self._stats.runs_n = len(runs) or 1
        return generator, list(runs)

    def _merged_all(self, sources: list[Source]) -> Pieces:
        """Merge them until one more merge, that of the pieces, is the output. Where that takes more descriptors than
        could be foreseen fewer are merged at once."""
        while True:
            if self._before_pass is not None:
                self._before_pass(self._spill)
            merges = merge_pass(len(sources), self._fan_in(sources))
            if merges != [(0, len(sources))]:
                sources = self._pass(sources, merges)
                continue
            readers = self._open(sources)
            if len(readers) == len(sources):
                self._stats.merge_passes_n += 1
                is_sorted = len(readers) == 1 and not isinstance(sources[0], bytes)
                return self._limited(self._copied(readers[0])) if is_sorted else self._merged(readers)
            _abandon(readers)
            self._input_fan_in = max(len(readers) - 1, 2)  # one is for the run

    def _fan_in(self, sources: Sequence[Source]) -> int:
        fan_in = self._plan.fan_in_for(self._stats.longest_line_bytes)
        take_descriptors = any(isinstance(source, bytes) or source.compressor for source in sources)
        return min(fan_in, self._input_fan_in) if take_descriptors else fan_in

    def _pass(self, sources: list[Source], merges: Sequence[tuple[int, int]]) -> list[Source]:
        """The sources that are left when these have been merged."""
        self._stats.merge_passes_n += 1
        left: list[Source] = []
        done = 0
        for first, count in merges:
            left += sources[done:first]
            run, merged_n = self._merge_to_run(sources[first : first + count])
            left.append(run)
            done = first + merged_n
        return left + sources[done:]

    def _merge_to_run(self, sources: Sequence[Source]) -> tuple[SpilledRun, int]:
        """Merge as many of the sources as can be opened. Returns the run and their number."""
        writer = self._spill.start_run()  # before the inputs have taken every descriptor
        readers = self._open(sources)
        write_pieces(self._merged(readers), writer.write, self._workers, self._tick)
        return writer.finish(), len(readers)

    def _open(self, sources: Sequence[Source]) -> list[Reader]:
        """Readers of the sources, of all but the last ones where there are no descriptors for more than two."""
        readers: list[Reader] = []
        try:
            for source in sources:
                readers.append(self._reader(source, len(sources)))
        except SortError as error:
            if error.errno not in NO_MORE_DESCRIPTORS or len(readers) < 2:
                _abandon(readers)
                raise
        return readers

    def _reader(self, source: Source, readers_n: int) -> Reader:
        if isinstance(source, bytes):
            from pysort.inputrun import InputRun

            io = self._stats.inputs.another()
            reader = self._open_input(source, readers_n, io)
            return InputRun(reader, io, self._order.separator, self._plan.block_bytes, self._stats)
        return self._spill.open_run(source, readers_n)

    def _merged(self, readers: Sequence[Reader]) -> Pieces:
        self._stats.merges_n += 1
        try:
            merge = self._prepare_merge(readers)
            try:
                yield from self._limited(merge.pieces())
            finally:
                merge.close()
        except BaseException:
            _abandon(readers)
            raise
        for reader in readers:
            reader.close()
        self._stats.longest_line_bytes = max(self._stats.longest_line_bytes, merge.longest)

    def _prepare_merge(self, readers: Sequence[Reader]) -> Merge:
        from pysort.merging import Merge

        if self._arena.size != self._plan.arena_bytes:  # it was shared, or a long line has been here
            self._arena.resize(self._plan.arena_bytes)
        return Merge(
            self._order,
            self._arena,
            self._workers,
            readers,
            self._plan.window_bytes(len(readers)),
            self._outs,
            self._stats.longest_line_bytes,
            self._forecast(readers),
            are_sorted=self._are_sorted,
        )

    def _copied(self, reader: Reader) -> Pieces:
        """A single run is the output. As with merges a piece is good until the next but one is asked for."""
        try:
            size = min(self._plan.out_bytes, self._arena.size // 2)  # a block at least
            view, other = self._arena.view[:size], self._arena.view[size : 2 * size]
            while n := reader.readinto(view):
                yield view[:n]
                reader.release()
                view, other = other, view
        finally:
            reader.close()

    def _limited(self, pieces: Pieces) -> Pieces:
        """As far as they are wanted."""
        if self._plan.top_n is None:
            return pieces
        from pysort.finishing import first_lines

        return first_lines(self._plan.top_n, self._order.separator, pieces)

    def _forecast(self, readers: Sequence[Reader]) -> Forecast | None:
        run_bytes = self._plan.run_ahead_bytes(self._spill.counters.held_bytes)
        if not run_bytes:
            return None
        from pysort.storage.forecast import Forecast

        return Forecast(readers, run_bytes, self._plan.ahead_bytes)

    @property
    def is_lost(self) -> bool:
        """Whether its threads are in another process."""
        return self._workers.are_lost

    @property
    def is_mine(self) -> bool:
        """Whether this thread is one of its own."""
        return self._workers.are_me

    def close(self) -> None:
        self._workers.close()
        peak_bytes = self._arena.peak_bytes
        if self._generator is not None:
            self._generator.close()
            peak_bytes = max(peak_bytes, self._generator.peak_bytes)
        self._stats.excess_bytes = self._plan.excess_bytes(peak_bytes)
        self._arena.close()


def load_merge() -> None:
    """While there is a descriptor to load it with. Without one there is none for what is to be merged: that says so."""
    try:
        import pysort.merging
        import pysort.storage.forecast  # noqa: F401
    except (ImportError, OSError):
        pass


def _nothing() -> None:
    pass


def _abandon(readers: Sequence[Reader]) -> None:
    """Close them all: an error is under way, or they will be opened again."""
    for reader in readers:
        try:
            reader.close()
        except SortError:
            pass
