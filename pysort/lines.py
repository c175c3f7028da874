"""Sorting lines that a program holds or makes one after another. A line goes through the sort as

    FLAG ITEM                  without a key function; the flag is a blank
    FLAG SEPARATOR ITEM        the same where fields have a separator: the flag is a field of its own
    KEY SEPARATOR FLAG ITEM    with a key function

ITEM is the line without its newline, str as UTF-8 in which surrogates are like other characters, so that the order is
that of code points. FLAG tells whether the newline was there, and no key covers it. The last-resort comparison would: a
key of the whole item takes its place.
"""

from __future__ import annotations

import sys
from _thread import start_new_thread
from typing import Any, AnyStr, Generic

from pysort.keys.spec import KeySpec
from pysort.linekeys import SEPARATOR, KeyEncoder
from pysort.passes import Sorter
from pysort.sorter import spill_space
from pysort.storage.access import accesses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from pysort.environ import Environment
    from pysort.gauge import Herald
    from pysort.kernel import Order
    from pysort.options import Options
    from pysort.plan import SortPlan
    from pysort.stats import SortStats

PIECE_BYTES = 64 << 10  # of lines that exist outside of the arena, be there so many in one


class Form:
    """What surrounds an item. heads: what is put before one without and before one with a newline. key: where there is
    a key function."""

    __slots__ = ("_options", "heads", "key")

    def __init__(self, options: Options, key: KeyEncoder | None) -> None:
        self._options = options
        self.key = key
        separator = options.field_separator
        if key is not None:
            self.heads = bytes((SEPARATOR, 0)), bytes((SEPARATOR, 1))
        elif separator is not None:
            bare, ended = [byte for byte in b"012" if byte != separator][:2]
            self.heads = bytes((bare, separator)), bytes((ended, separator))
        else:
            self.heads = b"\t", b" "

    def order(self, keys: Sequence[KeySpec]) -> tuple[Options, list[KeySpec]]:
        """What makes the order of lines in this form, for options and effective keys that make that of items."""
        options = self._options
        if self.key is not None:
            keys = [KeySpec(reverse=options.reverse)]
            return options.changed(field_separator=SEPARATOR, reverse=False, stable=True), list(keys)
        if not keys or not (options.stable or options.unique):
            keys = [*keys, KeySpec(to_line_end=True, reverse=options.reverse)]
        return options.changed(reverse=False, stable=True), [self._shifted(key) for key in keys]

    def _shifted(self, key: KeySpec) -> KeySpec:
        """The same key of an item in its line: one field later, or a character later in the first field unless blanks
        are skipped there, of which the flag is one."""
        has_separator = self._options.field_separator is not None
        in_first = not (has_separator or key.start_field or key.start_blanks)
        ends_in_first = not (has_separator or key.end_field or key.end_blanks) and key.end_char > 0
        return KeySpec(
            key.start_field + has_separator,
            key.start_char + in_first,
            key.end_field + has_separator,
            key.end_char + ends_in_first,
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
        bare, ended = self._form.heads
        key = self._form.key
        parts: list[bytes] = []
        size = 0
        for item in self._items:
            text = self._text(item)
            end = text.find(b"\n")
            if 0 <= end < len(text) - 1:
                raise ValueError(f"a newline inside of a line: {item[:60]!r}")
            if key is not None:
                parts.append(key(item))
                size += len(parts[-1])
            parts += (bare, text, b"\n") if end < 0 else (ended, text)
            size += len(text) + len(bare) + 1
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
        return item if isinstance(item, bytes) else item.encode("utf-8", "surrogatepass")

    def abandon(self) -> None:
        """What makes the lines is not held any more; it is the caller's to close."""
        self._items = iter(())

    def given_back(self, pieces: Iterable[memoryview]) -> Iterator[AnyStr]:
        """The items of sorted lines, as they came."""
        ended, key = self._form.heads[1], self._form.key
        is_text = self.kind is str
        separator = bytes((SEPARATOR,))
        for text in whole_lines(pieces):
            for line in text[:-1].split(b"\n"):
                at = 0 if key is None else line.index(separator)
                item = line[at + len(ended) :]
                if line.startswith(ended, at):
                    item += b"\n"
                yield item.decode("utf-8", "surrogatepass") if is_text else item  # type: ignore[misc]


def whole_lines(pieces: Iterable[memoryview]) -> Iterator[bytes]:
    """The same text in pieces that end where lines do, none of them empty."""
    begun: list[bytes] = []
    for piece in pieces:
        for at in range(0, len(piece), PIECE_BYTES):
            text = bytes(piece[at : at + PIECE_BYTES])
            stop = text.rfind(b"\n") + 1
            if stop:
                yield b"".join((*begun, text[:stop]))
                begun.clear()
            begun.append(text[stop:])


class SortedLines(Generic[AnyStr]):
    """Sorted lines, each as it was given: an iterator, and a context manager. Memory, threads and temporary files are
    held until the last line has been taken, an error comes, or close() is called, as it is at the end of the `with`
    block and when nobody refers to the iterator any more.

    Asking for a line raises SortError where a temporary file cannot be read or has changed, and ValueError after
    close(). A child of fork() gets the lines that are at hand, then RuntimeError: its parent goes on with the rest.
    """

    _sorter: Sorter | None = None

    def __init__(
        self,
        items: Items[AnyStr],
        order: Order,
        plan: SortPlan,
        options: Options,
        environment: Environment,
        stats: SortStats,
        herald: Herald | None,
    ) -> None:
        """Reads all items. Raises what that raises, and SortError."""
        _, access = accesses(options, plan.map_bytes, plan.run_read_bytes, plan.free_bytes)
        self._spill = spill_space(order, options, plan, environment, access, stats, warn=lambda _: None)
        self._lines: Iterator[AnyStr] = _closed()
        self._pieces: Generator[memoryview] = _closed()
        self._sorter = sorter = Sorter(order, plan, self._spill, stats, tick=herald)
        try:
            self._pieces = sorter.sorted(items)
            if herald is not None:
                herald.gauge.expect_output()
            self._lines = items.given_back(_here(sorter, self._pieces, stats, herald))
        except BaseException:
            self._release()
            raise

    def __iter__(self) -> SortedLines[AnyStr]:
        return self

    def __next__(self) -> AnyStr:
        try:
            return next(self._lines)
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Free everything; it may be called again."""
        self._lines = _closed()
        self._release()

    def _release(self) -> None:
        sorter, self._sorter = self._sorter, None
        if sorter is None:
            return
        try:
            self._pieces.close()
            sorter.close()
        finally:
            self._spill.close()

    def __enter__(self) -> SortedLines[AnyStr]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if sys.is_finalizing():  # the process is about to free everything
            return
        if self._sorter is not None and self._sorter.is_mine:
            start_new_thread(self.close, ())  # a worker cannot wait for itself
        else:
            self.close()


def _here(
    sorter: Sorter, pieces: Iterator[memoryview], stats: SortStats, herald: Herald | None
) -> Iterator[memoryview]:
    """The pieces, as long as they are this process's: another one would give the space of runs back that this one
    reads."""
    while True:
        if sorter.is_lost:
            raise RuntimeError("another process goes on with these lines")
        piece = next(pieces, None)
        if piece is None:
            break
        yield piece
        stats.output.count_write(len(piece))
        if herald is not None:
            herald()
    if herald is not None:
        herald.finish()


def _closed() -> Generator[Any]:
    raise ValueError("the sorted lines were closed")
    yield
