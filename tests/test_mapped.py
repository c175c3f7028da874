"""Mapped inputs that others cut short while the job runs: a message and status 2, and never death by SIGBUS."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import support

from pysort import kernel

MIB = 1 << 20
PAGE = 4096
CUT_SHORT = b"pysort: read failed: f: cut short while it was mapped\n"

pytestmark = [
    pytest.mark.skipif(
        not hasattr(kernel.load(os.environb.get(b"PYSORT_KERNEL")), "install_guard"),
        reason="only the C kernel can catch SIGBUS",
    ),
    pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort maps nothing"),
]


def maps_input(process: subprocess.Popen[bytes], path: Path) -> bool:
    try:
        return str(path).encode() in Path(f"/proc/{process.pid}/maps").read_bytes()
    except OSError:
        return False


@pytest.mark.parametrize("kept", [0, 1, PAGE // 2, PAGE, 3 * PAGE])
@pytest.mark.parametrize("options", [["-S64M"], ["-S300K"], ["-S64M", "--read-size=128K"]], ids=str)
def test_a_mapped_input_of_a_merge_is_cut_short_while_it_waits(tmp_path: Path, kept: int, options: list[str]) -> None:
    """The other input is a FIFO, so the first is truncated while its window is known to be mapped."""
    path = tmp_path / "f"
    path.write_bytes(b"line\n" * MIB)
    os.mkfifo(tmp_path / "fifo")
    words = ["-m", "--reader=mmap", *options, "f", "fifo"]
    process = support.start(support.CONTENDER, words, tmp_path, stdout=subprocess.DEVNULL)
    with support.put_away(process):
        with contextlib.suppress(BrokenPipeError), open(tmp_path / "fifo", "wb") as fifo:  # it may end at once
            while not maps_input(process, path):
                assert process.poll() is None
            os.truncate(path, kept)
            fifo.write(b"zz\n")
        result = support.finish(process)
    assert (result.status, result.stderr) == (2, CUT_SHORT)


def test_a_mapped_input_is_cut_short_a_hundred_times_at_any_moment(tmp_path: Path) -> None:
    """Before it is mapped, and after, it is a file that is shorter, or as long as it was."""
    rng = random.Random(4)
    path = tmp_path / "f"
    data = b"a line\n" * (2 * MIB // 7)
    ends = []
    for i in range(100):
        path.write_bytes(data)
        words = ["--input-reader=mmap", "--read-size=64K", *(["-S1M"] if i % 2 else []), "f"]
        process = support.start(support.CONTENDER, words, tmp_path, stdout=subprocess.DEVNULL)
        with support.put_away(process):
            while process.poll() is None and not maps_input(process, path):
                pass
            for _ in range(rng.randrange(3000)):
                pass
            os.truncate(path, rng.randrange(len(data)))
            result = support.finish(process)
        ends.append((result.status, result.stderr))
    assert set(ends) <= {(0, b""), (2, CUT_SHORT)}
    assert (2, CUT_SHORT) in ends


COPIES = """if True:
    import mmap, os, sys, threading
    from pysort import kernel
    from pysort.storage import guard
    from pysort.storage.window import Window
    guard.install(kernel.load(b"c"))
    path, size = sys.argv[1], 16 << 20
    target = memoryview(bytearray(size))
    outcomes = set()
    for i in range(100):
        with open(path, "wb") as file:
            file.write(b"x" * size)
        fd = os.open(path, os.O_RDONLY)
        window = Window(fd, 0, size)
        copies = [threading.Thread(target=lambda: outcomes.add(window.copy(0, target))) for _ in range(2)]
        for copy in copies:
            copy.start()
        if i % 3:
            os.truncate(path, 4096 * i)
        for copy in copies:
            copy.join()
        os.truncate(path, 4096)
        assert window.copy(0, target[:4096])
        assert not window.copy(0, target[:8192])
        assert not window.copy(8192, target[:1])
        window.close()
        os.close(fd)
    assert False in outcomes
"""


def test_copies_in_two_threads_end_when_their_file_is_cut_short(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", COPIES, tmp_path / "f"], check=True, timeout=60)


@pytest.mark.parametrize("installed", [True, False])
def test_any_other_sigbus_ends_the_process(tmp_path: Path, installed: bool) -> None:
    script = """if True:
        import mmap, os, signal, sys
        from pysort import kernel
        from pysort.storage import guard
        if sys.argv[2] == "True":
            guard.install(kernel.load(b"c"))
        if sys.argv[3] == "kill":
            os.kill(os.getpid(), signal.SIGBUS)
        file = open(sys.argv[1], "w+b")
        file.write(bytes(8192))
        file.flush()
        mapping = mmap.mmap(file.fileno(), 8192)
        file.truncate(0)
        if sys.argv[3] == "read":
            mapping[5000]
        kernel.load(b"c").copy_guarded(bytes(8192), memoryview(mapping))
    """
    for way in ("kill", "read", "write to"):
        command = [sys.executable, "-c", script, tmp_path / "f", str(installed), way]
        assert subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGBUS


def test_a_mapped_input_may_be_the_output(tmp_path: Path) -> None:
    numbers = [b"%d\n" % i for i in range(200_000)]
    for words in (["-n"], ["-n", "-S300K"], ["-n", "-m"], ["-n", "-m", "-S300K"]):
        (tmp_path / "f").write_bytes(b"".join(numbers if "-m" in words else numbers[::-1]))
        options = ["--input-reader=mmap", "--reader=mmap", "-o", "f", *words, "f"]
        assert support.run(support.CONTENDER, options, tmp_path) == (0, b"", b"")
        assert (tmp_path / "f").read_bytes() == b"".join(numbers)


def test_a_mapped_input_may_grow(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"b\n" * MIB)
    os.mkfifo(tmp_path / "fifo")
    words = ["--input-reader=mmap", "-u", "fifo", "f"]
    process = support.start(support.CONTENDER, words, tmp_path)
    with support.put_away(process):
        grown = threading.Event()

        def grow() -> None:
            with path.open("ab") as file:
                for _ in range(200):
                    file.write(b"c\n" * 1000)
            grown.set()

        with open(tmp_path / "fifo", "wb") as fifo:
            fifo.write(b"a\n")
        writer = threading.Thread(target=grow)
        writer.start()
        result = support.finish(process)
        writer.join()
    assert result.stdout in (b"a\nb\n", b"a\nb\nc\n")
    assert (result.status, result.stderr) == (0, b"")


@pytest.mark.parametrize("flags", ["populated", "32"])
def test_flags_that_do_not_exist_are_refused_even_where_nothing_is_mapped(tmp_path: Path, flags: str) -> None:
    result = support.run(support.CONTENDER, [f"--mmap-flags={flags}"], tmp_path)
    assert result.status == 2
    assert result.stderr.startswith(b"pysort: invalid argument '%s' for '--mmap-flags'\n" % flags.encode())
    assert b"\n  - 'populate'\n" in result.stderr
