"""sort_lines() as part of a process: what it holds, when it lets go of it, threads, fork, and memory."""

from __future__ import annotations

import errno
import gc
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import pysort
from pysort.lines import SortedLines

RNG = random.Random(3)
LINES = [b"%060d\n" % RNG.randrange(10**9) for _ in range(150_000)]  # 9 MB: with 8 MiB some runs
IN_ORDER = sorted(LINES)
SPILLING: dict[str, Any] = {"memory": "8M", "threads": 3}
WAYS: list[dict[str, Any]] = [SPILLING, {"memory": "8M", "threads": 1}, {"memory": "64M", "threads": 3}]


def threads_n() -> int:
    return len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 0


def held(directory: Path) -> tuple[int, int, int]:
    """Threads, descriptors, and those of them that are temporary files."""
    files = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            files += os.readlink(f"/proc/self/fd/{name}").startswith(f"{directory}/")
        except FileNotFoundError:  # of the listing itself
            pass
    return threads_n(), len(os.listdir("/proc/self/fd")), files


def is_freed(directory: Path, before: tuple[int, int, int]) -> bool:
    """Whether no more is held than was; a thread that has done its work, of an earlier test too, takes a moment to
    end."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if all(now <= then for now, then in zip(held(directory), before, strict=True)):
            return True
        time.sleep(0.001)
    return False


pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no /proc")


def take(lines: SortedLines[bytes], n: int) -> None:
    for _, expected in zip(range(n), IN_ORDER, strict=False):
        assert next(lines) == expected


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("taken_n", [0, 70_000])
@pytest.mark.parametrize("end", ["close", "with", "del", "cycle", "error", "exhaust"])
def test_everything_is_freed(tmp_path: Path, way: dict[str, Any], taken_n: int, end: str) -> None:
    before = held(tmp_path)
    lines = pysort.sort_lines(LINES, temporary_directories=[tmp_path], **way)
    assert held(tmp_path)[2] == (way["memory"] == "8M")
    assert os.listdir(tmp_path) == []
    take(lines, taken_n)
    if end == "close":
        lines.close()
        lines.close()
        with pytest.raises(ValueError, match="closed"):
            next(lines)
    elif end == "with":
        with lines as same:
            assert same is lines
    elif end == "del":
        del lines
    elif end == "cycle":
        cycle: list[object] = [lines]
        cycle.append(cycle)
        del lines, cycle
        gc.collect()
    elif end == "error":
        with pytest.raises(KeyboardInterrupt), lines:
            raise KeyboardInterrupt
    else:
        assert list(lines) == IN_ORDER[taken_n:]
        assert is_freed(tmp_path, before)
        with pytest.raises(StopIteration):
            next(lines)
    assert is_freed(tmp_path, before)


def test_garbage_may_be_collected_by_a_worker_of_its_own(tmp_path: Path) -> None:
    before = held(tmp_path)
    lines = pysort.sort_lines(LINES, temporary_directories=[tmp_path], **SPILLING)
    take(lines, 1)
    assert lines._sorter is not None
    workers = lines._sorter._workers
    gc.disable()
    try:
        cycle: list[object] = [lines]
        cycle.append(cycle)
        del lines, cycle
        workers.submit(gc.collect).wait()
        del workers
        assert is_freed(tmp_path, before)
    finally:
        gc.enable()


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("at", [0, 1, 149_999])
def test_an_error_of_the_lines_or_the_key_comes_out(tmp_path: Path, way: dict[str, Any], at: int) -> None:
    before = held(tmp_path)

    def failing() -> Iterator[bytes]:
        yield from LINES[:at]
        raise LookupError(at)

    def key(line: bytes) -> int:
        seen.append(line)
        return 1 // (at + 1 - len(seen))

    seen: list[bytes] = []
    with pytest.raises(LookupError, match=str(at)):
        pysort.sort_lines(failing(), temporary_directories=[tmp_path], **way)
    assert is_freed(tmp_path, before)
    with pytest.raises(ZeroDivisionError):
        pysort.sort_lines(LINES, key=key, temporary_directories=[tmp_path], **way)
    assert is_freed(tmp_path, before)


def test_what_makes_the_lines_is_not_held(tmp_path: Path) -> None:
    made = (line for line in LINES)
    ended = weakref.ref(made)
    lines = pysort.sort_lines(made, temporary_directories=[tmp_path], **SPILLING)
    del made
    assert ended() is None
    lines.close()


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    before = held(tmp_path)
    with pytest.raises(pysort.SortError) as caught:
        pysort.sort_lines(LINES, temporary_directories=[tmp_path / "no"], **SPILLING)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, os.fsencode(tmp_path / "no"))
    assert is_freed(tmp_path, before)


def test_a_temporary_file_that_changes(tmp_path: Path) -> None:
    before = held(tmp_path)
    lines = pysort.sort_lines(LINES, temporary_directories=[tmp_path], memory="1M")
    for name in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{name}"
        if os.readlink(path).startswith(f"{tmp_path}/"):
            with open(path, "r+b") as file:
                size = file.seek(0, os.SEEK_END)
                for at in range(0, size, 65536):
                    file.seek(at)
                    file.write(b"!")
            break
    with pytest.raises(pysort.SortError, match="checksum mismatch"):
        list(lines)
    assert is_freed(tmp_path, before)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_sorts_in_several_threads(way: dict[str, Any]) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: list(pysort.sort_lines(LINES, **way)), range(4)))
    assert found == [IN_ORDER] * 4


def test_an_iterator_may_move_to_another_thread() -> None:
    lines = pysort.sort_lines(LINES, **SPILLING)
    take(lines, 10)
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.extend(lines))
    thread.start()
    thread.join()
    assert found == IN_ORDER[10:]


def in_child(work: Any) -> int:
    """Runs it in a child of fork(). Returns its exit status, 0 when it returned True; a child that hangs is killed."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            signal.alarm(60)
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_child_of_a_worker_thread_may_sort() -> None:
    def job(_: int) -> tuple[bool, int]:
        is_right = list(pysort.sort_lines(LINES, **SPILLING)) == IN_ORDER
        return is_right, in_child(lambda: list(pysort.sort_lines(LINES, **SPILLING)) == IN_ORDER)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(job, range(3))) == [(True, 0)] * 3


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("taken_n", [0, 10])
def test_a_child_may_neither_go_on_nor_do_harm(tmp_path: Path, way: dict[str, Any], taken_n: int) -> None:
    lines = pysort.sort_lines(LINES, temporary_directories=[tmp_path], **way)
    take(lines, taken_n)

    def read_all() -> bool:
        try:
            list(lines)
        except RuntimeError as error:
            return "process" in str(error) and held(tmp_path)[2] == 0
        return False

    def drop() -> bool:
        nonlocal lines
        del lines
        gc.collect()
        return held(tmp_path)[2] == 0

    assert in_child(read_all) == 0
    assert in_child(drop) == 0
    assert in_child(lambda: lines.close() is None and held(tmp_path)[2] == 0) == 0
    assert list(lines) == IN_ORDER[taken_n:]


