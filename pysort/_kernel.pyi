# The C extension. _kernel_py.py documents the functions.
NAME: str
RECORD_BYTES: int
HEADER_BYTES: int
CURSOR_BYTES: int
MERGE_DONE: int
MERGE_FULL: int

Buffer = bytearray | memoryview

def scan(program: bytes, arena: Buffer, start: int, stop: int, top: int, n: int, n_max: int, /) -> tuple[int, int]: ...
def encode(
    program: bytes, arena: Buffer, top: int, first: int, last: int, at: int, limit: int, /
) -> tuple[int, int]: ...
def sort(program: bytes, arena: Buffer, top: int, n: int, /) -> int: ...
def gather(
    program: bytes, arena: Buffer, records_at: int, n: int, index: int, skip: int, out: Buffer, /
) -> tuple[int, int, int]: ...
def merge(
    program: bytes, arena: Buffer, cursors: Buffer, cursor_n: int, state: Buffer, out: Buffer, /
) -> tuple[int, int]: ...
def merge_state_bytes(cursor_n: int, /) -> int: ...
