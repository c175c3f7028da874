"""What --help prints, made of the option table."""

from __future__ import annotations

from pysort.option_table import OPTIONS, SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.option_table import Option

_TEXT_COLUMN = 28
_WIDTH = 79

_HEAD = """\
Usage: {program} [OPTION]... [FILE]...
  or:  {program} [OPTION]... --files0-from=F
Write the lines of all FILEs, sorted, to standard output.

With no FILE, or when FILE is -, read standard input. An argument that a long
option must have, its letter must have too.
"""

_TAIL = """
KEYDEF is F[.C][OPTS][,F[.C][OPTS]]: where the key starts and where it ends, by
default at the end of the line. F is the number of a field and C of a byte in
it, both counted from 1; C 0 at the end is the end of the field. Without -t a
field begins with the blanks before it, and without b they count. OPTS are
letters out of bdfghiMnRrV; a key that has any takes none of the global ones.

SIZE is a number and a unit: % of the memory, b for bytes, K for 1024 bytes
(default), M, G, T, P, E, Z, Y, R, Q.

The order depends on the locale: LC_ALL=C compares bytes.
"""


def help_text(program: bytes) -> bytes:
    """What --help prints."""
    parts = [_HEAD.encode().replace(b"{program}", program)]
    for section in SECTIONS:
        parts.append(f"\n{section}\n\n".encode())
        parts += [_help_entry(option) for option in OPTIONS if option.section == section]
    return b"".join((*parts, _TAIL.encode()))


def _help_entry(option: Option) -> bytes:
    """Two columns. A long name shifts the text to the right, or below if there is no room."""
    first, *others = option.text.split("\n")
    head = f"  {option.syntax}  ".ljust(_TEXT_COLUMN)
    if len(head) + len(first) > _WIDTH:
        head = head.rstrip() + "\n" + " " * _TEXT_COLUMN
    lines = [head + first, *(" " * (_TEXT_COLUMN + 2) + line for line in others)]
    return "".join(line + "\n" for line in lines).encode()
