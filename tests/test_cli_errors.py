"""How pysort fails: the same words and status as GNU sort, nothing half written, nothing left behind.

Most tests run both commands in twin directories and compare all that can be seen. Where GNU's own text holds the name
of a temporary file, which pysort has none of, the expectation is spelled out.
"""

from __future__ import annotations

import filecmp
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import support

pytestmark = support.needs_gnu

CONTENTS = {
    "f": b"head\nb\na\nc\n",
    "g": b"e\nd\nno newline",
    "keep": b"precious\n",
    "empty": b"",
    "bytes": b"\xff\xfe\nb\0z\nb\0a\n\xc3\xa9\nb\r\n\0\n",
}


class Twins:
    """Two directories with the same content, one for each command."""

    def __init__(self, parent: Path) -> None:
        self.ours = parent / "ours"
        self.gnus = parent / "gnus"
        for directory in (self.ours, self.gnus):
            directory.mkdir()
            (directory / "d").mkdir()
            (directory / "tmp").mkdir()
            for name, data in CONTENTS.items():
                (directory / name).write_bytes(data)

    def compare(
        self,
        args: Sequence[support.Argument],
        *,
        data: bytes = b"",
        closed: Sequence[int] = (),
        limits: dict[str, int] | None = None,
    ) -> support.Result:
        def run(command: list[str], cwd: Path) -> support.Result:
            return support.run(command, args, cwd, data=data, closed=closed, limits=limits)

        return self._judge(run(support.CONTENDER, self.ours), run(support.GNU, self.gnus))

    def compare_scripts(self, script: str) -> support.Result:
        """The same for a bash script in which "$@" is the command."""
        ours = support.shell(script, self.ours, support.CONTENDER)
        return self._judge(ours, support.shell(script, self.gnus, support.GNU))

    def _judge(self, ours: support.Result, gnus: support.Result) -> support.Result:
        assert support.normalized(ours.stderr) == support.normalized(gnus.stderr)
        assert (ours.status, ours.stdout) == (gnus.status, gnus.stdout)
        assert tree(self.ours) == tree(self.gnus)
        assert os.listdir(self.ours / "tmp") == []
        return ours


