"""First-level collation keys against strcoll, in every locale that is installed.

They were found to agree on one C library, by such comparisons as these; nothing documents it. The texts are new on
every run (but the same under the profile `ci`), and there are more of them under the profile `thorough`.
"""

from __future__ import annotations

import random
from itertools import pairwise
from types import ModuleType

import pytest
from collation import ASCII, Collation, Texts, collation, every_locale
from hypothesis import settings
from kernel_model import Key, Order
from kernel_support import Batch

from pysort.keys import locale as key_locale

EXAMPLES = settings.default.max_examples  # 100 by default
SEED = 0 if settings.default.derandomize else random.SystemRandom().randrange(2**32)
TEXTS_N = {"c": 1000 + 5 * EXAMPLES, "python": 50 + EXAMPLES // 2}
ASCII_N = {"c": 200 + EXAMPLES, "python": 50}
GROUP = 50  # texts that are near to one another


def keys_of(kernel: ModuleType, name: bytes, texts: list[bytes]) -> list[bytes]:
    return Batch(kernel, Order(keys=(Key(),), locale=name, separator=b"\0"), texts).encoded_keys()


def pairs(rng: random.Random, keys: list[bytes]) -> list[tuple[int, int]]:
    """Neighbours in the order of the keys, and as many drawn among texts that are near to one another; keys differ."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    found = list(pairwise(order))
    for i in range(len(keys)):
        group = i - i % GROUP
        found.append((i, rng.randrange(group, min(group + GROUP, len(keys)))))
    return [(i, j) if keys[i] < keys[j] else (j, i) for i, j in found if keys[i] != keys[j]]


def check_against_strcoll(language: Collation, texts: list[bytes], keys: list[bytes], rng: random.Random) -> int:
    """Returns how many pairs were compared."""
    compared = pairs(rng, keys)
    for i, j in compared:
        assert language.order(texts[i], texts[j]) < 0, (language.name, texts[i], texts[j], SEED)
    return len(compared)


@pytest.mark.skipif(
    key_locale._c_library() not in key_locale.TESTED_C_LIBRARIES, reason="no first levels are used on this C library"
)
def test_where_keys_differ_strcoll_says_the_same(kernel: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    visited = set()
    pair_n = least_n = 0
    for name in every_locale():
        rng = random.Random(f"{name!r} {SEED}")
        language = collation(name)
        drawn = Texts(rng, language.codeset)
        texts = [text for _ in range(TEXTS_N[kernel.NAME] // GROUP) for text in drawn.some(GROUP)]
        n = check_against_strcoll(language, texts, keys_of(kernel, name, texts), rng)
        least_n = min(least_n or n, n)
        pair_n += n
        visited.add(name)
    with capsys.disabled():
        print(f"\n{len(visited)} locales, {pair_n} pairs, {least_n} or more in each (seed {SEED})")
    assert visited == set(every_locale())
    assert least_n >= TEXTS_N[kernel.NAME] // 4


def ascii_texts(rng: random.Random, n: int) -> list[bytes]:
    """Every character; words of few letters, where contractions are; anything; one that is longer than any buffer."""
    letters = [bytes([byte]) for byte in b"abcdefghijklmnopqrstuvwxyz"]
    few = [rng.choices(letters, k=3) for _ in range(n)]
    words = [b"".join(rng.choices(letters if i % 3 else few[i], k=rng.randrange(2, 6))) for i in range(n)]
    mixed = [bytes.swapcase(word) if rng.random() < 0.5 else word.title() for word in words]
    anything = [b"".join(rng.choices(ASCII, k=rng.randrange(12))) for _ in range(n)]
    return [*ASCII, *words, *mixed, *anything, b"".join(rng.choices(ASCII, k=9000))]


def test_ascii_is_encoded_as_the_first_level_of_strxfrm(kernel: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    visited = set()
    text_n = 0
    for name in every_locale():
        texts = ascii_texts(random.Random(f"{name!r} {SEED}"), ASCII_N[kernel.NAME])
        language = collation(name)
        for text, key in zip(texts, keys_of(kernel, name, texts), strict=True):
            assert key == language.first_level(text) + b"\0", (name, text, SEED)
        text_n += len(texts)
        visited.add(name)
    with capsys.disabled():
        print(f"\n{len(visited)} locales, {text_n} texts (seed {SEED})")
    assert visited == set(every_locale())
    assert text_n >= 3 * ASCII_N[kernel.NAME] * len(visited)


# Where alphabets and their marks lie, as far as csrc/first_level.c keeps a table of characters.
_BLOCKS = [
    range(0x80, 0x180),
    range(0x180, 0x300),
    range(0x300, 0x370),
    range(0x370, 0x400),
    range(0x400, 0x530),
    range(0x530, 0x600),
    range(0x600, 0x800),
    range(0x2000, 0x2040),
    range(0x20, 0x7F),
]


def utf8_texts(rng: random.Random, n: int) -> list[bytes]:
    """Every character of the table, once; words of few characters of few alphabets, so that each pair comes often."""
    every = [chr(c).encode() for block in _BLOCKS for c in block]
    texts = list(every)
    while len(texts) < len(every) + n:
        blocks = rng.sample(_BLOCKS, rng.randrange(1, 4))
        few = [chr(rng.choice(block)) for block in blocks for _ in range(4)]
        texts += ["".join(rng.choices(few, k=rng.randrange(1, 9))).encode() for _ in range(10)]
    return texts


def test_utf8_is_encoded_as_the_first_level_of_strxfrm(kernel: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for name in every_locale() if collation(name).codeset == "UTF-8"]
    text_n = 0
    for name in names:
        texts = utf8_texts(random.Random(f"{name!r} {SEED}"), 5 * ASCII_N[kernel.NAME])
        texts.append(b"".join(texts))  # more pairs than are remembered
        language = collation(name)
        for text, key in zip(texts, keys_of(kernel, name, texts), strict=True):
            assert key == language.first_level(text) + b"\0", (name, text, SEED)
        text_n += len(texts)
    with capsys.disabled():
        print(f"\n{len(names)} locales, {text_n} texts (seed {SEED})")
    assert b"C.UTF-8" in names or b"C.utf8" in names
    assert text_n >= 2000 * len(names)
