"""Lines that a program holds or makes one after another, as lines of a sort. Such a line is in it as

    FLAG ITEM                  without a key function; the flag is a blank, or two
    FLAG SEPARATOR ITEM        the same where fields have a separator: the flag is a field of its own
    KEY SEPARATOR FLAG ITEM    with a key function

ITEM is the line without what ends it, str as UTF-8 in which surrogates are like other characters, so that the order is
that of code points. FLAG tells what ended it, and no key covers it. The last-resort comparison would: a key of the
whole item takes its place.
"""

from __future__ import annotations

from itertools import chain
from typing import AnyStr, Generic

from pysort.keys.spec import KeySpec
from pysort.linekeys import PIECE_BYTES, KeyEncoder, WholeLines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pysort.options import Options
    from pysort.stats import SortStats

_BARE, _NEWLINE, _RETURN = 0, 1, 2  # and the sum of these
_ENDS = b"", b"\n", b"\r", b"\r\n"


class Form:
    """What surrounds an item. key: where there is a key function. ends: what ended the line, for each head, which is
    the flag and the separator that it stands beside. head_bytes: length of a head."""

    __slots__ = ("_are_crlf", "_has_separator", "_heads", "ends", "head_bytes", "key")

    def __init__(self, options: Options, key: KeyEncoder | None) -> None:
        self.key = key
        self._are_crlf = options.crlf
        self._has_separator = options.field_separator is not None
        separator = options.field_separator
        if key is not None:
            self._heads = [bytes((key.separator, flag)) for flag in range(4)]
        elif separator is not None:
            self._heads = [bytes((flag, separator)) for flag in b"01234" if flag != separator][:4]
        else:
            self._heads = [b"\t\t", b"\t ", b" \t", b"  "] if options.crlf else [b"\t", b" "]
        self.ends = dict(zip(self._heads, _ENDS, strict=False))
        self.head_bytes = len(self._heads[0])

    def parts(self, text: bytes) -> tuple[bytes, ...]:
        """What a line is in the sort: head, item and newline."""
        if not self._are_crlf:
            return (self._heads[_NEWLINE], text) if text.endswith(b"\n") else (self._heads[_BARE], text, b"\n")
        end, stop = _BARE, len(text)
        if text.endswith(b"\n"):
            end, stop = _NEWLINE, stop - 1
        if text.endswith(b"\r", 0, stop):
            end, stop = end + _RETURN, stop - 1
        return self._heads[end], text[:stop], b"\n"

    def order(self, options: Options, keys: Sequence[KeySpec]) -> tuple[Options, list[KeySpec]]:
        """What makes the order of lines in this form, for options and effective keys that make that of items."""
        if self.key is not None:
            return self.key.order(options, keys)
        if not keys or not (options.stable or options.unique):
            keys = [*keys, KeySpec(to_line_end=True, reverse=options.reverse)]
        return options.changed(reverse=False, stable=True), [self._shifted(key) for key in keys]

    def _shifted(self, key: KeySpec) -> KeySpec:
        """The same key of an item in its line: one field later, or behind the head in the first field unless blanks are
        skipped there, of which that consists."""
        has_separator = self._has_separator
        in_first = not (has_separator or key.start_field or key.start_blanks)
        ends_in_first = not (has_separator or key.end_field or key.end_blanks) and key.end_char > 0
        return KeySpec(
            key.start_field + has_separator,
            key.start_char + in_first * self.head_bytes,
            key.end_field + has_separator,
            key.end_char + ends_in_first * self.head_bytes,
            to_line_end=key.to_line_end,
            start_blanks=key.start_blanks,
            end_blanks=key.end_blanks,
            ordering=key.ordering,
            reverse=key.reverse,
        )