@pytest.mark.parametrize("taken_n", [0, 10])
@pytest.mark.parametrize("place", ["global", "cycle", "raise"])
def test_an_interpreter_ends_with_sorts_under_way(taken_n: int, place: str, tmp_path: Path) -> None:
    code = f"""
import pysort
def sort():
    lines = pysort.sort_lines((b"%060d" % (i * 7919 % 150_001) for i in range(150_000)),
        memory="8M", threads=3, temporary_directories=[{str(tmp_path)!r}])
    for _ in range({taken_n}):
        next(lines)
    return lines
lines = sort()
if {place!r} == "cycle":
    lines.myself = lines
    del lines
if {place!r} == "raise":
    raise SystemExit(3)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (3 if place == "raise" else 0, b"")
    assert os.listdir(tmp_path) == []


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in signal.valid_signals()]


def test_the_process_is_left_as_it_was() -> None:
    before = handlers(), dict(os.environ), os.getcwd(), sys.gettrace(), resource.getrlimit(resource.RLIMIT_NOFILE)
    list(pysort.sort_lines(LINES, locale="C", **SPILLING))
    after = handlers(), dict(os.environ), os.getcwd(), sys.gettrace(), resource.getrlimit(resource.RLIMIT_NOFILE)
    assert after == before


PEAK = """
import os, sys, pysort
def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
def lines(n):
    for i in range(n):
        yield KIND(b"%0999d\\n" % (i * 2654435761 % 4294967291))
KIND = bytes.decode if sys.argv[1] == "str" else bytes
key = (lambda line: int(line[900:])) if sys.argv[2] == "int" else None
list(pysort.sort_lines(lines(10), memory="1M", key=key))
base, last, n = peak(), KIND(b""), 0
for line in pysort.sort_lines(lines(300_000), memory="32M", key=key):
    assert line > last
    last = line
    n += 1
assert n == 300_000
print(peak() - base)
"""


@pytest.mark.parametrize(("kind", "key"), [("bytes", "none"), ("str", "int")])
def test_300_megabytes_in_32(kind: str, key: str) -> None:
    done = subprocess.run([sys.executable, "-c", PEAK, kind, key], capture_output=True, check=True)
    assert int(done.stdout) <= (32 + 40) << 10
