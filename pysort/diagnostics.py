"""--debug: what the user should know about the keys, and the output with each line's keys marked below it."""

from __future__ import annotations

from pysort._kernel_py_encode import Program, find_key
from pysort.errors import SortError, quote
from pysort.keys.locale import PLAIN
from pysort.keys.program import compile as compile_program
from pysort.keys.spec import KeySpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    import re
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from pysort.errors import Quoted
    from pysort.keys.locale import Locale
    from pysort.options import Options

    Columns = Callable[[bytes], int]
    Parts = tuple[bytes | Quoted, ...]  # of one remark
    Write = Callable[[memoryview], None]

NUMERIC = frozenset("ngh")
SKIPPING = frozenset("nghM")  # kinds whose values may have blanks before them
GLOBAL_LETTERS = "bdfghiMnRrV"
TAB = ord("\t")
ASCII_CONTROLS = bytes(byte for byte in (*range(32), 127) if byte != TAB)  # no columns; a tab is shown as one
WRITE_BYTES = 64 << 10
LONGEST_CHARACTER_BYTES = 16
STATE_BYTES = 128  # no mbstate_t is larger


def remarks(options: Options, keys: Sequence[KeySpec], locale: Locale) -> list[SortError]:
    """What to tell the user before the sort, in this order. keys: the effective ones."""
    found: list[Parts] = []
    if locale.failed:
        found.append((b"failed to set locale",))
    if locale.collate in PLAIN or options.bytes:
        found.append((b"text ordering performed using simple byte comparison",))
    else:
        found.append((b"text ordering performed using ", quote(locale.collate), b" sorting rules"))
    if options.keys:
        for number, key in enumerate(keys, 1):
            found += _about_key(key, b"%d" % number, options)
    found += _about_numbers(options, keys, locale)
    found += _about_unused(options, keys)
    return [SortError(*parts) for parts in found]


def _about_key(key: KeySpec, number: bytes, options: Options) -> Iterator[Parts]:
    if key.obsolescent:
        old, new = b"+%d" % key.start_field, b"-k %d" % (key.start_field + 1)
        if not key.to_line_end:
            old += b" -%d" % (key.end_field + 1)
            new += b",%d" % (key.end_field + 1)
        yield b"obsolescent key ", quote(old), b" used; consider ", quote(new), b" instead"
    zero_width = not key.to_line_end and key.end_field < key.start_field
    if zero_width:
        yield (b"key " + number + b" has zero width and will be ignored",)
    elif options.field_separator is None and _has_blanks(key):
        yield (b"leading blanks are significant in key " + number + b"; consider also specifying 'b'",)
    if _spans_fields(key):
        yield (b"key " + number + b" is numeric and spans multiple fields",)


def _has_blanks(key: KeySpec) -> bool:
    """Whether blanks before a field make a difference."""
    counts_end = not key.to_line_end and key.end_char > 0
    if counts_end and not key.end_field:
        return False
    skips = not SKIPPING.isdisjoint(key.ordering)
    return (not key.start_blanks and (not skips or key.start_char > 0)) or (counts_end and not key.end_blanks)


def _spans_fields(key: KeySpec) -> bool:
    return not NUMERIC.isdisjoint(key.ordering) and (key.to_line_end or key.end_field > key.start_field)


def _about_numbers(options: Options, keys: Sequence[KeySpec], locale: Locale) -> Iterator[Parts]:
    """How the separator of fields and the locale's spelling of numbers get on."""
    tables, separator = locale.tables, options.field_separator
    point = quote(bytes((tables.point,)))
    spanning = [key for key in keys if options.keys and _spans_fields(key)]
    basic_n = sum("g" not in key.ordering for key in spanning)
    general_n = len(spanning) - basic_n
    point_told = False
    if basic_n and tables.grouping is not None:
        point_told = tables.blank[tables.grouping] == 1 if separator is None else separator == tables.grouping
    if point_told:
        grouping = quote(bytes((tables.grouping or 0,)))
        yield b"field separator ", grouping, b" is treated as a group separator in numbers"
    if spanning and separator == tables.point:
        yield b"field separator ", point, b" is treated as a decimal point in numbers"
        point_told = True
    elif spanning and separator == ord("-"):
        yield b"field separator ", quote(b"-"), b" is treated as a minus sign in numbers"
    elif general_n and separator == ord("+"):
        yield b"field separator ", quote(b"+"), b" is treated as a plus sign in numbers"
    kinds = {letter for key in keys for letter in key.ordering}
    if not point_told and not NUMERIC.isdisjoint(kinds):
        yield b"numbers use ", point, b" as a decimal point in this locale"
    if len(locale.thousands_separator) > 1 and not kinds.isdisjoint("nh"):
        yield (b"the multi-byte number group separator in this locale is not supported",)


