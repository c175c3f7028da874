r"""Cases that users of sort reported somewhere, as data: cases/*.toml, one table per case.

What a case gives:
    args                    the command's arguments
    env, unset              variables to set and to remove (LC_ALL is C otherwise)
    stdin, files, fifos     contents; a FIFO is written once somebody opens it
    stdin_random            n random numbers, or n words out of `distinct`
    letters                 a file with a line of `length` letters for each letter of `text`
    numbered                n files with one number each, named after a pattern; they become operands
    dirs, symlinks, hardlinks, modes, tmpfs   what else lies in the directory it runs in
    limits, closed          resource limits, descriptors that are closed
    unprivileged            modes of files hold, even for root
    signal                  sent when a temporary file is open in the directory `spilled_in`
    pause_in                stop the process when it has spilled there, and let it go on
What it expects:
    status                  0 unless given; below zero the signal it dies by
    stdout, stdout_from     nothing unless given
    stderr                  a pattern found in it; unless given stderr is empty
    after, absent, empty    contents of files, names that must not exist, directories with nothing in them
    in_place                a name that keeps its inode, kind and mode
What it needs:
    features                words of FEATURES
    locale                  one that must be installed
    gnu_differs             why GNU sort itself does not pass

In contents and arguments `\n`, `\t`, `\r`, `\\` and `\xHH` are bytes; other text is UTF-8.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import random
import re
import signal
import subprocess
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import support

Case = dict[str, Any]

FEATURES = {
    *("check", "compress", "debug", "files0-from", "general", "human", "locale", "merge", "month", "parallel"),
    *("random", "version"),
}

KNOWN_KEYS = {
    *("title", "features", "locale", "gnu_differs", "args", "env", "unset", "stdin", "stdin_random", "files", "fifos"),
    *("letters", "numbered", "dirs", "symlinks", "hardlinks", "modes", "tmpfs", "limits", "closed", "unprivileged"),
    *("signal", "pause_in", "status", "stdout", "stdout_from", "stderr", "after", "absent", "empty", "in_place"),
}


def _load() -> dict[str, Case]:
    cases = {}
    for path in sorted((Path(__file__).parent / "cases").glob("*.toml")):
        for name, case in tomllib.loads(path.read_text(encoding="utf-8")).items():
            cases[f"{path.stem}:{name}"] = case
    return cases


CASES = _load()
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def content(text: str) -> bytes:
    decoded: bytes = codecs.escape_decode(text.encode())[0]
    return decoded


@contextlib.contextmanager
def working_directory(case: Case, path: Path) -> Iterator[Path]:
    if "tmpfs" not in case:
        yield path
        return
    with support.small_filesystem(path / case["tmpfs"]["mount"], case["tmpfs"]["size"]):
        yield path


class Trial:
    """One case laid out in a directory, ready to run."""

    def __init__(self, case: Case, cwd: Path) -> None:
        self.case = case
        self.cwd = cwd
        self.args = [content(argument) for argument in case["args"]]
        self.stdin = content(case.get("stdin", ""))
        self.numbered: list[bytes] = []
        self._write_files()
        if "stdin_random" in case:
            self.stdin = random_lines(**case["stdin_random"])
        kept = case.get("in_place")
        self.before = os.lstat(cwd / kept) if kept else None

    def _write_files(self) -> None:
        case = self.case
        contents = {content(name): content(text) for name, text in case.get("files", {}).items()}
        if "letters" in case:
            contents[case["letters"]["name"].encode()] = self.letters()
        for i in range(case.get("numbered", {}).get("n", 0)):
            name = (case["numbered"]["name"] % i).encode()
            contents[name] = b"%d\n" % i
            self.args.append(name)
            self.numbered.append(contents[name])
        for directory in case.get("dirs", []):
            (self.cwd / directory).mkdir()
        for name, data in contents.items():
            path = self.path(name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        for name, target in case.get("symlinks", {}).items():
            (self.cwd / name).symlink_to(target)
        for name, target in case.get("hardlinks", {}).items():
            (self.cwd / name).hardlink_to(self.cwd / target)
        for name, mode in case.get("modes", {}).items():
            (self.cwd / name).chmod(mode)
        for name in case.get("fifos", {}):
            os.mkfifo(self.cwd / name)

    def path(self, name: bytes) -> Path:
        return self.cwd / os.fsdecode(name)

    def letters(self) -> bytes:
        letters = self.case["letters"]
        return b"".join(bytes([c]) * letters["length"] + b"\n" for c in letters["text"].encode())

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        case = self.case
        env: dict[str, str | None] = dict.fromkeys(case.get("unset", ()))
        return support.start(
            command,
            self.args,
            self.cwd,
            env=env | case.get("env", {}),
            closed=case.get("closed", ()),
            limits=case.get("limits"),
            unprivileged=case.get("unprivileged", False),
        )

    def run(self, command: list[str]) -> support.Result:
        process = self.start(command)
        for name, text in self.case.get("fifos", {}).items():
            writer = (self.cwd / name, content(text), process)
            threading.Thread(target=write_fifo, args=writer, daemon=True).start()
        if "signal" not in self.case and "pause_in" not in self.case:
            return support.finish(process, self.stdin)
        with support.put_away(process):
            return self._run_with_signals(process)

    def _run_with_signals(self, process: subprocess.Popen[bytes]) -> support.Result:
        """Feed stdin but keep it open, so that the process cannot have finished when the signal arrives."""
        assert process.stdin is not None
        feeder = threading.Thread(target=write_all, args=(process.stdin, self.stdin), daemon=True)
        feeder.start()
        directory = self.cwd / (self.case.get("pause_in") or self.case["signal"]["spilled_in"])
        support.wait_for_spill(process, directory)
        if "pause_in" in self.case:
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.1)
            process.send_signal(signal.SIGCONT)
            feeder.join()
            return support.finish(process)
        process.send_signal(getattr(signal, f"SIG{self.case['signal']['name']}"))
        process.wait(support.TIMEOUT_S)
        feeder.join()
        return support.finish(process)

    def expected_stdout(self) -> bytes:
        source = self.case.get("stdout_from")
        if source is None:
            return content(self.case.get("stdout", ""))
        if source == "numbered":
            return b"".join(self.numbered)
        if source == "letters":
            return self.letters()
        lines = self.stdin.splitlines(keepends=True)
        assert source in ("sorted stdin", "sorted unique stdin")
        return b"".join(sorted(set(lines) if "unique" in source else lines))

    def check(self, result: support.Result) -> None:
        case = self.case
        stderr = support.normalized(result.stderr)
        assert result.status == case.get("status", 0), stderr
        if "stderr" in case:
            assert re.search(case["stderr"].encode(), stderr), stderr
        else:
            assert stderr == b""
        assert result.stdout == self.expected_stdout()
        for name, text in case.get("after", {}).items():
            assert (self.cwd / name).read_bytes() == content(text)
        for name in case.get("absent", []):
            assert not os.path.lexists(self.cwd / name)
        for name in case.get("empty", []):
            assert os.listdir(self.cwd / name) == []
        if self.before:
            now = os.lstat(self.cwd / case["in_place"])
            assert (now.st_ino, now.st_mode) == (self.before.st_ino, self.before.st_mode)


def random_lines(n: int, distinct: int | None = None) -> bytes:
    rng = random.Random(1)
    if distinct is None:
        return b"".join(b"%d\n" % rng.randrange(10**9) for _ in range(n))
    return b"".join(b"word%05d\n" % rng.randrange(distinct) for _ in range(n))


def write_all(stream: Any, data: bytes) -> None:
    with contextlib.suppress(OSError):  # the reader may be killed while we write
        stream.write(data)
        stream.flush()


def write_fifo(path: Path, data: bytes, reader: subprocess.Popen[bytes]) -> None:
    """Write once somebody reads; give up when the process that should is gone."""
    while reader.poll() is None:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
            continue
        with open(descriptor, "wb") as stream:
            write_all(stream, data)
        return


def skip_unless_possible(case: Case) -> None:
    locale = case.get("locale")
    if locale and not support.has_locale(locale):
        pytest.skip(f"the locale {locale} is not installed")


@every_case
def test_case(case: Case, tmp_path: Path) -> None:
    skip_unless_possible(case)
    if support.testing_gnu_itself() and "gnu_differs" in case:
        pytest.skip(f"GNU sort differs: {case['gnu_differs']}")
    with working_directory(case, tmp_path) as cwd:
        trial = Trial(case, cwd)
        trial.check(trial.run(support.CONTENDER))


@support.needs_gnu
@pytest.mark.parametrize("case", [pytest.param(c, id=name) for name, c in CASES.items() if "gnu_differs" not in c])
def test_the_systems_sort_agrees(case: Case, tmp_path: Path) -> None:
    """The data are facts about GNU sort; here it confirms them."""
    skip_unless_possible(case)
    with working_directory(case, tmp_path) as cwd:
        trial = Trial(case, cwd)
        trial.check(trial.run(support.GNU))


def test_the_cases_are_spelled_right() -> None:
    for name, case in CASES.items():
        assert set(case) <= KNOWN_KEYS, name
        assert FEATURES.issuperset(case.get("features", ())), name
        assert case["title"], name
        assert not ("stdout" in case and "stdout_from" in case), name


def test_a_file_that_grows_while_it_is_read_ends(tmp_path: Path) -> None:
    """The second input is a FIFO, so the first one grows while the sort is known to be running."""
    numbers = random_lines(50_000)
    (tmp_path / "f").write_bytes(numbers)
    os.mkfifo(tmp_path / "p")
    process = support.start(support.CONTENDER, ["f", "p"], tmp_path)
    with open(tmp_path / "f", "ab") as growing:
        growing.write(b"grown\n" * 1000)
    write_fifo(tmp_path / "p", b"zz\n", process)
    result = support.finish(process)
    assert (result.status, result.stderr) == (0, b"")
    grown_n = min(result.stdout.count(b"grown\n"), 1000)
    assert result.stdout == b"".join(sorted(numbers.splitlines(keepends=True))) + (b"grown\n" * grown_n + b"zz\n")
