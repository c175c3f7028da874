"""Which runs of a merge are to be read next: those whose windows end with the smallest lines (Knuth, The Art of
Computer Programming 3, 5.4.6).

The kernel is asked for what follows in a run before the merge is, in the order in which it will be needed, and in
pieces of half of what is to be ahead: each request costs some microseconds, as much as a small read out of the page
cache.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Ahead(Protocol):
        @property
        def stored_position(self) -> int:
            """Bytes read so far of what is stored."""

        def prefetch(self, start: int, stop: int) -> None:
            """Ask for bytes start..stop-1, or what there is of them."""

    class Window(Protocol):
        n: int  # lines

        @property
        def last_prefix(self) -> int: ...


class Forecast:
    """readers: of all runs, in order, before their first read. run_bytes: how far to be ahead of each. max_bytes: how
    far of all together, save that it is enough for one run."""

    __slots__ = ("_asked", "_half", "_readers", "_room_n", "_run_bytes", "_waiting", "_waits")

    def __init__(self, readers: Sequence[Ahead], run_bytes: int, max_bytes: int) -> None:
        self._readers = readers
        self._run_bytes = run_bytes
        self._half = run_bytes // 2
        self._asked = [0] * len(readers)  # what lies before it was asked for
        self._room_n = max(max_bytes // run_bytes, 1)  # runs that may still be asked for
        # (prefix of the last line in the window, run): those to ask for. All windows are empty, and filled in this
        # order.
        self._waiting = [(0, i) for i in range(len(readers))]
        self._waits = [True] * len(readers)
        self._ask()

    def fed(self, i: int, window: Window) -> None:
        """Run i was read into its window. Of the last line there only the prefix counts: runs whose lines begin alike
        may be asked for in the wrong order, which costs time and nothing else."""
        if self._waits[i] or self._asked[i] - self._readers[i].stored_position > self._half:
            return
        self._waits[i] = True
        self._room_n += 1
        self._waiting.append((window.last_prefix if window.n else 0, i))
        self._ask()

    def _ask(self) -> None:
        while self._waiting and self._room_n:
            first = min(self._waiting)
            self._waiting.remove(first)
            i = first[1]
            reader = self._readers[i]
            start = reader.stored_position
            reader.prefetch(max(self._asked[i], start), start + self._run_bytes)
            self._asked[i] = start + self._run_bytes
            self._waits[i] = False
            self._room_n -= 1
