"""Who owns a descriptor, and that nobody else's is ever closed."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading

import pytest
from storage_support import run_python

from pysort.storage.handle import Handle


def test_an_opened_descriptor_is_not_inherited(tmp_path):
    with Handle.open(os.fsencode(tmp_path), os.O_RDONLY) as handle:
        assert not os.get_inheritable(handle.fd)


def test_a_second_close_spares_the_stranger_who_got_the_number():
    handle = Handle.open(b"/dev/null", os.O_RDONLY)
    number = handle.fd
    handle.close()
    readable, writable = os.pipe()
    try:
        assert number in (readable, writable)
        handle.close()
        os.fstat(number)
    finally:
        os.close(readable)
        os.close(writable)


def test_use_after_close_is_an_error():
    handle = Handle.open(b"/dev/null", os.O_RDONLY)
    handle.close()
    assert handle.closed
    with pytest.raises(ValueError, match="closed"):
        _ = handle.fd


def test_a_borrowed_descriptor_stays_open():
    fd = os.open("/dev/null", os.O_RDONLY)
    try:
        with Handle(fd, owned=False) as handle:
            assert handle.fd == fd
        assert handle.closed
        os.fstat(fd)
    finally:
        os.close(fd)


def test_files_never_land_on_the_standard_descriptors():
    # Each of 0-2 in turn is closed, as in `sort f <&-`.
    script = """if True:
        import os
        from pysort.storage.handle import Handle
        for low in (0, 1, 2):
            os.close(low)
        handle = Handle.open(b"/dev/null", os.O_RDONLY)
        assert handle.fd > 2, handle.fd
        assert not os.get_inheritable(handle.fd)
        for low in (0, 1, 2):
            try:
                os.fstat(low)
            except OSError:
                continue
            os._exit(3)
        os._exit(0)
    """
    run_python(script)


def test_a_missing_file_is_an_os_error():
    with pytest.raises(FileNotFoundError):
        Handle.open(b"/nonexistent/file", os.O_RDONLY)


def own_file(directory, number, length=1 << 16):
    """A file in which every byte is its number."""
    path = directory / f"file-{number}"
    path.write_bytes(bytes([number]) * length)
    return os.fsencode(path)


@pytest.fixture
def eager_threads():
    """Threads take turns every 20 us, in the middle of everything."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(2e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_a_close_that_races_with_readers_never_gives_them_a_strangers_bytes(tmp_path):
    """The number that close() gives back goes to a file of other bytes at once, a thousand times. Close comes when one
    reader has begun, so that some read and some are about to."""
    rounds_n, readers_n = 1000, 4
    mine, other = own_file(tmp_path, 1), own_file(tmp_path, 2)
    wrong, reads, refusals = [], [], []
    begin = [threading.Semaphore(0) for _ in range(readers_n)]
    begun, ended = threading.Semaphore(0), threading.Semaphore(0)

    def read(use):
        view = memoryview(bytearray(512))
        offset = n = 0
        begun.release()
        try:
            while True:
                if use:
                    with handle.use() as fd:
                        os.preadv(fd, [view], offset)
                else:
                    handle.preadv(view, offset)
                n += 1
                if view.tobytes() != b"\1" * 512:
                    wrong.append(view.tobytes())
                    break
                offset = (offset + 512) % (1 << 16)
        except ValueError:
            refusals.append(n)
        except OSError as error:  # EBADF: the number was closed and not even used again
            wrong.append(error)
        reads.append(n)

    def read_in_each_round(number):
        for _ in range(rounds_n):
            begin[number].acquire()
            read(number % 2)
            ended.release()

    readers = [threading.Thread(target=read_in_each_round, args=(number,)) for number in range(readers_n)]
    for reader in readers:
        reader.start()
    for _ in range(rounds_n):
        handle = Handle.open(mine, os.O_RDONLY)
        number = handle.fd
        for semaphore in begin:
            semaphore.release()
        begun.acquire()
        handle.close()
        reused = os.open(other, os.O_RDONLY)
        assert reused == number
        for _ in readers:
            ended.acquire()
        os.close(reused)
        while begun.acquire(blocking=False):
            pass
    for reader in readers:
        reader.join()
    assert wrong == []
    assert len(refusals) == rounds_n * readers_n
    assert sum(reads) > rounds_n


