"""--progress: in a real terminal, what is seen while the job goes on and what is left when it has ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import support
from hypothesis import given
from hypothesis import strategies as st
from support import CONTENDER, run

from pysort.gauge import Gauge
from pysort.outlook import Outlook
from pysort.stats import SortStats

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort has no such option")

WIDTH = 80
TEXT = b"".join(b"%06d\n" % (i * 7919 % 1_000_003) for i in range(300_000))
SORTED = b"".join(sorted(TEXT.splitlines(keepends=True)))
# A write that waits is not counted yet.
BAR = rb"(?:sorting|writing|merging[ 0-9/]*): +(\d+)%\|"
LINE = re.compile(
    rb"sort: (\w[\w /]*): (?:(\d+)%, )?(\d+)(?: of (\d+))? bytes, \d+ s elapsed(?:, about \d+ s left)?\r?\n"
)


class Terminal:
    """A terminal of WIDTH columns. shown: all that was written to it."""

    def __init__(self) -> None:
        self.master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("4H", 24, WIDTH, 0, 0))
        self.shown = b""

    def take(self) -> None:
        while select.select([self.master], [], [], 0)[0]:
            self.shown += os.read(self.master, 65536)

    def wait_for(self, pattern: bytes) -> re.Match[bytes]:
        end = time.monotonic() + support.TIMEOUT_S
        while not (found := re.search(pattern, self.shown)):
            assert time.monotonic() < end, self.shown
            time.sleep(0.02)
            self.take()
        return found

    def screen(self) -> list[str]:
        """What a reader has before him: carriage returns go back to the beginning of the line."""
        self.take()
        lines = [[" "] * 3 * WIDTH]
        at = 0
        for char in self.shown.decode():
            if char == "\n":
                lines.append([" "] * 3 * WIDTH)
            elif char == "\r":
                at = 0
            else:
                lines[-1][at] = char
                at += 1
        return ["".join(line).rstrip() for line in lines]

    def close(self) -> None:
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(TEXT)
    return path


@contextlib.contextmanager
def job(file: Path, terminal: Terminal, *args: str, ignored: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """A job whose output nobody reads yet, so that it waits when it has written what a pipe holds."""
    process = support.start(CONTENDER, [*args, "file"], file.parent, stderr=terminal.slave, ignored=ignored)
    with support.put_away(process):
        yield process


def finish(process: subprocess.Popen[bytes], terminal: Terminal) -> bytes:
    """Read the output bit by bit, while the terminal is looked at."""
    assert process.stdout is not None
    output = b""
    while piece := os.read(process.stdout.fileno(), 65536):
        output += piece
        terminal.take()
    process.wait(support.TIMEOUT_S)
    return output


def test_a_bar_that_leaves_nothing_behind(file: Path, terminal: Terminal) -> None:
    """In memory: half of the work is done when everything has been read."""
    with job(file, terminal, "--progress") as process:
        found = terminal.wait_for(BAR)
        assert 50 <= int(found[1]) <= 55
        assert finish(process, terminal) == SORTED
        assert process.returncode == 0
    assert terminal.screen() == [""]


@pytest.mark.parametrize("options", [["-S", "256K"], ["-S", "64K", "--batch-size=3"], []], ids=" ".join)
def test_percents_never_go_back(file: Path, terminal: Terminal, options: list[str]) -> None:
    with job(file, terminal, "--progress=always", *options) as process:
        terminal.wait_for(BAR)
        assert process.stdout is not None
        for _ in range(8):  # three quarters of it
            for _ in range(3):
                os.read(process.stdout.fileno(), 65536)
            time.sleep(0.1)
            terminal.take()
        finish(process, terminal)
    percents = [int(percent) for percent in re.findall(rb"(\d+)%\|", terminal.shown)]
    assert len(set(percents)) > 1
    assert percents == sorted(percents)
    assert terminal.screen() == [""]


def test_half_of_the_bytes_is_half_of_the_bar(file: Path, terminal: Terminal) -> None:
    """Spilled and merged once, four moves of each byte count, and the last one has just begun: 2/3."""
    with job(file, terminal, "--progress", "-S", "256K") as process:
        found = terminal.wait_for(BAR)
        process.send_signal(signal.SIGUSR1)
        line = terminal.wait_for(LINE.pattern)
        assert 66 <= int(line[2]) <= 72
        assert int(line[2]) >= int(found[1])
        assert 0 <= 3 * (len(TEXT) + 1) - int(line[4]) < 100  # of each run the last byte may not be foreseen
        assert finish(process, terminal) == SORTED
    assert [text.partition(": ")[2] for text in terminal.screen()] == [line[0].decode().strip().partition(": ")[2], ""]


def test_a_short_job_shows_nothing_and_loads_no_tqdm(file: Path, terminal: Terminal) -> None:
    (file.parent / "short").write_bytes(b"b\na\n")
    process = support.start(
        [sys.executable, "-X", "importtime", "-m", "pysort"],
        ["--progress", "short"],
        file.parent,
        stderr=terminal.slave,
    )
    with support.put_away(process):
        assert finish(process, terminal) == b"a\nb\n"
    terminal.take()
    assert b"pysort.progress" in terminal.shown
    assert b"tqdm" not in terminal.shown
    assert b"%|" not in terminal.shown


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT"])
def test_a_signal_takes_the_bar_away_first(file: Path, terminal: Terminal, name: str) -> None:
    with job(file, terminal, "--progress=always") as process:
        terminal.wait_for(BAR)
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert process.wait(20) == -getattr(signal, f"SIG{name}")
    assert terminal.screen() == [""]


def test_a_signal_that_was_ignored_stays_ignored(file: Path, terminal: Terminal) -> None:
    with job(file, terminal, "--progress=always", ignored=("INT", "HUP")) as process:
        terminal.wait_for(BAR)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        assert finish(process, terminal) == SORTED
        assert process.returncode == 0


def test_a_reader_that_left(file: Path, terminal: Terminal) -> None:
    with job(file, terminal, "--progress=always") as process:
        terminal.wait_for(BAR)
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(20) == -signal.SIGPIPE
    assert terminal.screen() == [""]


def test_an_error_stands_alone_on_the_screen(tmp_path: Path, terminal: Terminal) -> None:
    process = support.start(
        CONTENDER, ["--progress=always", "-S", "64K", "-T", "missing"], tmp_path, stderr=terminal.slave
    )
    with support.put_away(process):
        assert process.stdin is not None
        process.stdin.write(b"a\n" * 1000)
        process.stdin.flush()
        terminal.wait_for(rb"reading: [\d.]+k?B")
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(TEXT)
        assert process.wait(20) == 2
    seen = terminal.screen()
    assert seen[1:] == [""]
    assert re.search(r"cannot create temporary file in '?missing'?: No such file or directory$", seen[0]), seen


def test_a_message_does_not_stand_in_the_bar(file: Path, terminal: Terminal) -> None:
    """The statistics come while the job has just ended; the bar is gone by then."""
    with job(file, terminal, "--progress=always", "--stats=json") as process:
        terminal.wait_for(BAR)
        finish(process, terminal)
    terminal.take()
    assert re.search(rb"\r *\r\{\"status\": 0", terminal.shown)


def test_without_a_terminal_there_is_no_bar_but_an_answer_to_sigusr1(tmp_path: Path) -> None:
    process = support.start(CONTENDER, ["--progress"], tmp_path)
    with support.put_away(process):
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(b"b\na\n" * 100_000)
        process.stdin.flush()
        wait_until_blocked(process)
        for _ in range(2):
            process.send_signal(signal.SIGUSR1)
            line = process.stderr.readline()
            found = LINE.search(support.normalized(line))
            assert found and found[1] == b"reading" and found[2] is None
        result = support.finish(process, b"c\n")
    assert result == (0, b"a\n" * 100_000 + b"b\n" * 100_000 + b"c\n", b"")


def wait_until_blocked(process: subprocess.Popen[bytes]) -> None:
    """Until SIGUSR1 is among the signals that the main thread blocks."""
    end = time.monotonic() + support.TIMEOUT_S
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        pytest.skip("there is no /proc")
    while True:
        blocked = int(re.search(r"SigBlk:\s+(\w+)", status.read_text())[1], 16)  # type: ignore[index]
        if blocked >> (signal.SIGUSR1 - 1) & 1:
            return
        assert time.monotonic() < end
        time.sleep(0.02)


def test_auto_is_silent_where_standard_error_is_no_terminal(file: Path) -> None:
    assert run(CONTENDER, ["--progress=auto", "-S", "256K", "file"], file.parent) == (0, SORTED, b"")
    assert run(CONTENDER, ["--progress", "-c", "file"], file.parent).status == 1


def test_without_the_option_sigusr1_ends_the_process(tmp_path: Path) -> None:
    process = support.start(CONTENDER, ["--progress=never"], tmp_path)
    with support.put_away(process):
        time.sleep(0.3)
        process.send_signal(signal.SIGUSR1)
        assert process.wait(20) == -signal.SIGUSR1


def test_a_merge_and_a_check(file: Path, terminal: Terminal) -> None:
    file.write_bytes(SORTED)
    with job(file, terminal, "--progress=always", "-m", "file") as process:
        found = terminal.wait_for(BAR)
        assert int(found[1]) <= 10
        assert len(finish(process, terminal)) == 2 * len(SORTED)
    gauge = Gauge("check", Outlook(100), SortStats("c"))
    assert (gauge.read().phase, gauge.read().total_bytes) == ("checking", 100)


def test_compressed_runs_and_their_programs_get_signals(file: Path, terminal: Terminal) -> None:
    program = file.parent / "program"
    program.write_text('#!/bin/sh\ngrep SigBlk /proc/self/status >> blocked\nexec gzip "$@"\n')
    program.chmod(0o755)
    with job(file, terminal, "--progress", "-S", "256K", "--compress-program=./program") as process:
        assert finish(process, terminal) == SORTED
    assert set((file.parent / "blocked").read_text().split()[1::2]) == {"0000000000000000"}


def test_not_together_with_compare_hints(file: Path) -> None:
    result = run(CONTENDER, ["--progress", "--compare-hints", "file"], file.parent)
    assert result.stderr.endswith(b": options '--progress --compare-hints' are incompatible\n")


moves = st.lists(st.tuples(st.sampled_from(["input", "run", "output", "pass"]), st.integers(0, 50)), max_size=40)


@given(st.sampled_from(["sort", "merge", "check"]), st.booleans(), st.integers(0, 100), moves)
def test_whatever_is_counted_the_part_grows_and_stays_below_one(
    mode: str, spills: bool, size: int, moves: list[tuple[str, int]]
) -> None:
    stats = SortStats("c")
    gauge = Gauge(mode, Outlook(size, 3, 16, [size] if spills else []), stats)
    before = 0.0
    for what, n in moves:
        stats.input_bytes += n * (what == "input")
        stats.inputs.count_read(n * (what == "input"))
        stats.runs.count_write(n * (what == "run"))
        stats.runs.line_bytes += n * (what == "run")
        stats.output.count_write(n * (what == "output"))
        stats.merge_passes_n += what == "pass"
        found = gauge.read()
        assert found.part is not None and found.total_bytes is not None
        assert before <= found.part <= 1
        assert found.done_bytes <= found.total_bytes
        before = found.part
