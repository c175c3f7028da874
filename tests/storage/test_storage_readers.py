"""Inputs: every kind of file through every reader, the position of standard input, GNU's errors."""

from __future__ import annotations

import errno
import mmap
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_support import KINDS, access, message, needs_guard, read_all, run_python

from pysort.errors import SortError
from pysort.storage.iostats import IoStats
from pysort.storage.readers import (
    FileReader,
    StreamReader,
    check_readable,
    open_input,
)

PAGE = mmap.PAGESIZE

# Reads argv[2] bytes of standard input with reader argv[1] and writes them out.
READ_STDIN = """if True:
    import os, sys
    from pysort.storage.access import Access
    from pysort.storage.iostats import IoStats
    from pysort.storage.readers import open_input
    with open_input(b"-", Access(sys.argv[1]), IoStats()) as reader:
        view = memoryview(bytearray(int(sys.argv[2])))
        n = 1
        while n and len(view):
            n = reader.readinto(view)
            os.write(1, view[:n])
            view = view[n:]
"""


def open_file(path, kind="pread", **options):
    return open_input(os.fsencode(path), access(kind, **options), IoStats())


@pytest.mark.parametrize("kind", KINDS)
@given(
    data=st.binary(max_size=3 * PAGE),
    sizes=st.lists(st.integers(1, 2 * PAGE), min_size=1, max_size=4),
    map_bytes=st.integers(1, 2 * PAGE),
)
def test_reads_of_any_sizes_give_the_file(kind, tmp_path_factory, data, sizes, map_bytes):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    got = b""
    with open_file(path, kind, map_bytes=map_bytes) as reader:
        while True:
            view = memoryview(bytearray(sizes[len(got) % len(sizes)]))
            assert reader.size_hint() == (len(data) - len(got) if data else None)
            n = reader.readinto(view)
            if not n:
                break
            got += view[:n]
    assert got == data


@pytest.mark.parametrize("kind", KINDS)
def test_regular_files_with_content_are_read_as_files(kind, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"a\n")
    with open_file(path, kind) as reader:
        assert type(reader) is FileReader


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["/dev/null", "/proc/self/status", "/proc/self/mem"])
def test_devices_and_proc_files_are_streams(kind, name):
    with open_file(name, kind) as reader:
        assert type(reader) is StreamReader
        assert reader.size_hint() is None


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_file_ends_at_once(kind, tmp_path):
    path = tmp_path / "empty"
    path.touch()
    with open_file(path, kind) as reader:
        assert read_all(reader) == b""


@pytest.mark.parametrize("kind", KINDS)
def test_a_proc_file_of_size_zero_is_read_to_its_end(kind):
    with open_file("/proc/self/maps", kind) as reader:
        assert os.stat("/proc/self/maps").st_size == 0
        assert read_all(reader).endswith(b"\n")


@pytest.mark.parametrize("kind", KINDS)
def test_a_sysfs_file_is_shorter_than_it_says(kind):
    path = "/sys/kernel/mm/transparent_hugepage/enabled"
    if not os.path.exists(path):
        pytest.skip(f"no {path}")
    with open(path, "rb") as file:
        content = file.read()
    assert os.stat(path).st_size > len(content)
    with open_file(path, kind) as reader:
        assert read_all(reader) == content


