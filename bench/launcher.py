"""Run one command and report its time, CPU and peak memory. A script, never imported.

The kernel counts the memory of the process that called exec into the new program's ru_maxrss,
after fork and posix_spawn alike. So the command is not started by the bench, which may be large,
but by this small interpreter; a peak below its own (about 10 MiB) reads as that.

Standard input: JSON {argv, environment, stdin, piped, stdout}. Standard output: JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time


def main() -> None:
    job = json.load(sys.stdin)
    environment = job["environment"]
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 1, job["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    ]
    # Python ignores these two, and an ignored signal stays ignored through exec.
    defaults = (signal.SIGPIPE, signal.SIGXFSZ)
    pipe: tuple[int, ...] = ()
    if job["piped"]:
        pipe = os.pipe()
        feeder = os.posix_spawnp(
            "cat",
            ["cat", job["stdin"]],
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, pipe[1], 1)],
            setsigdef=defaults,
        )
        actions.append((os.POSIX_SPAWN_DUP2, pipe[0], 0))
    else:
        actions.append((os.POSIX_SPAWN_OPEN, 0, job["stdin"], os.O_RDONLY, 0))

    argv = job["argv"]
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, environment, file_actions=actions, setsigdef=defaults)
    for descriptor in pipe:
        os.close(descriptor)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if pipe:
        os.waitpid(feeder, 0)
    json.dump(
        {
            "status": os.waitstatus_to_exitcode(status),
            "wall_s": wall,
            "user_s": usage.ru_utime,
            "system_s": usage.ru_stime,
            "peak_bytes": usage.ru_maxrss * 1024,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
