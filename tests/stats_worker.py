"""Runs sort jobs, each in a fork of its own, and tells what SortStats says about them.

A start of the interpreter costs many times a small sort; forking lets the property tests run hundreds. A request is a
line of JSON on standard input: argv (hex), cwd, stdin (hex), pipe (whether stdin is a pipe or a file), descriptors (a
limit or null), addresses (bytes of address space beyond what there are, or null), env (the whole environment). The
answer is a line of JSON: status, stats (null if the job failed). What the job writes is in cwd/.stdout and cwd/.stderr.
"""

from __future__ import annotations

import contextlib
import json
import locale
import os
import resource
import signal
import sys
from typing import Any, NoReturn

from preload import preload

from pysort import cli, plan, rounds, sorting
from pysort.storage.iostats import IoStats

TIMEOUT_S = 300  # a job that hangs has hung by then, however busy the machine is
PIPE_CAPACITY_BYTES = 65536
STATS_DESCRIPTOR = 200  # out of the way: the job is to find 3, 4, 5... free, under its limit too


def fill_stdin(data: bytes, pipe: bool) -> None:
    if pipe and len(data) <= PIPE_CAPACITY_BYTES:
        reader, writer = os.pipe()
        os.write(writer, data)
        os.close(writer)
    else:
        with open(".stdin", "wb") as file:
            file.write(data)
        reader = os.open(".stdin", os.O_RDONLY)
    os.dup2(reader, 0)


def set_environment(env: dict[str, str]) -> None:
    """As if the interpreter had been started in it."""
    os.environ.clear()
    os.environ.update(env)
    with contextlib.suppress(locale.Error):
        locale.setlocale(locale.LC_CTYPE, "")


def report_stats() -> None:
    """Make cli tell the stats of the job, which it otherwise keeps to itself."""
    execute = cli.execute

    def execute_and_report(*args: Any) -> Any:
        stats = execute(*args)
        values = {name: getattr(stats, name) for name in stats.__slots__}
        numbers = {name: value for name, value in values.items() if not isinstance(value, IoStats)}
        os.write(STATS_DESCRIPTOR, json.dumps(numbers).encode())
        return stats

    vars(cli)["execute"] = execute_and_report


def run_in_child(job: dict[str, Any], stats_descriptor: int) -> NoReturn:
    signal.alarm(TIMEOUT_S)
    os.chdir(job["cwd"])
    set_environment(job["env"])
    os.dup2(stats_descriptor, STATS_DESCRIPTOR)
    fill_stdin(bytes.fromhex(job["stdin"]), job["pipe"])
    for descriptor, name in ((1, ".stdout"), (2, ".stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    os.closerange(3, STATS_DESCRIPTOR)
    if job["descriptors"]:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (job["descriptors"], hard))
    if job["addresses"]:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + job["addresses"],) * 2)
    report_stats()
    os._exit(cli.main([b"pysort", *(bytes.fromhex(word) for word in job["argv"])]))


def answer(job: dict[str, Any]) -> dict[str, Any]:
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        run_in_child(job, writer)
    os.close(writer)
    with open(reader, "rb") as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {"status": status, "stats": json.loads(text) if text else None}


def use_threads_everywhere() -> None:
    """However little there is to sort, as much as --parallel allows."""
    plan.PARALLEL_INPUT_BYTES = plan.PARALLEL_MEMORY_BYTES = 0
    rounds.LEAST_PART_N = 1
    sorting.LEAST_LEAF_N = 5


if __name__ == "__main__":
    use_threads_everywhere()
    preload()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
