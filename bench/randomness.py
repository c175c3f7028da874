"""The randomness of the corpora: SHAKE-128 output, fixed by a standard, so that no Python version, platform or byte
order can change a corpus. Lines are made in chunks: memory stays small at any size.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
from collections.abc import Callable, Iterator

CHUNK_LINES_N = 100_000
# 64 symbols, so that the low six bits of a random byte pick one without bias.
ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_TO_ALPHABET = bytes(ALPHABET[byte & 63] for byte in range(256))
TO_LOWERCASE = bytes(97 + byte % 26 for byte in range(256))

Lines = list[bytes]
Generator = Callable[[str, int], Iterator[Lines]]


class Source:
    """The random stream of one chunk; each draw hashes the label and the draw's number."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._draws_n = 0

    def data(self, size_bytes: int) -> bytes:
        self._draws_n += 1
        return hashlib.shake_128(f"{self._label}/{self._draws_n}".encode()).digest(size_bytes)

    def below(self, limit: int, n: int) -> list[int]:
        """n integers in [0, limit), limit <= 2**32; the bias is below limit / 2**32."""
        return [word % limit for word in struct.unpack(f"<{n}I", self.data(4 * n))]

    def picks(self, pool: Lines, n: int) -> Lines:
        """n members of the pool, each as likely as any other."""
        return list(map(pool.__getitem__, self.below(len(pool), n)))

    def tokens(self, shortest: int, longest: int, n: int, table: bytes = _TO_ALPHABET) -> Lines:
        """n strings whose lengths are uniform over shortest..longest."""
        lengths = [shortest + extra for extra in self.below(longest - shortest + 1, n)]
        text = self.data(sum(lengths)).translate(table)
        ends = itertools.accumulate(lengths)
        return [text[end - length : end] for length, end in zip(lengths, ends, strict=True)]


def chunks(label: str, lines_n: int) -> Iterator[tuple[Source, int, int]]:
    """(random stream, number of the first line, number of lines) of each chunk."""
    for first in range(0, lines_n, CHUNK_LINES_N):
        yield Source(f"{label}/{first}"), first, min(CHUNK_LINES_N, lines_n - first)
