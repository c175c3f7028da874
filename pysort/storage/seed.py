"""The random bytes that a shuffle starts from."""

from __future__ import annotations

import os

from pysort.errors import SortError, quote
from pysort.storage.readers import open_file

SEED_BYTES = 16


def read_seed(source: bytes | None) -> bytes:
    """SEED_BYTES random bytes: the first of the file `source`, or the system's if that is None.

    Raises SortError when the file cannot be read or is shorter.
    """
    if source is None:
        return os.urandom(SEED_BYTES)
    seed = b""
    with open_file(source) as handle:
        while len(seed) < SEED_BYTES:
            try:
                piece = os.read(handle.fd, SEED_BYTES - len(seed))
            except OSError as error:
                reason = os.fsencode(os.strerror(error.errno or 0))
                raise SortError(quote(source), b": read error: ", reason, errno=error.errno, filename=source) from error
            if not piece:
                raise SortError(quote(source), b": end of file", filename=source)
            seed += piece
    return seed
