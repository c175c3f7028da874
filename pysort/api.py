"""The Python API: sorting, merging and checking files from a program.

It sets no signal handler and no locale, ends no process, and keeps nothing between calls: any thread may call it, and
a child after fork. Inputs are not mapped, since a process that a library is in cannot be guarded against files that
shrink meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, AnyStr, Literal, Unpack, overload

from pysort import kernel
from pysort.checking import Disorder
from pysort.environ import Environment
from pysort.errors import SortError
from pysort.filekeys import WithKeys, WithoutKeys
from pysort.finishing import Counter
from pysort.gauge import Gauge, Herald
from pysort.items import Form, Items
from pysort.keys.locale import load_locale
from pysort.keys.spec import KeySpec
from pysort.linekeys import Key
from pysort.lines import SortedLines
from pysort.options import Options, check_atomic
from pysort.output import Output
from pysort.plan import SortPlan
from pysort.prepare import effective_keys, foresee, make_order, make_plan, with_threads_for
from pysort.settings import FileSettings, Path, Settings, key_function, read_settings
from pysort.sorter import check_sorted, sort
from pysort.stats import SortStats
from pysort.storage.readers import InputReader

Progress = Callable[[str, int, int | None], object]
Reform = Callable[[Options, Sequence[KeySpec]], tuple[Options, Sequence[KeySpec]]]

NEWLINE = ord("\n")


def sort_file(
    inputs: Path | Sequence[Path], output: Path, *, progress: Progress | None = None, **settings: Unpack[FileSettings]
) -> None:
    """Sort the lines of one or several files into a file, which may be one of them.

    key: text as after -k, or a function of a line, which is bytes without what ends it. This thread calls it once for
    each line but those of the header, and stores what it returns beside the line. Its results, all bytes, all str, or
    int and float, are ordered as sorted() has them, nan behind all other numbers, and lines with equal keys stay in
    their order. With a function no setting orders but reverse, as that of sorted(), and unique, which keeps the first
    of the lines with equal keys.

    progress: called by this thread, at most ten times a second and once when all is done, with what is being done
    ("reading", "making runs", "merging", "writing" and the like), the bytes that have been read and written so far, and
    how many they will be, None where the size of an input is not known, or that of keys which a function makes. What it
    raises ends the sort, and comes out, as does what a key function raises.

    Raises SortError, with errno and filename where a system call failed, ValueError or TypeError for settings that make
    no sense, and TypeError for keys of another type.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "ages").write_text("ann 31\\nbob 4\\ncy 19\\n")
    >>> sort_file(directory / "ages", directory / "sorted", key="2,2n")
    >>> (directory / "sorted").read_text()
    'bob 4\\ncy 19\\nann 31\\n'
    >>> sort_file(directory / "ages", directory / "sorted", key=len, reverse=True)
    >>> (directory / "sorted").read_text()
    'ann 31\\nbob 4\\ncy 19\\n'
    """
    _run(inputs, output, False, progress, settings)


@overload
def sort_lines(
    lines: Iterable[AnyStr],
    *,
    key: str | Sequence[str] | Callable[[AnyStr], Key] | None = ...,
    count: Literal[False] = ...,
    progress: Progress | None = ...,
    **settings: Unpack[Settings],
) -> SortedLines[AnyStr]: ...


@overload
def sort_lines(
    lines: Iterable[AnyStr],
    *,
    key: str | Sequence[str] | Callable[[AnyStr], Key] | None = ...,
    count: Literal[True],
    progress: Progress | None = ...,
    **settings: Unpack[Settings],
) -> SortedLines[tuple[AnyStr, int]]: ...


def sort_lines(
    lines: Iterable[AnyStr],
    *,
    key: str | Sequence[str] | Callable[[AnyStr], Key] | None = None,
    count: bool = False,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> SortedLines[Any]:
    """Sort lines that are made one after another, however many there are, in the memory that a file of them would take.
    They are read before this returns, merged while they are taken, and come back as they were given.

    lines: all bytes or all str. The newline that may end a line takes no part in the order, nor with crlf a carriage
    return before it. The order of str is that of their code points; a key that is given as text counts the bytes of
    their UTF-8. Equal lines stay in their order.

    header, header_prefix: the first lines, which come back first.

    count: each line comes back once, as a pair of the first of those that are equal, and how many these are, one for
    each of the header. Lines that differ in nothing but what ends them are equal; with stable or a key function only
    adjacent ones are counted together; with unique all whose keys are equal.

    zero_terminated, decompress and warn are for files: an iterable has nothing to which they could apply.

    key: as with sort_file(), but a function gets each line as it was given.

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
    >>> list(sort_lines(["name", "fig", "pear", "fig"], header=1, count=True))
    [('name', 1), ('fig', 2), ('pear', 1)]
    """
    environment = Environment.from_process(os.environb)
    known = Settings.__optional_keys__ | {"count"}
    options = read_settings({**settings, "count": count}, known, key, environment.descriptor_limit_n)
    form = Form(options, key_function(key, settings, NEWLINE))
    job = _Job(options, environment, settings.get("locale", "C"), form.order)
    plan = make_plan(job.options, job.environment, None, job.stats.inputs)
    herald = None if progress is None else Herald(Gauge("sort", None, job.stats), progress)
    items = Items(lines, form, job.stats)
    return SortedLines(items, job.order, plan, job.options, job.environment, job.stats, herald)


def merge(
    inputs: Path | Sequence[Path], output: Path, *, progress: Progress | None = None, **settings: Unpack[FileSettings]
) -> None:
    """Merge files that are sorted by the same settings already into a file, which may be one of them. key, progress,
    and what is raised: as with sort_file().

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
    a line that equals the one before it is out of order. key, and what is raised: as with sort_file().

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "words"
    >>> _ = path.write_text("a\\nc\\nb\\n")
    >>> check(path)
    3
    >>> check(path, key="1.2") is None
    False
    """
    name = _name(input)
    job = _FileJob(settings, check="c")
    try:
        check_sorted(job.order, job.plan([name]), job.options, name, job.stats, job.last_filter)
    except Disorder as disorder:
        return disorder.line_n
    return None


class _Job:
    """What a job is made of, beside what it sorts. Raises ValueError."""

    def __init__(self, options: Options, environment: Environment, locale_name: str, reform: Reform | None) -> None:
        """reform: options and keys of what is sorted, for those of what is given."""
        self.environment = environment
        implementation = kernel.load(os.environb.get(b"PYSORT_KERNEL"))
        self.options = with_threads_for(implementation, options)
        self.stats = SortStats(implementation.NAME)
        locale = load_locale({b"LC_ALL": os.fsencode(locale_name)}, implementation)
        if locale.failed:
            raise ValueError(f"unknown locale: {locale_name!r}")
        try:
            keys: Sequence[KeySpec] = effective_keys(options)
            check_atomic(options)
        except SortError as error:
            raise ValueError(str(error)) from None
        if reform is not None:
            options, keys = reform(options, keys)
        self.order = make_order(options, keys, locale, implementation)


class _FileJob(_Job):
    """One of files. key: None where there is no key function."""

    def __init__(self, settings: FileSettings, **changes: Any) -> None:
        """changes: of the options. Raises TypeError and ValueError."""
        environment = Environment.from_process(os.environb)
        key = settings.get("key")
        known = FileSettings.__optional_keys__
        options = read_settings(settings, known, key, environment.descriptor_limit_n).changed(**changes)
        if options.input_reader == "mmap" or (options.merge and options.reader == "mmap"):
            raise ValueError("only temporary files are mapped: others may shrink meanwhile")
        self.key = key_function(key, settings, 0 if options.zero_terminated else NEWLINE)
        reform = None if self.key is None else self.key.order
        super().__init__(options, environment, settings.get("locale", "C"), reform)

    def plan(self, names: Sequence[bytes]) -> SortPlan:
        """Nobody knows how long keys will be that a function makes."""
        return make_plan(self.options, self.environment, None if self.key else names, self.stats.inputs)

    def herald(self, plan: SortPlan, names: Sequence[bytes], progress: Progress) -> Herald:
        outlook = None
        if self.key is None:
            outlook = foresee(self.options, plan, names, self.order.keyed, self.stats.inputs)
        return Herald(Gauge(self.options.mode, outlook, self.stats), progress)

    @property
    def last_filter(self) -> Callable[[InputReader], InputReader] | None:
        key, end = self.key, bytes((self.order.separator,))
        return None if key is None else lambda reader: WithKeys(reader, key, end)

    def annotate(self, output: Output) -> None:
        if self.key is not None:
            end = bytes((self.order.separator,))
            output.write = WithoutKeys(self.key, end, self.order.counts, output.write).write
        if self.order.counts:
            output.write = Counter(self.order, output.write).write


def _run(
    inputs: Path | Sequence[Path], output: Path, merges: bool, progress: Progress | None, settings: FileSettings
) -> None:
    names = [_name(inputs)] if isinstance(inputs, str | bytes | os.PathLike) else [_name(path) for path in inputs]
    if not names:
        raise ValueError("no input")
    job = _FileJob(settings, merge=merges, output=os.fsencode(output))
    plan = job.plan(names)
    herald = None if progress is None else job.herald(plan, names, progress)
    sort(
        job.order,
        plan,
        job.options,
        names,
        job.environment,
        job.stats,
        settings.get("warn", lambda _: None),
        job.annotate,
        tick=herald,
        last_filter=job.last_filter,
    )
    if herald is not None:
        herald.finish()


def _name(path: Path) -> bytes:
    """As the command line takes it: a single dash would be standard input."""
    name = os.fsencode(path)
    return b"./-" if name == b"-" else name