def _about_unused(options: Options, keys: Sequence[KeySpec]) -> Iterator[Parts]:
    """Global options that no key has taken."""
    given = set(options.ordering)
    if "d" in given:
        given.discard("i")  # which it outweighs
    ends_ties = options.reverse and len(keys) > 0 and not any(key.reverse for key in keys)
    if ends_ties and (options.stable or options.unique):  # there is no last-resort comparison
        given.add("r")
        ends_ties = False
    letters = "".join(letter for letter in GLOBAL_LETTERS if letter in given and not _is_used(letter, keys)).encode()
    if letters:
        yield (b"options '-%s' are ignored" % letters if len(letters) > 1 else b"option '-%s' is ignored" % letters,)
    if ends_ties:
        yield (b"option '-r' only applies to last-resort comparison",)


def _is_used(letter: str, keys: Sequence[KeySpec]) -> bool:
    if letter == "b":
        return any(key.start_blanks for key in keys) and any(key.end_blanks for key in keys)
    if letter == "i":
        return any("i" in key.ordering and "d" not in key.ordering for key in keys)
    return any(letter in key.ordering for key in keys)


class Annotator:
    """Takes sorted text in pieces of any size, and writes each line with a line below it for each of its keys and for
    its last-resort comparison. Holds one line, and WRITE_BYTES of what is to be written."""

    __slots__ = ("_columns", "_keys", "_line", "_out", "_out_bytes", "_separator", "_whole", "_write")

    def __init__(self, options: Options, keys: Sequence[KeySpec], locale: Locale, write: Write) -> None:
        """keys: the effective ones. write: takes the annotated text, and may raise."""
        self._write = write
        self._separator = b"\0" if options.zero_terminated else b"\n"
        self._columns = _column_counter(locale)
        self._keys = [_Extents(key, options.field_separator, locale) for key in keys]
        self._whole = not keys or not (options.stable or options.unique)
        self._line = bytearray()  # the front of one that is not complete yet
        self._out: list[bytes] = []
        self._out_bytes = 0

    def write(self, view: memoryview) -> None:
        *ends, rest = bytes(view).split(self._separator)
        for end in ends:
            self._line += end
            self._show(bytes(self._line))
            self._line.clear()
        self._line += rest
        self._flush()

    def _show(self, line: bytes) -> None:
        self._put(line.replace(b"\t", b">") + b"\n")
        for key in self._keys:
            self._underline(line, *key.find(line))
        if self._whole:
            self._underline(line, 0, len(line))

    def _underline(self, line: bytes, start: int, end: int) -> None:
        width = self._columns(line[start:end])
        self._put(b" " * self._columns(line[:start]))
        self._put(b"_" * width + b"\n" if width else b"^ no match for key\n")

    def _put(self, text: bytes) -> None:
        self._out.append(text)
        self._out_bytes += len(text)
        if self._out_bytes >= WRITE_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._out:
            text = b"".join(self._out)
            self._out.clear()
            self._out_bytes = 0
            self._write(memoryview(text))


