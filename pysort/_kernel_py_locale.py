"""The C library's collation for the Python twin: what csrc/collate.c does, through ctypes.

A text is compared by strcoll, piece by piece around its NULs; where all common pieces are equal, the text with fewer of
them is less. The first level of a collation key is what stands before the first byte 01 of strxfrm's result: where two
of them differ strcoll agrees, while whole strxfrm keys do not give strcoll's order in glibc 2.36.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes

# Of Linux. The masks of newlocale are 1 << the categories, the items of nl_langinfo begin with them.
LC_CTYPE, LC_NUMERIC, LC_TIME, LC_COLLATE = 0, 1, 2, 3
RADIXCHAR, THOUSEP = 0x10000, 0x10001
ABMON_1 = 0x2000E


class Locale:
    """Two locales, as csrc's struct ps_locale: for collation and for numbers. decimal_point: its bytes."""

    __slots__ = ("_coarse", "_collate", "_library", "_numeric", "decimal_point")

    def __init__(self, collate: bytes, numeric: bytes, coarse: bool) -> None:
        """Raises OSError for a name that the C library does not know."""
        self._library = library = _library()
        self._coarse = coarse
        self._collate = _open(library, LC_COLLATE, collate)
        self._numeric = _open(library, LC_NUMERIC, numeric)
        self.decimal_point: bytes = library.nl_langinfo_l(RADIXCHAR, self._numeric)

    def __del__(self) -> None:
        for handle in (getattr(self, "_collate", None), getattr(self, "_numeric", None)):
            if handle:
                self._library.freelocale(handle)

    def compare(self, a: bytes, b: bytes) -> int:
        """strcoll's order of two texts: negative, 0 or positive."""
        if a == b:
            return 0
        if not a or not b:
            return 1 if a else -1
        pieces_a, pieces_b = a.split(b"\x00"), b.split(b"\x00")
        for x, y in zip(pieces_a, pieces_b):  # noqa: B905 - the longer one goes on alone
            order: int = self._library.strcoll_l(x, y, self._collate)
            if order:
                return order
        return len(pieces_a) - len(pieces_b)

    def transform(self, piece: bytes) -> bytes:
        """strxfrm's result for a text without NUL."""
        import ctypes

        n = self._library.strxfrm_l(None, piece, 0, self._collate)
        buffer = ctypes.create_string_buffer(n + 1)
        self._library.strxfrm_l(buffer, piece, n + 1, self._collate)
        return buffer.raw[:n]

    def first_level(self, piece: bytes) -> bytes:
        """Bytes that order texts as far as they differ; none where that is not known of this C library."""
        return self.transform(piece).partition(b"\x01")[0] if self._coarse else b""


def locale_facts(
    ctype: bytes, numeric: bytes, time: bytes
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, tuple[bytes, ...]]:
    """What the C library says of single bytes, numbers and months in these locales: tables of which bytes are blank,
    alnum and print and of their upper case (256 bytes each), decimal point, thousands separator, abbreviated months.
    Raises OSError for a name that it does not know."""
    import ctypes

    library = _library()
    handles = []
    try:
        for category, name in ((LC_CTYPE, ctype), (LC_NUMERIC, numeric), (LC_TIME, time)):
            handles.append(_open(library, category, name))
        tables = []
        for function in ("isblank_l", "isalnum_l", "isprint_l", "toupper_l"):
            call = getattr(library, function)
            call.argtypes = (ctypes.c_int, ctypes.c_void_p)
            results = [call(byte, handles[0]) for byte in range(256)]
            tables.append(bytes(results if function == "toupper_l" else map(bool, results)))
        point, grouping = (library.nl_langinfo_l(item, handles[1]) for item in (RADIXCHAR, THOUSEP))
        months = tuple(library.nl_langinfo_l(ABMON_1 + month, handles[2]) for month in range(12))
    finally:
        for handle in handles:
            library.freelocale(handle)
    blank, alnum, printable, upper = tables
    return blank, alnum, printable, upper, point, grouping, months


def open_locale(collate: bytes, numeric: bytes, coarse: bool) -> Locale:
    return Locale(collate, numeric, coarse)


def _library() -> ctypes.CDLL:
    import ctypes

    library = ctypes.CDLL(None)
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    library.newlocale.argtypes, library.newlocale.restype = (ctypes.c_int, text, pointer), pointer
    library.freelocale.argtypes = (pointer,)
    library.strcoll_l.argtypes = (text, text, pointer)
    library.strxfrm_l.argtypes, library.strxfrm_l.restype = (ctypes.c_char_p, text, size, pointer), size
    library.nl_langinfo_l.argtypes, library.nl_langinfo_l.restype = (ctypes.c_int, pointer), text
    return library


def _open(library: ctypes.CDLL, category: int, name: bytes) -> int:
    handle: int | None = library.newlocale(1 << category | 1 << LC_CTYPE, name, None)
    if not handle:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return handle
