"""What the functions of the kernel in plain Python ask of their arguments. Each raises ValueError."""

from __future__ import annotations

from pysort._kernel_py_encode import Program
from pysort._kernel_py_records import RECORD_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Buffer

_ARENA_LIMIT = 1 << 32


def require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def open_program(program: bytes, locale: Any) -> Program:
    order = Program(program)
    require(locale is not None or not order.needs_locale, "the key program needs a locale")
    return order


def open_arena(arena: Buffer) -> memoryview:
    view = memoryview(arena).cast("B")
    require(len(view) < _ARENA_LIMIT, "the arena is not shorter than 4 GiB")
    return view


def require_records(view: memoryview, top: int, n: int) -> None:
    require(0 <= top <= len(view) and top % RECORD_BYTES == 0, "top is not a record boundary")
    require(0 <= n <= top // RECORD_BYTES, "the records do not fit below top")
