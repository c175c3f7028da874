"""--compress-program on the command line: GNU sort's bytes and status where 9.1 agrees with the newest release, literal
messages where it does not."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import support

RNG = random.Random(8)
NUMBERS = b"".join(b"%d some text that compresses\n" % RNG.randrange(10**6) for _ in range(40_000))
SORTED = b"".join(sorted(NUMBERS.splitlines(keepends=True)))
SPILLS = ["-S", "200K", "-T", "tmp"]

FLIP = "tr '\\000-\\377' '\\200-\\377\\000-\\177'"
ABNORMAL = b"sort: './PROG' [-d] terminated abnormally\n"

Program = Callable[[str], list[str]]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Makes a program PROG out of a shell script; returns the arguments for a sort that spills through it."""
    (tmp_path / "tmp").mkdir()

    def make(script: str) -> list[str]:
        path = tmp_path / "PROG"
        path.write_text(script)
        path.chmod(0o755)
        return [*SPILLS, "--compress-program=./PROG"]

    return make


def run(args: list[str], cwd: Path, **options: object) -> support.Result:
    result = support.run(support.CONTENDER, args, cwd, data=NUMBERS, **options)  # type: ignore[arg-type]
    assert os.listdir(cwd / "tmp") == []
    return result._replace(stderr=support.normalized(result.stderr))


def logging(log: str, then: str) -> str:
    """A script that notes its argument."""
    return f'#!/bin/sh\necho "$$ [$*]" >> {log}\n{then}\n'


@support.needs_gnu
@pytest.mark.parametrize("command", ["gzip", "./PROG"])
@pytest.mark.parametrize("args", [[], ["-u"], ["-s", "-k1,1n"], ["-r", "-k2"]])
def test_the_output_is_gnus(command: str, args: list[str], tmp_path: Path, program: Program) -> None:
    program(f"#!/bin/sh\nexec {FLIP}\n")
    args = [*SPILLS, f"--compress-program={command}", *args]
    ours = run(args, tmp_path)
    gnus = support.run(support.GNU, args, tmp_path, data=NUMBERS)
    assert (ours.status, ours.stdout, ours.stderr) == (gnus.status, gnus.stdout, gnus.stderr)
    assert ours.status == 0


def test_every_run_is_compressed_and_each_is_read_once(tmp_path: Path, program: Program) -> None:
    result = run(program(logging("log", f"exec {FLIP}")), tmp_path)
    assert (result.status, result.stdout, result.stderr) == (0, SORTED, b"")
    arguments = [line.split()[1] for line in (tmp_path / "log").read_text().splitlines()]
    assert arguments.count("[]") == arguments.count("[-d]") > 10
    assert set(arguments) == {"[]", "[-d]"}


def test_without_spilling_the_program_is_not_needed(tmp_path: Path, program: Program) -> None:
    args = ["--compress-program=no-such-program", "-S", "100M"]
    result = run(program("") and args, tmp_path)
    assert (result.status, result.stdout, result.stderr) == (0, SORTED, b"")


def test_one_that_is_missing_is_warned_of_once_and_the_sort_goes_on(tmp_path: Path, program: Program) -> None:
    program("")
    result = run([*SPILLS, "--compress-program=missing"], tmp_path)
    assert (result.status, result.stdout) == (0, SORTED)
    assert result.stderr == b"sort: could not run compress program 'missing': No such file or directory\n"


def test_a_script_that_only_a_shell_could_run_is_not_executed(tmp_path: Path, program: Program) -> None:
    result = run(program("touch executed; exec cat\n"), tmp_path)
    assert (result.status, result.stdout) == (0, SORTED)
    assert result.stderr == b"sort: could not run compress program './PROG': Exec format error\n"
    assert not (tmp_path / "executed").exists()


def test_a_name_is_not_split_into_words(tmp_path: Path, program: Program) -> None:
    program("")
    result = run([*SPILLS, "--compress-program=gzip -1"], tmp_path)
    assert (result.status, result.stdout) == (0, SORTED)
    assert result.stderr == b"sort: could not run compress program 'gzip -1': No such file or directory\n"


def test_a_warning_that_cannot_be_written_counts(tmp_path: Path, program: Program) -> None:
    program("")
    with open("/dev/full", "wb") as full:
        result = run([*SPILLS, "--compress-program=missing"], tmp_path, stderr=full)
    assert (result.status, result.stdout) == (2, SORTED)


@support.needs_gnu
@pytest.mark.parametrize(
    "script",
    [
        'cat > /dev/null; [ "$1" = -d ] || exit 1',
        '[ "$1" != -d ] || exit 1; exec cat',
        '[ "$1" != -d ] || kill -9 $$; exec cat',
        'cat; [ "$1" = -d ] || kill -15 $$',
        '[ "$1" != -d ] && exec cat; cat; exit 1',
    ],
)
def test_one_that_fails_ends_the_sort(script: str, tmp_path: Path, program: Program) -> None:
    args = program(f"#!/bin/sh\n{script}\n")
    ours = run(args, tmp_path)
    assert (ours.status, ours.stderr) == (2, ABNORMAL)
    gnus = support.run(support.GNU, args, tmp_path, data=NUMBERS)
    assert (gnus.status, gnus.stderr) == (ours.status, ours.stderr)


