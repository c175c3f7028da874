"""Executes a plan: runs, merge passes, output. Owns the clean-up."""

from __future__ import annotations

from pysort.errors import SortError
from pysort.output import Output
from pysort.passes import Sorter
from pysort.runs import Inputs
from pysort.storage.access import accesses
from pysort.storage.readers import STDIN, LineReader, check_readable, open_input
from pysort.storage.spill import SpillSpace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysort.environ import Environment
    from pysort.kernel import Order
    from pysort.options import Options
    from pysort.plan import SortPlan
    from pysort.stats import SortStats
    from pysort.storage.access import Access
    from pysort.storage.codecs import Codec
    from pysort.storage.compressor import Compressor
    from pysort.storage.filtering import Filters
    from pysort.storage.filters import Headers
    from pysort.storage.iostats import IoStats
    from pysort.storage.readers import InputReader


def sort(
    order: Order,
    plan: SortPlan,
    options: Options,
    names: Sequence[bytes],
    environment: Environment,
    stats: SortStats,
    warn: Callable[[SortError], None],
    annotate: Callable[[Output], None] | None = None,
    before_pass: Callable[[SpillSpace], None] | None = None,
    tick: Callable[[], None] | None = None,
    last_filter: Callable[[InputReader], InputReader] | None = None,
) -> None:
    """Sort or merge as the options say. names: of all inputs. Fills stats. warn: told what the user should know though
    the sort goes on. annotate: puts another function before the output's own write. before_pass: called before each
    merge pass. tick: called again and again by this thread, after some MiB at most; what it raises ends the sort.
    last_filter: makes of an input's reader that of the lines which are sorted. Raises SortError; whatever happens,
    nothing is left behind."""
    input_access, run_access = accesses(options, plan.map_bytes, plan.run_read_bytes, plan.free_bytes)
    check_readable(names)
    filters = _filters(options, names[0], order.separator, warn, last_filter)
    output = Output(options.output, stats.output, atomic=options.atomic)
    if filters is not None and filters.headers is not None:
        _put_first(filters.headers, output)
    if annotate is not None:
        annotate(output)

    def open_named(name: bytes, readers_n: int = 1, io: IoStats = stats.inputs) -> InputReader:
        reader = open_input(name, input_access, io, readers_n)
        try:
            if not options.merge:
                reader.size_hint()  # where GNU sort finds that standard input is closed
        except SortError:
            reader.abandon()
            raise
        return reader if filters is None else filters.put_before(reader)

    with output, spill_space(order, options, plan, environment, run_access, stats, warn) as spill:
        sorter = Sorter(order, plan, spill, stats, before_pass, tick)
        try:
            if options.merge:
                sorter.merge(without_repeated_stdin(names), open_named, output.is_input, output.write)
            else:
                sorter.sort(Inputs(names, order.separator, open_named, stats), output.write)
            output.finish()
        finally:
            sorter.close()
            stats.spilled_bytes = spill.counters.written_bytes
            stats.temporary_bytes_peak = spill.counters.peak_bytes
            stats.output_bytes = output.written_bytes


def _put_first(headers: Headers, output: Output) -> None:
    from pysort.finishing import HeaderFirst

    header_first = HeaderFirst(headers, output.write)
    output.write = header_first.write
    output.at_end.append(header_first.finish)


def spill_space(
    order: Order,
    options: Options,
    plan: SortPlan,
    environment: Environment,
    access: Access,
    stats: SortStats,
    warn: Callable[[SortError], None],
) -> SpillSpace:
    """Where the runs of a job are. access: how they are read."""
    return SpillSpace(
        options.temporary_directories or (environment.temporary_directory,),
        plan.block_bytes,
        access,
        stats.runs,
        compressor=_compressor(options.compress_program, warn),
        codec=load_codec(options.compress),
        needed_bytes=plan.input_bytes,
        dirty_bytes=plan.dirty_bytes,
        kernel=order.kernel,
    )


def _compressor(program: bytes | None, warn: Callable[[SortError], None]) -> Compressor | None:
    """With all that it takes, while there are descriptors."""
    if program is None:
        return None
    import pysort.storage.piped  # noqa: F401
    from pysort.storage.compressor import Compressor

    return Compressor(program, warn)


def load_codec(method: str) -> Codec | None:
    """What compresses runs, loaded with all that it takes while there are descriptors. Raises SortError."""
    if method == "none":
        return None
    import pysort.storage.packed  # noqa: F401
    from pysort.storage.codecs import load

    return load(method)


def without_repeated_stdin(names: Sequence[bytes]) -> list[bytes]:
    """The names, of which the first `-` gets all of standard input: read by turns with another it would be cut at no
    line's end."""
    first = names.index(STDIN) if STDIN in names else None
    return [name for i, name in enumerate(names) if name != STDIN or i == first]


def _filters(
    options: Options,
    first_name: bytes,
    separator: int,
    warn: Callable[[SortError], None],
    last: Callable[[InputReader], InputReader] | None,
) -> Filters | None:
    """What inputs pass through, None where they come as they are."""
    if not (options.decompress or options.crlf or options.header or options.header_prefix is not None or last):
        return None
    from pysort.storage.filtering import Filters

    return Filters(options, first_name, separator, warn, last)


def check_sorted(
    order: Order,
    plan: SortPlan,
    options: Options,
    name: bytes,
    stats: SortStats,
    last_filter: Callable[[InputReader], InputReader] | None = None,
) -> None:
    """Returns when the input is sorted. Fills stats. last_filter: as in sort(). Raises Disorder when it is not,
    SortError when that cannot be told."""
    from pysort.checking import Checker, Disorder

    access, _ = accesses(options, plan.map_bytes, plan.run_read_bytes, plan.free_bytes)
    # Whoever writes into a pipe may wait for the answer to what is written.
    thread_n = 0 if plan.input_bytes is None else plan.thread_n
    checker = Checker(order, plan.arena_bytes, plan.read_bytes, thread_n)
    try:
        reader = open_input(name, access, stats.inputs)
        filters = _filters(options, name, order.separator, lambda _: None, last_filter)
        if filters is not None:
            reader = filters.put_before(reader)
        try:
            found = checker.check(LineReader(reader, order.separator))
        finally:
            reader.close()
    finally:
        stats.excess_bytes = plan.excess_bytes(checker.close())
    if found is not None:
        line_n, line = found
        raise Disorder(
            name, line_n + (filters.header_n if filters else 0), line, order.separator, quiet=options.check == "C"
        )
