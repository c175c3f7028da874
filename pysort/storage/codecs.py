"""What compresses spill blocks in this process: zlib of the standard library, zstd and lz4 where their packages are.

Nothing of a block's length is stored with it: whoever expands one knows it, and gets no more bytes than that.
"""

from __future__ import annotations

from pysort.errors import SortError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    Shrink = Callable[[memoryview], bytes]
    Expand = Callable[[memoryview, int], bytes]

# Blocks of 64 KiB of sorted lines, one thread of a busy machine: how many times smaller, MB/s shrunk and expanded.
#               random letters      numbers           a web server's log
#   zlib 1     1.21,   21,  100    2.09,  25, 115    4.61, 100,  119
#   zstd 1     1.21,  737,  306    2.47, 136, 476    5.83, 236,  358
#   zstd -5    1.00                1.27, 106, 216    3.41, 403,  499
#   lz4        1.00                1.24, 301, 779    3.61, 302, 3019
# zlib 3 and zstd 3 gain 5 % at most and are slower.
_ZLIB_LEVEL = 1
_ZSTD_LEVEL = 1
_ZSTD_STATE_BYTES = (500 + 350) << 10  # as its packages tell: to shrink, and to expand
_RAW_DEFLATE = -15  # neither header nor checksum: each block has a better one


class Codec:
    """Any number of threads may use one at a time.

    shrink: a block, compressed. expand: the block of n bytes, n at least 1, that became the other bytes; of bytes that
    nothing was shrunk to it makes n bytes at most, or raises whatever its package raises. state_bytes: what each call
    takes beside what it is given and what it returns.
    """

    __slots__ = ("expand", "shrink", "state_bytes")

    def __init__(self, shrink: Shrink, expand: Expand, state_bytes: int) -> None:
        self.shrink: Final = shrink
        self.expand: Final = expand
        self.state_bytes: Final = state_bytes


def load(method: str) -> Codec:
    """method: a word of --compress other than none. Raises SortError where its package is missing."""
    make, package = _METHODS[method]
    try:
        return make()
    except ImportError as error:
        words = f"option '--compress={method}' needs the Python package {package}: pip install 'pysort[{method}]'"
        raise SortError(words.encode()) from error


def _zlib() -> Codec:
    import zlib

    def shrink(block: memoryview) -> bytes:
        return zlib.compress(block, _ZLIB_LEVEL, _RAW_DEFLATE)

    def expand(stored: memoryview, n: int) -> bytes:
        return zlib.decompressobj(_RAW_DEFLATE).decompress(stored, n)

    return Codec(shrink, expand, 272 << 10)  # zconf.h: 256 KiB and some


def _zstd() -> Codec:
    try:
        from compression import zstd  # type: ignore[import-not-found]  # since Python 3.14
    except ImportError:
        return _zstandard()

    def shrink(block: memoryview) -> bytes:
        made: bytes = zstd.compress(block, _ZSTD_LEVEL)
        return made

    def expand(stored: memoryview, n: int) -> bytes:
        made: bytes = zstd.ZstdDecompressor().decompress(stored, n)
        return made

    return Codec(shrink, expand, _ZSTD_STATE_BYTES)


def _zstandard() -> Codec:
    import zstandard

    compressors: list[Any] = []  # each serves one thread at a time
    decompressors: list[Any] = []

    def shrink(block: memoryview) -> bytes:
        try:
            one = compressors.pop()
        except IndexError:  # Without the length in it a damaged frame cannot ask for a buffer of its own choice.
            one = zstandard.ZstdCompressor(_ZSTD_LEVEL, write_content_size=False)
        made: bytes = one.compress(block)
        compressors.append(one)
        return made

    def expand(stored: memoryview, n: int) -> bytes:
        try:
            one = decompressors.pop()
        except IndexError:
            one = zstandard.ZstdDecompressor()
        made: bytes = one.decompress(stored, max_output_size=n)
        decompressors.append(one)
        return made

    return Codec(shrink, expand, _ZSTD_STATE_BYTES)


def _lz4() -> Codec:
    import lz4.block

    def shrink(block: memoryview) -> bytes:
        made: bytes = lz4.block.compress(block, store_size=False)
        return made

    def expand(stored: memoryview, n: int) -> bytes:
        made: bytes = lz4.block.decompress(stored, uncompressed_size=n)
        return made

    return Codec(shrink, expand, 16 << 10)


# What loads a method, and the package that it takes.
_METHODS: dict[str, tuple[Callable[[], Codec], str]] = {
    "zlib": (_zlib, "zlib"),
    "zstd": (_zstd, "zstandard"),
    "lz4": (_lz4, "lz4"),
}
