"""The bench of read hints: what it measures and how, the slow disk, and the tables in README.md."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import support
from bench_support import ROOT

from bench import __main__, hints_advice, plots, readme, slowdisk
from bench.contenders import BenchError
from bench.hints import CLAIMS
from bench.hints_advice import CpuClock, SortBench, _children_cpu_s, timed
from bench.hints_parallel import FILES, SerialReader
from bench.hints_report import Measured, Report, ratio
from bench.hints_table import Claim, Expected, NotHere, Place, Result, Sample, Table, Variant, make_file, measure
from bench.results import Spread
from bench.slowdisk import SlowDiskError, slow_disk
from pysort.storage import cache

BURN_S = 0.3


def bench(*arguments: str) -> int:
    kept = {signum: signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGHUP)}
    try:
        return __main__.main(["hints", *arguments])
    finally:
        for signum, handler in kept.items():
            signal.signal(signum, handler)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A directory whose files can be had cold."""
    directory = tmp_path / "place"
    directory.mkdir()
    found = Place("native", directory, tmp_path)
    probe = make_file(directory / "probe", 4096)
    try:
        measure(found, table_of({"x": Variant(lambda: Sample(1.0))}, probe), 1)
    except NotHere as reason:
        pytest.skip(str(reason))
    probe.unlink()
    return found


def table_of(variants: dict[str, Variant], *files: Path, **more: Any) -> Table:
    return Table("a table", files, variants, (next(iter(variants)),), **more)


# --- the whole bench -----------------------------------------------------------------------------


