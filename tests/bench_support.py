"""What the tests of the bench share: stand-ins for pysort, and the bench as a function."""

from __future__ import annotations

import itertools
import shutil
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import __main__, peers  # noqa: E402
from bench.contenders import Contender, Job, sort_like  # noqa: E402
from bench.corpora import CORPORA  # noqa: E402

SORT = shutil.which("sort") or "sort"
GNU = sort_like("GNU sort", SORT)
SMALL = 0.001


def generated(name: str, lines_n: int) -> list[bytes]:
    return list(itertools.chain.from_iterable(CORPORA[name].generate(name, lines_n)))


def shell(name: str, script: str) -> Contender:
    """A contender that is a shell script of $1 (input) and $2 (output)."""

    def command(job: Job) -> list[str]:
        return ["sh", "-c", script, "sh", *map(str, job.inputs or ("-",)), str(job.output)]

    return Contender(name, ("true",), command)


def bench(monkeypatch: pytest.MonkeyPatch, subject: Contender, *arguments: str) -> int:
    """`python -m bench ...` in this process, with another program in pysort's place and GNU sort as the only other."""
    monkeypatch.setattr(peers, "contenders", lambda: [GNU, subject])
    monkeypatch.setattr(peers, "rivals", lambda: ([], {}))
    kept = {signum: signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGHUP)}
    try:
        return __main__.main(arguments)
    finally:
        for signum, handler in kept.items():
            signal.signal(signum, handler)
