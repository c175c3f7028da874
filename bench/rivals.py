"""The other programs that can sort a file of lines: found where they are installed, skipped with a reason where not.

They take part in the cases that have a floor for them. The Python packages come with the extra `bench`. Each is started
as a user would start it, `python -c` included, and has to write the very bytes that GNU sort writes.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable

from bench.contenders import Contender, Job, sort_like

# Debian's name of all uutils programs in one, and the name that the project itself gives it.
_UUTILS = ("coreutils", "uu-coreutils")

# argv: input, output, number of threads. Lines are bytes without a separator that they contain: \x01 is none of theirs.
_CHDB = """\
import chdb, sys
source, target, threads = sys.argv[1:]
chdb.query(f"SELECT line FROM file('{source}', 'LineAsString') ORDER BY line INTO OUTFILE '{target}' TRUNCATE"
           f" FORMAT TSVRaw SETTINGS max_threads={threads}")
"""
_POLARS = """\
import os, sys
source, target, os.environ['POLARS_MAX_THREADS'] = sys.argv[1:]
import polars
polars.scan_lines(source, name='l').sort('l').sink_csv(
    target, include_header=False, quote_style='never', separator='\\x01')
"""
# With nullstr in read_csv empty lines would be lost.
_DUCKDB = """\
import duckdb, sys
source, target, threads = sys.argv[1:]
duckdb.sql(f"SET threads={threads}")
duckdb.sql(f"COPY (SELECT coalesce(l, '') FROM read_csv('{source}', columns={{'l': 'VARCHAR'}}, header=false,"
           f" auto_detect=false, delim='\\x01', quote='', escape='', null_padding=true) ORDER BY 1)"
           f" TO '{target}' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\\x01', NULLSTR '')")
"""
_PACKAGES = {"chdb": _CHDB, "polars": _POLARS, "duckdb": _DUCKDB}


def _only_with_a_floor(command: Callable[[Job], list[str] | None]) -> Callable[[Job], list[str] | None]:
    return lambda job: None if job.case.rival_floor is None else command(job)


def _package(name: str, script: str) -> Contender:
    def command(job: Job) -> list[str]:
        return [sys.executable, "-c", script, str(job.inputs[0]), str(job.output), str(job.case.threads_n)]

    version = (sys.executable, "-c", f"import {name}; print('{name}', {name}.__version__)")
    return Contender(name, version, _only_with_a_floor(command))


def _uutils() -> Contender | None:
    program = next(filter(None, map(shutil.which, _UUTILS)), None)
    if program is None:
        return None
    like = sort_like("uutils", program, "sort")
    if "GNU" in like.version():  # GNU's coreutils can be built as one program too
        return None
    return Contender(like.name, like.version_argv, _only_with_a_floor(like.command))


def rivals() -> tuple[list[Contender], dict[str, str]]:
    """Those that are installed, and why each of the others is not there."""
    uutils = _uutils()
    found = [uutils] if uutils is not None else []
    missing = {} if found else {"uutils": f"no program {' or '.join(_UUTILS)} on PATH is it"}
    for name, script in _PACKAGES.items():
        if importlib.util.find_spec(name) is not None:
            found.append(_package(name, script))
        else:
            missing[name] = f"Python has no module {name}: pip install '.[bench]'"
    return found, missing
