"""From options to what the sorter runs: the inputs' names, the order of lines, the plan."""

from __future__ import annotations

from pysort import kernel
from pysort.environ import free_descriptor_n
from pysort.keys.locale import PLAIN, open_collation
from pysort.keys.program import compile as compile_program
from pysort.keys.spec import KeySpec, check_compatible, inherit
from pysort.options import check_compress, check_debug, check_files0_from, check_finishing
from pysort.plan import InputSample, SortPlan
from pysort.sorter import load_codec
from pysort.storage.readers import STDIN, input_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pysort.environ import Environment
    from pysort.keys.locale import Locale
    from pysort.options import Options
    from pysort.outlook import Outlook
    from pysort.storage.iostats import IoStats

# 512 KiB, a few milliseconds on a disk that takes several requests at a time.
SAMPLE_BLOCKS_N = 32
SAMPLE_BLOCK_BYTES = 16 << 10


DEFAULT_THREAD_N = 8  # as GNU sort: more bring little


def input_names(options: Options) -> Sequence[bytes]:
    """The inputs, one at least. Raises SortError."""
    check_files0_from(options)
    if options.files0_from is not None:
        from pysort.storage.names import read_names

        return read_names(options.files0_from)
    return options.files or (STDIN,)


def with_threads_for(implementation: Any, options: Options) -> Options:
    """One for the Python kernel, which holds the GIL: threads would wait for one another, 5 ms at a time."""
    return options.changed(parallel=1) if implementation.NAME == "python" else options


def make_plan(options: Options, environment: Environment, files: Sequence[bytes] | None, io: IoStats) -> SortPlan:
    """files: None where lines come from elsewhere. io: counts what is read of inputs to know them before the sort.
    Raises SortError where a package is missing."""
    memory = environment.default_memory()
    if options.buffer_size is not None:
        memory, _ = environment.granted_memory(options.buffer_size)
    batch_size = options.batch_size
    if options.compress_program is not None:
        from pysort.storage.compressor import largest_fan_in

        batch_size = largest_fan_in(batch_size, free_descriptor_n(environment.descriptor_limit_n))
    codec = load_codec(options.compress)
    descriptor_n = free_descriptor_n(environment.descriptor_limit_n) if options.merge else None
    if descriptor_n is not None:  # one for the output, one for the runs in each directory
        descriptor_n -= (options.output is not None) + len(options.temporary_directories or (b"",))
    total = None if options.decompress or files is None else input_bytes(files)
    sample = None
    if files is not None and total is not None and total > memory and not (options.merge or options.check):
        sample = sample_inputs(files, _separator(options), io)
    return SortPlan(
        memory,
        batch_size=batch_size,
        input_bytes=total,
        input_mapped=options.input_reader != "pread",
        runs_mapped=options.reader != "pread" or (options.merge and options.input_reader != "pread"),
        descriptor_n=descriptor_n,
        thread_n=options.parallel or min(environment.cpu_n, DEFAULT_THREAD_N),
        read_size=options.read_size,
        free_bytes=environment.free_bytes,
        prefetch_n=options.prefetch,
        parallel_reads_n=options.parallel_reads,
        sample=sample,
        top_n=options.top,
        codec_bytes=None if codec is None else codec.state_bytes,
    )


def foresee(options: Options, plan: SortPlan, files: Sequence[bytes], keyed: bool, io: IoStats) -> Outlook | None:
    """What the plan comes to, None where it is not known how much there is to sort. keyed: Order.keyed."""
    from pysort.outlook import Outlook, outlook_of_merge, outlook_of_sort

    total = None if options.decompress else input_bytes(files)
    if total is None or options.check:
        return None if total is None else Outlook(total)
    if options.merge:
        return outlook_of_merge(plan, [input_bytes([name]) or 0 for name in files])
    sample = sample_inputs(files, _separator(options), io)
    return None if sample is None else outlook_of_sort(plan, total, sample, keyed)


def _separator(options: Options) -> bytes:
    return b"\0" if options.zero_terminated else b"\n"


def sample_inputs(files: Sequence[bytes], separator: bytes, io: IoStats) -> InputSample | None:
    """From all over the inputs, which are regular files. None where they cannot be read: the sort will say why."""
    from pysort.storage.sample import read_sample

    sample = InputSample()
    try:
        for block in read_sample(files, SAMPLE_BLOCK_BYTES, SAMPLE_BLOCKS_N, io):
            sample.add(block, separator)
    except OSError:
        return None
    return sample if sample.text_bytes else None


def effective_keys(options: Options) -> list[KeySpec]:
    """The keys that lines are compared by. Raises SortError when the options contradict each other."""
    keys = inherit(options.keys, options.ordering, options.reverse)
    check_compatible(keys)
    check_debug(options)
    check_compress(options)
    check_finishing(options)
    return keys


def make_order(options: Options, keys: Sequence[KeySpec], locale: Locale, implementation: Any) -> kernel.Order:
    """The order that the options and the locale ask for. keys: the effective ones."""
    collated = not (locale.is_byte_order or options.bytes)
    kinds = {letter for key in keys for letter in key.ordering}
    transformed = "R" in kinds and not (locale.collate in PLAIN or options.bytes)
    program = compile_program(
        keys,
        reverse=options.reverse,
        stable=options.stable,
        unique=options.unique,
        zero_terminated=options.zero_terminated,
        count=options.count,
        field_separator=options.field_separator,
        tables=locale.tables,
        collated=collated,
        transformed=transformed,
        **_seed(options, kinds),
    )
    needs_handle = collated or transformed or "g" in kinds
    handle = open_collation(locale, implementation, collated) if needs_handle else None
    return kernel.Order(implementation, program, 0 if options.zero_terminated else ord("\n"), handle)


def _seed(options: Options, kinds: set[str]) -> dict[str, bytes]:
    """What -R takes its seed from is opened for it alone."""
    if "R" not in kinds:
        return {}
    from pysort.storage.seed import read_seed

    return {"seed": read_seed(options.random_source)}
