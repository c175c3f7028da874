"""The C library's collation, asked directly: the oracle of the locales, and text that is hard on it."""

from __future__ import annotations

import codecs
import ctypes
import functools
import random
import subprocess

_LC_CTYPE_MASK, _LC_COLLATE_MASK = 1 << 0, 1 << 3
_CODESET = 14

_LIBC = ctypes.CDLL(None)
_LIBC.newlocale.argtypes, _LIBC.newlocale.restype = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p), ctypes.c_void_p
_LIBC.strcoll_l.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
_LIBC.strxfrm_l.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p)
_LIBC.strxfrm_l.restype = ctypes.c_size_t
_LIBC.nl_langinfo_l.argtypes, _LIBC.nl_langinfo_l.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_char_p


class Collation:
    """One locale of the C library, open for as long as the process lives."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        self._handle = _LIBC.newlocale(_LC_COLLATE_MASK | _LC_CTYPE_MASK, name, None)
        assert self._handle, name
        self.codeset: str = _LIBC.nl_langinfo_l(_CODESET, self._handle).decode()

    def piece_order(self, a: bytes, b: bytes) -> int:
        """strcoll's answer for two texts without NUL."""
        order: int = _LIBC.strcoll_l(a, b, self._handle)
        return order

    def order(self, a: bytes, b: bytes) -> int:
        """Below, at or above 0. NUL separates pieces that are compared one after the other; nothing is less than any
        text, and pieces that the other text does not have make greater."""
        if not a or not b:
            return len(a) - len(b)
        pieces = a.split(b"\0"), b.split(b"\0")
        for x, y in zip(*pieces, strict=False):
            if order := self.piece_order(x, y):
                return order
        return len(pieces[0]) - len(pieces[1])

    def first_level(self, text: bytes) -> bytes:
        """What stands before the first byte 01 in strxfrm's result for a text without NUL."""
        size = _LIBC.strxfrm_l(None, text, 0, self._handle) + 1
        key = ctypes.create_string_buffer(size)
        _LIBC.strxfrm_l(key, text, size, self._handle)
        return key.raw[: size - 1].partition(b"\1")[0]


@functools.cache
def collation(name: bytes) -> Collation:
    return Collation(name)


def is_installed(name: bytes) -> bool:
    return bool(_LIBC.newlocale(_LC_COLLATE_MASK | _LC_CTYPE_MASK, name, None))


@functools.cache
def every_locale() -> list[bytes]:
    """All that are installed."""
    listing = subprocess.run(["locale", "-a"], capture_output=True, check=True).stdout
    return sorted({*listing.split(), b"C", b"POSIX"})


# Text -----------------------------------------------------------------------------------------------------------------

ASCII = [bytes([byte]) for byte in range(1, 128)]

# One list for each way in which characters are near to each other.
_CHARACTERS = [
    *("aAbBzZ", "aáàâäãåāąæAÁÄÅÆªᵃａ", "cčçćhCHČ", "sßſšśS", "eéèêëęėE", "iıİíîI", "oóöőøœOÖØ", "uůúüűUÜ", "nñňŋNÑ"),
    *("dzsDZSǆǅ", "lljLLjǉlł", "0123456789", "٠١٢٣", "०१२", "½¼²³①⑳Ⅷ㏾", "𝟘𝟙𝟎"),
    *(" -_.,;:'\"()[]/@#%&*+=<>", "\u00a0\u2009\u3000\u200b\u200d\u00ad\u2060\ufeff", "–—‘’“”«»…·", "$€£¥¢₿"),
    *("\u0301\u0300\u0308\u0327\u0345\u20dd", "\u064b\u0651\u0670", "\u093c\u094d", "\u3099\u309a", "\ufe0f"),
    *("αάΑΆςσΣ", "бБйЙёЁеЕґѓ", "աԱև", "אבגךכ", "ابتةآأإ", "कखगक्षज्ञ", "กขเกแกไก", "ກເກ", "ကខ្ក", "ཀཁྐ", "አሀለ", "ⴰⵣ"),
    *("あぁアァｱがガバパーｰゝヽ", "一丁七人亻字学學龍龜", "가각힣ㄱ각한글", "ㄅㄆ", "𠀀𪜶", "😀👍🏽👨‍👩‍👧"),
    *("\x01\x02\x1f\x7f\t\r\x0b\x0c\x85", "\ue000\uf8ff\U000f0000", "\u0378\u2fff\U0001ffff\U0010ffff", "ﬁﬀĳﷺ㍿"),
]
_BYTES = [
    b"\xff",
    b"\xfe",
    b"\x80",
    b"\x81",
    b"\xc3",
    b"\xe9",
    b"\xa0",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
]


class Texts:
    """Random texts for one locale: near to one another, in its own encoding, in UTF-8 and in none."""

    def __init__(self, rng: random.Random, codeset: str, *, nul: bool = False) -> None:
        self._rng = rng
        self._groups = [[self._encoded(c, codeset) for c in characters] for characters in _CHARACTERS]
        self._groups.append(_BYTES + [b"\0"] * nul)
        self._groups.append([bytes([byte]) for byte in range(0x80, 0x100)])

    def _encoded(self, character: str, codeset: str) -> bytes:
        try:
            codecs.lookup(codeset)
            return character.encode(codeset)
        except (LookupError, UnicodeEncodeError):
            return character.encode()

    def some(self, n: int) -> list[bytes]:
        """n texts out of few pieces, most of them a change to one before."""
        rng = self._rng
        pieces = [piece for group in rng.sample(self._groups, rng.randrange(1, 5)) for piece in group]
        pieces += rng.choice(self._groups[:12])
        texts: list[list[bytes]] = [[]]
        while len(texts) < n:
            if rng.random() < 0.3:
                text = rng.choices(pieces, k=rng.randrange(10))
            else:
                text = list(rng.choice(texts[-8:]))
                for _ in range(rng.randrange(1, 3)):
                    at = rng.randrange(len(text) + 1)
                    text[at : at + rng.randrange(2)] = rng.choices(pieces, k=rng.randrange(3))
            texts.append(text[:40])
        return [b"".join(text) for text in texts]
