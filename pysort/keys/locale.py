"""What keys need to know of a locale: classes of bytes and the spelling of numbers.

Keys look at single bytes, in multibyte locales too.
"""

from __future__ import annotations


class CharacterTables:
    """Facts of one locale.

    blank, alnum, print: 256 bytes, 1 at the bytes of the class. A newline counts as blank: it can
    only be met when NUL ends lines.
    upper: 256 bytes, the upper case of each.
    point: the decimal point, a byte; grouping: the byte that groups digits, or None.
    """

    __slots__ = ("alnum", "blank", "grouping", "point", "print", "upper")

    def __init__(
        self,
        *,
        blank: bytes,
        alnum: bytes,
        print: bytes,
        upper: bytes,
        point: int,
        grouping: int | None,
    ) -> None:
        self.blank = blank
        self.alnum = alnum
        self.print = print
        self.upper = upper
        self.point = point
        self.grouping = grouping


def _class(members: bytes) -> bytes:
    return bytes(byte in members for byte in range(256))


_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

C_TABLES = CharacterTables(
    blank=_class(b" \t\n"),
    alnum=_class(b"0123456789" + _LETTERS),
    print=_class(bytes(range(0x20, 0x7F))),
    upper=bytes(range(256)).upper(),
    point=ord("."),
    grouping=None,
)
