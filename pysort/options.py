"""What the user asked for, as it was typed."""

from __future__ import annotations

from pysort.errors import SortError, shell_quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Final

    from pysort.units import SizeSpec

DEFAULT_HINTS = b"sequential"


class Options:
    """Frozen: mypy holds everybody to it. None and "" stand for what was not given.

    files: operands. keys: KeySpec before they inherit (keys.spec lies above this module).
    bytes: byte order in every locale. ordering: global letters out of bdfghiMnRV. check: "c" or "C".
    field_separator: a byte.
    fadvise, run_fadvise: hints as typed. mmap_flags: as typed. madvise: "" or the advice's name.
    compress: how runs are compressed, "none" or a method.
    read_size: bytes, 1 or more. prefetch: blocks. parallel_reads: threads, 1 or more.
    header: lines; header_prefix: of others behind those. top: lines that are wanted.
    stats, plan: "text" or "json". progress: "auto", "always" or "never".
    compare_hints: strategies as typed, b"" for those that are compared by default.
    request: "help", "version" or "completions"; the rest was not read. shell: whose completions.
    """

    __slots__ = (
        "atomic",
        "batch_size",
        "buffer_size",
        "bytes",
        "check",
        "compare_hints",
        "compress",
        "compress_program",
        "count",
        "crlf",
        "debug",
        "decompress",
        "fadvise",
        "field_separator",
        "files",
        "files0_from",
        "header",
        "header_prefix",
        "input_reader",
        "keys",
        "madvise",
        "merge",
        "mmap_flags",
        "ordering",
        "output",
        "parallel",
        "parallel_reads",
        "plan",
        "prefetch",
        "progress",
        "random_source",
        "read_size",
        "reader",
        "request",
        "reverse",
        "run_fadvise",
        "shell",
        "stable",
        "stats",
        "stats_hits",
        "stats_timing",
        "temporary_directories",
        "top",
        "unique",
        "zero_terminated",
    )

    def __init__(
        self,
        *,
        files: Sequence[bytes] = (),
        keys: Sequence[Any] = (),
        ordering: str = "",
        reverse: bool = False,
        stable: bool = False,
        unique: bool = False,
        zero_terminated: bool = False,
        check: str = "",
        merge: bool = False,
        debug: bool = False,
        output: bytes | None = None,
        buffer_size: SizeSpec | None = None,
        temporary_directories: Sequence[bytes] = (),
        batch_size: int | None = None,
        parallel: int | None = None,
        field_separator: int | None = None,
        files0_from: bytes | None = None,
        random_source: bytes | None = None,
        compress_program: bytes | None = None,
        compress: str = "none",
        fadvise: bytes = DEFAULT_HINTS,
        run_fadvise: bytes = DEFAULT_HINTS,
        reader: str = "pread",
        input_reader: str = "pread",
        mmap_flags: bytes = b"",
        madvise: str = "",
        read_size: int | None = None,
        prefetch: int | None = None,
        parallel_reads: int = 1,
        stats: str = "",
        stats_timing: bool = True,
        stats_hits: bool = False,
        plan: str = "",
        progress: str = "never",
        compare_hints: bytes | None = None,
        bytes: bool = False,
        atomic: bool = False,
        header: int = 0,
        header_prefix: bytes | None = None,
        top: int | None = None,
        count: bool = False,
        crlf: bool = False,
        decompress: bool = False,
        request: str = "",
        shell: str = "",
    ) -> None:
        self.files: Final = tuple(files)
        self.keys: Final = tuple(keys)
        self.ordering: Final = ordering
        self.reverse: Final = reverse
        self.stable: Final = stable
        self.unique: Final = unique
        self.zero_terminated: Final = zero_terminated
        self.check: Final = check
        self.merge: Final = merge
        self.debug: Final = debug
        self.output: Final = output
        self.buffer_size: Final = buffer_size
        self.temporary_directories: Final = tuple(temporary_directories)
        self.batch_size: Final = batch_size
        self.parallel: Final = parallel
        self.field_separator: Final = field_separator
        self.files0_from: Final = files0_from
        self.random_source: Final = random_source
        self.compress_program: Final = compress_program
        self.compress: Final = compress
        self.fadvise: Final = fadvise
        self.run_fadvise: Final = run_fadvise
        self.reader: Final = reader
        self.input_reader: Final = input_reader
        self.mmap_flags: Final = mmap_flags
        self.madvise: Final = madvise
        self.read_size: Final = read_size
        self.prefetch: Final = prefetch
        self.parallel_reads: Final = parallel_reads
        self.stats: Final = stats
        self.stats_timing: Final = stats_timing
        self.stats_hits: Final = stats_hits
        self.plan: Final = plan
        self.progress: Final = progress
        self.compare_hints: Final = compare_hints
        self.bytes: Final = bytes
        self.atomic: Final = atomic
        self.header: Final = header
        self.header_prefix: Final = header_prefix
        self.top: Final = top
        self.count: Final = count
        self.crlf: Final = crlf
        self.decompress: Final = decompress
        self.request: Final = request
        self.shell: Final = shell

    @property
    def mode(self) -> str:
        """What is done: "sort", "merge" or "check"."""
        return "check" if self.check else "merge" if self.merge else "sort"

    def changed(self, **changes: Any) -> Options:
        """The same with these attributes."""
        return Options(**{name: getattr(self, name) for name in self.__slots__} | changes)


