"""The names of the inputs where a file tells them, for --files0-from."""

from __future__ import annotations

import os

from pysort.errors import SortError, shell_name, shell_quote
from pysort.storage.handle import Handle
from pysort.storage.readers import STDIN, open_file

READ_BYTES = 1 << 20


def read_names(source: bytes) -> list[bytes]:
    """The names in the file `source` (b"-": standard input): a NUL ends each, the last one's may be missing.

    Raises SortError when the file cannot be read, has no name in it, or one that no file has.
    """
    names = _read(source).split(b"\0")
    if not names[-1]:
        names.pop()
    if not names:
        raise SortError(b"no input from ", shell_quote(source))
    for number, name in enumerate(names, 1):
        if name == STDIN:
            place = b"when reading file names from standard input, no file name of "
            raise SortError(place, shell_quote(name), b" allowed")
        if not name:
            raise SortError(shell_name(source), b":%d: invalid zero-length file name" % number)
    return names


def _read(source: bytes) -> bytes:
    pieces = []
    with Handle(0, owned=False) if source == STDIN else open_file(source) as handle:
        try:
            while piece := os.read(handle.fd, READ_BYTES):
                pieces.append(piece)
        except OSError as error:
            raise SortError(
                b"cannot read file names from ", shell_quote(source), errno=error.errno, filename=source
            ) from error
    return b"".join(pieces)
