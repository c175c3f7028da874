"""The command line, read into Options by the option table."""

from __future__ import annotations

from pysort.arguments import Words, find_long
from pysort.errors import SortError, quote
from pysort.option_table import COMPRESSIONS
from pysort.options import Options
from pysort.units import COUNT_MAX, DIGITS, parse_batch_size, parse_count, parse_read_size, parse_size, scan_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from pysort.option_table import Option

# Options that are set, that keep the last argument, and that may be given only one.
_FLAGS = frozenset(
    ["atomic", "bytes", "count", "crlf", "debug", "merge", "reverse", "stable", "unique", "zero-terminated"]
)
_LAST_WINS = frozenset(
    ["compress", "files0-from", "fadvise", "run-fadvise", "reader", "input-reader", "mmap-flags", "madvise"]
)
_REQUESTS = frozenset(["help", "version", "completions"])
# Versions of POSIX in which +POS1 names a file.
_WITHOUT_TRADITIONS = range(200112, 200809)
_ONCE = {
    "output": b"multiple output files specified",
    "compress-program": b"multiple compress programs specified",
    "random-source": b"multiple random sources specified",
}


def parse(
    argv: Sequence[bytes],
    environ: Mapping[bytes, bytes],
    *,
    parse_key: Callable[[bytes], Any],
    parse_obsolescent: Callable[[bytes, bytes | None], Any],
    descriptor_limit: int | None,
) -> Options:
    """Raises SortError for the first thing that is wrong, in the order of argv.

    argv: without the program's name. parse_key, parse_obsolescent: those of keys.spec.
    descriptor_limit: soft RLIMIT_NOFILE, None if there is none.
    """
    return _Parser(argv, environ, parse_key, parse_obsolescent, descriptor_limit).run()


