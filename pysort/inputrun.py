"""An input under -m, as a merge reads runs."""

from __future__ import annotations

from pysort.storage.readers import LineReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.stats import SortStats
    from pysort.storage.iostats import IoStats
    from pysort.storage.readers import InputReader

_UNKNOWN_BYTES = 1 << 63


class InputRun(LineReader):
    """As it is, sorted or not. block_bytes: the least that is worth a read."""

    __slots__ = ("_bytes", "_io", "_stats", "block_bytes", "may_wait")

    def __init__(self, reader: InputReader, io: IoStats, separator: int, block_bytes: int, stats: SortStats) -> None:
        """io: what the reader counts with. stats: told at the end."""
        super().__init__(reader, separator)
        self.block_bytes = block_bytes
        self.may_wait = reader.is_stream
        self._io = io
        self._stats = stats
        self._bytes = 0

    @property
    def remaining(self) -> int:
        """Not known before the end, which only a read finds."""
        return 0 if self.ended else _UNKNOWN_BYTES

    def readinto(self, view: memoryview) -> int:
        n = super().readinto(view)
        self._bytes += n
        return n

    def release(self) -> None:
        """Nothing to give back: the file is the user's."""

    @property
    def stored_position(self) -> int:
        return 0

    def prefetch(self, start: int, stop: int) -> None:
        """Nothing to ask for: the kernel reads ahead of each input by itself."""

    def close(self) -> None:
        super().close()
        self._stats.input_bytes += self._bytes
        self._stats.inputs.add(self._io)
        self._bytes = 0
        self._io = self._io.another()  # closed again it adds nothing
