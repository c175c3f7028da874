"""The claim of CouchDB's parallel preads: reads that share a descriptor need not queue behind one owner of the file."""

from __future__ import annotations

import os
import queue
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from bench.hints_table import Claim, Expected, Place, Sample, Table, Variant, make_file, removed
from pysort.storage.handle import Handle

FILE_BYTES = 64 << 20
APPEND_BYTES = 4 << 10
NATIVE_S = 0.4
LEAST_S = 0.05
SLOW_S = 2.0
SLOW_LIMITS = {"write_iops": 50}  # a sync takes a tenth of a second then


Answers = queue.SimpleQueue[int | OSError]


class File(Protocol):
    """How several threads use one file."""

    def read(self, view: memoryview, offset: int) -> int:
        """Fill view from there on."""

    def append(self, data: bytes) -> int:
        """Write at the end and sync."""

    def close(self) -> None: ...


class BareFile:
    """The descriptor and nothing around it: who closes it while another reads, reads a stranger's file."""

    def __init__(self, path: Path) -> None:
        self._handle = Handle.open(os.fsencode(path), os.O_RDWR | os.O_APPEND)
        self._fd = self._handle.fd

    def read(self, view: memoryview, offset: int) -> int:
        return os.preadv(self._fd, [view], offset)

    def append(self, data: bytes) -> int:
        n = os.write(self._fd, data)
        os.fdatasync(self._fd)
        return n

    def close(self) -> None:
        self._handle.close()


class SharedFile(BareFile):
    """pysort's handle: any number of threads use it, and close() waits for them."""

    def read(self, view: memoryview, offset: int) -> int:
        return self._handle.preadv(view, offset)

    def append(self, data: bytes) -> int:
        with self._handle.use() as fd:
            n = os.write(fd, data)
            os.fdatasync(fd)
            return n


class LockedFile(BareFile):
    """One at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lock = threading.Lock()

    def read(self, view: memoryview, offset: int) -> int:
        with self._lock:
            return super().read(view, offset)

    def append(self, data: bytes) -> int:
        with self._lock:
            return super().append(data)


class SerialReader(BareFile):
    """One thread owns the file, and does what it finds in its queue: the actor that CouchDB's files were."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._asked: queue.SimpleQueue[tuple[Callable[[], int], Answers] | None] = queue.SimpleQueue()
        self._answers = threading.local()
        self._owner = threading.Thread(target=self._serve, daemon=True)
        self._owner.start()

    def _serve(self) -> None:
        while (asked := self._asked.get()) is not None:
            do, answers = asked
            try:
                answers.put(do())
            except OSError as error:
                answers.put(error)

    def _ask(self, do: Callable[[], int]) -> int:
        if not hasattr(self._answers, "queue"):
            self._answers.queue = queue.SimpleQueue()
        answers: Answers = self._answers.queue
        self._asked.put((do, answers))
        answer = answers.get()
        if isinstance(answer, OSError):
            raise answer
        return answer

    def read(self, view: memoryview, offset: int) -> int:
        return self._ask(partial(super().read, view, offset))

    def append(self, data: bytes) -> int:
        return self._ask(partial(super().append, data))

    def close(self) -> None:
        self._asked.put(None)
        self._owner.join()
        super().close()


FILES: dict[str, Callable[[Path], File]] = {
    "queue": SerialReader,
    "one lock": LockedFile,
    "shared handle": SharedFile,
    "bare pread": BareFile,
}


def tables(place: Place, scale: float) -> Iterator[Table]:
    slow = place.slow is not None
    path = make_file(place.directory / "shared", round(FILE_BYTES * scale))
    seconds = SLOW_S if slow else max(LEAST_S, NATIVE_S * scale)
    said = ", 50 writes/s" * slow
    for readers_n in (4,) if slow else (1, 2, 4, 8):
        yield _table(path, f"{readers_n} x 8 KiB reads beside a writer that syncs{said}", readers_n, 8 << 10, seconds)
    if not slow:
        yield _table(path, "1 x 64 KiB reads, nobody writes", 1, 64 << 10, seconds, writes=False)
    removed((path,))


def _table(path: Path, title: str, readers_n: int, read_bytes: int, seconds: float, writes: bool = True) -> Table:
    job = partial(_read, path, readers_n=readers_n, read_bytes=read_bytes, seconds=seconds, writes=writes)
    return Table(
        title,
        (path,),
        {name: Variant(partial(job, made), hot=True) for name, made in FILES.items()},
        baselines=("queue", "bare pread"),
        expected=(
            Expected("shared handle", "queue", 4 if writes and readers_n == 4 else None),
            Expected("shared handle", "bare pread", None if writes else 0.8),
        ),
        limits=SLOW_LIMITS,
        unit="reads/s",
        most_rounds_n=3 if seconds >= SLOW_S else None,
        at={"readers": readers_n} if writes else {},
    )


def _read(
    path: Path, made: Callable[[Path], File], *, readers_n: int, read_bytes: int, seconds: float, writes: bool
) -> Sample:
    """Threads read blocks at random for so many seconds; one more appends and syncs, over and over."""
    size = path.stat().st_size
    file = made(path)
    delays: list[list[float]] = [[] for _ in range(readers_n)]
    syncs: list[float] = []
    stop = time.perf_counter() + seconds
    threads = [
        threading.Thread(target=_reader, args=(file, number, size, read_bytes, stop, delays[number]))
        for number in range(readers_n)
    ]
    if writes:
        threads.append(threading.Thread(target=_writer, args=(file, stop, syncs)))
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - start
    file.close()
    os.truncate(path, size)
    together = sorted(delay for listed in delays for delay in listed)
    figures = {
        "p50_ms": 1e3 * statistics.median(together),
        "p99_ms": 1e3 * together[len(together) * 99 // 100],
        "syncs_per_s": len(syncs) / took,
    }
    return Sample(len(together) / took, figures)


def _reader(file: File, number: int, size: int, read_bytes: int, stop: float, delays: list[float]) -> None:
    offsets = random.Random(number)
    last = size // read_bytes
    view = memoryview(bytearray(read_bytes))
    now = time.perf_counter()
    while now < stop or not delays:
        file.read(view, offsets.randrange(last) * read_bytes)
        before, now = now, time.perf_counter()
        delays.append(now - before)


def _writer(file: File, stop: float, syncs: list[float]) -> None:
    data = bytes(APPEND_BYTES)
    while (start := time.perf_counter()) < stop:
        file.append(data)
        syncs.append(time.perf_counter() - start)


CLAIM = Claim(
    "parallel",
    "CouchDB's parallel preads: single documents were read 1.18 times as fast, and 1.4 times with constant writes to"
    " the same file.",
    "1.18 and 1.4",
    tables,
)
