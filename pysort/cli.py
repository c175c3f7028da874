"""The command line: the only place that prints errors, sets signals and ends the process."""

from __future__ import annotations

import _signal  # signal itself imports enum, functools and collections: 3 ms
import os
import sys
from time import perf_counter_ns

from pysort import kernel
from pysort.command_line import parse
from pysort.environ import Environment
from pysort.errors import ASCII_PRINTABLE, SortError, file_error
from pysort.keys.locale import PLAIN, category_name, load_locale
from pysort.keys.spec import parse_key, parse_obsolescent
from pysort.options import check_atomic, check_check, check_compare_hints
from pysort.output import Output
from pysort.prepare import effective_keys, foresee, input_names, make_order, make_plan, with_threads_for
from pysort.sorter import check_sorted, sort
from pysort.stats import SortStats
from pysort.storage.handle import NO_MORE_DESCRIPTORS
from pysort.storage.iostats import IoStats
from pysort.storage.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from pysort.kernel import Order
    from pysort.keys.locale import Locale
    from pysort.keys.spec import KeySpec
    from pysort.options import Options
    from pysort.plan import SortPlan
    from pysort.progress import Progress

FAILURE = 2
# Those that GNU sort cleans up for. (SIGPIPE is ignored where there is an -o.)
ENDING_SIGNALS = (
    *("SIGALRM", "SIGHUP", "SIGINT", "SIGPROF", "SIGQUIT", "SIGTERM", "SIGUSR2", "SIGVTALRM", "SIGXCPU", "SIGXFSZ"),
)


def run() -> NoReturn:
    """The console script. Leaves without the interpreter's own clean-up: it takes milliseconds, and its own flush of
    standard output would print a message of its own when that fails."""
    os._exit(main())


def main(argv: Sequence[bytes] | None = None) -> int:
    """Sort as argv says (by default the process's, with the program's name first). Returns the exit status."""
    words = [os.fsencode(word) for word in sys.argv] if argv is None else list(argv)
    program = program_name(words[0])
    default_signals()
    messages = Messages(program)
    try:
        execute(program, words[1:], messages)
    except SortError as error:
        return report(error, program)
    except MemoryError:
        return report(SortError(b"memory exhausted"), program)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_MORE_DESCRIPTORS:  # none to load a module with
            return report(file_error(b"open failed", os.fsencode(error.filename or b""), error), program)
        text = f"internal error: {type(error).__name__}: {error}"
        return report(SortError(os.fsencode(text)), program)
    return FAILURE if messages.lost else 0


class Messages:
    """What is said while the sort goes on. progress: what shares the terminal with it, if anything does. lost: some of
    it could not be written."""

    __slots__ = ("_program", "lost", "progress")

    def __init__(self, program: bytes) -> None:
        self._program = program
        self.progress: Progress | None = None
        self.lost = False

    def warn(self, message: SortError) -> None:
        self.say(message.render(self._program, *charset()))

    def say(self, text: bytes) -> None:
        shown = to_stderr(text) if self.progress is None else self.progress.say(lambda: to_stderr(text))
        self.lost |= not shown


def program_name(first_word: bytes) -> bytes:
    """What messages begin with. A script that is started through #! sees its full path."""
    name = os.path.basename(first_word)
    return b"pysort" if name == b"__main__.py" else name


