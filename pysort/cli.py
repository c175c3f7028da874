"""The command line: the only place that prints errors, sets signals and ends the process."""

from __future__ import annotations

import _signal  # signal itself imports enum, functools and collections: 3 ms
import os
import sys

from pysort import __version__, kernel
from pysort.environ import Environment
from pysort.errors import SortError
from pysort.keys.locale import C_TABLES
from pysort.keys.program import compile as compile_program
from pysort.keys.spec import check_compatible, inherit, parse_key, parse_obsolescent
from pysort.option_table import help_text
from pysort.options import parse, require_supported
from pysort.output import Output
from pysort.plan import SortPlan
from pysort.sorter import input_bytes, sort
from pysort.stats import SortStats
from pysort.storage.iostats import IoStats
from pysort.storage.readers import STDIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from pysort.options import Options

FAILURE = 2


def run() -> NoReturn:
    """The console script. Leaves without the interpreter's own clean-up: it takes milliseconds, and its own flush of
    standard output would print a message of its own when that fails."""
    os._exit(main())


def main(argv: Sequence[bytes] | None = None) -> int:
    """Sort as argv says (by default the process's, with the program's name first). Returns the exit status."""
    words = [os.fsencode(word) for word in sys.argv] if argv is None else list(argv)
    program = program_name(words[0])
    default_signals()
    try:
        execute(program, words[1:])
    except SortError as error:
        return report(error, program)
    except MemoryError:
        return report(SortError(b"memory exhausted"), program)
    except Exception as error:
        text = f"internal error: {type(error).__name__}: {error}"
        return report(SortError(os.fsencode(text)), program)
    return 0


def program_name(first_word: bytes) -> bytes:
    """What messages begin with. A script that is started through #! sees its full path."""
    name = os.path.basename(first_word)
    return b"pysort" if name == b"__main__.py" else name


def default_signals() -> None:
    """CPython ignores SIGPIPE and SIGXFSZ and turns SIGINT into an exception. A sort dies by them, silently: its
    temporary files have no names. One that was ignored at the start stays ignored, where CPython lets one know."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(_signal, name):
            _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def execute(program: bytes, words: Sequence[bytes]) -> SortStats:
    """Everything but the exit status. Raises SortError."""
    environment = Environment.from_process(os.environb)
    options = parse(
        words,
        os.environb,
        parse_key=parse_key,
        parse_obsolescent=parse_obsolescent,
        descriptor_limit=environment.descriptor_limit_n,
    )
    implementation = kernel.load(os.environb.get(b"PYSORT_KERNEL"))
    stats = SortStats(implementation.NAME)
    if options.request:
        text = help_text(program) if options.request == "help" else version_text(implementation)
        print_text(text)
        return stats
    order = make_order(options, implementation)
    if options.output is not None and hasattr(_signal, "SIGPIPE"):
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)  # a FIFO that -o names ends in a message
    memory = environment.default_memory()
    if options.buffer_size is not None:
        memory = options.buffer_size.resolve(environment.memory_bytes)
    plan = SortPlan(
        memory,
        batch_size=options.batch_size,
        input_bytes=input_bytes(options.files or (STDIN,)),
        input_mapped=options.input_reader == "mmap",
        runs_mapped=options.reader == "mmap",
    )
    sort(order, plan, options, environment, stats)
    return stats


def make_order(options: Options, implementation: Any) -> kernel.Order:
    """The order that the options ask for. Raises SortError when they contradict each other."""
    keys = inherit(options.keys, options.ordering, options.reverse)
    check_compatible(keys)
    require_supported(options)
    program = compile_program(
        keys,
        reverse=options.reverse,
        stable=options.stable,
        unique=options.unique,
        zero_terminated=options.zero_terminated,
        field_separator=options.field_separator,
        tables=C_TABLES,
    )
    return kernel.Order(implementation, program, 0 if options.zero_terminated else ord("\n"))


def version_text(implementation: Any) -> bytes:
    return (
        f"pysort (pysort) {__version__}\n"
        f"Kernel: {implementation.NAME}\n"
        "License MIT. There is no warranty, to the extent permitted by law.\n"
    ).encode()


def print_text(text: bytes) -> None:
    """To standard output. Raises SortError `write error: ...`."""
    try:
        Output(None, IoStats()).write(memoryview(text))
    except SortError as error:
        reason = os.fsencode(os.strerror(error.errno or 0))
        raise SortError(b"write error: ", reason, errno=error.errno) from error


def report(error: SortError, program: bytes) -> int:
    """Print it. Returns the exit status, which is FAILURE when not even that can be done."""
    try:
        os.write(2, error.render(program, is_utf8()))
    except OSError:
        return FAILURE
    return error.status


def is_utf8() -> bool:
    """Whether messages are read as UTF-8, as the C library sees the environment's locale."""
    from _locale import CODESET, nl_langinfo

    return nl_langinfo(CODESET) == "UTF-8"
