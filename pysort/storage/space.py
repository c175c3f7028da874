"""How much room temporary directories have, and what is said when it was not enough."""

from __future__ import annotations

import errno
import os

from pysort.errors import NEXT_MESSAGE, SortError, shell_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysort.errors import Quoted


def free_bytes(directory: bytes) -> int | None:
    """Bytes that this user may still take there, a quota not counted; None where that cannot be asked."""
    try:
        status = os.statvfs(directory or b"/")
    except OSError:
        return None
    return status.f_bavail * status.f_frsize


def shortage(failure: SortError, held_bytes: int, needed_bytes: int | None, directories: Sequence[bytes]) -> SortError:
    """The failure, with a second message: what runs hold, what they will need at most (None where that is not known),
    and what is left. It says nothing of what is left of a quota."""
    parts: list[bytes | Quoted] = [*failure.parts, NEXT_MESSAGE, b"temporary space: "]
    if needed_bytes is not None and needed_bytes > held_bytes:
        parts.append(b"up to %d bytes needed, %d written" % (needed_bytes, held_bytes))
    else:
        parts.append(b"more than %d bytes needed" % held_bytes)
    if failure.errno != errno.EDQUOT:
        for directory in directories:
            free = free_bytes(directory)
            if free is not None:
                parts += [b", %d free in " % free, shell_name(directory)]
    return SortError(*parts, errno=failure.errno, filename=failure.filename)