@pytest.mark.usefixtures("eager_threads")
def test_readers_go_on_while_another_thread_writes_and_syncs(tmp_path):
    """Block i of the file is full of i; only blocks that were written are read."""
    block = 4096
    written = [0]
    wrong = []
    with Handle.open(os.fsencode(tmp_path / "file"), os.O_RDWR | os.O_CREAT) as handle:

        def write():
            for i in range(200):
                with handle.use() as fd:
                    assert os.pwrite(fd, bytes([i]) * block, i * block) == block
                    written[0] = i + 1
                    if i % 20 == 0:
                        os.fdatasync(fd)

        def read():
            view = memoryview(bytearray(block))
            seen = 0
            while seen < 200:
                seen = written[0]
                for i in range(max(seen - 5, 0), seen):
                    if handle.preadv(view, i * block) != block or view.tobytes() != bytes([i]) * block:
                        wrong.append(i)

        threads = [threading.Thread(target=target) for target in (read, read, read, write)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_close_waits_for_the_last_user(tmp_path):
    handle = Handle.open(own_file(tmp_path, 7), os.O_RDONLY)
    entered, may_leave = threading.Event(), threading.Event()
    read = []

    def use():
        with handle.use() as fd:
            entered.set()
            may_leave.wait()
            read.append(os.pread(fd, 3, 0))

    user = threading.Thread(target=use)
    user.start()
    entered.wait()
    closer = threading.Thread(target=handle.close)
    closer.start()
    while not handle.closed:
        pass
    with pytest.raises(ValueError, match="closed"), handle.use():
        pass
    with pytest.raises(ValueError, match="closed"):
        handle.preadv(memoryview(bytearray(3)), 0)
    with pytest.raises(ValueError, match="closed"):
        handle.reopen()
    handle.close()  # somebody else is closing it: nothing to do, nothing to wait for
    assert closer.is_alive()
    may_leave.set()
    user.join()
    closer.join()
    assert read == [b"\7\7\7"]


def test_a_user_that_fails_has_left(tmp_path):
    handle = Handle.open(own_file(tmp_path, 1), os.O_RDONLY)

    def fail():
        with pytest.raises(OSError, match="Invalid argument"):
            handle.preadv(memoryview(bytearray(8)), -5)
        with pytest.raises(ZeroDivisionError), handle.use() as fd:
            raise ZeroDivisionError(fd)

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    handle.close()


def test_a_thread_that_closes_what_it_uses_does_not_wait_for_itself(tmp_path):
    handle = Handle.open(own_file(tmp_path, 1), os.O_RDONLY)
    with handle.use() as fd:
        handle.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
    assert handle.closed


def test_an_interrupted_close_leaves_the_handle_open(tmp_path):
    handle = Handle.open(own_file(tmp_path, 9), os.O_RDONLY)
    entered, may_leave = threading.Event(), threading.Event()

    def use():
        with handle.use():
            entered.set()
            may_leave.wait()

    class Alarm(Exception):
        pass

    def raise_alarm(*_):
        raise Alarm

    user = threading.Thread(target=use)
    user.start()
    entered.wait()
    before = signal.signal(signal.SIGALRM, raise_alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Alarm):
            handle.close()
    finally:
        signal.signal(signal.SIGALRM, before)
    view = memoryview(bytearray(2))
    assert handle.preadv(view, 0) == 2
    may_leave.set()
    user.join()
    handle.close()
    assert handle.closed


def test_a_failed_close_is_not_repeated(tmp_path, monkeypatch):
    handle = Handle.open(own_file(tmp_path, 1), os.O_RDONLY)
    calls = []
    real_close = os.close

    def failing_close(fd):
        calls.append(fd)
        real_close(fd)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "close", failing_close)
    with pytest.raises(OSError, match="Input/output error"):
        handle.close()
    handle.close()
    assert len(calls) == 1
    assert handle.closed


def test_a_child_reads_and_closes_its_own_copy_though_a_thread_of_the_parent_used_it(tmp_path):
    script = """if True:
        import os, sys, threading
        from pysort.storage.handle import Handle
        handle = Handle.open(os.fsencode(sys.argv[1]), os.O_RDONLY)
        entered, may_leave = threading.Event(), threading.Event()
        def use():
            with handle.use():
                entered.set()
                may_leave.wait()
        user = threading.Thread(target=use)
        user.start()
        entered.wait()
        child = os.fork()
        if not child:
            fd = handle.fd
            view = memoryview(bytearray(4))
            ok = handle.preadv(view, 0) == 4 and view == bytes([5]) * 4
            handle.close()
            try:
                os.fstat(fd)
            except OSError:
                os._exit(0 if ok else 2)
            os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert handle.preadv(memoryview(bytearray(4)), 0) == 4
        may_leave.set()
        user.join()
        handle.close()
    """
    run_python(script, os.fsdecode(own_file(tmp_path, 5)))


def test_a_reopened_handle_outlives_the_first_and_the_name(tmp_path):
    path = own_file(tmp_path, 3)
    with Handle.open(path, os.O_RDONLY) as first:
        second = first.reopen()
        os.unlink(path)
        third = first.reopen()
    view = memoryview(bytearray(4))
    for handle in (second, third):
        assert not os.get_inheritable(handle.fd)
        assert handle.preadv(view, 8) == 4
        assert view == b"\3" * 4
        handle.close()


def test_handles_that_were_closed_leave_no_descriptor(tmp_path):
    path = own_file(tmp_path, 3)
    lowest = os.open("/dev/null", os.O_RDONLY)
    os.close(lowest)
    for _ in range(750):
        with Handle.open(path, os.O_RDONLY) as handle:
            handle.reopen().close()
    fd = os.open("/dev/null", os.O_RDONLY)
    os.close(fd)
    assert fd == lowest
