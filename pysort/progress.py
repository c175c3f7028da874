"""--progress: how far a job is, as a bar on the terminal, and as a line whenever SIGUSR1 comes.

The job knows nothing of it. A thread looks at what is counted anyway, ten times a second, and waits for signals
meanwhile: those that end the process are blocked in all other threads, so that the bar is gone before they do.
"""

from __future__ import annotations

import _signal
import errno
import os
import sys
from _thread import allocate_lock, start_new_thread
from time import monotonic, sleep

from pysort.gauge import INTERVAL_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pysort.gauge import Gauge

DELAY_SECONDS = 1.0  # a shorter job has no bar
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
# What a write brings that fails so, and whose default action ends the process before an error could be told.
BY_WRITING = {errno.EPIPE: "SIGPIPE", errno.EFBIG: "SIGXFSZ"}


class Progress:
    """From start() to close(). program: what lines begin with. delay_seconds: until there is a bar, None for none."""

    __slots__ = (
        "_bar",
        "_delay_seconds",
        "_ended",
        "_gauge",
        "_is_closing",
        "_lock",
        "_program",
        "_signals",
        "_started",
    )

    def __init__(self, gauge: Gauge, program: bytes, delay_seconds: float | None) -> None:
        self._gauge = gauge
        self._program = program
        self._delay_seconds = delay_seconds
        self._lock = allocate_lock()  # for the terminal
        self._ended = allocate_lock()
        self._is_closing = False
        self._bar: Any = None
        self._signals: set[int] = set()
        self._started = monotonic()

    def start(self) -> None:
        """From now on signals come to a thread of ours: no other thread may have been started before."""
        if hasattr(_signal, "sigtimedwait"):
            numbers = [getattr(_signal, name) for name in (*ENDING, "SIGUSR1")]
            self._signals = {number for number in numbers if _signal.getsignal(number) != _signal.SIG_IGN}
            _signal.pthread_sigmask(_signal.SIG_BLOCK, self._signals | _writing_signals())
        self._ended.acquire()
        try:
            start_new_thread(self._run, ())
        except RuntimeError:  # no more threads: no bar
            self._ended.release()

    def close(self, failure: int | None = None) -> None:
        """The terminal is as it was. The signals stay blocked: all that is left is to leave. failure: errno of what the
        job failed by; where that would have brought a signal, the process ends by it now."""
        self._is_closing = True
        if self._signals and self._ended.locked():
            os.kill(os.getpid(), _signal.SIGUSR1)  # waits no longer
        with self._ended:
            pass
        number = getattr(_signal, BY_WRITING.get(failure or 0, ""), None)
        if number is not None and number in _signal.pthread_sigmask(_signal.SIG_BLOCK, ()):
            die(number)

    def say(self, show: Callable[[], bool]) -> bool:
        """Call `show`, which writes to standard error, where no bar is in its way."""
        with self._lock:
            if self._bar is not None:
                self._bar.clear()
            return show()

    def _run(self) -> None:
        try:
            while not self._is_closing:
                number = self._wait()
                if self._is_closing:
                    break
                if number == _signal.SIGUSR1:
                    line = self.line()
                    self.say(lambda line=line: _write(line))  # type: ignore[misc]
                elif number:
                    self._end_bar()
                    die(number)
                else:
                    self._show()
        finally:
            self._end_bar()
            self._ended.release()

    def _wait(self) -> int:
        """The signal that came, 0 where none did."""
        if not self._signals:
            sleep(INTERVAL_SECONDS)
            return 0
        found = _signal.sigtimedwait(self._signals, INTERVAL_SECONDS)
        return 0 if found is None else found.si_signo

    def _show(self) -> None:
        elapsed = monotonic() - self._started
        if self._delay_seconds is None or elapsed < self._delay_seconds:
            return
        found = self._gauge.read()
        with self._lock:
            if self._bar is None:
                try:
                    self._bar = _new_bar(elapsed)
                except ImportError as error:
                    self._delay_seconds = None
                    _write(self._program + f": no progress is shown: {error}\n".encode())
                    return
            self._bar.total = found.total_bytes
            self._bar.n = found.done_bytes
            self._bar.set_description_str(found.phase, refresh=False)
            self._bar.refresh()

    def _end_bar(self) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    def line(self) -> bytes:
        """`sort: merging: 45%, 1234 of 2742 bytes, 12 s elapsed, about 15 s left`, what is not known left out."""
        found = self._gauge.read()
        elapsed = monotonic() - self._started
        parts = [f"{found.done_bytes} bytes"]
        if found.total_bytes is not None and found.part is not None:
            parts = [f"{100 * found.part:.0f}%", f"{found.done_bytes} of {found.total_bytes} bytes"]
        parts.append(f"{elapsed:.0f} s elapsed")
        if found.part:
            parts.append(f"about {elapsed / found.part - elapsed:.0f} s left")
        return self._program + f": {found.phase}: {', '.join(parts)}\n".encode()


def _new_bar(elapsed_seconds: float) -> Any:
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # a thread of its own
    columns = os.get_terminal_size(2).columns if os.isatty(2) else 0  # 0 where the terminal does not know
    bar = tqdm(
        unit="B", unit_scale=True, unit_divisor=1024, leave=False, dynamic_ncols=columns > 0, file=sys.stderr, delay=1
    )
    bar.delay = 0  # it is drawn by us alone, and close() clears what was drawn later than the delay
    bar.start_t = bar.start_t - elapsed_seconds
    return bar


def _write(line: bytes) -> bool:
    try:
        os.write(2, line)
    except OSError:
        return False
    return True


def _writing_signals() -> set[int]:
    numbers = [getattr(_signal, name) for name in BY_WRITING.values() if hasattr(_signal, name)]
    return {number for number in numbers if _signal.getsignal(number) != _signal.SIG_IGN}


def die(number: int) -> None:
    """By the signal, if its default action ends the process."""
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
