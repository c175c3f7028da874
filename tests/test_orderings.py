"""The orderings -h -M -g -V -R through the command line, spilled runs and locales included, beside GNU sort."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
import support

# Without what GNU sort 9.1 sorts otherwise: units R and Q, names that are only suffixes, and NaN, which may differ from
# itself there.
PIECES = {
    "g": "1e3 -1 0x1p3 .5 1.5 1,5 inf -inf x 1e-4950 1e-4951 1e4932 1e4933 18446744073709551615 "
    "18446744073709551614 0.1 0.10000000000000000001 -0 1e 007",
    "h": "1K 1023M 1G .5K 1.K 0G 00K -2M -1K 0 1Ki 5 1..2E 3Z 7Y 1k 1m x - 2E",
    "M": "JAN feb Mar april MAYDAY jun JUL AUGUST sep Oct nov DEC x J FE",
    "V": "a1 a01 a10 a2 a.txt a1.txt a10.tar.gz a2.tar.gz a~ a~1 .b0- ..c- 1.2.3 1.10.0 1.2.3~rc1 a- a_ A b",
}
LOCALES = ["vi_VN", "cv_RU", "kw_GB", "ja_JP.UTF-8", "fr_FR.UTF-8", "de_DE.UTF-8"]


def lines_of(pieces: list[bytes], n: int = 3000) -> bytes:
    rng = random.Random(8)
    return b"".join(
        b"%b %b %b\n" % (rng.choice(pieces), rng.choice(pieces), rng.choice(b"ab cd").to_bytes()) for _ in range(n)
    )


def needs_locale(name: str) -> None:
    if not support.has_locale(name):
        pytest.skip(f"the locale {name} is not installed")


def assert_sorted_as_gnu_does(options: list[str], data: bytes, cwd: Path, locale: str = "C") -> None:
    env = {"LC_ALL": locale}
    ours = support.run([*support.CONTENDER], [*options, "-S", "20K"], cwd, data=data, env=env)
    assert ours == support.run(support.GNU, options, cwd, data=data, env=env)


@support.needs_gnu
@pytest.mark.parametrize("options", ["-{}", "-{} -s", "-{} -u", "-k2,2{}r -k1,1{}", "-k2{}b -k1,1r"])
@pytest.mark.parametrize("letter", sorted(PIECES))
def test_lines_are_sorted_as_gnu_sort_does(letter: str, options: str, tmp_path: Path) -> None:
    words = options.format(letter, letter).split()
    assert_sorted_as_gnu_does(words, lines_of(PIECES[letter].encode().split()), tmp_path)


@support.needs_gnu
@pytest.mark.parametrize("locale", LOCALES)
def test_months_have_the_locales_names(locale: str, tmp_path: Path) -> None:
    needs_locale(locale)
    env = support.environment({"LC_ALL": locale})
    answer = subprocess.run(["locale", "abmon"], capture_output=True, check=True, env=env).stdout.strip()
    names = [re.sub(rb"[ \t]", b"", name) for name in answer.split(b";")]
    assert len(names) == 12
    assert_sorted_as_gnu_does(
        ["-s", "-M"], lines_of([*names, *[name + b"x" for name in names], b"x", b""]), tmp_path, locale
    )


@support.needs_gnu
@pytest.mark.parametrize("locale", ["de_DE.UTF-8", "fr_FR", "en_US.UTF-8", "ps_AF"])
@pytest.mark.parametrize("letter", "gh")
def test_numbers_are_spelled_as_in_the_locale(letter: str, locale: str, tmp_path: Path) -> None:
    needs_locale(locale)
    pieces = [
        *PIECES[letter].encode().split(),
        b"1,25",
        b"1.25",
        b"1.250K",
        b"1,250K",
        b"1,,250K",
        b",5K",
        b"\xd9\xab5",
    ]
    assert_sorted_as_gnu_does(["-s", f"-{letter}"], lines_of(pieces), tmp_path, locale)


@pytest.mark.parametrize("locale", ["C", "en_US.UTF-8"])
def test_the_random_order_keeps_equal_keys_together(locale: str, tmp_path: Path) -> None:
    needs_locale(locale)
    keys = [b"%d" % number for number in range(100)]
    data = b"".join(b"%b %d\n" % (key, number) for number in range(20) for key in keys)
    orders = []
    for _ in range(2):
        result = support.run(
            support.CONTENDER, ["-k1,1R", "-s", "-S", "20K"], tmp_path, data=data, env={"LC_ALL": locale}
        )
        lines = result.stdout.splitlines()
        assert (result.status, result.stderr) == (0, b"")
        groups = [lines[at : at + 20] for at in range(0, len(lines), 20)]
        assert sorted(group[0].split()[0] for group in groups) == sorted(keys)
        for group in groups:
            assert group == [b"%b %d" % (group[0].split()[0], number) for number in range(20)]
        orders.append(lines)
    assert orders[0] != orders[1]