def check_files0_from(options: Options) -> None:
    """Raises SortError when the inputs are named twice over."""
    if options.files0_from is not None and options.files:
        raise SortError(
            b"extra operand ",
            shell_quote(options.files[0]),
            b"\nfile operands cannot be combined with --files0-from",
            usage=True,
        )


def check_debug(options: Options) -> None:
    """Raises SortError for --debug with an option that leaves it nothing to show."""
    other = options.check or ("o" if options.output is not None else "")
    if options.debug and other:
        raise SortError(b"options '-", other.encode(), b" --debug' are incompatible")


def check_atomic(options: Options) -> None:
    """Raises SortError for --atomic without a file that it could be about."""
    if options.atomic and options.output is None:
        raise SortError(b"option '--atomic' needs -o")


def check_compare_hints(options: Options) -> None:
    """Raises SortError for --compare-hints with an option that reports something else."""
    letter = options.check and f"-{options.check}"
    words = (
        ("--debug", options.debug),
        ("--plan", options.plan),
        ("--progress", options.progress != "never"),
        ("--stats", options.stats),
    )
    other = letter or next((name for name, given in words if given), "")
    if options.compare_hints is not None and other:
        raise SortError(b"options '", other.encode(), b" --compare-hints' are incompatible")


def check_compress(options: Options) -> None:
    """Raises SortError when runs would have to be compressed twice."""
    if options.compress != "none" and options.compress_program is not None:
        raise SortError(b"options '--compress --compress-program' are incompatible")


def check_finishing(options: Options) -> None:
    """Raises SortError for --top or --count with an option that leaves it nothing to do, or too much."""
    own = ["--count"] * options.count + ["--top"] * (options.top is not None)
    others = [f"-{options.check}"] * bool(options.check) + own[1:] + ["--debug"] * (options.debug and options.count)
    if own and others:
        raise SortError(b"options '", others[0].encode(), b" ", own[0].encode(), b"' are incompatible")


def check_check(options: Options, files: Sequence[bytes]) -> None:
    """Raises SortError when -c or -C has more than one input or an output. files: all inputs."""
    if not options.check:
        return
    letter = options.check.encode()
    if len(files) > 1:
        raise SortError(b"extra operand ", shell_quote(files[1]), b" not allowed with -", letter)
    if options.output is not None:
        raise SortError(b"options '-", letter, b"o' are incompatible")
