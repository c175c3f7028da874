"""--compare-hints: the same job under each of several strategies, measured with a cold and with a warm page cache."""

from __future__ import annotations

import os
import stat
from time import perf_counter_ns

from pysort import child, report
from pysort.comparison import BASELINE, Measurement, sentence, table
from pysort.errors import SortError, file_error, quote, shell_name
from pysort.prepare import make_plan
from pysort.sorter import sort
from pysort.stats import SortStats
from pysort.storage import cache, guard
from pysort.storage.readers import check_readable
from pysort.strategies import OPTION, parse_strategies
from pysort.units import MEBI

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from pysort.environ import Environment
    from pysort.kernel import Order
    from pysort.options import Options
    from pysort.output import Output
    from pysort.storage.spill import SpillSpace
    from pysort.strategies import Strategy

COLD, WARM = "cold", "warm"
ROUNDS_N = 3
# Short jobs vary more: they go on until this much was measured.
MOST_ROUNDS_N = 9
ENOUGH_SECONDS = 5
WIDTH = 79
# Of the inputs: what may be in memory when they are cold, or may not be when they are warm.
TOLERANCE = 0.01


class Job:
    """What one job reports. checksum: of its output. run_bytes_left: of runs that were to be cold and stayed in
    memory. remarks: notes on the way files were read, and hints that were not taken."""

    __slots__ = ("checksum", "measurement", "remarks", "run_bytes_left")

    def __init__(self, checksum: str, measurement: Measurement, remarks: Sequence[str], run_bytes_left: int) -> None:
        self.checksum = checksum
        self.measurement = measurement
        self.remarks = remarks
        self.run_bytes_left = run_bytes_left


class Inputs:
    """The files that all jobs read. Raises SortError for one that is not a regular file."""

    def __init__(self, names: Sequence[bytes]) -> None:
        check_readable(names)
        self.names = names
        self.size = 0
        for name in names:
            status = os.fstat(0) if name == b"-" else os.stat(name)
            if name == b"-" or not stat.S_ISREG(status.st_mode):
                raise SortError(OPTION, b" takes regular files only, not ", shell_name(name))
            self.size += status.st_size

    def put(self, state: str) -> float | None:
        """Get all out of the page cache, or all into it. Returns which part is not as it should be, None where the
        system does not tell."""
        act = cache.drop if state == COLD else cache.load
        resident = 0
        for name in dict.fromkeys(self.names):
            try:
                fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    found = act(fd)
                finally:
                    os.close(fd)
            except OSError as error:
                raise file_error(b"open failed", name, error) from error
            if found is None:
                return None
            resident += found
        part = min(resident / self.size, 1) if self.size else 0.0
        return part if state == COLD or not self.size else 1 - part


class Rounds:
    """The measurements, by state and strategy, and what is to be said about them."""

    def __init__(self, strategies: Sequence[Strategy]) -> None:
        self._strategies = strategies
        self._checksum: str | None = None
        self.measured: dict[str, dict[str, list[Measurement]]] = {}
        self.remarks: dict[str, None] = {}  # an ordered set

    def run(self, states: Sequence[str], job: Callable[[Strategy, str], Job], say: Callable[[bytes], None]) -> None:
        """Interleaved: each round runs every strategy in every state, beginning with another strategy than the last
        one. Raises SortError, also when an output differs."""
        self.measured = {state: {strategy.name: [] for strategy in self._strategies} for state in states}
        seconds = 0.0
        n = 0
        while n < ROUNDS_N or (n < MOST_ROUNDS_N and seconds < ENOUGH_SECONDS):
            say(b"round %d" % (n + 1))
            first = n % len(self._strategies)
            for strategy in (*self._strategies[first:], *self._strategies[:first]):
                for state in states:
                    done = job(strategy, state)
                    self._take(done, strategy, state)
                    seconds += done.measurement.seconds
            n += 1

    def _take(self, done: Job, strategy: Strategy, state: str) -> None:
        if self._checksum is None:
            self._checksum = done.checksum
        if done.checksum != self._checksum:
            raise SortError(b"the output under ", quote(strategy.name.encode()), b" differs from that of the first job")
        self.measured[state][strategy.name].append(done.measurement)
        for remark in done.remarks:
            self.remarks[f"{strategy.name}: {remark}"] = None
        if done.run_bytes_left:
            self.remarks["runs stayed in memory: their directory's file system keeps them there"] = None

    def text(self, cold_part: float | None) -> bytes:
        """All tables, remarks, and the sentence at the end. cold_part: which part of the inputs stayed in memory when
        they were to be cold."""
        from textwrap import wrap

        lines: list[str] = []
        if COLD not in self.measured:
            lines += [f"cold: could not be had, {100 * (cold_part or 0):.0f} % of the inputs stay in memory", ""]
        for state, measured in self.measured.items():
            told = ", as far as it can be had: the system does not tell" if state == COLD and cold_part is None else ""
            rounds_n = len(measured[BASELINE])
            lines += [f"{state}{told}: medians of {rounds_n} rounds", *table(measured), ""]
        lines.append(f"ratio: how many times as fast as {BASELINE}; I/Os*: reads by the devices, others' too")
        lines += [line for remark in self.remarks for line in wrap(remark, WIDTH, subsequent_indent="  ")]
        times = {
            state: {name: [one.seconds for one in rounds] for name, rounds in measured.items()}
            for state, measured in self.measured.items()
        }
        lines += ["", *wrap(sentence(times), WIDTH)]
        return "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")


