"""Temporary files are private, whatever directory they are in, and whoever has prepared it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import support
from test_cli_errors import Twins

LINES = [b"%d\n" % (i * 7919 % 20_000) for i in range(20_000)]
TEXT = b"".join(LINES)
SORTED = b"".join(sorted(LINES))
SPILL = ["-S16K"]
LONG = "x" * 255
# File systems without unnamed files are played by one that has lost them; what follows is done before the sort begins.
NAMED = "import os, sys; from pysort.cli import main; del os.O_TMPFILE; {}; sys.exit(main())"
# Names of temporary files as they would be if they could be foreseen: sortaaaaaa, sortbbbbbb and so on.
FORESEEN = "n = iter(range(1000)); os.urandom = lambda size: bytes([next(n) % 62]) * size"


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    return Twins(tmp_path)


def named(*statements: str) -> list[str]:
    return [support.CONTENDER[0], "-c", NAMED.format("; ".join(statements) or "0")]


@pytest.fixture(params=["unnamed", "named"])
def command(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "unnamed" and not hasattr(os, "O_TMPFILE"):
        pytest.skip("no unnamed files here")
    return support.CONTENDER if request.param == "unnamed" else named()


def spill_files(process: support.subprocess.Popen[bytes], directory: Path) -> list[Path]:
    links = Path(f"/proc/{process.pid}/fd").iterdir()
    return [link for link in links if os.readlink(link).startswith(f"{directory}/")]


def test_a_temporary_file_has_no_name_and_is_its_owners_alone(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    process = support.start(["sh", "-c", 'umask 0; exec "$@"', "sh", *command], [*SPILL, "-Ttmp"], tmp_path)
    with support.put_away(process):
        assert process.stdin is not None
        process.stdin.write(TEXT)
        process.stdin.flush()
        support.wait_for_spill(process, tmp_path / "tmp")
        (link,) = spill_files(process, tmp_path / "tmp")
        status = link.stat()
        assert (stat.S_IMODE(status.st_mode), status.st_nlink, status.st_uid) == (0o600, 0, os.geteuid())
        flags = (Path(f"/proc/{process.pid}/fdinfo") / link.name).read_text()
        assert int(flags.split("flags:")[1].split()[0], 8) & os.O_CLOEXEC
        assert os.listdir(tmp_path / "tmp") == []
        assert support.finish(process) == (0, SORTED, b"")


def test_a_program_that_compresses_inherits_its_pipes_and_nothing_else(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    program = tmp_path / "PROG"
    # The shell's own descriptor of the script is 10 or above, and the listing's is that of `ls`.
    program.write_text(f'#!/bin/sh\nfor fd in /proc/$$/fd/*; do readlink "$fd"; done >> {tmp_path}/log\nexec cat\n')
    program.chmod(0o755)
    open_here = os.open(tmp_path / "tmp", os.O_RDONLY)
    try:
        args = [*SPILL, "-Ttmp", "--batch-size=4", "--compress-program=./PROG", "-oout"]
        assert support.run(command, args, tmp_path, data=TEXT) == (0, b"", b"")
    finally:
        os.close(open_here)
    assert (tmp_path / "out").read_bytes() == SORTED
    targets = (tmp_path / "log").read_text().splitlines()
    assert len(targets) > 20
    kinds = {target.partition(":")[0] for target in targets}
    assert kinds <= {"pipe", str(program), str(tmp_path / "log")}, kinds


def test_a_name_cannot_be_foreseen(tmp_path: Path) -> None:
    """Two processes of the same beginnings open different names, each once."""
    (tmp_path / "tmp").mkdir()
    log = "o = os.open; os.open = lambda *a: (b'/sort' in os.fsencode(a[0]) and print(a[0], file=sys.stderr), o(*a))[1]"
    seen = []
    for _ in range(3):
        env = {"PYTHONHASHSEED": "0"}
        result = support.run(named(log), [*SPILL, "-Ttmp", "-oout"], tmp_path, data=TEXT, env=env)
        assert result.status == 0
        seen += result.stderr.splitlines()
    assert len(set(seen)) == len(seen) == 3


def prepare_link(victim: Path, path: Path) -> None:
    path.symlink_to(victim)


def prepare_dangling(victim: Path, path: Path) -> None:
    path.symlink_to(victim.parent / "not there")


def prepare_hard_link(victim: Path, path: Path) -> None:
    os.link(victim, path)


def prepare_fifo(_: Path, path: Path) -> None:
    os.mkfifo(path)


def prepare_directory(_: Path, path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    "prepare", [prepare_link, prepare_dangling, prepare_hard_link, prepare_fifo, prepare_directory]
)
def test_what_lies_in_a_directory_that_all_may_write_is_not_touched(
    prepare: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    """Even if somebody had guessed the names."""
    tmp = tmp_path / "tmp"
    tmp.mkdir()
    tmp.chmod(0o1777)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious\n")
    for letter in "abcdefgh":
        prepare(victim, tmp / f"sort{letter * 6}")
    before = sorted(os.listdir(tmp))
    result = support.run(named(FORESEEN), [*SPILL, "-Ttmp"], tmp_path, data=TEXT)
    assert result == (0, SORTED, b"")
    assert victim.read_bytes() == b"precious\n"
    assert sorted(os.listdir(tmp)) == before
    assert sorted(os.listdir(tmp_path)) == ["tmp", "victim"]


def test_when_every_name_is_taken_it_gives_up(tmp_path: Path) -> None:
    tmp = tmp_path / "tmp"
    tmp.mkdir()
    (tmp / "sortaaaaaa").symlink_to("/dev/null")
    same = "os.urandom = lambda size: bytes(size)"
    result = support.run(named(same), [*SPILL, "-Ttmp"], tmp_path, data=TEXT)
    assert (result.status, result.stdout) == (2, b"")
    assert support.normalized(result.stderr).endswith(b": cannot create temporary file in 'tmp': File exists\n")


HOSTILE = [
    *("missing", "f", "f/x", "keep/", "/dev/null", "/proc", "dangling", "loop", "fifo", "none/../tmp"),
    *("", "a\nb", "\x1b[31m", "-T", "'", "caf\u00e9", LONG, LONG + "x", "/".join([LONG] * 20)),
]


@support.needs_gnu
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: repr(name)[:20])
def test_a_directory_that_is_none_says_so_as_gnu_sort_does(twins: Twins, name: str) -> None:
    """And it is not noticed where nothing is spilled."""
    if name == "" and os.geteuid():
        pytest.skip("only root may write to /")
    for directory in (twins.ours, twins.gnus):
        (directory / "dangling").symlink_to("nowhere")
        (directory / "loop").symlink_to("loop")
        os.mkfifo(directory / "fifo")
        (directory / "in").write_bytes(TEXT)
    quoted = support.shlex.quote(name)
    twins.compare_scripts(f'"$@" -S16K -T {quoted} -o keep in')
    twins.compare_scripts(f'export TMPDIR={quoted}; "$@" -S16K -o keep in; "$@" -S64M -o keep in')


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "-T", " ", "'\"", "caf\u00e9", LONG])
def test_odd_names_of_directories_are_directories(command: list[str], name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(name)
    for args, env in (([f"-T{name}/"], {}), (["-Tlink/../link"], {}), ([], {"TMPDIR": f"{tmp_path}/{name}"})):
        result = support.run(command, [*SPILL, *args], tmp_path, data=TEXT, env=env)
        assert result == (0, SORTED, b"")
    assert os.listdir(tmp_path / name) == []


def test_bytes_that_are_no_text_are_a_name(tmp_path: Path) -> None:
    name = b"\xff\xfe"
    os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    result = support.run(support.CONTENDER, [*SPILL, b"-T" + name], tmp_path, data=TEXT)
    assert result == (0, SORTED, b"")


def test_a_directory_that_may_not_be_written(command: list[str], tmp_path: Path) -> None:
    tmp = tmp_path / "tmp"
    tmp.mkdir()
    for mode in (0o555, 0o444, 0o000):
        tmp.chmod(mode)
        result = support.run(command, [*SPILL, "-Ttmp"], tmp_path, data=TEXT, unprivileged=True)
        assert (result.status, result.stdout) == (2, b"")
        assert b"cannot create temporary file in 'tmp': Permission denied\n" in result.stderr
    tmp.chmod(0o333)  # it may be written and not be looked at
    assert support.run(command, [*SPILL, "-Ttmp"], tmp_path, data=TEXT, unprivileged=True) == (0, SORTED, b"")


def test_a_directory_that_is_replaced_meanwhile_does_not_matter(command: list[str], tmp_path: Path) -> None:
    tmp, elsewhere = tmp_path / "tmp", tmp_path / "elsewhere"
    tmp.mkdir()
    elsewhere.mkdir()
    process = support.start(command, [*SPILL, "-Ttmp"], tmp_path)
    with support.put_away(process):
        assert process.stdin is not None
        process.stdin.write(TEXT)
        process.stdin.flush()
        support.wait_for_spill(process, tmp)
        tmp.rmdir()
        tmp.symlink_to(elsewhere)
        assert support.finish(process, TEXT) == (0, b"".join(sorted(LINES * 2)), b"")
    assert os.listdir(elsewhere) == []
