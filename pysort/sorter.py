"""Executes a plan: runs, merge passes, output. Owns the clean-up."""

from __future__ import annotations

import os
import stat

from pysort.arena import Arena
from pysort.merge import Merge
from pysort.output import Output
from pysort.plan import merge_pass
from pysort.runs import Inputs, RunGenerator
from pysort.storage.hints import parse_hints
from pysort.storage.iostats import IoStats
from pysort.storage.readers import STDIN, check_readable, open_input
from pysort.storage.spill import SpillSpace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from pysort.environ import Environment
    from pysort.kernel import Order
    from pysort.options import Options
    from pysort.plan import SortPlan
    from pysort.stats import SortStats
    from pysort.storage.readers import InputReader
    from pysort.storage.spillfile import SpilledRun

    T = TypeVar("T")
    # Hands lines to a write function, in pieces of at most the buffer's length.
    Producer = Callable[[memoryview, Callable[[memoryview], None]], None]


def input_bytes(names: Sequence[bytes]) -> int | None:
    """What there is to read, None when an input does not tell (pipes, devices, files of size 0 as in /proc)."""
    total = 0
    for name in names:
        try:
            status = os.fstat(0) if name == STDIN else os.stat(name)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return None
        total += status.st_size + 1  # a missing separator
    return total


class Sorter:
    """The executor of one plan: run() once, then close()."""

    __slots__ = ("_arena", "_order", "_out", "_output", "_plan", "_spill", "_stats")

    def __init__(self, order: Order, plan: SortPlan, output: Output, spill: SpillSpace, stats: SortStats) -> None:
        self._order = order
        self._plan = plan
        self._output = output
        self._spill = spill
        self._stats = stats
        self._arena = Arena(plan.arena_bytes)
        self._out = memoryview(bytearray(plan.out_bytes))

    def run(self, inputs: Inputs) -> None:
        """Sort all lines of the inputs to the output. Raises SortError."""
        runs = self._generate(inputs)
        while runs:
            runs = self._merge_pass(runs)
        self._output.finish()

    def _generate(self, inputs: Inputs) -> list[SpilledRun]:
        """The spilled runs; none when everything fitted the sort buffer, whose lines are then in the output."""
        generator = RunGenerator(self._order, self._arena, inputs, self._plan.read_bytes, self._stats)
        runs: list[SpilledRun] = []
        try:
            ended = False
            while not ended:
                ended = generator.load()
                generator.sort()
                if ended and not runs:
                    generator.write(self._out, self._output.write)
                else:
                    runs.append(self._spilled(generator.write))
        finally:
            generator.close()
        self._stats.runs_n = len(runs) or 1
        return runs

    def _spilled(self, produce: Producer) -> SpilledRun:
        writer = self._spill.start_run()
        produce(self._out, writer.write)
        return writer.finish()

    def _merge_pass(self, runs: list[SpilledRun]) -> list[SpilledRun]:
        """The runs that are left; none when the pass was the last and its lines are in the output."""
        self._stats.merge_passes_n += 1
        merges = merge_pass(len(runs), self._plan.fan_in)
        if merges == [(0, len(runs))]:
            self._merge(runs, lambda produce: produce(self._out, self._output.write))
            return []
        left: list[SpilledRun] = []
        done = 0
        for first, count in merges:
            left += runs[done:first]
            done = first + count
            left.append(self._merge(runs[first:done], self._spilled))
        return left + runs[done:]

    def _merge(self, runs: Sequence[SpilledRun], consume: Callable[[Producer], T]) -> T:
        self._stats.merges_n += 1
        readers = [self._spill.open_run(run) for run in runs]
        merge = Merge(self._order, self._arena, readers, self._plan.window_bytes(len(runs)))
        try:
            return consume(merge.run)
        finally:
            merge.close()

    def close(self) -> None:
        self._arena.close()


def sort(order: Order, plan: SortPlan, options: Options, environment: Environment, stats: SortStats) -> None:
    """Sort as the options say. Fills stats. Raises SortError; whatever happens, nothing is left behind."""
    names = options.files or (STDIN,)
    io = IoStats()
    input_hints = parse_hints(options.fadvise, b"--fadvise")
    run_hints = parse_hints(options.run_fadvise, b"--run-fadvise")
    check_readable(names)
    output = Output(options.output, io)
    directories = options.temporary_directories or (environment.temporary_directory,)

    def open_named(name: bytes) -> InputReader:
        reader = open_input(name, input_hints, options.input_reader, io, window_bytes=plan.map_bytes)
        reader.size_hint()  # where GNU sort finds that standard input is closed
        return reader

    inputs = Inputs(names, order.separator, open_named)
    with SpillSpace(directories, plan.block_bytes, run_hints, options.reader, io, window_bytes=plan.map_bytes) as spill:
        sorter = Sorter(order, plan, output, spill, stats)
        try:
            sorter.run(inputs)
        finally:
            sorter.close()
            stats.spilled_bytes = spill.counters.written_bytes
            stats.temporary_bytes_peak = spill.counters.peak_bytes
            stats.output_bytes = output.written_bytes
