"""Sorted lines of a program, taken one after another, and what is held meanwhile."""

from __future__ import annotations

import sys
from _thread import start_new_thread
from itertools import chain
from typing import Any, Generic, TypeVar

from pysort.finishing import Counter
from pysort.passes import Sorter
from pysort.sorter import spill_space
from pysort.storage.access import accesses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from pysort.environ import Environment
    from pysort.gauge import Herald
    from pysort.items import Items
    from pysort.kernel import Order
    from pysort.options import Options
    from pysort.plan import SortPlan
    from pysort.stats import SortStats

Line = TypeVar("Line")


class SortedLines(Generic[Line]):
    """Sorted lines, each as it was given, or counted ones, each with its number: an iterator, and a context manager.
    Memory, threads and temporary files are held until the last line has been taken, an error comes, or close() is
    called, as it is at the end of the `with` block and when nobody refers to the iterator any more.

    Asking for a line raises SortError where a temporary file cannot be read or has changed, and ValueError after
    close(). A child of fork() gets the lines that are at hand, then RuntimeError: its parent goes on with the rest.
    """

    _sorter: Sorter | None = None

    def __init__(
        self,
        items: Items[Any],
        order: Order,
        plan: SortPlan,
        options: Options,
        environment: Environment,
        stats: SortStats,
        herald: Herald | None,
    ) -> None:
        """Reads all items. Raises what that raises, and SortError."""
        _, access = accesses(options, plan.map_bytes, plan.run_read_bytes, plan.free_bytes)
        self._spill = spill_space(order, options, plan, environment, access, stats, warn=lambda _: None)
        self._lines: Iterator[Line] = _closed()
        self._pieces: Generator[memoryview] = _closed()
        self._sorter = sorter = Sorter(order, plan, self._spill, stats, tick=herald)
        try:
            header: Iterable[Any] = items.take_header(options.header, options.header_prefix)
            self._pieces = sorter.sorted(items)
            if herald is not None:
                herald.gauge.expect_output()
            pieces = _here(sorter, self._pieces, stats, herald)
            if order.counts:
                header = [(line, 1) for line in header]
                lines: Iterator[Any] = items.given_back_counted(_counted(order, pieces), options.unique)
            else:
                lines = items.given_back(pieces)
            self._lines = chain(header, lines)
        except BaseException:
            self._release()
            raise

    def __iter__(self) -> SortedLines[Line]:
        return self

    def __next__(self) -> Line:
        try:
            return next(self._lines)
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Free everything; it may be called again."""
        self._lines = _closed()
        self._release()

    def _release(self) -> None:
        sorter, self._sorter = self._sorter, None
        if sorter is None:
            return
        try:
            self._pieces.close()
            sorter.close()
        finally:
            self._spill.close()

    def __enter__(self) -> SortedLines[Line]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if sys.is_finalizing():  # the process is about to free everything
            return
        if self._sorter is not None and self._sorter.is_mine:
            start_new_thread(self.close, ())  # a worker cannot wait for itself
        else:
            self.close()


def _here(
    sorter: Sorter, pieces: Iterator[memoryview], stats: SortStats, herald: Herald | None
) -> Iterator[memoryview]:
    """The pieces, as long as they are this process's: another one would give the space of runs back that this one
    reads."""
    while True:
        if sorter.is_lost:
            raise RuntimeError("another process goes on with these lines")
        piece = next(pieces, None)
        if piece is None:
            break
        yield piece
        stats.output.count_write(len(piece))
        if herald is not None:
            herald()
    if herald is not None:
        herald.finish()


def _counted(order: Order, pieces: Iterable[memoryview]) -> Iterator[memoryview]:
    """Each line once, behind its number."""
    made: list[memoryview] = []
    counter = Counter(order, lambda view: made.append(memoryview(bytes(view))))
    for piece in pieces:
        counter.write(piece)
        yield from made
        made.clear()


def _closed() -> Generator[Any]:
    raise ValueError("the sorted lines were closed")
    yield
