"""Which filters inputs pass through."""

from __future__ import annotations

from pysort.storage.filters import CarriageReturns, HeaderLines, Headers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pysort.errors import SortError
    from pysort.options import Options
    from pysort.storage.readers import InputReader


class Filters:
    """What the options ask for, and behind that `last`, if it is one. headers: None where there are none."""

    __slots__ = ("_last", "_options", "_separator", "headers")

    def __init__(
        self,
        options: Options,
        first_name: bytes,
        separator: int,
        warn: Callable[[SortError], None],
        last: Callable[[InputReader], InputReader] | None,
    ) -> None:
        """first_name, warn: see Headers."""
        self._options = options
        self._last = last
        self._separator = separator
        self.headers = None
        if options.header or options.header_prefix is not None:
            self.headers = Headers(first_name, options.header, options.header_prefix, separator, warn)

    def put_before(self, reader: InputReader) -> InputReader:
        """A reader of what is to be sorted, which owns the one that is given."""
        if self._options.decompress:
            from pysort.storage.unpack import Unpack

            reader = Unpack(reader)
        if self._options.crlf:
            reader = CarriageReturns(reader, self._separator)
        if self.headers is not None:
            reader = HeaderLines(reader, self.headers)
        return reader if self._last is None else self._last(reader)

    @property
    def header_n(self) -> int:
        """Lines of the first input that were taken out."""
        return 0 if self.headers is None else self.headers.n
