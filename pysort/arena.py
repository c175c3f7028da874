"""The arena, and the line buffers in it: text growing up, records growing down (see csrc/kernel.h).

One arena serves the whole sort. While runs are generated it is one line buffer, the sort buffer; while runs are merged
it is divided into one line buffer for each run, its window.
"""

from __future__ import annotations

import mmap
import struct

from pysort.errors import SortError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.kernel import Order

ARENA_LIMIT_BYTES = (1 << 32) - 4096  # offsets in records are 32 bits
HUGE_PAGES_FROM_BYTES = 32 << 20  # below, zeroing whole huge pages costs more than it saves
ALIGN_BYTES = 64
KEY_ROOM_BYTES = 24  # left for a header and a key when lines are taken; longer keys leave the last lines for later

RECORD_BYTES = 16
_OFFSET = struct.Struct("=8xI4x")  # in a record
_PREFIX = struct.Struct("=Q")  # at the start of a record


def align(n: int) -> int:
    """n, rounded up to what records and windows start at."""
    return n + -n % ALIGN_BYTES


class Arena:
    """Anonymous private memory. Pages count against the process only once they are touched. peak_bytes: the largest
    size so far."""

    __slots__ = ("_map", "peak_bytes", "size", "view")

    def __init__(self, size: int) -> None:
        """size: bytes, a multiple of ALIGN_BYTES. Raises SortError `memory exhausted`."""
        self._map = _allocate(size)
        self.size = self.peak_bytes = size
        self.view = memoryview(self._map)

    def resize(self, size: int) -> None:
        """Make it larger or smaller, contents kept. All slices of `view` must have been released. Raises SortError
        `memory exhausted`, also where there is no room for half of what is added: who touches more is killed."""
        room = _room() if size > self.size else None
        if room is not None and (size - self.size) // 2 > room:
            raise self._exhausted()
        old = self._map
        self.view.release()
        try:
            old.resize(size)
        except SystemError:  # no mremap on this system
            self._map = _allocate(size)
            kept = min(size, self.size)
            self._map[:kept] = old[:kept]
            old.close()
        except OSError as error:
            raise SortError(b"memory exhausted", errno=error.errno) from error
        self.size = size
        self.peak_bytes = max(self.peak_bytes, size)
        self.view = memoryview(self._map)

    def double(self) -> None:
        """For a line that is longer than the arena, which has no records: the one case in which -S is exceeded. All
        slices of `view` must have been released."""
        more = min(self.size, ARENA_LIMIT_BYTES - self.size)
        room = _room()
        if room is not None and more > room:
            more = room - room % ALIGN_BYTES
        if more < self.size // 8:  # nor is it worth a copy
            raise self._exhausted()
        self.resize(self.size + more)

    def _exhausted(self) -> SortError:
        return SortError(b"memory exhausted: a line needs more than %d bytes" % self.size)

    def find(self, byte: int, start: int, stop: int) -> int:
        """Where the byte is first in start..stop-1, -1 if it is not."""
        return self._map.find(bytes((byte,)), start, stop)

    def rfind(self, byte: int, start: int, stop: int) -> int:
        """Where the byte is last in start..stop-1, -1 if it is not."""
        return self._map.rfind(bytes((byte,)), start, stop)

    def forget(self, start: int, stop: int) -> None:
        """What lies there is not needed any more: its whole pages go back to the system."""
        start += -start % mmap.PAGESIZE
        stop -= stop % mmap.PAGESIZE
        if start < stop and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED, start, stop - start)

    def close(self) -> None:
        try:
            self.view.release()
            self._map.close()
        except BufferError:
            pass  # an exception under way holds slices in its frames: the memory goes when they do


def _room() -> int | None:
    """What this process may still touch, None where that is not known."""
    from pysort.environ import Environment

    return Environment.from_process({}).room_bytes


