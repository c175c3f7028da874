"""A function in a process of its own, whose CPU time, faults and memory are then its own as well."""

from __future__ import annotations

import os

from pysort.errors import SortError
from pysort.storage import syscalls
from pysort.storage.handle import Handle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

PIECE_BYTES = 1 << 16


def call(function: Callable[[], Any]) -> Any:
    """What the function returns in a fork of this process, which must have no other threads. The child dies when its
    parent does. Raises the SortError that the function raises, and one when the child is killed."""
    import pickle

    reader, writer = Handle.pipe()
    parent = os.getpid()
    pid = os.fork()
    if not pid:
        _run(function, writer.fd, parent)
    writer.close()
    answer = b""
    while piece := os.read(reader.fd, PIECE_BYTES):
        answer += piece
    reader.close()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise SortError(b"a measured job ended with status %d" % status)
    result = pickle.loads(answer)
    if isinstance(result, SortError):
        raise result
    return result


def _run(function: Callable[[], Any], writer: int, parent: int) -> NoReturn:
    import pickle

    status = 1
    try:
        syscalls.die_with_parent()
        try:
            if os.getppid() != parent:  # it was quicker
                raise SortError(b"the parent is gone")
            result = function()
        except SortError as error:
            result = error
        except MemoryError:
            result = SortError(b"memory exhausted")
        except Exception as error:
            result = SortError(os.fsencode(f"internal error: {type(error).__name__}: {error}"))
        answer = memoryview(pickle.dumps(result))
        while answer:
            answer = answer[os.write(writer, answer) :]
        status = 0
    finally:
        os._exit(status)
