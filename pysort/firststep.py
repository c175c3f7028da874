"""The first step of sorting, made by all workers together: each has a range of the records.

They find in which bits the prefixes of all records differ, count how many in their ranges have each digit, and put
them where the parts are to lie, one behind the other in the order of the ranges.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysort.arena import Arena
    from pysort.kernel import Order

_RECORD_BYTES = 16
_PREFIX = struct.Struct("=Q")  # of a record
_DIGITS = struct.Struct("=256Q")  # a number for each digit
_PART = struct.Struct("=3QqQ")  # struct ps_part: start, n, depth, shift, flags
_FLIPPED = 2


class FirstStep:
    """find() for each range; if there is a difference, count() for each; share_out(); distribute() for each. Then the
    parts are what is left to sort."""

    __slots__ = (
        "_arena",
        "_counts",
        "_differences",
        "_n",
        "_order",
        "_places",
        "_prefix",
        "_ranges",
        "_shift",
        "parts",
    )

    def __init__(self, order: Order, arena: Arena, n: int, ranges: Sequence[tuple[int, int]]) -> None:
        """ranges: first and last record but one of each; all of them are the n >= 1 records."""
        self._order = order
        self._arena = arena
        self._n = n
        self._ranges = [(arena.size - first * _RECORD_BYTES, stop - first) for first, stop in ranges]  # top, n
        self._differences = [0] * len(ranges)
        self._counts = [bytearray(_DIGITS.size) for _ in ranges]
        self._places: list[bytes] = []
        self._shift = 0
        (self._prefix,) = _PREFIX.unpack_from(arena.view, arena.size - _RECORD_BYTES)
        self.parts: list[bytes] = []

    def find(self, i: int) -> None:
        order = self._order
        self._differences[i] = order.kernel.differing(order.program, self._arena.view, *self._ranges[i], self._prefix)

    @property
    def difference(self) -> int:
        """The bits in which prefixes differ; 0: there is nothing that records could be distributed by."""
        difference = 0
        for each in self._differences:
            difference |= each
        return difference

    def count(self, i: int) -> None:
        order = self._order
        self._shift = order.kernel.count_digits(  # the same for all
            order.program, self._arena.view, *self._ranges[i], self.difference, self._counts[i]
        )

    def share_out(self) -> None:
        """Give each range its places for each digit, behind those of the ranges before it."""
        counts = [_DIGITS.unpack(each) for each in self._counts]
        places: list[list[int]] = [[] for _ in counts]
        start = 0
        for counted in zip(*counts, strict=True):
            first = start
            for n, at in zip(counted, places, strict=True):
                at.append(start)
                start += n
            if start > first:
                self.parts.append(_PART.pack(first, start - first, 0, self._shift, _FLIPPED))
        self._places = [_DIGITS.pack(*at) for at in places]

    def distribute(self, i: int) -> None:
        order, to = self._order, self._arena.size - self._n * _RECORD_BYTES
        order.kernel.distribute(
            order.program, self._arena.view, *self._ranges[i], self.difference, to, self._n, self._places[i]
        )
