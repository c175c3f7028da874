"""Checksums of spilled blocks, which tell a flipped bit, or a block that is not the one that was written there."""

from __future__ import annotations

import zlib
from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Checksum = Callable[[memoryview, int, int, int, array[int]], tuple[int, int]]


def checksum(view: memoryview, block_bytes: int, filled: int, value: int, blocks: array[int]) -> tuple[int, int]:
    """CRC-32 of bytes that are cut into blocks; `filled` < block_bytes of the first one, and their checksum `value`,
    went before. Those of full blocks go to the front of `blocks`. Returns how many, and that of the last one if it is
    not full, else 0."""
    n = 0
    while len(view):
        piece = view[: block_bytes - filled]
        value = zlib.crc32(piece, value)
        filled += len(piece)
        if filled == block_bytes:
            blocks[n] = value
            n += 1
            value = filled = 0
        view = view[len(piece) :]
    return n, value


def checksum_of(kernel: Any) -> Checksum:
    """The kernel's, four times as fast, where it has one: a kernel in C on a processor that can."""
    found: Checksum = getattr(kernel, "checksum", checksum)
    return found


class Checksums:
    """Those of a run's blocks, which is added piece by piece."""

    __slots__ = ("_block_bytes", "_checksum", "_filled", "_value", "values")

    def __init__(self, checksum: Checksum, block_bytes: int) -> None:
        self._checksum = checksum
        self._block_bytes = block_bytes
        self._filled = self._value = 0
        self.values = array("I")  # of full blocks

    def add(self, view: memoryview) -> None:
        n = (self._filled + len(view)) // self._block_bytes
        found = array("I", bytes(4 * n))
        _, self._value = self._checksum(view, self._block_bytes, self._filled, self._value, found)
        self.values += found
        self._filled = (self._filled + len(view)) % self._block_bytes

    def end(self) -> None:
        """The last block is full, or as full as it gets."""
        if self._filled:
            self.values.append(self._value)
            self._filled = self._value = 0

    def first_wrong(self, view: memoryview, index: int) -> int | None:
        """Which block, of those that begin with block `index`, is not as it was added. None when all are; the last one
        may be what is left of the run."""
        blocks_n = -(-len(view) // self._block_bytes)
        found = array("I", bytes(4 * blocks_n))
        n, value = self._checksum(view, self._block_bytes, 0, 0, found)
        if n < blocks_n:
            found[n] = value
        expected = self.values[index : index + blocks_n]
        if found == expected:
            return None
        return index + next(i for i in range(blocks_n) if found[i : i + 1] != expected[i : i + 1])
