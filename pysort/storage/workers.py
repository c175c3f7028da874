"""A few threads: jobs in, results out in whatever order they are asked for.

A job reads, writes, or calls the kernel, none of which holds the GIL. On _thread and what the interpreter
has built in, since threading takes 7 ms to import. Whoever starts Workers closes them: a thread that still works keeps
the memory it works in.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, get_ident, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _queue import SimpleQueue
    from collections import deque
    from collections.abc import Callable, Generator, Iterable
else:
    from _collections import deque


class Job:
    """One call, to be made by a worker."""

    __slots__ = ("_call", "_done", "_error", "_result")

    def __init__(self, call: Callable[[], int]) -> None:
        self._call: Callable[[], int] | None = call
        self._done = allocate_lock()
        self._done.acquire()
        self._result = 0
        self._error: BaseException | None = None

    def run(self) -> None:
        call, self._call = self._call, None
        try:
            if call is not None:
                self._result = call()
        except BaseException as error:  # raised where the result is wanted
            self._error = error
        finally:
            del call  # and with it the views that it holds
            self._done.release()

    @property
    def is_done(self) -> bool:
        return not self._done.locked()

    def cancel(self) -> None:
        """Make no call if it has not begun yet. wait() is to be called all the same, and the result means nothing."""
        self._call = None

    def give_up(self) -> None:
        """Returns when the call has ended, or will not be made."""
        self.cancel()
        try:
            self.wait()
        except Exception:
            pass

    def wait(self) -> int:
        """The result. Raises what the call raised."""
        with self._done:
            error, self._error = self._error, None
            if error is not None:
                raise error
            return self._result


class Waiting:
    """Jobs that no thread has taken yet: the urgent ones first, else in the order in which they were added. kept: what
    the threads hold beside them."""

    __slots__ = ("_jobs", "_tokens", "_urgent", "kept")

    def __init__(self) -> None:
        from _queue import SimpleQueue  # a file of its own, which a sort without threads does not load

        self._tokens: SimpleQueue[bool] = SimpleQueue()  # one for each job: True, or for each thread that is to end
        self._jobs: deque[Job] = deque()
        self._urgent: deque[Job] = deque()
        self.kept: object = None

    def add(self, job: Job, urgent: bool) -> None:
        try:
            (self._urgent if urgent else self._jobs).append(job)
        finally:  # even if a signal's handler raises: without its token it would be taken in another one's place
            self._tokens.put(True)

    def end(self) -> None:
        """One thread, when those jobs have been taken that are there."""
        self._tokens.put(False)

    def take(self) -> Job | None:
        """The next one, as soon as there is one; None for a thread that is to end."""
        if not self._tokens.get():
            return None
        while True:  # there is one for each token, but another thread may be faster
            for jobs in (self._urgent, self._jobs):
                try:
                    return jobs.popleft()
                except IndexError:
                    pass


class Workers:
    """n threads, fewer where the system gives no more; where it gives none, jobs are run by whoever submits them."""

    __slots__ = ("_ended", "_identities", "_pid", "_waiting")

    def __init__(self, n: int) -> None:
        self._pid = os.getpid()
        self._identities = []
        self._waiting: Waiting  # where there are threads
        self._ended = []
        if n:
            self._waiting = Waiting()
        for _ in range(n):
            ended = allocate_lock()
            ended.acquire()
            self._ended.append(ended)
            try:
                self._identities.append(start_new_thread(_work, (self._waiting, ended)))
            except RuntimeError:
                self._ended.pop()
                break

    def __del__(self) -> None:
        """Where a signal's handler raised before anybody could close it, the threads end by themselves."""
        for _ in getattr(self, "_ended", ()):
            self._waiting.end()

    @property
    def n(self) -> int:
        return len(self._ended)

    @property
    def are_lost(self) -> bool:
        """Whether the threads are not there any more, nor what they held: in a child of fork(), and when the
        interpreter has ended them since it ends itself. Nobody may wait for their jobs then."""
        return os.getpid() != self._pid or sys.is_finalizing()

    @property
    def are_me(self) -> bool:
        """Whether this is one of the threads."""
        return get_ident() in self._identities

    def keep(self, value: object) -> None:
        """As long as there are threads it is no garbage, though nobody else should hold it: whoever finds that nobody
        does may be one of the threads, which could not wait for itself."""
        if self._ended:
            self._waiting.kept = value

    def submit(self, call: Callable[[], int], urgent: bool = False) -> Job:
        """urgent: before others that are waiting, since somebody is going to wait for it."""
        job = Job(call)
        if self._ended:
            self._waiting.add(job, urgent)
        else:
            job.run()
        return job

    def close(self) -> None:
        """Returns when every job that was submitted is done and every thread has ended."""
        if not self._ended or self.are_lost:
            return
        for _ in self._ended:
            self._waiting.end()
        while self._ended:
            self._ended[-1].acquire()
            self._ended.pop()
        self._waiting.kept = None


def wait_all(jobs: Iterable[Job]) -> None:
    """Returns when all are done, whatever a signal's handler raises meanwhile. Raises that, or what a job raised."""
    failure: BaseException | None = None
    for job in jobs:
        done = False
        while not done:
            try:
                job.wait()
                done = True
            except BaseException as error:  # what a job raises comes once
                failure = error
    if failure is not None:
        raise failure


def write_pieces(
    pieces: Generator[memoryview], write: Callable[[memoryview], None], workers: Workers, tick: Callable[[], None]
) -> None:
    """Have a worker write each piece while the next one is made. A piece is good until the next but one is asked for.
    tick: called after each of them. Raises what making or writing them does, and tick()."""

    def job(piece: memoryview) -> Callable[[], int]:
        def call() -> int:
            write(piece)
            return 0

        return call

    writing: Job | None = None
    try:
        for piece in pieces:
            if writing is not None:
                writing.wait()
            writing = workers.submit(job(piece), urgent=True)
            tick()
        if writing is not None:
            writing.wait()
    finally:
        if writing is not None:
            writing.give_up()
        pieces.close()


def _work(waiting: Waiting, ended: object) -> None:
    while (job := waiting.take()) is not None:
        job.run()
        del job
    ended.release()  # type: ignore[attr-defined]
