"""The Python API: sorting, merging and checking files from a program.

It sets no signal handler and no locale, ends no process, and keeps nothing between calls: any thread may call it, and
a child after fork. Inputs are not mapped, since a process that a library is in cannot be guarded against files that
shrink meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import AnyStr, TypedDict, Unpack

from pysort import kernel
from pysort.checking import Disorder
from pysort.environ import Environment
from pysort.errors import SortError
from pysort.finishing import Counter
from pysort.gauge import Gauge, Herald
from pysort.keys.locale import load_locale
from pysort.keys.spec import KeySpec, parse_key
from pysort.linekeys import Key, KeyEncoder
from pysort.lines import Form, Items, SortedLines
from pysort.option_table import COMPRESSIONS
from pysort.options import Options
from pysort.output import Output
from pysort.prepare import effective_keys, foresee, make_order, make_plan, with_threads_for
from pysort.sorter import check_sorted, sort
from pysort.stats import SortStats
from pysort.units import SizeSpec, parse_size

Progress = Callable[[str, int, int | None], object]
Reform = Callable[[Sequence[KeySpec]], tuple[Options, list[KeySpec]]]
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

    locale: the name of a locale, whose order text is in; "C", the order of bytes, by default, whatever the environment
    says. memory: bytes, or a size such as "2G" or "10%". temporary_directories: see -T. compress: "none", "zlib",
    "zstd" or "lz4", see --compress. threads: see --parallel. field_separator: one byte. top: lines; 0 gives none.
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
    version: bool
    reverse: bool
    stable: bool
    unique: bool
    field_separator: str | bytes
    top: int
    locale: str
    memory: int | str
    temporary_directories: Sequence[Path]
    compress: str
    threads: int


class FileSettings(Settings, total=False):
    """What files have beside that.

    key: "2,2n" and the like, as after -k, one or several. header: lines. decompress: see -Z. warn: called with a
    SortError that does not end the sort, such as a header that is not that of the first input.
    """

    key: str | Sequence[str]
    zero_terminated: bool
    header: int
    header_prefix: str | bytes
    count: bool
    crlf: bool
    decompress: bool
    warn: Callable[[SortError], None]


def sort_file(
    inputs: Path | Sequence[Path], output: Path, *, progress: Progress | None = None, **settings: Unpack[FileSettings]
) -> None:
    """Sort the lines of one or several files into a file, which may be one of them.

    progress: called by this thread, at most ten times a second and once when all is done, with what is being done
    ("reading", "making runs", "merging", "writing" and the like), the bytes that have been read and written so far, and
    how many they will be, None where the size of an input is not known. What it raises ends the sort, and comes out.

    Raises SortError, with errno and filename where a system call failed, and ValueError or TypeError for settings that
    make no sense.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "ages").write_text("ann 31\\nbob 4\\ncy 19\\n")
    >>> sort_file(directory / "ages", directory / "sorted", key="2,2n")
    >>> (directory / "sorted").read_text()
    'bob 4\\ncy 19\\nann 31\\n'
    """
    _run(inputs, output, False, progress, settings)


def sort_lines(
    lines: Iterable[AnyStr],
    *,
    key: str | Sequence[str] | Callable[[AnyStr], Key] | None = None,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> SortedLines[AnyStr]:
    """Sort lines that are made one after another, however many there are, in the memory that a file of them would take.
    They are read before this returns, merged while they are taken, and come back as they were given.

    lines: all bytes or all str. The newline that may end a line takes no part in the order. The order of str is that of
    their code points; a key that is given as text counts the bytes of their UTF-8. Equal lines stay in their order.

    key: as for files; or a function whose results, all bytes, all str, or int and float, are ordered as sorted() has
    them, nan behind all other numbers. With a function no setting orders but reverse, as that of sorted(), and unique,
    which keeps the first of the lines with equal keys.

    progress: as with sort_file(). How many bytes there will be is known when all lines have been read; the last call
    comes when the last line has been taken.

    Raises what making the lines and the function raise, SortError as sort_file() does, TypeError for lines and keys of
    another type, and ValueError for a newline inside of a line.

    >>> with sort_lines(["pear\\n", "fig\\n", "apple"], memory="1M") as fruit:
    ...     list(fruit)
    ['apple', 'fig\\n', 'pear\\n']
    >>> list(sort_lines([b"ann 31", b"bob 4"], key="2,2n"))
    [b'bob 4', b'ann 31']
    >>> list(sort_lines(["ccc", "a", "bb"], key=len, reverse=True))
    ['ccc', 'bb', 'a']
    """
    function = None if key is None or isinstance(key, str | Sequence) else key
    ways = {name for name, value in settings.items() if value and name in (*_LETTERS, "field_separator", "locale")}
    if function is not None and ways:
        raise TypeError(f"what a key function returns is not ordered by {', '.join(sorted(ways))}")
    options = _options(settings, Settings.__optional_keys__, key if isinstance(key, str | Sequence) else ())
    form = Form(options, None if function is None else KeyEncoder(function))
    job = _Job(options, settings.get("locale", "C"), form.order)
    plan = make_plan(job.options, job.environment, None, job.stats.inputs)
    herald = None if progress is None else Herald(Gauge("sort", None, job.stats), progress)
    items = Items(lines, form, job.stats)
    return SortedLines(items, job.order, plan, job.options, job.environment, job.stats, herald)


def merge(
    inputs: Path | Sequence[Path], output: Path, *, progress: Progress | None = None, **settings: Unpack[FileSettings]
) -> None:
    """Merge files that are sorted by the same settings already into a file, which may be one of them. progress, and
    what is raised: as with sort_file().

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "a").write_text("1\\n10\\n")
    >>> _ = (directory / "b").write_text("2\\n")
    >>> merge([directory / "a", directory / "b"], directory / "all", numeric=True)
    >>> (directory / "all").read_text()
    '1\\n2\\n10\\n'
    """
    _run(inputs, output, True, progress, settings)


def check(input: Path, **settings: Unpack[FileSettings]) -> int | None:
    """The number, counted from 1, of the first line of a file that is out of order, None when it is sorted; with unique
    a line that equals the one before it is out of order. Raises what sort_file() raises.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "words"
    >>> _ = path.write_text("a\\nc\\nb\\n")
    >>> check(path)
    3
    >>> check(path, key="1.2") is None
    False
    """
    names = [_name(input)]
    job = _Job(_file_options(settings).changed(check="c"), settings.get("locale", "C"))
    plan = make_plan(job.options, job.environment, names, job.stats.inputs)
    try:
        check_sorted(job.order, plan, job.options, names[0], job.stats)
    except Disorder as disorder:
        return disorder.line_n
    return None


class _Job:
    """What a job is made of, beside what it sorts. Raises ValueError."""

    def __init__(self, options: Options, locale_name: str, form: Reform | None = None) -> None:
        """form: options and keys of what is sorted, for those of what is given."""
        self.environment = Environment.from_process(os.environb)
        implementation = kernel.load(os.environb.get(b"PYSORT_KERNEL"))
        self.options = with_threads_for(implementation, options)
        self.stats = SortStats(implementation.NAME)
        locale = load_locale({b"LC_ALL": os.fsencode(locale_name)}, implementation)
        if locale.failed:
            raise ValueError(f"unknown locale: {locale_name!r}")
        try:
            keys = effective_keys(options)
        except SortError as error:
            raise ValueError(str(error)) from None
        if form is not None:
            options, keys = form(keys)
        self.order = make_order(options, keys, locale, implementation)

    def annotate(self, output: Output) -> None:
        if self.order.counts:
            output.write = Counter(self.order, output.write).write


def _run(
    inputs: Path | Sequence[Path], output: Path, merges: bool, progress: Progress | None, settings: FileSettings
) -> None:
    names = [_name(inputs)] if isinstance(inputs, str | bytes | os.PathLike) else [_name(path) for path in inputs]
    if not names:
        raise ValueError("no input")
    options = _file_options(settings).changed(merge=merges, output=os.fsencode(output))
    job = _Job(options, settings.get("locale", "C"))
    plan = make_plan(job.options, job.environment, names, job.stats.inputs)
    warn = settings.get("warn", lambda _: None)
    herald = None
    if progress is not None:
        outlook = foresee(job.options, plan, names, job.order.keyed, job.stats.inputs)
        herald = Herald(Gauge(job.options.mode, outlook, job.stats), progress)
    sort(job.order, plan, job.options, names, job.environment, job.stats, warn, job.annotate, tick=herald)
    if herald is not None:
        herald.finish()


def _name(path: Path) -> bytes:
    """As the command line takes it: a single dash would be standard input."""
    name = os.fsencode(path)
    return b"./-" if name == b"-" else name


def _file_options(settings: FileSettings) -> Options:
    """Raises TypeError and ValueError."""
    key = settings.get("key", ())
    if not isinstance(key, str | Sequence):
        raise TypeError("a key function is for lines, not for files: sort_lines(open(...), key=...)")
    prefix = os.fsencode(settings.get("header_prefix", b""))
    header = settings.get("header", 0)
    if header < 0:
        raise ValueError("a number of lines is not negative")
    return _options(settings, FileSettings.__optional_keys__, key).changed(
        zero_terminated=settings.get("zero_terminated", False),
        header=header,
        header_prefix=prefix or None,
        count=settings.get("count", False),
        crlf=settings.get("crlf", False),
        decompress=settings.get("decompress", False),
    )


def _options(settings: Settings, known: frozenset[str], key: str | Sequence[str]) -> Options:
    """What files and lines have in common. known: names of settings. Raises TypeError for an unknown setting,
    ValueError for a wrong value."""
    unknown = set(settings).difference(known)
    if unknown:
        raise TypeError(f"unknown setting: {', '.join(sorted(unknown))}")
    separator = os.fsencode(settings.get("field_separator", b""))
    top = settings.get("top")
    if len(separator) > 1 or min(top or 0, settings.get("threads", 1) - 1) < 0:
        raise ValueError("a field separator is one byte, and counts are not negative")
    compress = settings.get("compress", "none")
    if compress not in COMPRESSIONS:
        raise ValueError(f"runs are compressed by {', '.join(COMPRESSIONS)}, not {compress}")
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
        field_separator=separator[0] if separator else None,
        top=top,
        buffer_size=SizeSpec(absolute_bytes=memory) if isinstance(memory, int) else size,
        temporary_directories=[os.fsencode(path) for path in settings.get("temporary_directories", ())],
        compress=compress,
        parallel=settings.get("threads"),
    )
