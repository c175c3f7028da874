"""--compare-hints: real jobs on a real disk, and what must not happen to files and processes meanwhile."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest
import support
from support import CONTENDER, put_away, run, small_filesystem, start

from pysort import child, kernel
from pysort.compare import COLD, MOST_ROUNDS_N, ROUNDS_N, WARM, Inputs, Job, Rounds, run_job
from pysort.comparison import Measurement
from pysort.environ import Environment
from pysort.errors import SortError
from pysort.keys.locale import load_locale
from pysort.options import Options
from pysort.prepare import make_order
from pysort.storage import cache
from pysort.storage.spill import SpillSpace
from pysort.strategies import Strategy, parse_strategies
from pysort.units import parse_size

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort has no such option")

ROW = re.compile(r"^(\S+) +(\d+\.\d{3}) +(\d+\.\d\d) +(\d+\.\d{3}) +(\d+\.\d) +(\d+|n/a) +(\d+) +(\d+) +(\d+\.\d)$")
COMPARE = ["--compare-hints=random", "-S", "64K"]


@pytest.fixture
def big(tmp_path: Path) -> Path:
    path = tmp_path / "big"
    path.write_bytes(b"".join(b"%d\n" % (i * 7919 % 1000003) for i in range(30000)))
    return path


def can_be_cold(path: Path) -> bool:
    with path.open("rb") as file:
        return cache.drop(file.fileno()) == 0


def tables(stdout: bytes) -> dict[str, list[str]]:
    """The rows of each table, by the state that its title names."""
    found: dict[str, list[str]] = {}
    for part in stdout.decode().split("\n\n"):
        title, *rows = part.splitlines()
        if rows and rows[0].startswith("strategy "):
            found[title.partition(":")[0]] = rows[1:]
    return found


def test_the_tables_and_the_sentence(big: Path, tmp_path: Path) -> None:
    result = run(CONTENDER, ["--compare-hints=random:sequential,noreuse", "-S", "64K", "big"], tmp_path)
    assert result.status == 0, result.stderr
    found = tables(result.stdout)
    assert list(found) == (["cold", "warm"] if can_be_cold(big) else ["warm"])
    for rows in found.values():
        cells = [ROW.match(row) for row in rows]
        assert [cell and cell[1] for cell in cells] == ["none", "random", "sequential,noreuse"]
        for cell in cells:
            assert cell
            assert float(cell[2]) > 0
            assert int(cell[8]) > 0
            assert float(cell[9]) == pytest.approx(big.stat().st_size / (1 << 20), abs=0.1)
        assert cells[0] and cells[0][3] == "1.00"
    last = b" ".join(result.stdout.rpartition(b"\n\n")[2].split())
    assert re.fullmatch(rb"(Cold, .*; w|W)arm, .*\.", last)
    assert max(map(len, result.stdout.splitlines() + result.stderr.splitlines())) < 90
    assert re.search(rb"^pysort: 3 strategies on 0\.2 MB", result.stderr)
    assert b"cold: the pages of inputs" in result.stderr
    assert result.stderr.count(b"pysort: round ") >= ROUNDS_N


def test_the_output_file_stays_as_it_is(big: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"old\n")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    for name in ("out", "big", "new"):
        result = run(CONTENDER, ["--compare-hints=none", "big", "-o", name], tmp_path)
        assert result.status == 0, result.stderr
        assert b"strategy " in result.stdout
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before


def test_merges_can_be_compared(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"".join(b"%06d\n" % i for i in range(5000)))
    result = run(CONTENDER, ["--compare-hints=mmap", "-m", "a", "b", "-o", "a"], tmp_path)
    assert result.status == 0, result.stderr
    assert re.search(rb"^mmap .* 0\.0$", result.stdout, re.MULTILINE)


def test_the_default_strategies(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"".join(b"%d\n" % (i * 7919 % 100003) for i in range(8000)))
    result = run(CONTENDER, ["--compare-hints", "-S", "16K", "-T", ".", "a"], tmp_path)
    assert result.status == 0, result.stderr
    names = [row.split()[0] for row in tables(result.stdout)["warm"]]
    assert names == ["none", "sequential", "willneed", "willneed-chunked", "mmap", "direct"]
    in_c = kernel.load(os.environb.get(b"PYSORT_KERNEL")).NAME == "c"
    assert in_c or b"mmap needs the C kernel" in result.stdout
    assert not (in_c and b"mmap:" in result.stdout)


def test_a_shuffle_is_the_same_in_all_jobs(big: Path, tmp_path: Path) -> None:
    result = run(CONTENDER, ["--compare-hints=random", "-R", "big"], tmp_path)
    assert (result.status, b"differs" in result.stderr) == (0, False), result.stderr


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    result = run(CONTENDER, ["--compare-hints=random", "empty"], tmp_path)
    assert result.status == 0, result.stderr
    assert list(tables(result.stdout)) == ["cold", "warm"]


def test_where_nothing_can_be_cold(tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    with small_filesystem(mount, "8m"):
        (mount / "a").write_bytes(b"b\na\n" * 10000)
        result = run(CONTENDER, ["--compare-hints=random", "-T", str(mount), "-S", "64K", "mount/a"], tmp_path)
    assert result.status == 0, result.stderr
    assert result.stdout.startswith(b"cold: could not be had, 100 % of the inputs stay in memory\n")
    assert list(tables(result.stdout)) == ["warm"]
    assert b"n/a" in result.stdout
    assert re.search(rb"^Warm, ", result.stdout, re.MULTILINE)


def test_runs_that_stay_in_memory_are_told(big: Path, tmp_path: Path) -> None:
    if not can_be_cold(big):
        pytest.skip("this file system keeps its pages (tmpfs?)")
    mount = tmp_path / "mount"
    with small_filesystem(mount, "8m"):
        result = run(CONTENDER, ["--compare-hints=none", "-T", str(mount), "-S", "64K", "big"], tmp_path)
    assert b"\nruns stayed in memory" in result.stdout


@pytest.mark.parametrize("name", ["-", "/dev/null", ".", "fifo"])
def test_only_regular_files(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "a").write_bytes(b"a\n")
    result = run(CONTENDER, ["--compare-hints=none", "a", name], tmp_path)
    assert result.status == 2
    assert result.stderr == b"pysort: --compare-hints takes regular files only, not %s\n" % name.encode()
    assert run(CONTENDER, ["--compare-hints=none"], tmp_path).status == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = run(CONTENDER, ["--compare-hints=none", "nowhere"], tmp_path)
    assert result.status == 2
    assert result.stderr == b"pysort: cannot read: nowhere: No such file or directory\n"


@pytest.mark.parametrize("other", ["-c", "-C", "--debug", "--stats"])
def test_options_that_do_not_go_with_it(tmp_path: Path, other: str) -> None:
    (tmp_path / "a").write_bytes(b"a\n")
    result = run(CONTENDER, ["--compare-hints=none", other, "a"], tmp_path)
    assert result.status == 2
    assert result.stderr.endswith(b"pysort: options '%s --compare-hints' are incompatible\n" % other.encode())


def test_a_job_that_fails(big: Path, tmp_path: Path) -> None:
    result = run(CONTENDER, [*COMPARE, "-T", "nowhere", "big"], tmp_path)
    assert result.status == 2
    assert result.stdout == b""
    assert b"nowhere" in result.stderr


# Strategies.


def test_strategies_and_the_options_that_they_stand_for() -> None:
    found = {one.name: one.changes for one in parse_strategies(b"random:mmap:none:sequential,noreuse,pread")}
    assert list(found) == ["none", "random", "mmap", "sequential,noreuse,pread"]
    assert found["none"]["fadvise"] == found["none"]["run_fadvise"] == b"none"
    assert found["mmap"]["reader"] == found["mmap"]["input_reader"] == "mmap"
    assert found["mmap"]["fadvise"] == b"sequential"
    assert found["sequential,noreuse,pread"]["fadvise"] == b"sequential,noreuse"
    assert parse_strategies(b"populate")[1].changes["mmap_flags"] == b"populate"
    assert parse_strategies(b"")[0].name == "none"
    assert len(parse_strategies(b"")) > 3


@pytest.mark.parametrize("text", [b"none:fast", b"mmap,direct", b"random,", b":", b"\xff"])
def test_strategies_that_do_not_exist(text: bytes) -> None:
    with pytest.raises(SortError, match="invalid argument") as caught:
        parse_strategies(text)
    for known in ("'willneed'", "'mmap'", "'direct'", "'populate'"):
        assert f"\n  - {known}" in str(caught.value)


def test_hints_that_contradict_each_other() -> None:
    with pytest.raises(SortError, match="random"):
        parse_strategies(b"random,none")


# The rounds, with jobs that are made up.

STRATEGIES = [Strategy("none", {}), Strategy("a", {}), Strategy("b", {})]


def quiet(_: bytes) -> None:
    pass


def test_rounds_are_interleaved_and_begin_with_each_in_turn() -> None:
    order: list[str] = []

    def job(strategy: Strategy, state: str) -> Job:
        order.append(f"{strategy.name} {state}")
        return Job("x", Measurement(10.0), [], 0)

    rounds = Rounds(STRATEGIES)
    rounds.run([COLD, WARM], job, quiet)
    names = [["none", "a", "b"], ["a", "b", "none"], ["b", "none", "a"]]
    assert order == [f"{name} {state}" for row in names for name in row for state in (COLD, WARM)]
    assert [len(found) for found in rounds.measured[COLD].values()] == [ROUNDS_N] * 3


def test_short_jobs_get_more_rounds() -> None:
    rounds = Rounds(STRATEGIES)
    rounds.run([WARM], lambda *_: Job("x", Measurement(0.01), [], 0), quiet)
    assert len(rounds.measured[WARM]["a"]) == MOST_ROUNDS_N


def test_an_output_that_differs_is_an_error() -> None:
    def job(strategy: Strategy, _: str) -> Job:
        return Job("y" if strategy.name == "b" else "x", Measurement(1.0), [], 0)

    with pytest.raises(SortError, match="the output under 'b' differs"):
        Rounds(STRATEGIES).run([WARM], job, quiet)


def test_remarks_are_shown_once_for_each_strategy() -> None:
    rounds = Rounds(STRATEGIES[:2])
    rounds.run([WARM], lambda *_: Job("x", Measurement(1.0), ["populate refused"], 0), quiet)
    lines = rounds.text(0.0).decode().splitlines()
    assert [line for line in lines if "refused" in line] == ["none: populate refused", "a: populate refused"]


def test_cold_inputs_are_cold_and_warm_ones_warm(big: Path) -> None:
    if not can_be_cold(big):
        pytest.skip("this file system keeps its pages (tmpfs?)")
    inputs = Inputs([os.fsencode(big)])
    assert inputs.put(WARM) == 0
    assert cache.resident_bytes(os.fsencode(big)) >= big.stat().st_size
    assert inputs.put(COLD) == 0
    assert cache.resident_bytes(os.fsencode(big)) == 0


def run_residency(directory: Path, state: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int | None, int]]:
    """A job that spills: what of the runs is in the page cache before each merge pass, before and after cooling."""
    seen: list[tuple[int | None, int]] = []
    drop_cache = SpillSpace.drop_cache

    def observed(space: SpillSpace) -> int | None:
        before = sum(cache.resident_bytes(file.handle.fd) or 0 for file in space._files)
        seen.append((drop_cache(space), before))
        return seen[-1][0]

    monkeypatch.setattr(SpillSpace, "drop_cache", observed)
    options = Options(files=[b"big"], buffer_size=parse_size(b"64K", b"-S"), temporary_directories=[b"."])
    monkeypatch.chdir(directory)
    implementation = kernel.load(None)
    locale = load_locale({}, implementation)
    order = make_order(options, [], locale, implementation)
    job = run_job(order, options, [b"big"], Environment(), state)
    assert job.measurement.temporary_bytes >= (directory / "big").stat().st_size
    return seen


def test_runs_are_cold_before_each_merge(big: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not can_be_cold(big):
        pytest.skip("this file system keeps its pages (tmpfs?)")
    seen = run_residency(tmp_path, COLD, monkeypatch)
    assert seen
    for left, before in seen:
        assert left == 0
        assert before > 0


def test_warm_runs_are_left_alone(big: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_residency(tmp_path, WARM, monkeypatch) == []


# Processes.


def test_a_child_returns_or_raises() -> None:
    assert child.call(os.getpid) != os.getpid()
    assert child.call(lambda: b"x" * 300000) == b"x" * 300000

    def fail() -> None:
        raise SortError(b"no: ", b"\xff", errno=5)

    with pytest.raises(SortError) as caught:
        child.call(fail)
    assert (caught.value.parts, caught.value.errno) == ((b"no: ", b"\xff"), 5)
    with pytest.raises(SortError, match="internal error: ZeroDivisionError"):
        child.call(lambda: 1 // 0)


def test_a_child_that_is_killed_is_an_error_and_leaves_no_descriptor() -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(SortError, match="status -9"):
        child.call(lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert os.listdir("/proc/self/fd") == before


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("name", ["TERM", "INT", "KILL"])
def test_nothing_is_left_when_it_is_interrupted(tmp_path: Path, name: str) -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("there is no /proc")
    spills = tmp_path / "spills"
    spills.mkdir()
    (tmp_path / "big").write_bytes(os.urandom(1 << 24))
    process = start(CONTENDER, ["--compare-hints=none", "-S", "256K", "-T", str(spills), "big"], tmp_path)
    with put_away(process):
        end = time.monotonic() + 30
        while not (jobs := children_of(process.pid)):
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert process.wait(30) == -getattr(signal, f"SIG{name}")
        while any(Path(f"/proc/{pid}/fd").exists() and Path(f"/proc/{pid}/stat").exists() for pid in jobs):
            assert time.monotonic() < end, "the job goes on"
            time.sleep(0.01)
    assert list(spills.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big", "spills"]
