"""The program of --compress-program: run once for each spilled run that is written, and once for each that is read.

The program only ever sees pipes: it can not truncate or overwrite a spill file through its standard output, a thousand
runs still cost one descriptor, and space is given back as for any other run. Price: the compressed bytes, the smaller
part, pass through this process. Two descriptors for each program that runs, four while one is started.
"""

from __future__ import annotations

import _signal
import errno
import os

from pysort.errors import SortError, shell_quote
from pysort.storage.handle import Handle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PIPE_BYTES = 64 << 10  # what a pipe holds on Linux: more is not had in one call
# Runs merged at one time unless the user says otherwise: each takes a process. GNU sort's number.
DEFAULT_FAN_IN = 16
# What a merge needs beside two for each run: the output, a spill file in each of a few directories, and four while the
# program that compresses is started.
RESERVED_DESCRIPTORS_N = 8

# Where the search goes on with the next directory of PATH, as the C library's execvp has it.
_NOT_HERE = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ESTALE, errno.ENODEV, errno.ETIMEDOUT)


def largest_fan_in(batch_size: int | None, descriptor_n: int | None) -> int:
    """How many compressed runs may be merged at one time. batch_size: what the user allows. descriptor_n: descriptors
    that are free, None where that is not known."""
    fan_in = batch_size or DEFAULT_FAN_IN
    if descriptor_n is None:
        return fan_in
    return min(fan_in, max((descriptor_n - RESERVED_DESCRIPTORS_N) // 2, 2))


class Compressor:
    """name: of the program, looked up in PATH unless it has a slash. warn: told that runs are not compressed for want
    of the program; once, and again only when the reason has changed."""

    __slots__ = ("_children", "_name", "_reason", "_warn")

    def __init__(self, name: bytes, warn: Callable[[SortError], None]) -> None:
        self._name = name
        self._warn = warn
        self._reason: int | None = None
        self._children: set[Child] = set()

    def compress(self) -> Child | None:
        """A program that compresses what it is given; None when it cannot be run, of which the user was warned."""
        try:
            return self._start(self._name)
        except OSError as error:
            if error.errno != self._reason:
                self._reason = error.errno
                self._warn(self._failure(b": ", error))
            return None

    def decompress(self) -> Child:
        """Raises SortError `could not run compress program 'NAME' -d: ...`."""
        try:
            return self._start(self._name, b"-d")
        except OSError as error:
            raise self._failure(b" -d: ", error) from error

    def _failure(self, separator: bytes, error: OSError) -> SortError:
        reason = os.fsencode(os.strerror(error.errno or 0))
        name = shell_quote(self._name)
        return SortError(b"could not run compress program ", name, separator, reason, errno=error.errno)

    def _start(self, *argv: bytes) -> Child:
        ends: list[Handle] = []
        try:
            ends += Handle.pipe()
            ends += Handle.pipe()
            child_stdin, stdin, stdout, child_stdout = ends
            os.set_blocking(stdin.fd, False)
            pid = _spawn(argv, child_stdin.fd, child_stdout.fd)
        except OSError:
            for end in ends:
                end.abandon()
            raise
        child_stdin.abandon()
        child_stdout.abandon()
        child = Child(self._name, pid, stdin, stdout, self._children)
        self._children.add(child)
        return child

    def close(self) -> None:
        """End and await the programs that still run."""
        for child in list(self._children):
            child.abandon()


class Child:
    """One program that runs, with a pipe at either end. Order of calls: ready() and then give() or take() as it says,
    end_input(), take() until the end of the output, wait(); or abandon() at any time."""

    __slots__ = ("_name", "_pid", "_running", "_stdin", "_stdout")

    def __init__(self, name: bytes, pid: int, stdin: Handle, stdout: Handle, running: set[Child]) -> None:
        """stdin does not block. running: what this child leaves when it has ended."""
        self._name = name
        self._pid = pid
        self._stdin = stdin
        self._stdout = stdout
        self._running = running

    def ready(self) -> tuple[bool, bool]:
        """Await that the input, unless it was ended, takes bytes, or that there is output or its end. Returns which."""
        import select

        poll = select.poll()
        if not self._stdin.closed:
            poll.register(self._stdin.fd, select.POLLOUT)
        if not self._stdout.closed:
            poll.register(self._stdout.fd, select.POLLIN)
        fds = [fd for fd, _ in poll.poll()]
        return not self._stdin.closed and self._stdin.fd in fds, not self._stdout.closed and self._stdout.fd in fds

    def give(self, view: memoryview) -> int:
        """Returns how much of view the input took. Raises BrokenPipeError when the program reads no more; the SIGPIPE
        that comes with it goes to the thread that writes, so it is held back and taken there."""
        pipe_signal = {_signal.SIGPIPE}
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, pipe_signal)
        try:
            return os.write(self._stdin.fd, view)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            if _signal.SIGPIPE in _signal.sigpending():
                _signal.sigwait(pipe_signal)
            raise
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)

    def take(self, view: memoryview) -> int:
        """Fill the front of view with output, or await it. Returns the bytes, 0 at the end. Raises OSError."""
        if self._stdout.closed:
            return 0
        n = os.readv(self._stdout.fd, [view])
        if not n:
            self._stdout.abandon()
        return n

    def end_input(self) -> None:
        self._stdin.abandon()

    def wait(self) -> None:
        """Raises SortError `'NAME' [-d] terminated abnormally`."""
        if self._reap():
            raise SortError(shell_quote(self._name), b" [-d] terminated abnormally")

    def abandon(self) -> None:
        """Whatever it still does, it is over."""
        if self in self._running:
            os.kill(self._pid, _signal.SIGTERM)
            self._reap()

    def _reap(self) -> int:
        self._running.remove(self)
        self._stdin.abandon()
        self._stdout.abandon()
        try:
            return os.waitpid(self._pid, 0)[1]
        except ChildProcessError:
            return 0  # SIGCHLD is ignored in the process that uses us: lengths and checksums have to tell


def _spawn(argv: tuple[bytes, ...], stdin: int, stdout: int) -> int:
    """Start argv[0], found as the C library's execvp finds it, but never a file that only a shell could make sense of.
    Returns the process. Raises OSError with the reason."""
    failure = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    for path in _paths(argv[0]):
        try:
            return os.posix_spawn(
                path,
                argv,
                os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1)],
                setsigmask=(),  # what --progress blocks is not blocked there
                setsigdef=[_signal.SIGPIPE, _signal.SIGXFSZ],  # which CPython ignores
            )
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            if failure.errno != errno.EACCES:
                failure = error
    raise failure


def _paths(name: bytes) -> list[bytes]:
    if b"/" in name:
        return [name]
    if not name:
        return []
    directories = os.environb.get(b"PATH", os.fsencode(os.defpath)).split(b":")
    return [directory + b"/" + name if directory else name for directory in directories]
