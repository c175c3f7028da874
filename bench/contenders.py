"""Who takes part: a contender is a name and a function from a job to a command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.cases import SUBJECT, Case

# Set by the user's shell for the user's eyes; a case says what it wants.
_LOCALE_VARIABLES = ("LANG", "LANGUAGE", "POSIXLY_CORRECT", "_POSIX2_VERSION")


class BenchError(Exception):
    """The bench cannot go on; the text is for the user."""


@dataclass(frozen=True)
class Job:
    """One case with its files: no inputs when lines come on standard input, no output when order is only checked."""

    case: Case
    inputs: tuple[Path, ...]
    output: Path | None
    scale: float = 1.0

    def options(self, threads_n: int) -> list[str]:
        return self.case.sort_options(self.scale, threads_n)


@dataclass(frozen=True)
class Contender:
    """`command` gives the argv that sorts a job, or None when the contender cannot do it."""

    name: str
    version_argv: tuple[str, ...]
    command: Callable[[Job], list[str] | None]

    def version(self) -> str:
        """The first line of its version text, and the line that names pysort's kernel.

        It runs the program, so it also brings the program's files into the page cache.
        """
        try:
            done = subprocess.run(self.version_argv, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            detail = (getattr(error, "stderr", None) or str(error)).strip()
            raise BenchError(f"{self.name} does not run: {detail}") from error
        lines = done.stdout.splitlines() or ["unknown"]
        return ", ".join([lines[0], *(line for line in lines[1:] if line.startswith("Kernel:"))])


def sort_like(name: str, *program: str) -> Contender:
    """A contender that understands GNU sort's command line."""

    def command(job: Job) -> list[str]:
        threads_n = job.case.subject_threads_n if name == SUBJECT else job.case.threads_n
        target = [] if job.output is None else ["-o", str(job.output)]
        return [*program, *job.options(threads_n), *target, *map(str, job.inputs)]

    return Contender(name, (*program, "--version"), command)


def pysort_program() -> list[str]:
    """The console script beside this interpreter, else the module."""
    script = Path(sys.executable).with_name("pysort")
    return [str(script)] if script.exists() else [sys.executable, "-m", "pysort"]


def contenders() -> list[Contender]:
    """GNU sort, whose bytes are right, and pysort."""
    gnu = sort_like("GNU sort", shutil.which("sort") or "sort")
    if "GNU coreutils" not in gnu.version():
        raise BenchError("the `sort` on PATH is not GNU sort")
    return [gnu, sort_like(SUBJECT, *pysort_program())]


def environment(case: Case, temporary: Path) -> dict[str, str]:
    """The caller's environment with the case's locale and the bench's temporary directory."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _LOCALE_VARIABLES and not name.startswith("LC_")
    }
    return {**kept, "TMPDIR": str(temporary), **case.environment}