@pytest.mark.parametrize("script", ["exit 0", "exit 1", "exec head -c 10"])
def test_one_that_reads_too_little_is_a_write_failure_and_not_a_signal(
    script: str, tmp_path: Path, program: Program
) -> None:
    args = program(f"#!/bin/sh\n{script}\n")
    args[1] = "1M"
    result = run(args, tmp_path)
    assert result.status == 2
    assert re.fullmatch(rb"sort: write failed: tmp: Broken pipe \(run 0, offset \d+\)\n", result.stderr)


def test_one_that_has_gone_when_runs_are_merged_is_an_error(tmp_path: Path, program: Program) -> None:
    result = run(program('#!/bin/sh\ncat; rm -f "$0"\n'), tmp_path)
    assert result.status == 2
    warning = b"sort: could not run compress program './PROG': No such file or directory\n"
    assert result.stderr == warning + warning.replace(b"PROG'", b"PROG' -d")


def test_a_reader_that_goes_away_still_ends_the_sort_silently(tmp_path: Path, program: Program) -> None:
    args = program(f"#!/bin/sh\nexec {FLIP}\n")
    process = support.start(support.CONTENDER, args, tmp_path)
    with support.put_away(process):
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(NUMBERS)
        process.stdin.close()
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(support.TIMEOUT_S) == -signal.SIGPIPE


@pytest.mark.parametrize(("args", "most"), [([], 18), (["--batch-size=3"], 5)])
def test_no_more_programs_run_at_a_time_than_are_merged(
    args: list[str], most: int, tmp_path: Path, program: Program
) -> None:
    script = logging("log", f'{FLIP}; echo "$$ end" >> log; exec 0<&- 1>&-')
    (tmp_path / "log").touch()
    data = NUMBERS[: 15_000 * 30]
    program(script)
    options = ["-S", "30K", "-T", "tmp", "--compress-program=./PROG", *args]
    result = support.run(support.CONTENDER, options, tmp_path, data=data)
    assert result.status == 0
    running: set[str] = set()
    peak = 0
    for line in (tmp_path / "log").read_text().splitlines():
        pid, what = line.split()
        if what == "end":
            running.discard(pid)
        else:
            running.add(pid)
        peak = max(peak, len(running))
    assert not running
    assert 3 <= peak <= most


@pytest.mark.parametrize("ignored", [(), ("CHLD",)])
def test_an_ignored_sigchld_does_not_hide_a_failure(ignored: tuple[str, ...], tmp_path: Path, program: Program) -> None:
    args = program('#!/bin/sh\n[ "$1" != -d ] && exec cat; cat; exit 1\n')
    result = run(args, tmp_path, ignored=ignored)
    assert (result.status, result.stderr) == (2, ABNORMAL)


def test_children_that_the_sort_inherits_are_left_alone(tmp_path: Path, program: Program) -> None:
    program(f"#!/bin/sh\nexec {FLIP}\n")
    script = '(exit 3) & sleep 0.1 & exec "$@" -S 200K -T tmp --compress-program=./PROG numbers'
    (tmp_path / "numbers").write_bytes(NUMBERS)
    result = support.shell(script, tmp_path, support.CONTENDER)
    assert (result.status, result.stdout, result.stderr) == (0, SORTED, b"")


@pytest.mark.parametrize("limit", [12, 16, 24])
def test_with_few_descriptors_fewer_runs_are_merged_at_a_time(limit: int, tmp_path: Path, program: Program) -> None:
    args = program(logging("log", f"exec {FLIP}"))
    result = run(args, tmp_path, limits={"NOFILE": limit})
    assert (result.status, result.stdout) == (0, SORTED)
    warning = b"sort: could not run compress program './PROG': Too many open files\n"
    assert result.stderr == (b"" if limit > 12 else result.stderr and warning)


# Whichever comes first fails. Where that is not the one that is read first, the sort has to wait for the other to end.
FIRST_FAILS = """[ "$1" != -d ] && exec cat; mkdir first && exit 1; exec sleep 5"""


@pytest.mark.parametrize("script", ["exec cat", "exit 1", '[ "$1" != -d ] && exec cat; exit 1', FIRST_FAILS])
def test_no_process_and_no_descriptor_is_left(script: str, tmp_path: Path, program: Program) -> None:
    """In one process, so that what is left can be counted when the sort is over."""
    program(f"#!/bin/sh\n{script}\n")
    (tmp_path / "numbers").write_bytes(NUMBERS)
    code = """if True:
        import os
        from pysort import cli
        before = os.listdir("/proc/self/fd")
        cli.main(b"pysort -S 1M -T tmp --compress-program=./PROG numbers".split())
        assert os.listdir("/proc/self/fd") == before
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            os._exit(44)
    """
    command = [sys.executable, "-c", code]
    devnull = subprocess.DEVNULL
    result = subprocess.run(
        command, cwd=tmp_path, stdout=devnull, stderr=devnull, check=False, timeout=support.TIMEOUT_S / 2
    )
    assert result.returncode == 44