class Devices:
    """The devices that hold these files and directories, as far as they exist: the job tells when one does not."""

    def __init__(self, paths: Iterable[bytes]) -> None:
        numbers = {os.stat(path).st_dev for path in paths if os.path.exists(path)}
        self._files = [f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat" for number in numbers]

    def reads(self) -> int | None:
        """Reads that they have completed, None if no device tells. tmpfs, and file systems over several devices, have
        none that could be asked."""
        found = [int(words[0]) for file in self._files if (words := _words(file))]
        return sum(found) if found else None


def _words(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read().split()
    except OSError:
        return []


def compare(
    order: Order,
    options: Options,
    names: Sequence[bytes],
    environment: Environment,
    say: Callable[[bytes], None],
) -> bytes:
    """Run the job under each strategy and return the text to show. say: told what is going on. Raises SortError."""
    strategies = parse_strategies(options.compare_hints or b"")
    inputs = Inputs(names)
    devices = Devices([*names, *(options.temporary_directories or (environment.temporary_directory,))])
    say(
        b"%d strategies on %.1f MB, in %d rounds or more; the output is thrown away\n"
        b"cold: the pages of inputs, and of runs before a merge, are dropped from the\n"
        b"page cache; other files' pages are not" % (len(strategies), inputs.size / MEBI, ROUNDS_N)
    )
    cold_part = inputs.put(COLD)
    states = [WARM] if cold_part is not None and cold_part > TOLERANCE else [COLD, WARM]
    rounds = Rounds(strategies)

    def job(strategy: Strategy, state: str) -> Job:
        part = inputs.put(state)
        if part is not None and part > TOLERANCE:
            kind = "in memory though cold" if state == COLD else "not in memory though warm"
            rounds.remarks[f"in some jobs inputs were {kind}, as they do not fit or are in use"] = None
        before = devices.reads()
        done: Job = child.call(lambda: run_job(order, options.changed(**strategy.changes), names, environment, state))
        after = devices.reads()
        done.measurement.device_reads = None if before is None or after is None else after - before
        return done

    rounds.run(states, job, say)
    return rounds.text(cold_part)


def run_job(order: Order, options: Options, names: Sequence[bytes], environment: Environment, state: str) -> Job:
    """The job itself, in this process. Dropping the runs from the page cache is not part of its time."""
    import hashlib

    output = hashlib.sha256()
    cooling_ns = left = 0

    def cool(spill: SpillSpace) -> None:
        nonlocal cooling_ns, left
        started = perf_counter_ns()
        left += spill.drop_cache() or 0
        cooling_ns += perf_counter_ns() - started

    def digest_instead(real: Output) -> None:
        real.write = output.update

    options = options.changed(output=None)  # which Output opens, and empties at the end
    if options.input_reader == "mmap":
        guard.install(order.kernel)
    stats = SortStats(order.kernel.NAME, perf_counter_ns)
    started = perf_counter_ns()
    sort(
        order,
        make_plan(options, environment, names, stats.inputs),
        options,
        names,
        environment,
        stats,
        lambda message: None,
        annotate=digest_instead,
        before_pass=cool if state == COLD else None,
    )
    elapsed_ns = perf_counter_ns() - started - cooling_ns
    found = report.facts(stats, report.Usage.now(), elapsed_ns, timed=True)
    return Job(output.hexdigest(), _measurement(found), _remarks(found), left)


def _measurement(found: dict[str, Any]) -> Measurement:
    sides = (found["inputs"], found["runs"])
    return Measurement(
        found["elapsed_seconds"],
        read_seconds=sum(side["read_seconds"] for side in sides),
        read_bytes=sum(side["read_bytes"] for side in sides),
        cpu_seconds=found["user_seconds"] + found["system_seconds"],
        faults=found["minor_faults"] + found["major_faults"],
        temporary_bytes=found["temporary_peak_bytes"],
    )


def _remarks(found: dict[str, Any]) -> list[str]:
    remarks = []
    for side in (found["inputs"], found["runs"]):
        remarks += list(side["notes"])
        remarks += [
            f"the hint {name} ended with {end}"
            for name, ends in side["hints"].items()
            for end in ends
            if end != "taken"
        ]
    return remarks