class _Parser:
    """One parse. values: arguments of Options, as far as they were given."""

    def __init__(
        self,
        argv: Sequence[bytes],
        environ: Mapping[bytes, bytes],
        parse_key: Callable[[bytes], Any],
        parse_obsolescent: Callable[[bytes, bytes | None], Any],
        descriptor_limit: int | None,
    ) -> None:
        self.words = Words(argv)
        self.parse_key = parse_key
        self.parse_obsolescent = parse_obsolescent
        self.descriptor_limit = descriptor_limit
        self.posixly_correct = b"POSIXLY_CORRECT" in environ
        self.traditional = _is_traditional(environ.get(b"_POSIX2_VERSION", b""))
        self.files: list[bytes] = []
        self.keys: list[Any] = []
        self.values: dict[str, Any] = {"files": self.files, "keys": self.keys}

    def run(self) -> Options:
        while self.words.rest:
            word = self.words.take()
            if self._is_posix_operand(word):
                self.files.append(word)
            elif word == b"--":
                self.files += self.words.rest
                break
            elif word.startswith(b"-") and word != b"-":
                for option, argument, spelled in self.words.options_in(word):
                    self._take(option, argument, spelled)
            else:
                self._take_operand(word)
            if "request" in self.values:
                return Options(request=self.values["request"], shell=self.values.get("shell", ""))
        return Options(**self.values)

    def _is_posix_operand(self, word: bytes) -> bool:
        """POSIX ends the options at the first operand; old scripts may still have -o after it."""
        if not (self.posixly_correct and self.files):
            return False
        has_output = word.startswith(b"-o") and (word != b"-o" or len(self.words.rest) > 0)
        return not (self.traditional and has_output and "check" not in self.values)

    def _take_operand(self, word: bytes) -> None:
        if word.startswith(b"+"):
            following = b"".join(self.words.rest[:1])
            end = following if following[:1] == b"-" and following[1:2].isdigit() else None
            if end is not None and not self.posixly_correct:
                self.traditional = True
            key = self.parse_obsolescent(word, end) if self.traditional else None
            if key is not None:
                self.words.at += end is not None
                self.keys.append(key)
                return
        self.files.append(word)

    def _take(self, option: Option, typed: bytes | None, spelled: bytes) -> None:
        """spelled: the option as messages name it."""
        if option.key == "compress" and typed is not None and typed.decode("ascii", "replace") not in COMPRESSIONS:
            option = find_long(b"compress-program")  # which GNU sort lets one shorten to our name
        argument: Any = typed
        if option.words and typed is not None:
            argument = [option.choose(word) for word in typed.split(b",")] if option.many else option.choose(typed)
        name = option.key.replace("-", "_")
        if option.key in _FLAGS:
            self.values[name] = True
        elif option.key in _LAST_WINS:
            self.values[name] = argument
        elif option.key in _ONCE:
            if self.values.setdefault(name, argument) != argument:
                raise SortError(_ONCE[option.key])
        elif option.key in _REQUESTS:
            self.values["request"] = option.key
            self.values["shell"] = argument or ""
        elif option.key in _ACTIONS:
            _ACTIONS[option.key](self, argument, spelled)
        elif option.key == "stats":
            self._set_stats(option, typed, argument or ())
        else:
            self._add_ordering(option.letter, spelled)

    def _add_ordering(self, letter: str, _: bytes) -> None:
        ordering = self.values.get("ordering", "")
        if letter not in ordering:
            self.values["ordering"] = ordering + letter

    def _set_check(self, argument: str | None, spelled: bytes) -> None:
        letter = argument or ("C" if spelled == b"-C" else "c")
        if self.values.setdefault("check", letter) != letter:
            raise SortError(b"options '-cC' are incompatible")

    def _add_key(self, argument: bytes, _: bytes) -> None:
        self.keys.append(self.parse_key(argument))

    def _set_batch_size(self, argument: bytes, spelled: bytes) -> None:
        self.values["batch_size"] = parse_batch_size(argument, spelled, self.descriptor_limit)

    def _set_buffer_size(self, argument: bytes, spelled: bytes) -> None:
        size = parse_size(argument, spelled)
        self.values["buffer_size"] = size.largest(self.values.get("buffer_size", size))

    def _set_parallel(self, argument: bytes, spelled: bytes) -> None:
        count = min(parse_count(argument, spelled), COUNT_MAX)
        if not count:
            raise SortError(b"number in parallel must be nonzero")
        self.values["parallel"] = count

    def _set_read_size(self, argument: bytes, spelled: bytes) -> None:
        self.values["read_size"] = parse_read_size(argument, spelled)

    def _set_prefetch(self, argument: bytes, spelled: bytes) -> None:
        self.values["prefetch"] = min(parse_count(argument, spelled), COUNT_MAX)

    def _set_parallel_reads(self, argument: bytes, spelled: bytes) -> None:
        count = min(parse_count(argument, spelled), COUNT_MAX)
        if not count:
            raise SortError(b"number of parallel reads must be nonzero")
        self.values["parallel_reads"] = count

    def _set_decompress(self, _: bytes | None, __: bytes) -> None:
        self.values["decompress"] = True

    def _set_header(self, argument: bytes | None, spelled: bytes) -> None:
        self.values["header"] = 1 if argument is None else min(parse_count(argument, spelled), COUNT_MAX)

    def _set_header_prefix(self, argument: bytes, _: bytes) -> None:
        if not argument:
            raise SortError(b"empty header prefix")
        self.values["header_prefix"] = argument

    def _set_top(self, argument: bytes, spelled: bytes) -> None:
        self.values["top"] = min(parse_count(argument, spelled), COUNT_MAX)

    def _set_stats(self, option: Option, typed: bytes | None, words: Sequence[str]) -> None:
        formats = {"text", "json"}.intersection(words)
        if typed is not None and len(formats) > 1:
            raise option.refuse(typed, b"invalid")
        self.values["stats"] = formats.pop() if formats else "text"
        self.values["stats_timing"] = "notiming" not in words
        self.values["stats_hits"] = "hits" in words

    def _set_progress(self, argument: str | None, _: bytes) -> None:
        self.values["progress"] = argument or "auto"

    def _set_plan(self, argument: str | None, _: bytes) -> None:
        self.values["plan"] = argument or "text"

    def _set_compare_hints(self, argument: bytes | None, _: bytes) -> None:
        self.values["compare_hints"] = argument or b""

    def _set_field_separator(self, argument: bytes, _: bytes) -> None:
        if not argument:
            raise SortError(b"empty tab")
        separator = b"\0" if argument == b"\\0" else argument
        if len(separator) > 1:
            hint = b"\ndid you mean a tab? Shells write it $'\\t'" if argument == b"\\t" else b""
            raise SortError(b"multi-character tab ", quote(argument), hint)
        if self.values.setdefault("field_separator", separator[0]) != separator[0]:
            raise SortError(b"incompatible tabs")

    def _add_temporary_directory(self, argument: bytes, _: bytes) -> None:
        self.values.setdefault("temporary_directories", []).append(argument)

    def _ignore(self, argument: bytes, _: bytes) -> None:
        """-y takes a following word for its argument only if that is a number or empty."""
        if argument == self.words.last and argument.strip(DIGITS):
            self.words.at -= 1


def _is_traditional(posix_version: bytes) -> bool:
    """Whether +POS1 is a key under this value of _POSIX2_VERSION, ignored unless it is a number."""
    version = scan_count(posix_version)
    return version is None or version[1] != b"" or version[0] not in _WITHOUT_TRADITIONS


_ACTIONS: dict[str, Callable[[_Parser, Any, bytes], None]] = {
    "C": _Parser._set_check,
    "check": _Parser._set_check,
    "key": _Parser._add_key,
    "sort": _Parser._add_ordering,
    "batch-size": _Parser._set_batch_size,
    "buffer-size": _Parser._set_buffer_size,
    "parallel": _Parser._set_parallel,
    "field-separator": _Parser._set_field_separator,
    "temporary-directory": _Parser._add_temporary_directory,
    "y": _Parser._ignore,
    "Z": _Parser._set_decompress,
    "header": _Parser._set_header,
    "header-prefix": _Parser._set_header_prefix,
    "top": _Parser._set_top,
    "read-size": _Parser._set_read_size,
    "prefetch": _Parser._set_prefetch,
    "parallel-reads": _Parser._set_parallel_reads,
    "progress": _Parser._set_progress,
    "plan": _Parser._set_plan,
    "compare-hints": _Parser._set_compare_hints,
}
