"""The API where memory, descriptors and files are limited, by several callers, and in children of fork()."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import support

import pysort

# What a process does with a file of 32 MB, and what it has to find. It is told the way by which its memory is limited.
JOBS = """
import hashlib, os, resource, sys, pysort

limit, out = sys.argv[1:]
if limit != "group":
    number = getattr(resource, "RLIMIT_" + limit)
    resource.setrlimit(number, (400 << 20, 400 << 20))

def digest(lines):
    found = hashlib.sha256()
    for line in lines:
        found.update(line)
    return found.hexdigest()

def lines():
    with open("in", "rb") as file:
        yield from file


by_number = lambda line: int(line[:7])
results = []
for settings in ({}, {"memory": "8M", "threads": 3}, {"memory": "90%", "key": by_number}):
    pysort.sort_file("in", out, temporary_directories=".", **settings)
    assert pysort.check(out, **settings) is None
    with open(out, "rb") as file:
        results.append(digest(file))
    with pysort.sort_lines(lines(), temporary_directories=".", **settings) as found:
        results.append(digest(found))
    pysort.merge([out, out], "merged", unique=True, **settings)
    with open("merged", "rb") as file:
        results.append(digest(file))
assert len(set(results)) == 1, results
print(results[0])
"""
LINES = [b"%07d%s\n" % (i * 7919 % 40_009, b"x" * 792) for i in range(40_009)]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("large")
    (directory / "in").write_bytes(b"".join(LINES))
    return directory


def expected_digest() -> bytes:
    return hashlib.sha256(b"".join(sorted(LINES))).hexdigest().encode() + b"\n"


@pytest.mark.parametrize("limit", ["AS", "DATA"])
def test_memory_that_a_limit_of_the_process_leaves(large: Path, limit: str) -> None:
    result = support.run([sys.executable, "-c", JOBS, limit, "out"], [], large)
    assert result == (0, expected_digest(), b"")
    assert sorted(os.listdir(large)) == ["in", "merged", "out"]


def test_memory_that_a_control_group_leaves(large: Path) -> None:
    with support.memory_group(64 << 20) as command:
        result = support.run([*command, sys.executable, "-c", JOBS, "group", "out"], [], large)
    assert result == (0, expected_digest(), b"")


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
@pytest.mark.parametrize("settings", ["key=len", "crlf=True", "header=1"])
def test_many_inputs_are_merged_in_little_memory(tmp_path: Path, settings: str) -> None:
    """60 inputs of 200 KB in 1 MB."""
    script = f"""if True:
        import pysort
        names = [str(i) for i in range(60)]
        for name in names:
            with open(name, "wb") as file:
                file.writelines(b"%0399d\\n" % i for i in range(500))
        def peak():
            return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
        pysort.merge(names[:2], "out", memory="1M", {settings})
        before = peak()
        pysort.merge(names, "out", memory="1M", {settings})
        print(peak() - before)
    """
    result = support.run([sys.executable, "-c", script], [], tmp_path)
    assert (result.status, result.stderr) == (0, b"")
    assert int(result.stdout) < 8 << 10  # KiB
    assert (tmp_path / "out").stat().st_size in (60 * 500 * 400, (60 * 499 + 1) * 400)


def test_a_line_that_is_longer_than_the_memory_there_is(tmp_path: Path) -> None:
    """An error that can be caught, not the end of the process."""
    script = """if True:
        import resource, pysort
        resource.setrlimit(resource.RLIMIT_DATA, (100 << 20, 100 << 20))
        def lines():
            yield b"x" * (20 << 20)
        for call in (
            lambda: pysort.sort_file("in", "out"),
            lambda: pysort.sort_file("in", "out", key=len),
            lambda: pysort.merge(["in", "in"], "out"),
            lambda: pysort.check("in"),
            lambda: list(pysort.sort_lines(bytes(120 << 20) for _ in range(1))),
        ):
            try:
                call()
            except pysort.SortError as error:
                print(str(error).partition(":")[0])
            except MemoryError:
                print("memory exhausted")
        print(list(pysort.sort_lines(["b", "a"])))
    """
    with (tmp_path / "in").open("wb") as file:
        file.write(b"a\nb\n")
        file.truncate(200 << 20)
    result = support.run([sys.executable, "-c", script], [], tmp_path)
    assert result == (0, b"memory exhausted\n" * 5 + b"['a', 'b']\n", b"")


def numbers(n: int) -> list[bytes]:
    rng = random.Random(n)
    return [b"%d\n" % rng.randrange(10**9) for _ in range(n)]


def key(line: bytes) -> int:
    return int(line) % 1000


def all_functions(directory: Path, lines: list[bytes], **settings: Any) -> bool:
    """Whether each of them is right."""
    source, out = directory / "in", directory / "out"
    source.write_bytes(b"".join(lines))
    expected = sorted(lines, key=key)
    pysort.sort_file(source, out, key=key, **settings)
    found = out.read_bytes() == b"".join(expected)
    found &= pysort.check(out, key=key) is None and pysort.check(source, key=key) is not None
    found &= list(pysort.sort_lines(lines, key=key, **settings)) == expected
    pysort.merge([out, out], directory / "merged", key=key, **settings)
    found &= (directory / "merged").read_bytes() == b"".join(sorted(expected + expected, key=key))
    counted = pysort.sort_lines(lines, count=True, numeric=True, **settings)
    return bool(found and sum(n for _, n in counted) == len(lines))


def test_several_threads(tmp_path: Path) -> None:
    found: list[bool] = []

    def job(i: int) -> None:
        directory = tmp_path / str(i)
        directory.mkdir()
        found.append(all_functions(directory, numbers(5000 + i), memory=["64K", "8M"][i % 2], threads=1 + i % 3))

    threads = [threading.Thread(target=job, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_children_of_fork(tmp_path: Path) -> None:
    """While another thread of the parent sorts, and of a child that has sorted itself."""
    ended = threading.Event()
    lines = numbers(5000)

    def job() -> None:
        while not ended.is_set():
            assert len(list(pysort.sort_lines(lines, memory="8M", threads=3))) == len(lines)

    thread = threading.Thread(target=job)
    thread.start()
    try:
        statuses = [in_child(tmp_path / str(i), 2 * (i == 0)) for i in range(4)]
    finally:
        ended.set()
        thread.join()
    assert statuses == [0] * 4


def in_child(directory: Path, generations_n: int) -> int:
    directory.mkdir()
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        is_right = all_functions(directory, numbers(3000), memory="8M", threads=3)
        status = 2 - is_right * 2
        if generations_n and not status:
            status = in_child(directory / "grandchild", generations_n - 1)
    finally:
        os._exit(status)


Call = Callable[[Path], object]
FAILURES: dict[str, tuple[Call, int, str]] = {
    "missing input": (lambda cwd: pysort.sort_file([cwd / "in", cwd / "no"], cwd / "out"), errno.ENOENT, "no"),
    "missing input of a merge": (lambda cwd: pysort.merge([cwd / "in", cwd / "no"], cwd / "out"), errno.ENOENT, "no"),
    "missing input of a check": (lambda cwd: pysort.check(cwd / "no"), errno.ENOENT, "no"),
    "directory": (lambda cwd: pysort.sort_file(cwd / "dir", cwd / "out"), errno.EISDIR, "dir"),
    "directory under a key function": (
        lambda cwd: pysort.merge([cwd / "in", cwd / "dir"], cwd / "out", key=len),
        errno.EISDIR,
        "dir",
    ),
    "directory to check": (lambda cwd: pysort.check(cwd / "dir", key=len), errno.EISDIR, "dir"),
    "output in no directory": (lambda cwd: pysort.merge(cwd / "in", cwd / "no" / "out"), errno.ENOENT, "no/out"),
    "output that is a directory": (lambda cwd: pysort.sort_file(cwd / "in", cwd / "dir"), errno.EISDIR, "dir"),
    "atomic output in no directory": (
        lambda cwd: pysort.sort_file(cwd / "in", cwd / "no" / "out", atomic=True),
        errno.ENOENT,
        "no/out",
    ),
    "full output": (lambda cwd: pysort.sort_file(cwd / "in", cwd / "full"), errno.ENOSPC, "full"),
    "full output under a key function": (
        lambda cwd: pysort.sort_file(cwd / "in", cwd / "full", key=len, memory="64K"),
        errno.ENOSPC,
        "full",
    ),
    "no temporary directory": (
        lambda cwd: pysort.sort_file(cwd / "in", cwd / "out", memory="64K", temporary_directories=cwd / "no"),
        errno.ENOENT,
        "no",
    ),
    "no random source": (
        lambda cwd: pysort.sort_lines(["a"], random=True, random_source=cwd / "no"),
        errno.ENOENT,
        "no",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_have_errno_and_filename(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").write_bytes(b"".join(numbers(20_000)))
    (tmp_path / "dir").mkdir()
    (tmp_path / "full").symlink_to("/dev/full")
    call, number, file = FAILURES[name]
    before = threading.active_count(), len(os.listdir("/dev/fd"))
    with pytest.raises(pysort.SortError) as caught:
        call(tmp_path)
    assert (caught.value.errno, caught.value.filename) == (number, os.fsencode(tmp_path / file))
    assert os.strerror(number) in str(caught.value)
    assert (threading.active_count(), len(os.listdir("/dev/fd"))) == before
