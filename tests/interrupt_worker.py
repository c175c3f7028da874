"""Sorts again and again in one process, in which the signal USR1 raises an exception as Ctrl-C would.

argv: input, output, temporary directory, threads. Before each sort a byte is written to standard output, and when it
has ended a line of JSON: interrupted (whether the exception came out of it), error (any other exception), threads and
descriptors (more than before the first sort), left (names in the temporary directory). A line on standard input asks
for a sort.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from types import FrameType

import pysort
from pysort import plan, sorting


class Interrupt(KeyboardInterrupt):
    pass


armed = False


def interrupt(number: int, frame: FrameType | None) -> None:
    """One for each sort: what comes when it is over comes too late."""
    global armed  # noqa: PLW0603
    if armed:
        armed = False
        raise Interrupt


def threads_n() -> int:
    """Those that have said they end may take a moment to do so."""
    for _ in range(200):
        n = len(os.listdir("/proc/self/task"))
        if n == 1:
            break
        time.sleep(0.01)
    return n


def sort_once(source: str, target: str, directory: str, threads: int) -> dict[str, object]:
    global armed  # noqa: PLW0603
    told: dict[str, object] = {"interrupted": False, "error": None}
    try:
        armed = True
        sys.stdout.write(".")
        sys.stdout.flush()
        pysort.sort_file(source, target, memory="300K", threads=threads, temporary_directories=[directory], key="1,1n")
        armed = False
    except Interrupt:
        told["interrupted"] = True
    except BaseException as error:
        armed = False
        told["error"] = repr(error)
    return told


def main() -> None:
    source, target, directory, threads = sys.argv[1:]
    plan.PARALLEL_INPUT_BYTES = plan.PARALLEL_MEMORY_BYTES = 0
    sorting.LEAST_LEAF_N = 500
    signal.signal(signal.SIGUSR1, interrupt)
    descriptors = set(os.listdir("/proc/self/fd"))
    for _ in sys.stdin:
        told = sort_once(source, target, directory, int(threads))
        told["threads"] = threads_n() - 1
        told["descriptors"] = len(set(os.listdir("/proc/self/fd")) - descriptors)
        told["left"] = os.listdir(directory)
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