def _allocate(size: int) -> mmap.mmap:
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError, ValueError) as error:
        raise SortError(b"memory exhausted", errno=getattr(error, "errno", None)) from error
    if size >= HUGE_PAGES_FROM_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        # 200 MB read and scanned: 0.14 s against 0.20 s. A kernel without them says so.
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass
    return memory


class LineBuffer:
    """Text that is read at `stop`, split into records below the end of `view`.

        view:  | lines already split, and their keys | scanned .. stop: not split yet |  free  | n records |

    record_bytes: what a line costs beside its text, scratch for sorting included. Invariants: 0 <= scanned <= stop and
    stop + n * record_bytes <= len(view). longest: length of the longest line so far.
    """

    __slots__ = ("_counted", "_order", "_record_bytes", "longest", "n", "scanned", "stop", "view")

    def __init__(self, order: Order, view: memoryview, record_bytes: int, *, counted: bool = False) -> None:
        """counted: whether the lines come with their counts."""
        self._order = order
        self._counted = counted
        self._record_bytes = record_bytes
        self.view = view
        self.longest = 0
        self.n = 0
        self.scanned = 0
        self.stop = 0

    @property
    def top(self) -> int:
        return len(self.view)

    def room(self) -> int:
        """Bytes that may be read at `stop`, with space left for one more record."""
        return self.top - (self.n + 1) * self._record_bytes - self.stop

    def split(self) -> bool:
        """Split what has been read into records, with keys where the order has them. False when the buffer is too full
        for all complete lines: the rest waits for take_over()."""
        free = self.top - self.stop - self.n * self._record_bytes
        line_bytes = self._record_bytes + (KEY_ROOM_BYTES if self._order.keyed else 0)
        n_max = self.n + max(free // line_bytes, int(free >= self._record_bytes))
        n, scanned, longest = self._order.kernel.scan(
            self._order.program, self.view, self.scanned, self.stop, self.top, self.n, n_max, self._counted
        )
        self.longest = max(self.longest, longest)
        fits: bool = n < n_max
        if self._order.keyed and n > self.n:
            return self._encode(n, scanned) and fits
        self.n, self.scanned = n, scanned
        return fits

    def _encode(self, n: int, scanned: int) -> bool:
        """Put the keys of the new records up to n behind the text, and the incomplete line behind the keys."""
        limit = self.top - n * self._record_bytes
        done, end = self._order.kernel.encode(
            self._order.program, self._order.locale, self.view, self.top, self.n, n, self.stop, limit
        )
        if done < n:
            (scanned,) = _OFFSET.unpack_from(self.view, self.top - (done + 1) * RECORD_BYTES)
        tail = self.stop - scanned
        self.n = done
        if done < n or end + tail > limit:
            self.scanned = scanned
            return False
        self.view[end : end + tail] = self.view[scanned : self.stop]
        self.scanned, self.stop = end, end + tail
        return True

    def line(self, index: int) -> tuple[int, int]:
        """Offset and length of the line of record `index` < n, without its separator."""
        line: tuple[int, int] = self._order.kernel.line(self._order.program, self.view, self.top, index)
        return line

    @property
    def last_prefix(self) -> int:
        """Prefix of the last of n >= 1 records."""
        prefix: int = _PREFIX.unpack_from(self.view, self.top - self.n * RECORD_BYTES)[0]
        return prefix

    def take_over(self, source: LineBuffer, keep_last: bool = False) -> None:
        """Begin anew with the text of a buffer, this or another one, that was not split yet; behind the line of its
        last record if that is wanted. The other one stays as it is."""
        at = 0
        if keep_last and source.n:
            start, length = source.line(source.n - 1)
            at = length + 1  # with its separator, and its count
            while source.view[start + at - 1] != self._order.separator:
                at += 1
            self.view[:at] = source.view[start : start + at]
        tail = source.stop - source.scanned
        self.view[at : at + tail] = source.view[source.scanned : source.stop]
        self.n, self.scanned, self.stop = 0, 0, at + tail
        self.longest = max(self.longest, source.longest)
