"""What keys need to know of the user's locale: which one it is, classes of bytes, the spelling of numbers and months.

Keys look at single bytes, in multibyte locales too. The C library is asked through the kernel; the C locale is known
without asking.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# C libraries on which first-level collation keys were compared with strcoll in every locale of the machine. On others
# strcoll alone orders text: the same bytes, more slowly.
TESTED_C_LIBRARIES = ("glibc 2.36",)
BYTE_ORDER = (b"C", b"POSIX", b"C.UTF-8", b"C.utf8")  # strcoll is byte order in these
PLAIN = (b"C", b"POSIX")
# All that the C library's setlocale would look up: one bad name and the whole environment counts for nothing.
CATEGORIES = (
    *(b"LC_CTYPE", b"LC_COLLATE", b"LC_NUMERIC", b"LC_TIME", b"LC_MESSAGES", b"LC_MONETARY", b"LC_PAPER", b"LC_NAME"),
    *(b"LC_ADDRESS", b"LC_TELEPHONE", b"LC_MEASUREMENT", b"LC_IDENTIFICATION"),
)
NEWLINE = ord("\n")


class CharacterTables:
    """Facts of single bytes in one locale.

    blank, alnum, print: 256 bytes, 1 at the bytes of the class. A newline counts as blank: it can only be met when NUL
    ends lines.
    upper: 256 bytes, the upper case of each.
    point: the decimal point, a byte; grouping: the byte that groups digits, or None. One that is several bytes long is
    not supported: the point is then a full stop, and nothing groups digits.
    months: the abbreviated names, upper case and without blanks.
    """

    __slots__ = ("alnum", "blank", "grouping", "months", "point", "print", "upper")

    def __init__(
        self,
        *,
        blank: bytes,
        alnum: bytes,
        print: bytes,
        upper: bytes,
        point: int,
        grouping: int | None,
        months: tuple[bytes, ...],
    ) -> None:
        self.blank = blank
        self.alnum = alnum
        self.print = print
        self.upper = upper
        self.point = point
        self.grouping = grouping
        self.months = months


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
    months=tuple(b"JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()),
)


class Locale:
    """The locale of one sort.

    collate, ctype, numeric: names. tables: of its bytes. failed: the environment names a locale that the C library does
    not know, so that everything is as in C. decimal_point, thousands_separator: the C library's, of any length.
    """

    __slots__ = ("collate", "ctype", "decimal_point", "failed", "numeric", "tables", "thousands_separator")

    def __init__(
        self,
        collate: bytes = b"C",
        ctype: bytes = b"C",
        numeric: bytes = b"C",
        *,
        tables: CharacterTables = C_TABLES,
        failed: bool = False,
        decimal_point: bytes = b".",
        thousands_separator: bytes = b"",
    ) -> None:
        self.collate = collate
        self.ctype = ctype
        self.numeric = numeric
        self.tables = tables
        self.failed = failed
        self.decimal_point = decimal_point
        self.thousands_separator = thousands_separator

    @property
    def is_byte_order(self) -> bool:
        return self.collate in BYTE_ORDER


def category_name(environ: Mapping[bytes, bytes], category: bytes) -> bytes:
    """The name of the locale that the environment gives to a category, by POSIX: LC_ALL, the category's own variable,
    LANG; an empty one counts as not set."""
    for variable in (b"LC_ALL", category, b"LANG"):
        name = environ.get(variable)
        if name and variable == b"LC_CTYPE":
            name = _as_started(environ, name)
        if name:
            return name
    return b"C"


def _as_started(environ: Mapping[bytes, bytes], name: bytes) -> bytes:
    """The value of LC_CTYPE that the process was started with. CPython may have put its own there at its start, for
    none, C or one that is not installed (PEP 538)."""
    if name not in (b"C.UTF-8", b"C.utf8", b"UTF-8") or environ is not os.environb:
        return name
    try:
        with open("/proc/self/environ", "rb", buffering=0) as file:
            started_with = file.read().split(b"\0")
    except OSError:
        return name
    prefix = b"LC_CTYPE="
    return next((entry[len(prefix) :] for entry in started_with if entry.startswith(prefix)), b"")


def load_locale(environ: Mapping[bytes, bytes], kernel: Any) -> Locale:
    """The locale that the environment names. kernel: the implementation that asks the C library."""
    names = {category: category_name(environ, category) for category in CATEGORIES}
    if all(name in PLAIN for name in names.values()):
        return Locale()
    collate, ctype, numeric = names[b"LC_COLLATE"], names[b"LC_CTYPE"], names[b"LC_NUMERIC"]
    try:
        facts = kernel.locale_facts(ctype, numeric, names[b"LC_TIME"])
        for name in {*names.values()} - {ctype, *PLAIN}:
            kernel.locale_facts(name, name, name)
    except OSError:
        return Locale(failed=True)
    blank, alnum, printable, upper, point, separator, months = facts
    tables = CharacterTables(
        blank=blank[:NEWLINE] + b"\x01" + blank[NEWLINE + 1 :],
        alnum=alnum,
        print=printable,
        upper=upper,
        point=point[0] if len(point) == 1 else ord("."),
        grouping=separator[0] if len(separator) == 1 else None,
        months=tuple(bytes(b for b in month.translate(upper) if not blank[b]) for month in months),
    )
    return Locale(collate, ctype, numeric, tables=tables, decimal_point=point, thousands_separator=separator)


def open_collation(locale: Locale, kernel: Any, collated: bool) -> Any:
    """The kernel's handle of the locale, for keys that collate, are transformed, or need the C library's numbers.
    collated: text keys are among them."""
    coarse = collated and _c_library() in TESTED_C_LIBRARIES
    return kernel.open_locale(locale.collate, locale.numeric, coarse)


def _c_library() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, OSError, ValueError):
        return None
