# The C extension. _kernel_py.py documents the functions.
NAME: str
RECORD_BYTES: int
HEADER_BYTES: int
CURSOR_BYTES: int
MERGE_DONE: int
MERGE_FULL: int

Buffer = bytearray | memoryview
Locale = object | None

def locale_facts(
    ctype: bytes, numeric: bytes, time: bytes, /
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, tuple[bytes, ...]]: ...
def open_locale(collate: bytes, numeric: bytes, coarse: bool, /) -> object: ...
def check(program: bytes, locale: Locale, arena: Buffer, top: int, n: int, /) -> int: ...
def scan(
    program: bytes, arena: Buffer, start: int, stop: int, top: int, n: int, n_max: int, /
) -> tuple[int, int, int]: ...
def encode(
    program: bytes, locale: Locale, arena: Buffer, top: int, first: int, last: int, at: int, limit: int, /
) -> tuple[int, int]: ...
def sort(program: bytes, locale: Locale, arena: Buffer, top: int, n: int, /) -> int: ...
def gather(
    program: bytes, arena: Buffer, records_at: int, n: int, index: int, skip: int, out: Buffer, /
) -> tuple[int, int, int]: ...
def merge(
    program: bytes, locale: Locale, arena: Buffer, cursors: Buffer, cursor_n: int, state: Buffer, out: Buffer, /
) -> tuple[int, int]: ...
def merge_state_bytes(cursor_n: int, /) -> int: ...
