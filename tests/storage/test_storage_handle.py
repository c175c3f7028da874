"""Who owns a descriptor, and that nobody else's is ever closed."""

from __future__ import annotations

import os

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
