"""The encodings of months, versions and the random order, as pure functions: see _kernel_py_encode for what an encoding
is.

- month: the number of the month, 00 for none.
- random: the MD5 of the seed and the text.
- version: "", "." and ".." are 00, 01 and 02. Other names are 03 if they begin with a dot, else 04; then the stem and
  the whole name in the code below, where what both codes begin with is written once.

The code of a version. The text is a run of bytes that are no digits, a number, a run, a number and so on; what is
missing at the ends counts as an empty run and as 0, so that `a`, `a0` and `a00` are equal. Runs compare byte by byte by
rank, and the end of a run has a rank too, the same whether a digit or nothing follows:

    ~  <  end of the run, or of the text  <  letters  <  all other bytes
    1     2                                  3-54        55-247

A number is 02, which ends the run before it, the number L of its digits without leading zeros (FF and 8 bytes when
L >= 255), and the digits as pack_digits has them. A text that does not end with a digit gets a last number 0. Then 02
ends the text: it cannot be the end of a run there, for no digit follows a number.

The stem ends where the suffixes of a file name begin. Stems are compared first, whole names where stems are equal.
Equal stems are equal up to the zeros that end them, so the code of that much is in the codes of both the stem and the
whole; it is written once, and then how either ends. A stem that ends with a number above 0 is ended as if an empty run
and 0 came behind it.
"""

from __future__ import annotations

from pysort._kernel_py_numbers import DIGITS, pack_digits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_OTHERS = bytes(byte for byte in range(256) if byte not in DIGITS + _LETTERS + b"~")
_RANKS = bytes.maketrans(b"~" + _LETTERS + _OTHERS, bytes([1, *range(3, 248)]))
_SUFFIX_STARTS = _LETTERS + b"~"
_SUFFIX_BYTES = _SUFFIX_STARTS + DIGITS
_END = b"\x02"
_LENGTH_FOLLOWS = 255


def encode_month(text: bytes, months: Sequence[tuple[bytes, int]]) -> bytes:
    """text: what stands behind the blanks, in upper case. months: names, ascending, and numbers.

    In a few locales one name begins another one; which is found then is what a binary search meets first.
    """
    low, high = 0, len(months)
    while low < high:
        middle = (low + high) // 2
        name, number = months[middle]
        if text.startswith(name):
            return bytes([number])
        if text < name:
            high = middle
        else:
            low = middle + 1
    return b"\x00"


def encode_random(text: bytes, seed: bytes, transform: Callable[[bytes], bytes] | None) -> bytes:
    """transform: the locale's strxfrm, for each NUL-separated piece; None to take the text as it is."""
    import hashlib

    if transform is not None and text:
        pieces = text.removesuffix(b"\x00").split(b"\x00")
        text = b"".join(transform(piece) + b"\x00" for piece in pieces)
    return hashlib.md5(seed + text, usedforsecurity=False).digest()


def encode_version(name: bytes) -> bytes:
    if name in (b"", b".", b".."):
        return bytes([len(name)])
    stem = name[: _stem_length(name)]
    shared = stem.rstrip(b"0")
    if shared[-1:].isdigit():
        shared = stem
    head = b"\x03" if name.startswith(b".") else b"\x04"
    return head + _open(shared) + _closed(stem[len(shared) :]) + _closed(name[len(shared) :])


def _stem_length(name: bytes) -> int:
    """Where the suffixes begin: as many as there are of a dot, a letter or tilde, and letters, digits and tildes. The
    first byte belongs to none."""
    at = stem = 0
    while at < len(name):
        at += 1
        stem = at
        while name[at : at + 1] == b"." and at + 1 < len(name) and name[at + 1] in _SUFFIX_STARTS:
            at += 2
            while at < len(name) and name[at] in _SUFFIX_BYTES:
                at += 1
    return stem


def _open(text: bytes) -> bytes:
    """The code of a text that may go on."""
    code = b""
    while text:
        rest = text.lstrip(DIGITS)
        if rest != text:
            code += _number(text[: len(text) - len(rest)])
        code += rest[:1].translate(_RANKS)
        text = rest[1:]
    return code


def _closed(text: bytes) -> bytes:
    last_number = b"" if text[-1:].isdigit() else _number(b"")
    return _open(text) + last_number + _END


def _number(digits: bytes) -> bytes:
    digits = digits.lstrip(b"0")
    length = bytes([len(digits)]) if len(digits) < _LENGTH_FOLLOWS else b"\xff" + len(digits).to_bytes(8, "big")
    return _END + length + pack_digits(digits)
