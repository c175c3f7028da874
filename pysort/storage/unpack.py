"""Compressed inputs, told by how they begin: gzip, bzip2 and xz by the standard library, zstd and lz4 by the packages
zstandard and lz4. Anything else is read as it is. Files may consist of several compressed streams, one after the other.
"""

from __future__ import annotations

from pysort.errors import SortError, shell_name
from pysort.storage.filters import Filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

MADE_BYTES = 1 << 20  # most that is made at once
LONGEST_MAGIC = 6


def _gzip() -> Any:
    import zlib

    class Gunzip:
        """zlib's object with the manners of bz2's and lzma's."""

        def __init__(self) -> None:
            self._object = zlib.decompressobj(zlib.MAX_WBITS | 16)
            self._was_full = False

        def decompress(self, data: bytes, max_length: int) -> bytes:
            made = self._object.decompress(self._object.unconsumed_tail + data, max_length)
            self._was_full = len(made) == max_length  # there may be more, even with no input left
            return made

        @property
        def eof(self) -> bool:
            return self._object.eof

        @property
        def needs_input(self) -> bool:
            return not self._object.unconsumed_tail and not self._was_full

        @property
        def unused_data(self) -> bytes:
            return self._object.unused_data

    return Gunzip


def _bzip2() -> Any:
    import bz2

    return bz2.BZ2Decompressor


def _xz() -> Any:
    import lzma

    return lzma.LZMADecompressor


def _zstd() -> Any:
    import zstandard

    class Unzstd:
        """As above. It cannot be told how much to make, so it is given little at a time."""

        def __init__(self) -> None:
            self._object = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            self._rest = b""

        def decompress(self, data: bytes, max_length: int) -> bytes:
            text = self._rest + data
            size = max_length // 256
            self._rest = text[size:]
            made: bytes = self._object.decompress(text[:size])
            return made

        @property
        def needs_input(self) -> bool:
            return not self._rest

        @property
        def eof(self) -> bool:
            return bool(self._object.eof)

        @property
        def unused_data(self) -> bytes:
            return bytes(self._object.unused_data) + self._rest

    return Unzstd


def _lz4() -> Any:
    import lz4.frame

    return lz4.frame.LZ4FrameDecompressor


# How a stream begins, what makes a decompressor, and the package that it takes.
FORMATS: tuple[tuple[bytes, Callable[[], Any], str], ...] = (
    (b"\x1f\x8b", _gzip, "zlib"),
    (b"BZh", _bzip2, "bz2"),
    (b"\xfd7zXZ\0", _xz, "lzma"),
    (b"\x28\xb5\x2f\xfd", _zstd, "zstandard"),
    (b"\x04\x22\x4d\x18", _lz4, "lz4"),
)


class Unpack(Filter):
    """Raises SortError, which names the file, when it is damaged or ends too early, or when the package is missing."""

    __slots__ = ()

    def _filtered(self) -> Iterator[bytes]:
        pieces = self._pieces()
        text = b""
        while len(text) < LONGEST_MAGIC and (piece := next(pieces, b"")):
            text += piece
        for magic, load, package in FORMATS:
            if text.startswith(magic):
                try:
                    make = load()
                except ImportError as error:
                    raise self._error(f"the Python package {package} is needed to decompress it") from error
                yield from self._unpacked(make, text, pieces)
                return
        yield text
        yield from pieces

    def _unpacked(self, make: Callable[[], Any], text: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
        while text:
            stream = make()
            while not stream.eof:
                if stream.needs_input and not text:
                    text = next(pieces, b"")
                    if not text:
                        raise self._error("it ends too early")
                try:
                    made = stream.decompress(text, MADE_BYTES)
                except Exception as error:  # each package has its own
                    raise self._error(str(error)) from error
                text = b""
                yield made
            # Zeros that fill up the last block of a tape are no stream.
            text = stream.unused_data or b""
            while not text.strip(b"\0") and (piece := next(pieces, b"")):
                text = piece
            text = text if text.strip(b"\0") else b""

    def _error(self, reason: str) -> SortError:
        return SortError(b"cannot decompress ", shell_name(self.name), b": ", reason.encode(), filename=self.name)
