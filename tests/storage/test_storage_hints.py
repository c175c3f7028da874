"""Hint strategies: their grammar, and that advice is given in the right place and never fails."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
import threading

import pytest
from storage_support import KINDS, access, message, read_all

from pysort.errors import SortError
from pysort.storage.advice import Advisor
from pysort.storage.handle import Handle
from pysort.storage.hints import HINTS, Strategy, parse_hints
from pysort.storage.iostats import IoStats
from pysort.storage.readers import open_input

SEQUENTIAL = os.POSIX_FADV_SEQUENTIAL
RANDOM = os.POSIX_FADV_RANDOM
NOREUSE = os.POSIX_FADV_NOREUSE
WILLNEED = os.POSIX_FADV_WILLNEED

ADVICE = {
    b"none": [],
    b"sequential": [SEQUENTIAL],
    b"random": [RANDOM],
    b"noreuse": [SEQUENTIAL, NOREUSE],
    b"willneed,noreuse": [SEQUENTIAL, NOREUSE, WILLNEED],
    b"none,willneed": [WILLNEED],
}


@pytest.fixture
def calls(monkeypatch):
    """Every open, advice and read of the process, in order, as it really happens."""
    record = []

    def wrap(name, describe):
        real = getattr(os, name)

        def wrapped(*args, **kwargs):
            record.append(describe(*args))
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, wrapped)

    wrap("open", lambda *args: "open")
    wrap("posix_fadvise", lambda fd, offset, length, advice: ("fadvise", offset, length, advice))
    wrap("readv", lambda *args: "read")
    wrap("preadv", lambda *args: "read")
    return record


@pytest.fixture
def stdin_from():
    """Put a descriptor on 0 for the length of the test."""
    saved = os.dup(0)

    def replace(fd):
        os.dup2(fd, 0)
        os.close(fd)

    yield replace
    os.dup2(saved, 0)
    os.close(saved)


def advised(text):
    return [("fadvise", 0, 0, advice) for advice in ADVICE[text]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"none", "none"),
        (b"sequential", "sequential"),
        (b"random", "random"),
        (b"noreuse", "sequential,noreuse"),
        (b"willneed", "sequential,willneed"),
        (b"sequential,noreuse", "sequential,noreuse"),
        (b"willneed,noreuse,random", "random,noreuse,willneed"),
        (b"none,willneed", "none,willneed"),
        (b"random,random,noreuse,noreuse", "random,noreuse"),
        (b"dontneed,willneed-chunked", "sequential,willneed-chunked,dontneed"),
        (b"none,dontcache", "none,dontcache"),
    ],
)
def test_additions_are_added_to_the_base(text, shown):
    assert str(parse_hints(text, b"--fadvise")) == shown


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"sequental", "sequental"),
        (b"random,x", "x"),
        (b"", ""),
        (b"random,", ""),
        (b"Random", "Random"),
    ],
)
def test_unknown_hints_are_refused_with_the_list_of_hints(text, named):
    with pytest.raises(SortError) as caught:
        parse_hints(text, b"--run-fadvise")
    lines = message(caught.value).split("\n")
    assert lines[0] == f"invalid argument '{named}' for '--run-fadvise'"
    assert lines[1:] == ["Valid arguments are:", *(f"  - '{name}'" for name in HINTS)]
    assert caught.value.usage


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        (b"random,sequential", "sequential", "random"),
        (b"none,random,noreuse", "none", "random"),
        (b"willneed,random,willneed-chunked", "willneed", "willneed-chunked"),
        (b"dontcache,dontneed", "dontneed", "dontcache"),
    ],
)
def test_hints_that_contradict_each_other_are_named(text, first, second):
    with pytest.raises(SortError) as caught:
        parse_hints(text, b"--fadvise")
    assert message(caught.value) == f"hints '{first}' and '{second}' of '--fadvise' are incompatible"
    assert caught.value.usage


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ADVICE)
def test_advice_stands_between_open_and_first_read_of_a_file(text, kind, tmp_path, calls):
    path = tmp_path / "f"
    path.write_bytes(b"b\na\n")
    calls.clear()
    with open_input(os.fsencode(path), access(kind, parse_hints(text, b"-")), IoStats()) as reader:
        assert read_all(reader) == b"b\na\n"
    before_read = calls[: calls.index("read")]
    assert before_read == ["open", *advised(text)]


@pytest.mark.parametrize("text", ADVICE)
def test_advice_comes_before_the_first_read_of_standard_input(text, tmp_path, calls, stdin_from):
    path = tmp_path / "f"
    path.write_bytes(b"b\na\n")
    stdin_from(os.open(path, os.O_RDONLY))
    calls.clear()
    with open_input(b"-", access("pread", parse_hints(text, b"-")), IoStats()) as reader:
        assert read_all(reader) == b"b\na\n"
    assert calls[: calls.index("read")] == advised(text)


def test_advice_on_a_piped_standard_input_is_refused_recorded_and_harmless(calls, stdin_from):
    readable, writable = os.pipe()
    os.write(writable, b"b\na\n")
    os.close(writable)
    stdin_from(readable)
    stats = IoStats()
    with open_input(b"-", access("pread", Strategy("random", ("noreuse",))), stats) as reader:
        assert read_all(reader) == b"b\na\n"
    assert calls[:3] == [("fadvise", 0, 0, RANDOM), ("fadvise", 0, 0, NOREUSE), "read"]
    assert stats.hints == {("random", errno.ESPIPE): 1, ("noreuse", errno.ESPIPE): 1}


def test_advice_on_a_fifo_is_given_between_its_open_and_its_first_read(tmp_path, calls):
    path = tmp_path / "p"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"b\na\n",), daemon=True)
    writer.start()
    stats = IoStats()
    with open_input(os.fsencode(path), access(), stats) as reader:
        assert read_all(reader) == b"b\na\n"
    writer.join()
    ours = [call for call in calls if call != "open"]
    assert ours[:2] == [("fadvise", 0, 0, SEQUENTIAL), "read"]
    assert stats.hints == {("sequential", errno.ESPIPE): 1}


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_the_kernel_sees_open_advice_read_in_that_order(tmp_path):
    path = tmp_path / "input"
    path.write_bytes(b"b\na\n")
    script = """if True:
        import sys
        from pysort.storage.access import Access
        from pysort.storage.hints import parse_hints
        from pysort.storage.iostats import IoStats
        from pysort.storage.readers import open_input
        access = Access("pread", parse_hints(b"noreuse,willneed", b"--fadvise"))
        for name in sys.argv[1].encode(), b"-":
            reader = open_input(name, access, IoStats())
            reader.readinto(memoryview(bytearray(100)))
            reader.close()
    """
    log = tmp_path / "log"
    traced = "trace=openat,fadvise64,read,readv,pread64,preadv,preadv2"
    command = [
        "strace",
        "-y",
        "-o",
        log,
        "-e",
        traced,
        "-P",
        path,
        sys.executable,
        "-c",
        script,
        path,
    ]
    with path.open() as standard_input:
        result = subprocess.run(command, stdin=standard_input, capture_output=True, check=False)
    if b"ptrace" in result.stderr:
        pytest.skip("ptrace is not allowed here")
    assert result.returncode == 0, result.stderr
    lines = [line for line in log.read_text().splitlines() if "input" in line.split(" = ")[0]]
    seen = [line.split("(")[0].rstrip("2") for line in lines]  # preadv2 is preadv with flags
    advice = [line.split(", ")[-1].split(")")[0] for line in lines if line.startswith("fadvise64")]
    three_times = ["fadvise64"] * 3
    assert seen == ["openat", *three_times, "preadv", *three_times, "readv"]
    given = ["POSIX_FADV_SEQUENTIAL", "POSIX_FADV_NOREUSE", "POSIX_FADV_WILLNEED"]
    assert advice == given * 2
    assert all(", 0, 0, " in line for line in lines if line.startswith("fadvise64"))


def given_at_open(strategy, fd):
    """The hints that were given, in order, and their errno."""
    stats = IoStats()
    Advisor(Handle(fd, owned=False), strategy, stats).open()
    return list(stats.hints)


def test_a_socket_a_directory_and_a_device_take_advice_or_refuse_it_without_harm(tmp_path):
    strategy = Strategy("random", ("noreuse", "willneed"))
    left, right = socket.socketpair()
    directory = os.open(tmp_path, os.O_RDONLY)
    null = os.open("/dev/null", os.O_RDONLY)
    try:
        for fd in (left.fileno(), directory, null):
            assert [name for name, _ in given_at_open(strategy, fd)] == list(strategy.hints)
    finally:
        left.close()
        right.close()
        os.close(directory)
        os.close(null)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM])
def test_any_refusal_is_a_result(number, monkeypatch):
    def refuse(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fadvise", refuse)
    assert given_at_open(Strategy("sequential", ("noreuse",)), 0) == [("sequential", number), ("noreuse", number)]


def test_advice_on_a_closed_descriptor_is_a_bug_and_raises():
    readable, writable = os.pipe()
    os.close(readable)
    os.close(writable)
    with pytest.raises(OSError, match="Bad file descriptor"):
        given_at_open(Strategy(), readable)


def test_without_posix_fadvise_hints_are_recorded_as_unsupported(monkeypatch, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"x\n")
    monkeypatch.delattr(os, "posix_fadvise")
    stats = IoStats()
    with open_input(os.fsencode(path), access(), stats) as reader:
        assert read_all(reader) == b"x\n"
    assert stats.hints == {("sequential", errno.ENOSYS): 1}