class _Extents:
    """Where one key's value lies in a line."""

    __slots__ = ("_blank", "_end", "_months", "_program", "_skips", "_start", "_upper", "_value")

    def __init__(self, key: KeySpec, field_separator: int | None, locale: Locale) -> None:
        tables = locale.tables
        self._blank, self._upper = tables.blank, tables.upper
        at_line_start = not key.start_field and not key.start_char
        self._skips = not SKIPPING.isdisjoint(key.ordering) or (key.start_blanks and at_line_start)
        self._months = tables.months if "M" in key.ordering else None
        self._value = _value_pattern(key.ordering, locale)
        places = [
            KeySpec(
                start_field,
                start_char,
                key.end_field,
                key.end_char,
                to_line_end=key.to_line_end,
                start_blanks=key.start_blanks and not at_line_start,
                end_blanks=key.end_blanks,
            )
            for start_field, start_char in ((key.start_field, key.start_char), (0, 0))
        ]
        of_no_matter: dict[str, Any] = dict.fromkeys(("reverse", "stable", "unique", "zero_terminated"), False)
        self._program = Program(compile_program(places, field_separator=field_separator, tables=tables, **of_no_matter))
        # The second one is there for its end alone: the first one's is never before its start.
        self._start, self._end = self._program.segments

    def find(self, line: bytes) -> tuple[int, int]:
        start, end = find_key(self._program, self._start, line)
        if not self._skips:
            return start, end
        bound = end
        if find_key(self._program, self._end, line)[1] < start:
            bound = len(line)  # GNU sort's blanks do not end where such a key does
        while start < bound and self._blank[line[start]]:
            start += 1
        return start, start + self._length(line[start:end])

    def _length(self, text: bytes) -> int:
        """Of the value that the text begins with."""
        if self._months is not None:
            text = text.translate(self._upper)
            return max((len(name) for name in self._months if name and text.startswith(name)), default=0)
        if self._value is None:
            return len(text)
        match = self._value.match(text)
        return match.end() if match else 0


def _value_pattern(ordering: str, locale: Locale) -> re.Pattern[bytes] | None:
    """What -n, -h and -g take for a number; None for other orderings."""
    if NUMERIC.isdisjoint(ordering):
        return None
    import re

    tables = locale.tables
    if "g" in ordering:  # as the C library's strtold
        point = re.escape(locale.decimal_point)
        decimal = rb"(?:[0-9]+(?:%b[0-9]*)?|%b[0-9]+)(?:e[-+]?[0-9]+)?" % (point, point)
        hexadecimal = rb"0x(?:[0-9a-f]+(?:%b[0-9a-f]*)?|%b[0-9a-f]+)(?:p[-+]?[0-9]+)?" % (point, point)
        words = rb"inf(?:inity)?|nan(?:\([0-9a-z_]*\))?"
        return re.compile(rb"[ \t-\r]*[-+]?(?:%b|%b|%b)" % (hexadecimal, decimal, words), re.IGNORECASE)
    point = re.escape(bytes((tables.point,)))
    grouping = b"" if tables.grouping is None else re.escape(bytes((tables.grouping,))) + b"?"
    number = rb"-?(?:[0-9](?:%b[0-9])*(?:%b[0-9]*)?|%b[0-9]+)" % (grouping, point, point)
    return re.compile(number + (b"[kKMGTPEZYRQ]?" if "h" in ordering else b""))


def _column_counter(locale: Locale) -> Columns:
    """Counts the columns of a terminal that a text takes."""

    def ascii_columns(text: bytes) -> int:
        return len(text.translate(None, ASCII_CONTROLS))

    if locale.ctype in PLAIN:
        return ascii_columns
    import ctypes

    libc = ctypes.CDLL(None)
    longest = getattr(libc, "__ctype_get_mb_cur_max", None)  # MB_CUR_MAX of glibc and musl
    if longest is not None and longest() == 1:
        controls = bytes(byte for byte in range(256) if libc.iscntrl(byte) and byte != TAB)
        return lambda text: len(text.translate(None, controls))
    libc.mbrtowc.restype = ctypes.c_ssize_t
    libc.mbrtowc.argtypes = [ctypes.POINTER(ctypes.c_wchar), ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.wcwidth.argtypes = [ctypes.c_wchar]
    libc.iswcntrl.argtypes = [ctypes.c_wchar]
    return lambda text: ascii_columns(text) if text.isascii() else _multibyte_columns(libc, text)


def _multibyte_columns(libc: ctypes.CDLL, text: bytes) -> int:
    import ctypes

    character = ctypes.c_wchar()
    columns = text.count(b"\t")
    at = 0
    while at < len(text):
        piece = text[at : at + LONGEST_CHARACTER_BYTES]
        n = libc.mbrtowc(ctypes.byref(character), piece, len(piece), ctypes.create_string_buffer(STATE_BYTES))
        if n < 0:  # not a character, or the front of one at the end
            columns += 1
            at += 1 if n == -1 else len(piece)
            continue
        width = libc.wcwidth(character)
        if width >= 0:
            columns += width
        elif not libc.iswcntrl(character):
            columns += 1
        at += n or 1
    return columns