def tree(directory: Path) -> dict[str, bytes | None]:
    """Every name below the directory, with the content of each file."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    return Twins(tmp_path)


INPUTS: list[list[support.Argument]] = [
    ["missing"],
    ["f", "missing"],
    ["missing-1", "missing-2"],
    ["d"],
    ["f", "d"],
    ["f/x"],
    [""],
    ["sp ace"],
    ["a'b"],
    ["a:b"],
    ["new\nline"],
    [b"\xff"],
    ["/proc/self/mem"],
]


@pytest.mark.parametrize("args", INPUTS, ids=repr)
def test_an_input_that_cannot_be_read(twins: Twins, args: list[support.Argument]) -> None:
    assert twins.compare(args).status == 2


OUTPUTS: list[list[str]] = [
    ["-o", "new", "missing"],
    ["-o", "keep", "missing"],
    ["-o", "keep", "f", "missing"],
    ["-o", "keep", "d"],
    ["-o", "new", "d"],
    ["-o", "d", "f"],
    ["-o", "d/x/y", "f"],
    ["-o", "", "f"],
    ["-o", "new", "-o", "keep", "f"],
    ["-o", "/dev/full", "f"],
    ["-o", "keep", "-k0", "f"],
]


@pytest.mark.parametrize("args", OUTPUTS, ids=" ".join)
def test_an_output_that_fails_keeps_what_gnu_keeps(twins: Twins, args: list[str]) -> None:
    assert twins.compare(args).status == 2


@pytest.mark.parametrize(
    "args",
    [
        ["-o", "f", "f"],
        ["f", "-o", "f"],
        ["-o", "f", "g", "f"],
        ["-o", "empty", "empty"],
        ["-o", "new", "empty"],
        ["-o", "keep", "-o", "keep", "f"],
        ["-uo", "f", "f", "f"],
    ],
    ids=" ".join,
)
def test_output_onto_an_input(twins: Twins, args: list[str]) -> None:
    assert twins.compare(args) == (0, b"", b"")


KEYS = [
    *("-kx", "-k", "-k-1", "-k0", "-k1.0", "-k1.", "-k2.,3", "-k1,", "-k1,x", "-k1.1,-k0", "-k1,0", "-k1x"),
    *("-k1,2,3", "-k1.2.3", "-k1 ,2", "-k2,2x", "-k 0", "-k'", "-k1\\", "-k\n", "-kb1", "-k1,1nb!"),
    *("-k1.1.1", "-k,", "-k.", "-k1,.2", "-k1n,0n", "-k99999999999999999999,0"),
]
SIZES = [
    *("-Sa", "-S", "-S-1", "-Sb", "-S1x", "-S1KB", "-S1KiB", "-S1e", "-S1.5", "-S1p", "-S1Z"),
    *("--buffer-size=1x", "--buffer-size=", "-S 1 K", "-S%"),
]
COUNTS = [
    *("--batch-size=0", "--batch-size=1", "--batch-size=-1", "--batch-size=a", "--batch-size="),
    *("--batch-size=2k", "--batch-size=99999999999999999999", "--parallel=-1", "--parallel=a"),
    *("--parallel=", "--parallel=1k", "--parallel=0"),
]
SEPARATORS = [
    *("-t", "-tab", "-t,,", "-t\\1", "-t,\0-t;", "-t\n\n"),
]
SPELLINGS = [
    *("--foo", "-j", "-/", "--version=1", "--help=x", "--r", "--c", "--s", "--ver", "--key", "--k"),
    *("--buffer-size", "--sort=foo", "--sort=", "--sort", "--sort=n,", "--check=foo", "--check="),
    *("--reverse=x", "-oa\0-ob", "-dn", "-in", "-fdn", "-k1,1dn", "-dr\0-k1,1n\0-k2,2in", "-k1\0-nd"),
    *("-nT", "-n-", "--=x", "-\0--bogus"),
]


@pytest.mark.parametrize("words", KEYS + SIZES + COUNTS + SEPARATORS + SPELLINGS, ids=repr)
def test_a_bad_option(twins: Twins, words: str) -> None:
    """Words are split at NULs. Input is there, to show that nothing of it gets out."""
    result = twins.compare([*words.split("\0")], data=b"b\na\n", limits={"NOFILE": 64})
    assert result.status in (1, 2)
    assert result.stdout == b""


def test_the_first_mistake_is_the_one_reported(twins: Twins) -> None:
    for words in ("-k0 --foo", "--foo -k0", "-k0 --help", "-S1x -k0 -t,,", "missing -dn", "-dn -k0"):
        assert twins.compare(words.split()).status == 2


@pytest.mark.parametrize(
    "script",
    [
        '{ read -r header; "$@"; } < f',
        '"$@" - - < f',
        '"$@" - f - < g',
        '("$@" > /dev/null; cat) < f',
        '("$@" missing; cat) < f',
        '"$@" -o f < f',
        'cat f | "$@" -o f',
        'cat f g | "$@" -u -o g - f',
        '"$@" f 1<> f',
        '"$@" f >> f',
        '"$@" f g >> keep',
        '"$@" /dev/stdin < f',
        'cat f | "$@" /dev/fd/0 g',
        '"$@" <(cat f) <(cat g)',
        '"$@" < /dev/null',
        '"$@" -o /dev/stdout f | cat',
        '"$@" f > "d/out"',
        'cd d && "$@" ../f -o ../f',
    ],
)
def test_a_shell_script_sees_no_difference(twins: Twins, script: str) -> None:
    twins.compare_scripts(script)


@pytest.mark.parametrize(
    "script",
    [
        '"$@" <&-',
        '"$@" - <&-',
        '"$@" f <&-',
        '"$@" f >&-',
        '"$@" empty >&-',
        '"$@" /dev/null >&-',
        '"$@" -o new f >&-',
        '"$@" -o new f <&- >&-',
        '"$@" -o new f <&- >&- 2>&-',
        '"$@" f 2>&-',
        '"$@" missing 2>&-',
        '"$@" missing 2> /dev/full',
        '"$@" -k0 2>&-',
        '"$@" f > /dev/full',
        '"$@" empty > /dev/full',
        'seq 300000 | "$@" > /dev/full',
        'seq 300000 | "$@" -S 64K -T tmp > /dev/full',
        'seq 300000 | "$@" -S 64K -T tmp -o /dev/full',
        'seq 300000 | "$@" -S 64K -T missing',
        'seq 300000 | TMPDIR=missing "$@" -S 64K',
        'seq 300000 | TMPDIR=tmp "$@" -S 64K',
        'seq 300000 | "$@" -S 64K -T f',
        'seq 300000 | "$@" -S 64K -T tmp - d',
    ],
)
def test_streams_that_are_closed_or_full(twins: Twins, script: str) -> None:
    twins.compare_scripts(script)


@pytest.mark.parametrize("option", ["--help", "--version"])
@pytest.mark.parametrize("stdout", ["> /dev/full", ">&-"])
def test_help_that_cannot_be_written(tmp_path: Path, option: str, stdout: str) -> None:
    """Whether the reason follows depends in GNU sort on the length of the text."""
    for command in (support.CONTENDER, support.GNU):
        result = support.shell(f'"$@" {option} {stdout}', tmp_path, command)
        assert result.status == 2
        assert re.fullmatch(rb"sort: write error(: [A-Z][a-z ]+)?\n", support.normalized(result.stderr))


@pytest.mark.parametrize("spilling", [[], ["-S", "64K", "-T", "tmp"]], ids=["in memory", "spilling"])
@pytest.mark.parametrize("lines", [b"a\n", b"a\n" * 500_000], ids=["short", "long"])
def test_a_reader_that_left_means_silent_death_by_sigpipe(twins: Twins, spilling: list[str], lines: bytes) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = support.run(support.CONTENDER, spilling, twins.ours, data=lines, stdout=writer)
    finally:
        os.close(writer)
    assert result == (-signal.SIGPIPE, b"", b"")
    assert os.listdir(twins.ours / "tmp") == []


def test_head_ends_a_long_output_quietly(twins: Twins) -> None:
    script = 'set -o pipefail; seq 300000 | "$@" -n -S 64K -T tmp | head -n 1; echo ${PIPESTATUS[@]}'
    assert twins.compare_scripts(script).stdout == b"1\n0 141 0\n"


@pytest.fixture
def full_directory(tmp_path: Path) -> object:
    with support.small_filesystem(tmp_path / "full", "64k"):
        yield tmp_path / "full"


def no_space(directory: str, needed: bytes = rb"more than \d+ bytes needed") -> re.Pattern[bytes]:
    """The directory is named, which part of it did not fit, and how much space there is and is not."""
    name = directory.encode()
    return re.compile(
        rb"\Asort: write failed: " + name + rb": No space left on device \(run \d+, offset \d+\)\n"
        rb"sort: temporary space: " + needed + rb", 0 free in " + name + rb"\n\Z"
    )


@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("args", [["-S", "16K"], ["-S", "16K", "-o", "keep"], ["-S", "16K", "-u"]])
def test_a_full_temporary_directory(tmp_path: Path, full_directory: Path, args: list[str], piped: bool) -> None:
    (tmp_path / "keep").write_bytes(b"precious\n")
    data = b"".join(b"%d\n" % i for i in range(100_000))
    (tmp_path / "in").write_bytes(data)
    names = [] if piped else ["in"]
    result = support.run(support.CONTENDER, [*args, "-T", "full", *names], tmp_path, data=data if piped else b"")
    # One byte more than the file: its last line might lack the newline.
    expected = no_space("full") if piped else no_space("full", rb"up to 588891 bytes needed, \d+ written")
    assert expected.match(support.normalized(result.stderr)), result.stderr
    assert (result.status, result.stdout) == (2, b"")
    assert os.listdir(full_directory) == []
    assert (tmp_path / "keep").read_bytes() == b"precious\n"


def test_a_directory_that_takes_no_more_files_is_full(tmp_path: Path) -> None:
    """The root of the file system is its only inode."""
    (tmp_path / "tmp").mkdir()
    lines = [b"%d\n" % i for i in range(100_000)]
    with support.small_filesystem(tmp_path / "full", "1m,nr_inodes=1"):
        result = support.run(support.CONTENDER, ["-S16K", "-Tfull", "-Tfull"], tmp_path, data=b"".join(lines))
        assert (result.status, result.stdout) == (2, b"")
        assert support.normalized(result.stderr).splitlines()[0] == (
            b"sort: cannot create temporary file in 'full': No space left on device"
        )
        assert b"temporary space: more than 0 bytes needed, 1048576 free in full" in result.stderr
        for directories in (["-Tfull", "-Ttmp"], ["-Ttmp", "-Tfull"]):
            result = support.run(support.CONTENDER, ["-S16K", *directories], tmp_path, data=b"".join(lines))
            assert result == (0, b"".join(sorted(lines)), b"")
        assert os.listdir(tmp_path / "full") == os.listdir(tmp_path / "tmp") == []


def test_another_directory_takes_what_a_full_one_does_not(tmp_path: Path, full_directory: Path) -> None:
    (tmp_path / "tmp").mkdir()
    lines = [b"%d\n" % i for i in range(100_000)]
    result = support.run(support.CONTENDER, ["-S16K", "-Tfull", "-Ttmp"], tmp_path, data=b"".join(lines))
    assert result == (0, b"".join(sorted(lines)), b"")
    assert os.listdir(full_directory) == os.listdir(tmp_path / "tmp") == []


def test_a_full_temporary_directory_ends_a_sort_whose_input_has_fallen_silent(
    tmp_path: Path, full_directory: Path
) -> None:
    """The writer holds the pipe open for good; waiting for it would hang until the time is up."""
    data = b"".join(b"%d\n" % i for i in range(100_000))
    process = support.start(support.CONTENDER, ["-S", "16K", "-T", "full"], tmp_path)
    with support.put_away(process):
        assert process.stdin is not None
        try:
            process.stdin.write(data)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it did not even wait for the end of the data
        assert process.wait(timeout=20) == 2
        assert process.stderr is not None
        assert no_space("full").match(support.normalized(process.stderr.read()))
    assert os.listdir(full_directory) == []


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT"])
@pytest.mark.parametrize("spilled", [True, False], ids=["spilled", "in memory"])
def test_a_signal_kills_at_once_and_leaves_nothing(tmp_path: Path, name: str, spilled: bool) -> None:
    """Stdin stays open and silent, so the process is waiting for it when the signal comes."""
    (tmp_path / "tmp").mkdir()
    args = ["-S", "16K" if spilled else "64M", "-T", "tmp"]
    process = support.start(support.CONTENDER, args, tmp_path, limits={"CORE": 0})
    with support.put_away(process):
        assert process.stdin is not None
        process.stdin.write(b"".join(b"%d\n" % i for i in range(100_000)))
        process.stdin.flush()
        if spilled:
            support.wait_for_spill(process, tmp_path / "tmp")
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert process.wait(timeout=20) == -getattr(signal, f"SIG{name}")
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.parametrize("name", ["INT", "HUP"])
def test_a_signal_that_was_ignored_at_start_stays_ignored(tmp_path: Path, name: str) -> None:
    (tmp_path / "tmp").mkdir()
    args = ["-n", "-S", "16K", "-T", "tmp"]
    process = support.start(support.CONTENDER, args, tmp_path, ignored=[name])
    data = b"".join(b"%d\n" % i for i in range(100_000))
    with support.put_away(process):
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.flush()
        support.wait_for_spill(process, tmp_path / "tmp")
        process.send_signal(getattr(signal, f"SIG{name}"))
        time.sleep(0.1)
        assert support.finish(process) == (0, data, b"")


@pytest.mark.parametrize("options", [[], ["-u"], ["-r"], ["-n"], ["-z"], ["-f"]], ids=str)
@pytest.mark.parametrize(
    "data",
    [
        b"\n" * 1_000_000,
        b"b\0\0\na\0\n\0\n" * 50_000,
        b"\xff\xc3(\n\xc3\xa9\n\x80\n" * 50_000,
        b"x" * 70_000 + b"\nw\n" + b"x" * 69_999,
        b"no newline",
        b"\n\nlast",
    ],
    ids=["empty lines", "NULs", "not UTF-8", "long lines", "one line", "no newline"],
)
def test_odd_but_valid_input(twins: Twins, options: list[str], data: bytes) -> None:
    result = twins.compare([*options, "-S", "256K", "-T", "tmp"], data=data)
    assert (result.status, result.stderr) == (0, b"")


def test_a_line_far_larger_than_the_sort_buffer(tmp_path: Path) -> None:
    """300 MB in one line under -S 16M: more memory is used, nothing is refused."""
    (tmp_path / "tmp").mkdir()
    long_line = b"x" * 300_000_000
    with open(tmp_path / "f", "wb") as file:
        file.writelines([b"y\n", long_line, b"\nb\n"])
    with open(tmp_path / "expected", "wb") as file:
        file.writelines([b"b\n", long_line, b"\ny\n"])
    result = support.run(support.CONTENDER, ["-S", "16M", "-T", "tmp", "-o", "out", "f"], tmp_path)
    assert result == (0, b"", b"")
    assert filecmp.cmp(tmp_path / "out", tmp_path / "expected", shallow=False)
    assert os.listdir(tmp_path / "tmp") == []
    for name in ("f", "expected", "out"):  # pytest keeps the directories of its last three runs
        (tmp_path / name).unlink()


def test_seven_descriptors_are_enough(twins: Twins) -> None:
    data = b"".join(b"%d\n" % i for i in range(100_000))
    args = ["-n", "-S", "16K", "-T", "tmp"]
    assert twins.compare(args, data=data, limits={"NOFILE": 7}) == (0, data, b"")


def test_more_files_than_descriptors(twins: Twins) -> None:
    names = []
    for i in range(100):
        names.append(f"in{i}")
        for directory in (twins.ours, twins.gnus):
            (directory / names[-1]).write_bytes(b"%d\n" % (i % 7))
    result = twins.compare([*names, "-u"], limits={"NOFILE": 16})
    assert result.stdout == b"0\n1\n2\n3\n4\n5\n6\n"


def test_the_sort_reads_nothing_before_it_knows_that_every_input_is_there(twins: Twins) -> None:
    """The FIFO has no writer: opening it would block."""
    for directory in (twins.ours, twins.gnus):
        os.mkfifo(directory / "fifo")
    for command, directory in ((support.CONTENDER, twins.ours), (support.GNU, twins.gnus)):
        result = support.run(command, ["fifo", "missing"], directory, timeout_s=20)
        assert result.status == 2
        assert b"cannot read: missing: No such file" in result.stderr


def test_an_input_cut_short_under_its_reader_ends(tmp_path: Path) -> None:
    """The second input is a FIFO, so the first is truncated while the sort is known to be running."""
    (tmp_path / "f").write_bytes(b"line\n" * 1_000_000)
    os.mkfifo(tmp_path / "fifo")
    process: subprocess.Popen[bytes] = support.start(support.CONTENDER, ["f", "fifo"], tmp_path)
    with support.put_away(process):
        with open(tmp_path / "fifo", "wb") as fifo:
            os.truncate(tmp_path / "f", 0)
            fifo.write(b"zz\n")
        result = support.finish(process)
    assert (result.status, result.stderr) == (0, b"")
    assert re.fullmatch(rb"(line\n)*zz\n", result.stdout)