def test_a_smoke_run_measures_every_claim_and_leaves_nothing(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work, out = tmp_path / "work", tmp_path / "out"
    assert bench("--smoke", "--dir", str(work), "--out", str(out)) == 0
    assert list(work.iterdir()) == []
    captured = capsys.readouterr()
    result = json.loads((out / "hints.json").read_text())
    assert [claim["name"] for claim in result["claims"]] == [claim.name for claim in CLAIMS]
    assert "smoke" in result["missing"]
    assert not result["judged"]
    for table in result["tables"]:
        assert table["skipped"] is None
        assert table["rounds"] == 1
        assert all(len(variant["values"]) == 1 for variant in table["variants"])
    markdown = (out / "hints.md").read_text()
    for claim in CLAIMS:
        assert claim.source in captured.out
        assert f"## {claim.name}" in markdown
    assert "speed means nothing" in captured.out
    assert "as expected" not in captured.out + markdown
    if "no plots" in captured.err:
        assert list(out.glob("*.svg")) == []
    else:
        assert {path.stem for path in out.glob("*.svg")} >= {f"hints-{claim.name}" for claim in CLAIMS}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--case", "nonsense"), "no case named nonsense"),
        (("--rounds", "2"), "at least 3 rounds"),
    ],
)
def test_a_wrong_argument_is_trouble(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(*arguments) == 2
    assert message in capsys.readouterr().err


def test_the_list_names_every_case_and_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [claim.name for claim in CLAIMS]


def test_without_a_slow_disk_the_reason_is_told_and_the_native_disk_measured(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tables(where: Place, scale: float) -> Iterator[Table]:
        yield table_of({where.name: Variant(lambda: Sample(1.0))}, make_file(where.directory / "f", 4096))

    monkeypatch.setattr("bench.hints.CLAIMS", (Claim("only", "somebody said", "2", tables),))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert bench("--dir", str(tmp_path)) == 0
    captured = capsys.readouterr()
    assert "no slow disk: it takes root" in captured.err
    assert "no slow disk: it takes root" in captured.out
    assert "native disk: a table" in captured.out


def test_what_can_not_be_measured_here_is_skipped_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tables(where: Place, scale: float) -> Iterator[Table]:
        raise NotHere("the moon is full")
        yield

    monkeypatch.setattr("bench.hints.CLAIMS", (Claim("only", "somebody said", "2", tables),))
    assert bench("--smoke", "--dir", str(tmp_path), "--out", str(tmp_path / "out")) == 0
    assert "native disk: skipped: the moon is full" in capsys.readouterr().out
    [table] = json.loads((tmp_path / "out" / "hints.json").read_text())["tables"]
    assert table["skipped"] == "the moon is full"


# --- rounds, cold and hot ------------------------------------------------------------------------


def test_files_are_cold_or_hot_before_every_run(place: Place) -> None:
    paths = [make_file(place.directory / name, 300_000) for name in ("one", "two")]
    seen: dict[str, list[int | None]] = {"cold": [], "hot": []}

    def look(name: str) -> Callable[[], Sample]:
        def run() -> Sample:
            seen[name] += [cache.resident_bytes(os.fsencode(path)) for path in paths]
            for path in paths:
                path.read_bytes()
            return Sample(1.0)

        return run

    variants = {"cold": Variant(look("cold")), "hot": Variant(look("hot"), hot=True)}
    measure(place, table_of(variants, *paths), 4)
    assert seen["cold"] == [0] * 8
    assert all(n is not None and n >= 300_000 for n in seen["hot"])


def test_every_round_runs_each_variant_once_and_rounds_differ_in_order(place: Place) -> None:
    order: list[str] = []

    def log(name: str) -> Callable[[], Sample]:
        return lambda: order.append(name) or Sample(1.0)  # type: ignore[func-returns-value]

    names = ["a", "b", "c", "d"]
    result = measure(place, table_of({name: Variant(log(name)) for name in names}, most_rounds_n=6), 10)
    rounds = [order[at : at + 4] for at in range(0, len(order), 4)]
    assert len(rounds) == result.rounds_n() == 6
    assert all(sorted(listed) == names for listed in rounds)
    assert len({tuple(listed) for listed in rounds}) > 1


def test_a_file_that_stays_in_memory_is_not_measured_cold() -> None:
    directory = Path("/dev/shm")
    kinds = {line.split()[1]: line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()}
    if kinds.get(str(directory)) != "tmpfs":
        pytest.skip("no tmpfs in /dev/shm")
    path = make_file(directory / f"pysort-bench-{os.getpid()}", 8192)
    try:
        with pytest.raises(NotHere, match="stay in memory"):
            measure(Place("x", directory, directory), table_of({"x": Variant(lambda: Sample(1.0))}, path), 1)
    finally:
        path.unlink()


# --- ratios and judgements -----------------------------------------------------------------------


def result_of(unit: str = "s", expected: tuple[Expected, ...] = (), **values: list[float]) -> Result:
    variants = {name: Variant(lambda: Sample(1.0)) for name in values}
    table = Table("a table", (), variants, ("base",), expected, unit=unit, column="a job")
    return Result(table, {name: [Sample(value) for value in listed] for name, listed in values.items()})


def test_a_ratio_above_1_is_better_whether_seconds_or_reads_are_counted() -> None:
    times = result_of(base=[6, 9, 4], x=[2, 1, 4])
    assert times.ratio("x", "base") == Spread(3.0, 1.0, 9.0)
    rates = result_of("reads/s", base=[6, 9, 4], x=[12, 9, 2])
    assert rates.ratio("x", "base") == Spread(1.5, 0.5, 2.0)


@pytest.mark.parametrize(
    ("least", "verdict"), [(3.0, "expected at least 3: as expected"), (3.1, "at least 3.1: OTHERWISE"), (None, "base")]
)
def test_what_was_expected_is_compared_with_what_came(least: float | None, verdict: str) -> None:
    result = result_of(expected=(Expected("x", "base", least),), base=[6, 9, 4], x=[2, 1, 4])
    [text] = Measured(CLAIMS[0], "native", result).judgements()
    assert "x is 3.00 (1.00-9.00) times as good as base" in text
    assert text.endswith(verdict)


def test_rounds_that_differ_much_are_admitted() -> None:
    measured = Measured(CLAIMS[0], "native", result_of(base=[4, 4, 4], x=[1, 1, 2]))
    [warning] = measured.warnings()
    assert warning == "range over 25% of the median: x 100%"


def test_ratios_are_shown_with_the_digits_that_count() -> None:
    assert ratio(Spread(1234.5, 0.00042, 12.34)) == "1,234 (0.0004-12.3)"
    assert ratio(Spread(2.0, 0.5, 99.9)) == "2.00 (0.50-99.9)"


def report_of(judged: bool = True) -> Report:
    machine = dict.fromkeys(("cpu", "cores", "memory", "kernel", "libc", "python", "load"), "?")
    results = result_of(expected=(Expected("x", "base", 2),), base=[6, 9, 4], x=[2, 1, 4])
    measured = [Measured(CLAIMS[0], "native", results), Measured(CLAIMS[0], "slow", skipped="no reason")]
    return Report("python -m bench hints", 1.0, judged, machine, {"pysort": "1"}, {"native": "ext4"}, None, measured)


def test_readme_shows_which_hint_to_use_and_what_became_of_the_claims(tmp_path: Path) -> None:
    report_of().write(tmp_path)
    text = "before\n<!-- bench: hints -->\nold\n<!-- /bench -->\nafter\n"
    made = readme.rewritten(text, tmp_path)
    assert "old" not in made
    assert "| `x` | 3.00 (1.00-9.00) |" in made
    assert "| `base` | 6.00 s |" in made
    assert "x over base **3.00 (1.00-9.00)**, wanted 2 |" in made
    assert made == readme.rewritten(made, tmp_path)


def test_readme_refuses_the_results_of_a_smoke_run(tmp_path: Path) -> None:
    report_of(judged=False).write(tmp_path)
    with pytest.raises(BenchError, match="smoke run"):
        readme.rewritten("<!-- bench: hints -->\n<!-- /bench -->", tmp_path)


def test_plots_are_drawn_from_the_results_alone(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="no matplotlib: pip install '.[bench]'")
    report_of().write(tmp_path)
    assert plots.draw(tmp_path) is None
    [path] = tmp_path.glob("*.svg")
    first = path.read_text()
    assert "times as good as base" in first
    assert "native disk: a table" in first
    plots.draw(tmp_path)
    assert path.read_text() == first  # no date, no random names: a plot changes when its numbers do


# --- sorts ---------------------------------------------------------------------------------------


def test_cpu_use_is_sampled_from_outside_until_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process goes to sleep when it has used some CPU, and ends when it has been seen asleep."""
    seen = tmp_path / "seen"
    used: list[float] = []
    asleep: list[float] = []
    add = CpuClock.add

    def add_and_look(clock: CpuClock, now: float, used_s: float) -> None:
        add(clock, now, used_s)
        used.append(used_s)
        if len(used) > 1 and used[-2] >= BURN_S:
            asleep.append(clock.points[-1][1])
            seen.touch()

    monkeypatch.setattr(CpuClock, "add", add_and_look)
    script = (
        "import os, sys, time\n"
        f"while time.process_time() < {BURN_S}: pass\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    )
    before = _children_cpu_s()
    sample = timed([sys.executable, "-I", "-S", "-c", script, str(seen)])
    in_all = _children_cpu_s() - before
    ends = [point[0] for point in sample.timeline]
    assert ends == sorted(ends)
    assert ends[-1] == pytest.approx(sample.value)
    starts = [0.0, *ends]
    shown = sum(percent / 100 * (end - start) for start, (end, percent) in zip(starts, sample.timeline, strict=False))
    assert shown == pytest.approx(in_all, abs=0.05)  # the clock goes by ticks of 10 ms
    assert in_all >= BURN_S
    assert asleep[0] < 50


def test_a_sort_that_fails_or_differs_ends_the_bench(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(script: str) -> None:
        monkeypatch.setattr(hints_advice, "pysort_program", lambda: ["sh", "-c", script, "sh"])

    (place.directory / "f").write_bytes(b"b\na\n")
    job = SortBench((place.directory / "f",), (), place)
    program('sort "$@"')
    assert job.run(()).value > 0
    program('sort -r "$@"')
    with pytest.raises(BenchError, match="differs"):
        job.run(())
    program("echo no luck >&2; exit 3")
    with pytest.raises(BenchError, match="exit status 3: no luck"):
        job.run(())


# --- one file, many threads ----------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_threads_read_what_is_there_while_another_appends(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    blocks = [bytes([number]) * 512 for number in range(64)]
    path.write_bytes(b"".join(blocks))
    file = FILES[name](path)
    wrong: list[int] = []

    def read(first: int) -> None:
        view = memoryview(bytearray(512))
        for n in range(1000):
            number = (first + 7 * n) % 64
            if file.read(view, 512 * number) != 512 or view != blocks[number]:
                wrong.append(number)

    threads = [threading.Thread(target=read, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert file.append(b"x" * 100) == 100
    for thread in threads:
        thread.join()
    assert wrong == []
    with pytest.raises(OSError, match="Invalid argument"):
        file.read(memoryview(bytearray(1)), -2)
    file.close()
    assert path.stat().st_size == 64 * 512 + 2000


def test_a_serial_reader_answers_in_the_order_of_the_questions(tmp_path: Path) -> None:
    """What is asked while the owner syncs waits for it."""
    path = tmp_path / "file"
    path.write_bytes(b"a" * 4096)
    events: list[str] = []

    class Slow(SerialReader):
        def __init__(self, path: Path) -> None:
            self.syncing = threading.Event()
            self.go_on = threading.Event()
            super().__init__(path)

        def append(self, data: bytes) -> int:
            def wait() -> int:
                self.syncing.set()
                self.go_on.wait()
                events.append("synced")
                return len(data)

            return self._ask(wait)

    file = Slow(path)
    writer = threading.Thread(target=file.append, args=(b"x",))
    writer.start()
    file.syncing.wait()
    reader = threading.Thread(target=lambda: (file.read(memoryview(bytearray(1)), 0), events.append("read")))
    reader.start()
    while file._asked.empty() and reader.is_alive():
        time.sleep(0.001)
    assert events == []
    file.go_on.set()
    writer.join()
    reader.join()
    file.close()
    assert events == ["synced", "read"]


# --- the slow disk -------------------------------------------------------------------------------


def test_there_is_no_slow_disk_without_root_tools_or_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def refused(reason: str) -> Iterator[pytest.MonkeyPatch]:
        with monkeypatch.context() as patch:
            patch.setattr(os, "geteuid", lambda: 0)
            yield patch
            with pytest.raises(SlowDiskError, match=reason), slow_disk(tmp_path, 1 << 20):
                pass
        assert list(tmp_path.iterdir()) == []

    with refused("it takes root") as patch:
        patch.setattr(os, "geteuid", lambda: 1000)
    with refused("there is no losetup") as patch:
        patch.setattr(shutil, "which", lambda name: None if name == "losetup" else f"/bin/{name}")
    with refused("no blkio controller") as patch:
        patch.setattr(shutil, "which", lambda name: f"/bin/{name}")
        patch.setattr(slowdisk, "_GROUPS", tmp_path / "nothing")


SLOW_SCRIPT = """
import os, sys
from pathlib import Path
from bench.slowdisk import slow_disk
with slow_disk(Path(sys.argv[1]), 64 << 20) as disk:
    number = os.stat(disk.directory).st_dev
    own = Path("/sys/dev/block", f"{os.major(number)}:{os.minor(number)}", "loop")
    [group] = Path("/sys/fs/cgroup/blkio").glob(f"pysort-bench-{os.getpid()}")
    limits = group / "blkio.throttle.read_iops_device"
    (disk.directory / "file").write_bytes(b"x" * 100_000)
    with disk.limited(read_iops=77):
        assert limits.read_text().split() == [f"{os.major(number)}:{os.minor(number)}", "77"]
    assert limits.read_text() == ""
    assert disk.read_ahead_kib == 128
    with disk.read_ahead(0):
        assert disk.read_ahead_kib == 0
    assert disk.read_ahead_kib == 128
    assert str(os.getpid()) in (group / "cgroup.procs").read_text().split()
    print(group, own.resolve(), flush=True)
    {end}
print("left", flush=True)
"""


def backing(loop: Path) -> str:
    """The file behind the device, "" when there is none any more: it may go while one looks."""
    try:
        return (loop / "backing_file").read_text()
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("end", "status"), [("pass", 0), ("1 / 0", 1), ("os.kill(os.getpid(), 9)", -9)], ids=["end", "error", "SIGKILL"]
)
def test_the_slow_disk_is_taken_apart_whatever_happens(end: str, status: int, tmp_path: Path) -> None:
    try:
        slowdisk._demand()
    except SlowDiskError as reason:
        pytest.skip(f"no slow disk: {reason}")
    script = SLOW_SCRIPT.replace("{end}", end)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if "SlowDiskError" in done.stderr:
        pytest.skip(f"no slow disk: {done.stderr.splitlines()[-1]}")
    assert done.returncode == status, done.stderr
    group, loop = map(Path, done.stdout.splitlines()[0].split())
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
    deadline = time.monotonic() + support.TIMEOUT_S
    while str(tmp_path) in backing(loop):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    if status == -9:
        group.rmdir()  # empty, and all that is left but the directory of the mount
    assert not group.exists()
    assert [path.name for path in tmp_path.iterdir()] == (["slow"] if status == -9 else [])
