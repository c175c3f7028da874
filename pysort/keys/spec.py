"""Keys as users write them, `-k POS1[,POS2]` or the old `+POS1 [-POS2]`, and what they inherit."""

from __future__ import annotations

from pysort.errors import SortError, quote
from pysort.units import COUNT_MAX, scan_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

# Ordering letters in the order in which messages show them; `b` and `r` are kept apart.
LETTERS = "dfghiMnRV"
# Only one of these groups can decide how a key compares.
_KINDS = ("n", "g", "h", "M", "VRdi")


class KeySpec:
    """One key. Frozen: mypy holds everybody to it.

    start_field, start_char, end_field, end_char: zero-based and at most 2**64-1, as struct
        ps_segment has them: the key starts start_char bytes into field start_field and ends after
        end_char bytes of field end_field, or at the end of that field when end_char is 0.
    to_line_end: no end position was given; the other two numbers mean nothing.
    start_blanks, end_blanks: `b` at the start and at the end position.
    ordering: letters out of LETTERS, each at most once, in that order.
    obsolescent: written as +POS1 -POS2.
    """

    __slots__ = (
        "end_blanks",
        "end_char",
        "end_field",
        "obsolescent",
        "ordering",
        "reverse",
        "start_blanks",
        "start_char",
        "start_field",
        "to_line_end",
    )

    def __init__(
        self,
        start_field: int = 0,
        start_char: int = 0,
        end_field: int = 0,
        end_char: int = 0,
        *,
        to_line_end: bool = False,
        start_blanks: bool = False,
        end_blanks: bool = False,
        ordering: str = "",
        reverse: bool = False,
        obsolescent: bool = False,
    ) -> None:
        self.start_field: Final = start_field
        self.start_char: Final = start_char
        self.end_field: Final = end_field
        self.end_char: Final = end_char
        self.to_line_end: Final = to_line_end
        self.start_blanks: Final = start_blanks
        self.end_blanks: Final = end_blanks
        self.ordering: Final = ordering
        self.reverse: Final = reverse
        self.obsolescent: Final = obsolescent

    def __repr__(self) -> str:
        fields = (f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"KeySpec({', '.join(fields)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeySpec):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__slots__))

    @property
    def is_default(self) -> bool:
        """Whether the key has no ordering option of its own, and so takes the global ones."""
        return not (self.ordering or self.reverse or self.start_blanks or self.end_blanks)


def parse_key(text: bytes) -> KeySpec:
    """The argument of -k. Raises SortError."""
    start_field, rest = _number(text, b"invalid number at field start")
    start_char = 1
    if not start_field:
        raise _bad_spec(text, b"field number is zero")
    if rest.startswith(b"."):
        start_char, rest = _number(rest[1:], b"invalid number after '.'")
        if not start_char:
            raise _bad_spec(text, b"character offset is zero")
    letters, rest = _split_letters(rest)
    end_field, end_char = 1, 0
    end_letters = ""
    to_line_end = not rest.startswith(b",")
    if not to_line_end:
        end_field, rest = _number(rest[1:], b"invalid number after ','")
        if not end_field:
            raise _bad_spec(text, b"field number is zero")
        if rest.startswith(b"."):
            end_char, rest = _number(rest[1:], b"invalid number after '.'")
        end_letters, rest = _split_letters(rest)
    if rest:
        raise _bad_spec(text, b"stray character in field spec")
    return KeySpec(
        start_field - 1,
        start_char - 1,
        end_field - 1,
        end_char,
        to_line_end=to_line_end,
        start_blanks="b" in letters,
        end_blanks="b" in end_letters,
        ordering=ordering(letters + end_letters),
        reverse="r" in letters + end_letters,
    )


def parse_obsolescent(start: bytes, end: bytes | None) -> KeySpec | None:
    """The key that the word +POS1 means, with the word -POS2 if one follows it.

    None: `start` is not a position, so it names a file and `end` stands for itself. Raises
    SortError for an `end` that is wrong after a good start.
    """
    number = scan_count(start[1:])
    if number is None:
        return None
    start_field, rest = number
    start_char = 0
    if rest.startswith(b"."):
        number = scan_count(rest[1:])
        if number is None:
            return None
        start_char, rest = number
    letters, rest = _split_letters(rest)
    if rest:
        return None
    end_field, end_char, end_letters = (0, 0, "") if end is None else _obsolescent_end(end)
    return KeySpec(
        min(start_field, COUNT_MAX),
        min(start_char, COUNT_MAX),
        end_field,
        end_char,
        to_line_end=end is None,
        start_blanks="b" in letters,
        end_blanks="b" in end_letters,
        ordering=ordering(letters + end_letters),
        reverse="r" in letters + end_letters,
        obsolescent=True,
    )


def _obsolescent_end(text: bytes) -> tuple[int, int, str]:
    """end_field, end_char and letters of -B.y: y bytes into the field after B fields.

    Without y the key ends at the end of field B, and -0 counts as -1.
    """
    end_field, rest = _number(text[1:], b"invalid number after '-'")
    end_char = 0
    if rest.startswith(b"."):
        end_char, rest = _number(rest[1:], b"invalid number after '.'")
    letters, rest = _split_letters(rest)
    if rest:
        raise _bad_spec(text, b"stray character in field spec")
    return end_field if end_char else max(end_field - 1, 0), end_char, letters


def inherit(keys: Sequence[KeySpec], global_ordering: str, reverse: bool) -> list[KeySpec]:
    """The keys that the lines are compared by.

    global_ordering: letters out of LETTERS and `b`; reverse: -r. A key without ordering options
    takes all the global ones; without any key they make one of the whole line, unless there is
    nothing but -r.
    """
    blanks = "b" in global_ordering
    letters = ordering(global_ordering)
    if not keys and not global_ordering:
        return []
    return [
        KeySpec(
            key.start_field,
            key.start_char,
            key.end_field,
            key.end_char,
            to_line_end=key.to_line_end,
            start_blanks=blanks,
            end_blanks=blanks,
            ordering=letters,
            reverse=reverse,
            obsolescent=key.obsolescent,
        )
        if key.is_default
        else key
        for key in keys or [KeySpec(to_line_end=True)]
    ]


def check_compatible(keys: Iterable[KeySpec]) -> None:
    """Raises SortError for the first (effective) key whose ordering options are incompatible."""
    for key in keys:
        if sum(not set(kind).isdisjoint(key.ordering) for kind in _KINDS) > 1:
            shown = key.ordering.replace("i", "") if "d" in key.ordering else key.ordering
            raise SortError(b"options '-", shown.encode(), b"' are incompatible")


def ordering(letters: Iterable[str]) -> str:
    """The ordering letters among these, as KeySpec keeps them."""
    given = set(letters)
    return "".join(letter for letter in LETTERS if letter in given)


def _number(text: bytes, what: bytes) -> tuple[int, bytes]:
    number = scan_count(text)
    if number is None:
        raise SortError(what, b": invalid count at start of ", quote(text))
    return min(number[0], COUNT_MAX), number[1]


def _split_letters(text: bytes) -> tuple[str, bytes]:
    rest = text.lstrip(b"br" + LETTERS.encode())
    return text[: len(text) - len(rest)].decode(), rest


def _bad_spec(text: bytes, what: bytes) -> SortError:
    return SortError(what, b": invalid field specification ", quote(text))