@pytest.mark.parametrize("kind", KINDS)
def test_dev_stdin_works(kind):
    script = READ_STDIN.replace('b"-"', 'b"/dev/stdin"')
    assert run_python(script, kind, 100, input=b"b\na\n").stdout == b"b\na\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_growing_file_is_read_to_its_new_end(kind, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a" * PAGE)
    with open_file(path, kind) as reader:
        view = memoryview(bytearray(PAGE // 2))
        assert reader.readinto(view) == len(view)
        with path.open("ab") as file:
            file.write(b"b" * 2 * PAGE)
        assert read_all(reader) == b"a" * (PAGE // 2) + b"b" * 2 * PAGE


KEPT = pytest.mark.parametrize("kept", [0, 1, PAGE // 2, PAGE, PAGE + 1])


@KEPT
def test_a_file_cut_short_between_reads_ends_where_it_now_ends(kept, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a" * 4 * PAGE)
    with open_file(path) as reader:
        view = memoryview(bytearray(PAGE // 2))
        assert reader.readinto(view) == len(view)
        os.truncate(path, kept)
        assert read_all(reader) == b"a" * max(0, kept - PAGE // 2)


@KEPT
def test_a_file_cut_short_between_direct_reads_ends_there(kept, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a" * 4 * PAGE)
    with open_file(path, "direct", map_bytes=PAGE) as reader:
        assert reader.readinto(memoryview(bytearray(PAGE))) == PAGE
        os.truncate(path, kept)
        assert read_all(reader) == b"a" * max(0, kept - PAGE)


@needs_guard
@KEPT
def test_a_file_cut_short_while_mapped_is_an_error(kept, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a" * 4 * PAGE)
    with open_file(path, "mmap") as reader:
        view = memoryview(bytearray(PAGE // 2))
        assert reader.readinto(view) == len(view)
        os.truncate(path, kept)
        with pytest.raises(SortError) as caught:
            read_all(reader)
    assert message(caught.value) == f"read failed: {path}: cut short while it was mapped"


@needs_guard
def test_a_file_cut_short_between_two_windows_ends_where_it_now_ends(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a" * 4 * PAGE)
    with open_file(path, "mmap", map_bytes=PAGE) as reader:
        assert reader.readinto(memoryview(bytearray(PAGE))) == PAGE
        os.truncate(path, PAGE + 5)
        assert read_all(reader) == b"aaaaa"


def test_a_file_that_cannot_be_mapped_is_read_all_the_same(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"b\na\n")

    def refuse(*args, **kwargs):
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    monkeypatch.setattr(mmap, "mmap", refuse)
    with open_file(path, "mmap") as reader:
        assert read_all(reader) == b"b\na\n"


@needs_guard
def test_a_mapped_input_holds_one_bounded_window_at_a_time(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(bytes(10 * PAGE))
    real = mmap.mmap
    maps = []

    def record(*args, **kwargs):
        assert all(mapping.closed for mapping in maps)
        maps.append(real(*args, **kwargs))
        return maps[-1]

    monkeypatch.setattr(mmap, "mmap", record)
    with open_file(path, "mmap", map_bytes=3 * PAGE) as reader:
        assert len(read_all(reader, size=100)) == 10 * PAGE
    assert len(maps) == 4
    assert all(mapping.closed for mapping in maps)


@needs_guard
def test_a_mapped_input_is_read_only_to_find_its_end(tmp_path, monkeypatch):
    path = tmp_path / "f"
    data = os.urandom(10 * PAGE)
    path.write_bytes(data)
    real, reads = os.preadv, []
    monkeypatch.setattr(os, "preadv", lambda *args: reads.append(args[2]) or real(*args))
    with open_file(path, "mmap", map_bytes=PAGE + 1) as reader:
        assert read_all(reader) == data
    assert reads == [len(data)]


@pytest.mark.parametrize("kind", KINDS)
def test_closing_in_the_middle_leaves_no_descriptor(kind, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(bytes(4 * PAGE))
    before = set(os.listdir("/proc/self/fd"))
    with open_file(path, kind) as reader:
        reader.readinto(memoryview(bytearray(10)))
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("kind", KINDS)
def test_standard_input_begins_where_it_stands_and_is_left_where_reading_ended(kind, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"header\n1234567890\n")
    (tmp_path / "read.py").write_text(READ_STDIN)
    shell = '{ read h; echo "$h"; "$1" "$2" "$3" 4; echo; "$1" "$2" "$3" 3; echo; cat; } < "$4"'
    command = ["sh", "-c", shell, "sh", sys.executable, tmp_path / "read.py", kind, path]
    result = subprocess.run(command, capture_output=True, check=True)
    assert result.stdout == b"header\n1234\n567\n890\n"


@pytest.mark.parametrize("kind", KINDS)
def test_standard_input_twice_is_at_its_end_the_second_time(kind, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"b\na\n")
    with path.open() as file:
        result = run_python(READ_STDIN + READ_STDIN, kind, 100, stdin=file)
    assert result.stdout == b"b\na\n"


def test_two_readers_of_standard_input_share_it(tmp_path):
    # As in `sort -m - -`: what one has read the other does not see.
    path = tmp_path / "f"
    path.write_bytes(bytes(range(100)))
    script = """if True:
        from pysort.storage.access import Access
        from pysort.storage.iostats import IoStats
        from pysort.storage.readers import open_input
        readers = [open_input(b"-", Access(), IoStats()) for _ in range(2)]
        view = memoryview(bytearray(7))
        got = b""
        for i in range(20):
            got += view[: readers[i % 2].readinto(view)]
        assert got == bytes(range(100)), got
    """
    with path.open() as file:
        run_python(script, stdin=file)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fifo_is_opened_once_and_read_to_its_end(kind, tmp_path):
    path = tmp_path / "p"
    os.mkfifo(path)
    data = os.urandom(300_000)
    writer = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    writer.start()
    with open_file(path, kind) as reader:
        assert read_all(reader) == data
    writer.join()


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_fails_when_it_is_read(kind, tmp_path):
    with open_file(tmp_path, kind) as reader, pytest.raises(SortError) as caught:
        read_all(reader)
    assert message(caught.value) == f"read failed: {tmp_path}: Is a directory"


def test_a_read_error_has_the_errno_of_the_read():
    with open_file("/proc/self/mem") as reader, pytest.raises(SortError) as caught:
        read_all(reader)
    assert message(caught.value) == "read failed: /proc/self/mem: Input/output error"
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, b"/proc/self/mem")


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_file_cannot_be_opened(kind):
    with pytest.raises(SortError) as caught:
        open_file("/nonexistent", kind)
    assert message(caught.value) == "open failed: /nonexistent: No such file or directory"


def test_a_closed_standard_input_is_found_by_its_size_or_by_its_read():
    script = """if True:
        import os, sys
        from pysort.errors import SortError, Quoted
        from pysort.storage.access import Access
        from pysort.storage.iostats import IoStats
        from pysort.storage.readers import open_input
        reader = open_input(b"-", Access(), IoStats())
        for use in reader.size_hint, lambda: reader.readinto(memoryview(bytearray(9))):
            try:
                use()
            except SortError as error:
                parts = [p.text if isinstance(p, Quoted) else p for p in error.parts]
                os.write(1, b"".join(parts) + b"\\n")
        reader.close()
    """
    command = ["sh", "-c", 'exec "$0" "$@" <&-', sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, check=True)
    assert result.stdout == (b"stat failed: -: Bad file descriptor\nread failed: -: Bad file descriptor\n")


def test_calls_and_bytes_are_counted(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(bytes(1000))
    stats = IoStats()
    with open_input(os.fsencode(path), access(), stats) as reader:
        read_all(reader, size=400)
    assert (stats.read_calls, stats.read_bytes) == (4, 1000)


def test_the_first_unreadable_operand_is_named(tmp_path):
    path = tmp_path / "f"
    path.touch()
    check_readable([b"-", os.fsencode(path), os.fsencode(tmp_path), b"/dev/stdin"])
    with pytest.raises(SortError) as caught:
        check_readable([os.fsencode(path), b"/nonexistent/a", b"/nonexistent/b"])
    assert message(caught.value) == "cannot read: /nonexistent/a: No such file or directory"
    with pytest.raises(SortError) as caught:
        check_readable([os.fsencode(path / "below")])
    assert message(caught.value) == f"cannot read: {path}/below: Not a directory"


def test_the_access_test_neither_opens_nor_waits_for_a_fifo(tmp_path):
    path = tmp_path / "p"
    os.mkfifo(path)
    with pytest.raises(SortError):
        check_readable([os.fsencode(path), b"/nonexistent"])


def test_an_ordinary_user_may_not_read_a_file_without_permission(tmp_path):
    path = tmp_path / "f"
    path.touch(mode=0)
    script = """if True:
        import os, sys
        from pysort.errors import SortError
        from pysort.storage.readers import check_readable
        if os.getuid() == 0:
            os.seteuid(65534)
        os.chdir(sys.argv[1])
        try:
            check_readable([b"f"])
        except SortError as error:
            sys.exit(error.errno != 13)
        sys.exit("readable")
    """
    for directory in (tmp_path, *tmp_path.parents[:-2]):
        if directory.stat().st_uid == os.getuid():
            directory.chmod(directory.stat().st_mode | 0o111)
    run_python(script, tmp_path)
