"""The settings of the Python API: the options of the command line by their long names, read as those are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypedDict

from pysort.command_line import parse
from pysort.errors import SortError
from pysort.keys.spec import parse_key, parse_obsolescent
from pysort.linekeys import Key, KeyEncoder
from pysort.option_table import COMPRESSIONS, NONE, OPTIONS
from pysort.options import Options
from pysort.storage.access import accesses

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class Settings(TypedDict, total=False):
    """The options of the command line by their long names, as keyword arguments; what they mean is told there. False or
    None is what was not given.

    locale: the name of a locale, whose order text is in; "C", the order of bytes, by default, whatever the environment
    says. memory: bytes, or a size such as "2G" or "10%", as -S; read_size likewise. temporary_directories: one or
    several, as -T. threads: as --parallel. field_separator: one byte. header: lines. top: lines behind the header; 0
    gives none.

    Options are missing that print something, that arguments of the functions or other functions take the place of, and
    --compress-program: no processes are started.
    """

    ignore_leading_blanks: bool
    dictionary_order: bool
    ignore_case: bool
    general_numeric: bool
    human_numeric: bool
    ignore_nonprinting: bool
    month: bool
    numeric: bool
    random: bool
    random_source: Path | None
    version: bool
    reverse: bool
    stable: bool
    unique: bool
    field_separator: str | bytes
    header: int
    header_prefix: str | bytes
    crlf: bool
    top: int | None
    locale: str
    memory: int | str | None
    temporary_directories: Path | Sequence[Path]
    compress: str
    threads: int | None
    batch_size: int | None
    run_fadvise: str
    reader: str
    mmap_flags: str | int
    madvise: str
    read_size: int | str | None
    prefetch: int | None


class FileSettings(Settings, total=False):
    """What files have beside that.

    key: "2,2n" and the like, as after -k, one or several; or a function, see sort_file(). decompress: as -Z. warn:
    called with a SortError that does not end the sort, such as a header that is not that of the first input.
    input_reader: "pread" or "direct", and the same holds for reader where files are merged: a process that a library is
    in cannot be guarded against files that shrink while they are mapped.
    """

    key: str | Sequence[str] | Callable[[bytes], Key] | None
    zero_terminated: bool
    count: bool
    decompress: bool
    atomic: bool
    fadvise: str
    input_reader: str
    parallel_reads: int | None
    warn: Callable[[SortError], None]


_NO_OPTIONS = {"key", "locale", "warn"}
_RENAMED = {
    "buffer-size": "memory",
    "parallel": "threads",
    "temporary-directory": "temporary_directories",
    "Z": "decompress",
}
_OPTIONS = {
    _RENAMED.get(option.key) or option.key.removesuffix("-sort").replace("-", "_"): option
    for option in OPTIONS
    if option.key != "version"  # unlike version-sort
}
_SIZES = {"memory", "read_size"}  # bytes where they are numbers
# What orders lines but is no order of the results of a function.
_WAYS = (
    *("ignore_leading_blanks", "dictionary_order", "ignore_case", "general_numeric", "human_numeric"),
    *("ignore_nonprinting", "month", "numeric", "random", "version", "field_separator", "locale"),
)


def key_function(
    key: str | Sequence[str] | Callable[[Any], Key] | None, settings: Mapping[str, Any], end: int
) -> KeyEncoder | None:
    """None where the key is text, or there is none. end: ends a line. Raises TypeError."""
    if key is None or isinstance(key, str | Sequence):
        return None
    encoder = KeyEncoder(key, end)
    ways = sorted(name for name, value in settings.items() if value and name in _WAYS)
    if ways:
        raise TypeError(f"what a key function returns is not ordered by {', '.join(ways)}")
    return encoder


def read_settings(
    settings: Mapping[str, Any],
    known: frozenset[str],
    key: str | Sequence[str] | Callable[[Any], Key] | None,
    descriptor_limit_n: int | None,
) -> Options:
    """known: names of settings. descriptor_limit_n: most descriptors that this process may have. Raises TypeError for
    an unknown setting, ValueError for a wrong value, in the words of the command line."""
    unknown = sorted(set(settings).difference(known))
    files_only = [name for name in unknown if name in FileSettings.__optional_keys__]
    if files_only:
        raise TypeError(f"for files only, not for lines that are given one by one: {', '.join(files_only)}")
    if unknown:
        raise TypeError(f"unknown setting: {', '.join(unknown)}")
    compress = settings.get("compress", "none")
    if compress not in COMPRESSIONS:  # on the command line it would be a program
        raise ValueError(f"runs are compressed by {', '.join(COMPRESSIONS)}, not {compress}")
    texts = [key] if isinstance(key, str) else key if isinstance(key, Sequence) else ()
    words = [b"--key=" + os.fsencode(text) for text in texts]
    words += _words(settings)
    try:
        options = parse(
            words, {}, parse_key=parse_key, parse_obsolescent=parse_obsolescent, descriptor_limit=descriptor_limit_n
        )
        accesses(options, 0, None, None)  # whether there are such hints and flags
    except SortError as error:
        raise ValueError(str(error)) from None
    return options


def _words(settings: Mapping[str, Any]) -> Iterator[bytes]:
    """The settings as words of a command line."""
    for name, value in settings.items():
        is_given = len(value) > 0 if isinstance(value, str | bytes) else value is not None and value is not False
        if name in _NO_OPTIONS or not is_given:
            continue
        option = _OPTIONS[name]
        if option.argument == NONE:
            if value:
                yield b"--" + option.name.encode() if option.name else b"-" + option.letter.encode()
            continue
        values = [value] if isinstance(value, int | str | bytes | os.PathLike) else value
        for each in values:
            text = b"%d" % each + b"b" * (name in _SIZES) if isinstance(each, int) else os.fsencode(each)
            yield b"--%b=%b" % (option.name.encode(), text)
