"""What runs are generated from: all inputs as one text."""

from __future__ import annotations

from pysort.storage.readers import LineReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysort.stats import SortStats
    from pysort.storage.readers import InputReader


class Inputs:
    """All inputs as one text: opened one at a time, in order, each line complete."""

    __slots__ = ("_names", "_open", "_reader", "_separator", "_stats")

    def __init__(
        self,
        names: Sequence[bytes],
        separator: int,
        open_input: Callable[[bytes], InputReader],
        stats: SortStats,
    ) -> None:
        self._stats = stats
        self._names = iter(names)
        self._separator = separator
        self._open = open_input
        self._reader: LineReader | None = None

    def readinto(self, view: memoryview) -> int:
        """Read the next bytes into the front of a view that is not empty. Returns how many, 0 at the end of all
        inputs."""
        while True:
            if self._reader is None:
                name = next(self._names, None)
                if name is None:
                    return 0
                self._reader = LineReader(self._open(name), self._separator)
            n = self._reader.readinto(view)
            if n:
                self._stats.input_bytes += n
                return n
            self.close()

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
