"""Checksums of blocks: the kernel's and zlib's."""

from __future__ import annotations

import random
import sys
import zlib
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysort.storage.checksum import Checksums, checksum, checksum_of

try:
    from pysort import _kernel
except ImportError:
    _kernel = None

IN_C = getattr(_kernel, "checksum", None)
KINDS = [
    pytest.param(checksum, id="python"),
    pytest.param(IN_C, id="c", marks=pytest.mark.skipif(IN_C is None, reason="the kernel has none on this processor")),
]


def of_blocks(data: bytes, block_bytes: int) -> list[int]:
    return [zlib.crc32(data[at : at + block_bytes]) for at in range(0, len(data), block_bytes)]


def added(kind, block_bytes: int, pieces: list[bytes]) -> Checksums:
    checksums = Checksums(kind, block_bytes)
    for piece in pieces:
        checksums.add(memoryview(piece))
    checksums.end()
    return checksums


def test_the_kernel_has_one_where_the_processor_can():
    flags = ""
    if sys.platform == "linux":
        with open("/proc/cpuinfo") as file:
            flags = file.read()
    if _kernel is None or "pclmulqdq" not in flags:
        pytest.skip("no kernel in C, or no processor that is known to multiply without carries")
    assert checksum_of(_kernel) is IN_C is not None
    assert checksum_of(None) is checksum


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [*range(200), 255, 256, 257, 1000, 4095, 4096, 4097, 65536, 100_003])
def test_it_is_zlibs(kind, n):
    data = random.Random(n).randbytes(n)
    for block_bytes in {1, 63, 64, 65, 100, 4096, max(n, 1)}:
        assert added(kind, block_bytes, [data]).values.tolist() == of_blocks(data, block_bytes)


@pytest.mark.parametrize("kind", KINDS)
@given(
    block_bytes=st.sampled_from([1, 2, 15, 16, 17, 64, 79, 80, 81, 500]),
    pieces=st.lists(st.integers(0, 700), max_size=8),
    seed=st.integers(0, 99),
)
def test_pieces_are_as_good_as_the_whole(kind, block_bytes, pieces, seed):
    chance = random.Random(seed)
    made = [chance.randbytes(n) for n in pieces]
    assert added(kind, block_bytes, made).values.tolist() == of_blocks(b"".join(made), block_bytes)


@pytest.mark.parametrize("kind", KINDS)
def test_any_flipped_bit_is_found_and_its_block_named(kind):
    data = bytearray(random.Random(1).randbytes(330))
    checksums = added(kind, 100, [data])
    assert checksums.first_wrong(memoryview(data), 0) is None
    assert checksums.first_wrong(memoryview(data)[200:], 2) is None
    for at in range(len(data)):
        for bit in range(8):
            data[at] ^= 1 << bit
            assert checksums.first_wrong(memoryview(data), 0) == at // 100
            assert checksums.first_wrong(memoryview(data)[300:], 3) == (3 if at >= 300 else None)
            data[at] ^= 1 << bit


@pytest.mark.parametrize("kind", KINDS)
def test_another_block_is_not_the_one_that_was_written_there(kind):
    data = b"a" * 64 + b"b" * 64
    checksums = added(kind, 64, [data])
    assert checksums.first_wrong(memoryview(data)[64:], 0) == 0
    assert checksums.first_wrong(memoryview(data[:64] + data[:64]), 0) == 1


@pytest.mark.skipif(IN_C is None, reason="the kernel has none on this processor")
@pytest.mark.parametrize(
    ("block_bytes", "filled", "room", "why"),
    [
        (0, 0, 9, "not a block that has room"),
        (-1, 0, 9, "not a block that has room"),
        (10, 10, 9, "not a block that has room"),
        (10, -1, 9, "not a block that has room"),
        (10, 0, 9, "no room for the checksums"),
        (10, 1, 9, "no room for the checksums"),
    ],
)
def test_what_has_no_room_is_refused(block_bytes, filled, room, why):
    with pytest.raises(ValueError, match=why):
        IN_C(memoryview(bytes(100)), block_bytes, filled, 0, array("I", bytes(4 * room)))
    assert IN_C(memoryview(bytes(99)), 10, 1, 0, array("I", bytes(40)))[0] == 10
