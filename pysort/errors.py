"""What can go wrong, as exceptions. The core raises; only cli prints and ends the process.

A message keeps its quoted parts apart, because the quotes depend on the user's locale: `quote`
marks text that is set in the locale's quotes, `shell_name` a file name that is quoted only when a
shell would need it, `shell_quote` one that always is. Source of the three styles: GNU sort 9.1's
diagnostics, tried.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    Charset = tuple[bool, bytes]  # whether it is UTF-8; else the bytes that can be shown: 256 bytes, 0 or 1

# How control bytes are written; any other byte that cannot be shown is three octal digits.
_ESCAPES = {7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r"}

ASCII_PRINTABLE = bytes(32 <= byte < 127 for byte in range(256))
_UNPRINTABLE = frozenset(["Cc", "Cs", "Cn", "Zl", "Zp"])  # Unicode's categories, as glibc has it

# Characters that make a name need quotes, anywhere, at its beginning, and as the whole name.
_SPECIAL = frozenset(b" !\"$&'()*;<=>?[\\^`|")
_SPECIAL_FIRST = frozenset(b"#~")
_SPECIAL_ALONE = frozenset((b"{", b"}"))
# A name with an apostrophe is put in double quotes unless it has one of these.
_NOT_IN_DOUBLE_QUOTES = frozenset(b'!"#$&()*;<=>?[\\^`{|}~')


class Quoted:
    """Text inside a message that is set in quotes when the message is rendered."""

    __slots__ = ("style", "text")

    def __init__(self, style: str, text: bytes) -> None:
        self.style = style
        self.text = text


# Ends a message and begins a second one of the same error, with the program's name before it again.
NEXT_MESSAGE = Quoted("next-message", b"\n")


def quote(text: bytes) -> Quoted:
    return Quoted("locale", text)


def shell_name(text: bytes) -> Quoted:
    return Quoted("shell", text)


def shell_quote(text: bytes) -> Quoted:
    return Quoted("shell-always", text)


class SortError(Exception):
    """A failure that the user should read about.

    parts: the message without the program's name, bytes and Quoted; a newline in it begins a line
        without that name, NEXT_MESSAGE one with it.
    status: exit status of the command line.
    usage: whether "Try 'sort --help' for more information." follows.
    errno, filename: of the system call that failed, if one did.
    """

    def __init__(
        self,
        *parts: bytes | Quoted,
        status: int = 2,
        usage: bool = False,
        errno: int | None = None,
        filename: bytes | None = None,
    ) -> None:
        super().__init__(*parts)
        self.parts = parts
        self.status = status
        self.usage = usage
        self.errno = errno
        self.filename = filename

    def __str__(self) -> str:
        """The message alone, as the C locale shows it."""
        return os.fsdecode(self._message(b"\n", (False, ASCII_PRINTABLE)))

    def render(self, program: bytes, utf8: bool, printable: bytes = ASCII_PRINTABLE) -> bytes:
        """Everything that goes to stderr. utf8: whether the locale's characters are UTF-8. printable: where they are
        not, 256 bytes, 1 at those that can be shown."""
        text = program + b": " + self._message(b"\n" + program + b": ", (utf8, printable)) + b"\n"
        if self.usage:
            text += b"Try '" + program + b" --help' for more information.\n"
        return text

    def _message(self, next_message: bytes, charset: Charset) -> bytes:
        out = b""
        for part in self.parts:
            if not isinstance(part, Quoted):
                out += part
            else:  # not told by identity: an error may come from another process
                out += next_message if part.style == NEXT_MESSAGE.style else _set(part, charset)
        return out


def creation_error(directory: bytes, error: OSError) -> SortError:
    """`cannot create temporary file in 'DIRECTORY': REASON`."""
    reason = os.fsencode(os.strerror(error.errno or 0))
    what = b"cannot create temporary file in "
    return SortError(what, shell_quote(directory), b": ", reason, errno=error.errno, filename=directory)


def file_error(action: bytes, name: bytes, error: OSError) -> SortError:
    """`read failed: NAME: No such file or directory` and its like."""
    reason = os.fsencode(os.strerror(error.errno or 0))
    return SortError(action, b": ", shell_name(name), b": ", reason, errno=error.errno, filename=name)


def _set(quoted: Quoted, charset: Charset) -> bytes:
    if quoted.style == "locale":
        return _locale_quoted(quoted.text, charset)
    if quoted.style == "shell" and _is_plain(quoted.text, charset):
        return quoted.text
    return _shell_quoted(quoted.text, charset)


def _characters(text: bytes, charset: Charset) -> list[tuple[bytes, bool]]:
    """The characters of text, each with whether it can be shown."""
    utf8, printable = charset
    if not utf8 or text.isascii():
        return [(bytes((byte,)), printable[byte] == 1) for byte in text]
    # Only a failing command pays for the import.
    from unicodedata import category

    return [
        (
            char.encode("utf-8", "surrogateescape"),
            category(char) not in _UNPRINTABLE,
        )
        for char in text.decode("utf-8", "surrogateescape")
    ]


def _escaped(character: bytes) -> bytes:
    return b"".join(_ESCAPES.get(byte) or b"\\%03o" % byte for byte in character)


def _locale_quoted(text: bytes, charset: Charset) -> bytes:
    left, right = (b"\xe2\x80\x98", b"\xe2\x80\x99") if charset[0] else (b"'", b"'")
    out = left
    for character, printable in _characters(text, charset):
        if character in (right, b"\\"):
            out += b"\\" + character
        else:
            out += character if printable else _escaped(character)
    return out + right


def _is_plain(name: bytes, charset: Charset) -> bool:
    """Whether a shell, and a reader of `NAME: reason`, would take the name as it is."""
    if not name or name in _SPECIAL_ALONE or name[0] in _SPECIAL_FIRST or b":" in name:
        return False
    return _SPECIAL.isdisjoint(name) and all(shown for _, shown in _characters(name, charset))


def _shell_quoted(text: bytes, charset: Charset) -> bytes:
    characters = _characters(text, charset)
    if b"'" in text and all(shown for _, shown in characters):
        special = text[1:] if text[0] in _SPECIAL_FIRST else text
        if _NOT_IN_DOUBLE_QUOTES.isdisjoint(special):
            return b'"' + text + b'"'
    out = b"'"
    escaping = False
    for character, printable in characters:
        if not printable:
            out += _escaped(character) if escaping else b"'$'" + _escaped(character)
            escaping = True
            continue
        if character == b"'":
            out += b"'\\''"
        else:
            out += b"''" + character if escaping else character
        escaping = False
    return out + b"'"
