"""How text, keys and records share a sort buffer."""

from __future__ import annotations

from _thread import allocate_lock

from pysort.plan import SORT_RECORD_BYTES


class Room:
    """What is free between text and records. Text and keys are taken from below, records from above, by any thread."""

    __slots__ = ("_due", "_high", "_lock", "_top", "low")

    def __init__(self, top: int, low: int) -> None:
        self._lock = allocate_lock()
        self._top = top
        self._high = top
        self._due = 0  # bytes that are expected for keys of records that have none yet
        self.low = low

    @property
    def free(self) -> int:
        """Bytes, those of one more record not counted: 0 or less when the buffer is full."""
        return self._high - self.low - self._due - SORT_RECORD_BYTES

    def take(self, size: int) -> int | None:
        """Where the bytes begin, None if there are not so many."""
        with self._lock:
            if size > self.free:
                return None
            self.low += size
            return self.low - size

    def extend(self, stop: int, size: int) -> bool:
        """Take them at `stop`, if nothing has been taken behind it."""
        with self._lock:
            if stop != self.low or size > self.free:
                return False
            self.low += size
            return True

    def give_back(self, stop: int, used: int) -> None:
        """Of what was taken up to `stop` all behind `used`, if nothing has been taken behind it."""
        with self._lock:
            if self.low == stop:
                self.low = used

    def take_records(self, n: int, more: int, key_bytes: int) -> int:
        """Room for up to `more` records behind the first n, with keys of about so many bytes. Returns for how many in
        all."""
        with self._lock:
            free = self._top - n * SORT_RECORD_BYTES - self.low - self._due
            n += min(more, max(free // (SORT_RECORD_BYTES + key_bytes), int(free >= SORT_RECORD_BYTES)))
            self._high = self._top - n * SORT_RECORD_BYTES
            return n

    def settle_records(self, n: int, key_bytes: int) -> None:
        """There are n, and room for no more. The last ones will need so many bytes for their keys."""
        with self._lock:
            self._high = self._top - n * SORT_RECORD_BYTES
            self._due += key_bytes

    def take_keys(self, size: int, due: int) -> tuple[int, int]:
        """Up to `size` bytes for keys, for which `due` were expected: start and end."""
        with self._lock:
            self._due -= due
            start = self.low
            self.low += max(min(size, self.free + SORT_RECORD_BYTES), 0)
            return start, self.low
