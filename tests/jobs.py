"""Sort jobs, run by pysort (many of them in forks of one process, for speed) and by the system's sort."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import support

Changes = Mapping[str, str | None]


class Text(bytes):
    """An input whose failure report stays readable; the blob that Hypothesis prints brings it back whole."""

    def __repr__(self) -> str:
        return super().__repr__() if len(self) < 1000 else f"<{len(self)} bytes, {self[:200]!r}...>"


class Answer(NamedTuple):
    """stats: the job's SortStats by name, empty if it failed. files: the directory afterwards."""

    status: int
    stdout: bytes
    stderr: bytes
    stats: dict[str, Any]
    files: dict[str, bytes]


class Worker:
    """Runs pysort jobs through stats_worker.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "stats_worker.py")],
            env=support.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(
        self,
        argv: Sequence[bytes],
        files: Mapping[bytes, bytes] | None = None,
        *,
        stdin: bytes = b"",
        pipe: bool = False,
        descriptors: int | None = None,
        addresses: int | None = None,
        env: Changes | None = None,
    ) -> Answer:
        with laid_out(files or {}) as cwd:
            request = {
                "argv": [word.hex() for word in argv],
                "cwd": str(cwd),
                "stdin": stdin.hex(),
                "pipe": pipe,
                "descriptors": descriptors,
                "addresses": addresses,
                "env": support.environment(env),
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            reply = json.loads(self._process.stdout.readline())
            assert os.listdir(cwd / "tmp") == []
            stdout, stderr = (cwd / ".stdout").read_bytes(), (cwd / ".stderr").read_bytes()
            assert b"internal error" not in stderr, stderr
            return Answer(reply["status"], stdout, stderr, reply["stats"] or {}, contents(cwd))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@contextlib.contextmanager
def laid_out(files: Mapping[bytes, bytes]) -> Iterator[Path]:
    """A directory with the files and an empty directory tmp."""
    cwd = Path(tempfile.mkdtemp(prefix="pysort-job-"))
    try:
        (cwd / "tmp").mkdir()
        for name, data in files.items():
            (cwd / os.fsdecode(name)).write_bytes(data)
        yield cwd
    finally:
        shutil.rmtree(cwd)


def contents(cwd: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in cwd.iterdir() if p.is_file() and p.name[0] != "."}


def ask_gnu(
    argv: Sequence[bytes], files: Mapping[bytes, bytes] | None = None, *, stdin: bytes = b"", env: Changes | None = None
) -> Answer:
    """The system's sort; its answer has no statistics."""
    with laid_out(files or {}) as cwd:
        result = support.run(support.GNU, argv, cwd, data=stdin, env=env)
        return Answer(*result, {}, contents(cwd))


def in_locale(name: str) -> Changes:
    """The locale for everything but the language of messages: GNU sort's are translated where they can be."""
    if name == "C":
        return {}
    return {"LC_ALL": None, "LANG": name, "LC_MESSAGES": "C"}
