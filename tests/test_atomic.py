"""--atomic: whoever looks at the output finds the old content or the new one, and nothing else is ever left."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest
import support
from test_faults import OLD, Faults

SORTED = b"a\nb\n"
# File systems without unnamed files are played by one that has lost them.
NAMED = "import os, sys; del os.O_TMPFILE; from pysort.cli import main; sys.exit(main())"


@pytest.fixture(params=["unnamed", "named"])
def command(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "named":
        return [support.CONTENDER[0], "-c", NAMED]
    return support.CONTENDER


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "in").write_bytes(b"b\na\n")
    (tmp_path / "out").write_bytes(OLD)
    return tmp_path


def test_the_file_is_replaced_and_keeps_its_mode_and_owner(command: list[str], cwd: Path) -> None:
    out = cwd / "out"
    out.chmod(0o2640)
    if os.geteuid() == 0:
        os.chown(out, 12, 34)
        out.chmod(0o6640)
    os.link(out, cwd / "second")
    before = out.stat()
    assert support.run(command, ["--atomic", "-o", "out", "in"], cwd) == (0, b"", b"")
    after = out.stat()
    assert out.read_bytes() == SORTED
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino
    assert (cwd / "second").read_bytes() == OLD
    assert sorted(os.listdir(cwd)) == ["in", "out", "second"]


def test_a_new_file_has_the_mode_that_the_umask_leaves(command: list[str], cwd: Path) -> None:
    plain = support.shell('umask 027; "$@" -o plain in; "$@" --atomic -o new in', cwd, command)
    assert plain == (0, b"", b"")
    assert (cwd / "new").read_bytes() == SORTED
    assert (cwd / "new").stat().st_mode == (cwd / "plain").stat().st_mode


def test_an_input_that_is_the_output(command: list[str], cwd: Path) -> None:
    assert support.run(command, ["--atomic", "-m", "-o", "in", "in", "in"], cwd) == (0, b"", b"")
    assert (cwd / "in").read_bytes() == b"b\na\nb\na\n"
    assert support.run(command, ["--atomic", "-o", "in", "in", "in"], cwd) == (0, b"", b"")
    assert (cwd / "in").read_bytes() == b"a\n" * 4 + b"b\n" * 4


def test_a_symbolic_link_stays_and_its_file_is_replaced(command: list[str], cwd: Path) -> None:
    (cwd / "d").mkdir()
    (cwd / "d" / "file").write_bytes(OLD)
    (cwd / "link").symlink_to("d/file")
    (cwd / "dangling").symlink_to("d/other")
    for name in ("link", "dangling"):
        assert support.run(command, ["--atomic", "-o", name, "in"], cwd) == (0, b"", b"")
        assert (cwd / name).is_symlink()
        assert (cwd / name).read_bytes() == SORTED
    assert sorted(os.listdir(cwd / "d")) == ["file", "other"]


def test_what_is_no_regular_file_is_written_as_ever(command: list[str], cwd: Path) -> None:
    os.mkfifo(cwd / "fifo")
    result = support.shell('cat fifo & "$@" --atomic -o fifo in; wait', cwd, command)
    assert result == (0, SORTED, b"")
    assert stat.S_ISFIFO((cwd / "fifo").stat().st_mode)
    assert support.run(command, ["--atomic", "-o", "/dev/null", "in"], cwd) == (0, b"", b"")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--atomic", "in"], b"option '--atomic' needs -o"),
        (["--atomic", "-o", "", "in"], b"open failed: '': No such file or directory"),
        (["--atomic", "-o", "no/such", "in"], b"open failed: no/such: No such file or directory"),
        (["--atomic", "-o", "none/", "in"], b"open failed: none/: No such file or directory"),
        (["--atomic", "-o", "none/.", "in"], b"open failed: none/.: No such file or directory"),
        (["--atomic", "-o", ".", "in"], b"open failed: .: Is a directory"),
        (["--atomic", "-o", "out", "missing"], b"cannot read: missing: No such file or directory"),
    ],
)
def test_what_cannot_be_done(arguments: list[str], text: bytes, command: list[str], cwd: Path) -> None:
    result = support.run(command, arguments, cwd)
    assert result.status == 2
    assert result.stderr.partition(b": ")[2].startswith(text)
    assert (cwd / "out").read_bytes() == OLD
    assert sorted(os.listdir(cwd)) == ["in", "out"]


def test_who_may_not_write_the_file_may_not_replace_it(command: list[str], cwd: Path) -> None:
    (cwd / "out").chmod(0o444)
    result = support.run(command, ["--atomic", "-o", "out", "in"], cwd, unprivileged=True)
    assert result.status == 2
    assert b"open failed: out: Permission denied\n" in result.stderr
    assert (cwd / "out").read_bytes() == OLD


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM", "KILL", "QUIT", "ALRM", "XCPU", "USR2"])
def test_a_signal_leaves_the_old_content_and_nothing_beside_it(name: str, command: list[str], cwd: Path) -> None:
    if name == "KILL" and command != support.CONTENDER:
        pytest.skip("a file with a name survives SIGKILL")
    if name == "KILL" and not hasattr(os, "O_TMPFILE"):
        pytest.skip("no unnamed files here")
    process = support.start(command, ["--atomic", "-S1M", "-T.", "-o", "out", "-"], cwd, limits={"CORE": 0})
    assert process.stdin is not None
    process.stdin.write(b"line\n" * 1_000_000)  # the output is open: this is read
    process.stdin.flush()
    process.send_signal(getattr(signal, f"SIG{name}"))
    result = support.finish(process)
    assert (result.status, result.stderr) == (-getattr(signal, f"SIG{name}"), b"")
    assert (cwd / "out").read_bytes() == OLD
    assert sorted(os.listdir(cwd)) == ["in", "out"]


@pytest.mark.parametrize("named", [False, True], ids=["unnamed", "named"])
def test_each_system_call_may_fail(named: bool, tmp_path: Path) -> None:
    faults = Faults(tmp_path)
    try:
        (tmp_path / "in").write_bytes(b"b\na\n")
        argv = ["--atomic", "-oout", "in"]
        clean = faults.run(argv, False, named=named)
        assert (clean["status"], clean["out"]) == (0, SORTED)
        calls = clean["calls"]
        assert {"fsync", "rename", "fchmod"} <= {name for name, _ in calls}
        for n in range(len(calls)):
            for kind in ("EIO", "ENOSPC", "EINTR", "EPERM", "short", "zero"):
                reply = faults.run(argv, False, [n, kind, False], named=named)
                assert b"internal error" not in reply["stderr"]
                assert reply["status"] in (0, 2)
                assert reply["out"] == SORTED if reply["status"] == 0 else reply["out"] in (OLD, SORTED), (n, kind)
                assert reply["descriptors"] == 0, (n, kind, reply)
                assert sorted(os.listdir(tmp_path)) == [".stderr", ".stdout", "in", "out", "tmp"], (n, kind)
    finally:
        faults.close()