class Items(Generic[AnyStr]):
    """Lines of a program, read as those of a file are. kind: bytes or str, None as long as there was no line."""

    __slots__ = ("_form", "_items", "_rest", "_stats", "kind")

    def __init__(self, items: Iterable[AnyStr], form: Form, stats: SortStats) -> None:
        self._items: Iterator[AnyStr] = iter(items)
        self._form = form
        self._stats = stats
        self._rest = memoryview(b"")
        self.kind: type | None = None

    def take_header(self, line_n: int, prefix: bytes | None) -> list[AnyStr]:
        """The first line_n lines, and those behind them that begin with the prefix. Raises what reading raises."""
        taken: list[AnyStr] = []
        if not line_n and prefix is None:
            return taken
        for item in self._items:
            text = self._text(item)
            if len(taken) >= line_n and (prefix is None or not text.startswith(prefix)):
                self._items = chain((item,), self._items)
                break
            taken.append(item)
        return taken

    def readinto(self, view: memoryview) -> int:
        """Raises TypeError and ValueError for what is no line, and what making the lines raises."""
        if not self._rest:
            self._rest = memoryview(self._next_text())
        n = min(len(view), len(self._rest))
        view[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        self._stats.input_bytes += n
        return n

    def _next_text(self) -> bytes:
        form, key = self._form, self._form.key
        parts: list[bytes] = []
        size = 0
        for item in self._items:
            text = self._text(item)
            if key is not None:
                parts.append(key(item))
                size += len(parts[-1])
            parts += form.parts(text)
            size += len(text) + form.head_bytes + 1
            if size >= PIECE_BYTES:
                break
        return b"".join(parts)

    def _text(self, item: AnyStr) -> bytes:
        kind = type(item)
        if kind is not self.kind:
            if kind not in (bytes, str):
                raise TypeError(f"a line is bytes or str, not {kind.__name__}")
            if self.kind is not None:
                raise TypeError(f"a line of type {kind.__name__} among those of type {self.kind.__name__}")
            self.kind = kind
        text = item if isinstance(item, bytes) else item.encode("utf-8", "surrogatepass")
        if 0 <= text.find(b"\n") < len(text) - 1:
            raise ValueError(f"a newline inside of a line: {item[:60]!r}")
        return text

    def abandon(self) -> None:
        """What makes the lines is not held any more; it is the caller's to close."""
        self._items = iter(())

    def given_back(self, pieces: Iterable[memoryview]) -> Iterator[AnyStr]:
        """The items of sorted lines, as they came."""
        whole, mark, head_bytes, ends = WholeLines(b"\n"), self._mark, self._form.head_bytes, self._form.ends
        is_text = self.kind is str
        for piece in pieces:
            for text in whole.of(piece):
                for line in text[:-1].split(b"\n"):
                    start = line.index(mark) + head_bytes if mark else head_bytes
                    item = line[start:] + ends[line[start - head_bytes : start]]
                    yield item.decode("utf-8", "surrogatepass") if is_text else item  # type: ignore[misc]

    def given_back_counted(self, pieces: Iterable[memoryview], unique: bool) -> Iterator[tuple[AnyStr, int]]:
        """The items of lines that stand behind their numbers, with these. Unless only one of each key is given back,
        adjacent ones that differ in nothing but how they end are one."""
        whole, mark, head_bytes = WholeLines(b"\n"), self._mark, self._form.head_bytes
        line, content, n = b"", b"", 0  # that may get a larger number
        for piece in pieces:
            for text in whole.of(piece):
                for numbered in text[:-1].split(b"\n"):
                    at = numbered.index(b" ", 7) + 1  # a number takes seven places or more
                    next_content = numbered[numbered.index(mark, at) + head_bytes :]
                    if n and not unique and next_content == content:
                        n += int(numbered[:at])
                        continue
                    if n:
                        yield next(self.given_back([memoryview(line)])), n
                    line, content, n = numbered[at:] + b"\n", next_content, int(numbered[:at])
        if n:
            yield next(self.given_back([memoryview(line)])), n

    @property
    def _mark(self) -> bytes:
        """With what a head begins, if that is not where a line begins."""
        return b"" if self._form.key is None else bytes((self._form.key.separator,))