def default_signals() -> None:
    """CPython ignores SIGPIPE and SIGXFSZ and turns SIGINT into an exception. A sort dies by them, silently: its
    temporary files have no names. One that was ignored at the start stays ignored, where CPython lets one know.
    SIGCHLD does not: the end of a program that compresses must be awaited."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(_signal, name):
            _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def output_signals(options: Options) -> None:
    if options.output is not None and hasattr(_signal, "SIGPIPE"):
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)  # a FIFO that -o names ends in a message
    if options.atomic:
        discard_when_killed()


def discard_when_killed() -> None:
    """A signal still ends the process, but first what would have replaced the output is removed: it may have a name."""
    from pysort.storage.replacement import discard_all

    def end(number: int, _: object) -> None:
        discard_all()
        _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for name in ENDING_SIGNALS:
        number = getattr(_signal, name)
        if _signal.getsignal(number) == _signal.SIG_DFL:
            _signal.signal(number, end)


def execute(program: bytes, words: Sequence[bytes], messages: Messages) -> SortStats:
    """Everything but the exit status. Raises SortError."""
    started = perf_counter_ns()
    environment = Environment.from_process(os.environb)
    options = parse(
        words,
        os.environb,
        parse_key=parse_key,
        parse_obsolescent=parse_obsolescent,
        descriptor_limit=environment.descriptor_limit_n,
    )
    implementation = kernel.load(os.environb.get(b"PYSORT_KERNEL"))
    options = with_threads_for(implementation, options)
    clock = perf_counter_ns if options.stats and options.stats_timing else None
    stats = SortStats(implementation.NAME, clock, count_hits=options.stats_hits, residency=bool(options.stats))
    if options.request:
        from pysort.texts import requested_text

        print_text(requested_text(options, program, implementation))
        return stats
    if "mmap" in (options.input_reader, options.reader):
        from pysort.storage import guard

        guard.install(implementation)
    files = input_names(options)
    keys = effective_keys(options)
    locale = load_locale(os.environb, implementation)
    annotate = debug(options, keys, locale, messages) if options.debug else None
    order = make_order(options, keys, locale, implementation)
    if options.count:
        annotate = count(order)
    check_check(options, files)
    check_compare_hints(options)
    check_atomic(options)
    if options.compare_hints is not None:
        from pysort.compare import compare

        print_text(compare(order, options, files, environment, lambda text: messages.warn(SortError(text))))
        return stats
    output_signals(options)
    plan = make_plan(options, environment, files, stats.inputs)
    if options.plan:
        from pysort.texts import plan_text

        outlook = foresee(options, plan, files, order.keyed, stats.inputs)
        print_text(plan_text(plan, outlook, options, files, environment, implementation))
        return stats
    if options.progress != "never":
        messages.progress = start_progress(options, plan, files, order, stats, program)
    perform(order, plan, options, files, environment, stats, messages, annotate, started)
    return stats


def perform(
    order: kernel.Order,
    plan: SortPlan,
    options: Options,
    files: Sequence[bytes],
    environment: Environment,
    stats: SortStats,
    messages: Messages,
    annotate: Callable[[Output], None] | None,
    started: int,
) -> None:
    """The job itself. Raises SortError; no bar is left then. started: when, for the statistics."""
    failure, status = None, FAILURE
    try:
        if options.check:
            check_sorted(order, plan, options, files[0], stats)
        else:
            sort(order, plan, options, files, environment, stats, messages.warn, annotate)
        status = 0
    except SortError as error:
        failure, status = error.errno, error.status
        raise
    finally:
        if messages.progress is not None:
            messages.progress.close(failure)
            messages.progress = None
        if options.stats:
            from pysort.texts import stats_text

            messages.say(stats_text(stats, options, perf_counter_ns() - started, status))


def start_progress(
    options: Options, plan: SortPlan, files: Sequence[bytes], order: kernel.Order, stats: SortStats, program: bytes
) -> Progress:
    from pysort.gauge import Gauge
    from pysort.progress import DELAY_SECONDS, Progress

    outlook = foresee(options, plan, files, order.keyed, stats.inputs)
    delay_seconds = 0.0 if options.progress == "always" else DELAY_SECONDS if os.isatty(2) else None
    progress = Progress(Gauge(options.mode, outlook, stats), program, delay_seconds)
    progress.start()
    return progress


def debug(options: Options, keys: Sequence[KeySpec], locale: Locale, messages: Messages) -> Callable[[Output], None]:
    """Make the remarks of --debug. Returns what has the lines underlined on their way to the output."""
    from pysort.diagnostics import Annotator, remarks

    for remark in remarks(options, keys, locale):
        messages.warn(remark)

    def annotate(output: Output) -> None:
        output.write = Annotator(options, keys, locale, output.write).write

    return annotate


def count(order: Order) -> Callable[[Output], None]:
    """Returns what shows the counts of lines on their way to the output."""
    from pysort.finishing import Counter

    def annotate(output: Output) -> None:
        output.write = Counter(order, output.write).write

    return annotate


def print_text(text: bytes) -> None:
    """To standard output. Raises SortError `write error: ...`."""
    try:
        Output(None, IoStats()).write(memoryview(text))
    except SortError as error:
        reason = os.fsencode(os.strerror(error.errno or 0))
        raise SortError(b"write error: ", reason, errno=error.errno) from error


def report(error: SortError, program: bytes) -> int:
    """Print it. Returns the exit status, which is FAILURE when not even that can be done."""
    return error.status if show(error, program) else FAILURE


def show(message: SortError, program: bytes) -> bool:
    """Whether the message could be written to standard error."""
    return to_stderr(message.render(program, *charset()))


def to_stderr(text: bytes) -> bool:
    """Whether it could be written."""
    try:
        Writer(2, IoStats()).write_all(memoryview(text))
    except OSError:
        return False
    return True


def charset() -> tuple[bool, bytes]:
    """How messages are read: whether as UTF-8, and else which bytes can be shown, as the C library sees the
    environment's locale. One bad name in it, and everything is as in C."""
    import _locale

    name = category_name(os.environb, b"LC_CTYPE")
    try:
        _locale.setlocale(_locale.LC_ALL, "")
        _locale.setlocale(_locale.LC_CTYPE, os.fsdecode(name))
    except _locale.Error:  # type: ignore[attr-defined]
        return False, ASCII_PRINTABLE
    if _locale.nl_langinfo(_locale.CODESET) == "UTF-8":
        return True, ASCII_PRINTABLE
    if name in PLAIN:
        return False, ASCII_PRINTABLE
    return False, kernel.load(None).locale_facts(name, b"C", b"C")[2]
