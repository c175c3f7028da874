"""The Python API: sorting, merging and checking files from a program.

It sets no signal handler and no locale, ends no process, and keeps nothing between calls: any thread may call it, and
a child after fork. Inputs are not mapped, since a process that a library is in cannot be guarded against files that
shrink meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypedDict, Unpack

from pysort import kernel
from pysort.check import Disorder
from pysort.environ import Environment
from pysort.errors import SortError
from pysort.finishing import Counter
from pysort.keys.locale import load_locale
from pysort.keys.spec import parse_key
from pysort.options import Options
from pysort.output import Output
from pysort.prepare import effective_keys, make_orders, make_plan, with_threads_for
from pysort.sorter import check_sorted, sort
from pysort.stats import SortStats
from pysort.units import SizeSpec, parse_size

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_LETTERS = {
    "ignore_leading_blanks": "b",
    "dictionary_order": "d",
    "ignore_case": "f",
    "general_numeric": "g",
    "human_numeric": "h",
    "ignore_nonprinting": "i",
    "month": "M",
    "numeric": "n",
    "random": "R",
    "version": "V",
}


class Settings(TypedDict, total=False):
    """The options of the command line by their long names, as keyword arguments; False or 0 is what was not given.

    key: "2,2n" and the like, as after -k, one or several. locale: the name of a locale, whose order text is in; "C",
    the order of bytes, by default, whatever the environment says. memory: bytes, or a size such as "2G" or "10%".
    temporary_directories: see -T. threads: see --parallel. field_separator: one byte. header: lines. top: lines; 0
    writes none. decompress: see -Z. warn: called with a SortError that does not end the sort, such as a header that is
    not that of the first input.
    """

    key: str | Sequence[str]
    ignore_leading_blanks: bool
    dictionary_order: bool
    ignore_case: bool
    general_numeric: bool
    human_numeric: bool
    ignore_nonprinting: bool
    month: bool
    numeric: bool
    random: bool
    version: bool
    reverse: bool
    stable: bool
    unique: bool
    zero_terminated: bool
    field_separator: str | bytes
    header: int
    header_prefix: str | bytes
    top: int
    count: bool
    crlf: bool
    decompress: bool
    locale: str
    memory: int | str
    temporary_directories: Sequence[Path]
    threads: int
    warn: Callable[[SortError], None]


def sort_file(inputs: Path | Sequence[Path], output: Path, **settings: Unpack[Settings]) -> None:
    """Sort the lines of one or several files into a file, which may be one of them.

    Raises SortError, with errno and filename where a system call failed, and ValueError or TypeError for settings that
    make no sense.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "ages").write_text("ann 31\\nbob 4\\ncy 19\\n")
    >>> sort_file(directory / "ages", directory / "sorted", key="2,2n")
    >>> (directory / "sorted").read_text()
    'bob 4\\ncy 19\\nann 31\\n'
    """
    _run(inputs, output, False, settings)


def merge_files(inputs: Path | Sequence[Path], output: Path, **settings: Unpack[Settings]) -> None:
    """Merge files that are sorted by the same settings already into a file, which may be one of them. Raises what
    sort_file() raises.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "a").write_text("1\\n10\\n")
    >>> _ = (directory / "b").write_text("2\\n")
    >>> merge_files([directory / "a", directory / "b"], directory / "all", numeric=True)
    >>> (directory / "all").read_text()
    '1\\n2\\n10\\n'
    """
    _run(inputs, output, True, settings)


def check_file(input: Path, **settings: Unpack[Settings]) -> int | None:
    """The number, counted from 1, of the first line of a file that is out of order, None when it is sorted; with unique
    a line that equals the one before it is out of order. Raises what sort_file() raises.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "words"
    >>> _ = path.write_text("a\\nc\\nb\\n")
    >>> check_file(path)
    3
    >>> check_file(path, key="1.2") is None
    False
    """
    names = [_name(input)]
    job = _Job(_options(settings).changed(check="c"), settings)
    plan = make_plan(job.options, job.environment, names, job.stats.inputs)
    try:
        check_sorted(job.order, plan, job.options, names[0], job.stats)
    except Disorder as disorder:
        return disorder.line_n
    return None


class _Job:
    """What a job is made of, beside its files. Raises ValueError."""

    def __init__(self, options: Options, settings: Settings) -> None:
        self.environment = Environment.from_process(os.environb)
        implementation = kernel.load(os.environb.get(b"PYSORT_KERNEL"))
        self.options = with_threads_for(implementation, options)
        self.stats = SortStats(implementation.NAME)
        name = settings.get("locale", "C")
        locale = load_locale({b"LC_ALL": os.fsencode(name)}, implementation)
        if locale.failed:
            raise ValueError(f"unknown locale: {name!r}")
        try:
            keys = effective_keys(options)
        except SortError as error:
            raise ValueError(str(error)) from None
        self.order, self.counted = make_orders(options, keys, locale, implementation)

    def annotate(self, output: Output) -> None:
        if self.counted is not None:
            counter = Counter(self.counted, output.write)
            output.write = counter.write
            output.at_end.append(counter.finish)


def _run(inputs: Path | Sequence[Path], output: Path, merges: bool, settings: Settings) -> None:
    names = [_name(inputs)] if isinstance(inputs, str | bytes | os.PathLike) else [_name(path) for path in inputs]
    if not names:
        raise ValueError("no input")
    job = _Job(_options(settings).changed(merge=merges, output=os.fsencode(output)), settings)
    plan = make_plan(job.options, job.environment, names, job.stats.inputs)
    warn = settings.get("warn", lambda _: None)
    sort(job.order, plan, job.options, names, job.environment, job.stats, warn, job.annotate)


def _name(path: Path) -> bytes:
    """As the command line takes it: a single dash would be standard input."""
    name = os.fsencode(path)
    return b"./-" if name == b"-" else name


def _options(settings: Settings) -> Options:
    """Raises TypeError for an unknown setting, ValueError for a wrong value."""
    unknown = set(settings).difference(Settings.__annotations__)
    if unknown:
        raise TypeError(f"unknown setting: {', '.join(sorted(unknown))}")
    key = settings.get("key", ())
    separator = os.fsencode(settings.get("field_separator", b""))
    prefix = os.fsencode(settings.get("header_prefix", b""))
    top = settings.get("top")
    if len(separator) > 1 or min(settings.get("header", 0), top or 0, settings.get("threads", 1) - 1) < 0:
        raise ValueError("a field separator is one byte, and counts are not negative")
    memory = settings.get("memory")
    try:
        keys = [parse_key(os.fsencode(text)) for text in ([key] if isinstance(key, str) else key)]
        size = parse_size(memory.encode(), b"memory") if isinstance(memory, str) else None
    except SortError as error:
        raise ValueError(str(error)) from None
    return Options(
        keys=keys,
        ordering="".join(letter for name, letter in _LETTERS.items() if settings.get(name)),
        reverse=settings.get("reverse", False),
        stable=settings.get("stable", False),
        unique=settings.get("unique", False),
        zero_terminated=settings.get("zero_terminated", False),
        field_separator=separator[0] if separator else None,
        header=settings.get("header", 0),
        header_prefix=prefix or None,
        top=top,
        count=settings.get("count", False),
        crlf=settings.get("crlf", False),
        decompress=settings.get("decompress", False),
        buffer_size=SizeSpec(absolute_bytes=memory) if isinstance(memory, int) else size,
        temporary_directories=[os.fsencode(path) for path in settings.get("temporary_directories", ())],
        parallel=settings.get("threads"),
    )
