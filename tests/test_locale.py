"""The environment's locale: which one it is, what it says of bytes, numbers and months; GNU sort is the judge."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import Worker, ask_gnu

from pysort import _kernel_py, kernel
from pysort.keys import locale

Environment = Mapping[str, str | None]
KERNELS = [_kernel_py, *([kernel.load(b"c")] if kernel.load(None) is not _kernel_py else [])]
both_kernels = pytest.mark.parametrize("implementation", KERNELS, ids=lambda module: module.NAME)
not_gnu = pytest.mark.skipif(support.testing_gnu_itself(), reason="a worker runs pysort")

CATEGORIES = ["LC_CTYPE", "LC_COLLATE", "LC_NUMERIC", "LC_TIME", "LC_MESSAGES", "LC_MONETARY", "LC_PAPER", "LC_NAME"]
CATEGORIES += ["LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION"]


def needs(*names: str) -> pytest.MarkDecorator:
    missing = [name for name in names if not support.has_locale(name)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {missing}")


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with contextlib.closing(Worker()) as worker:
        yield worker


# Which locale ---------------------------------------------------------------------------------------------------------

# Languages that GNU sort's messages are not translated to; en_DK has a decimal comma, cy_GB letters of two characters.
ENGLISH, DANISH_ENGLISH, WELSH, LATIN = "en_US.UTF-8", "en_DK.UTF-8", "cy_GB.UTF-8", "en_US.ISO-8859-1"
MISSING = "xx_XX.UTF-8"
ENVIRONMENTS: list[Environment] = [
    {},
    {"LANG": ""},
    {"LC_ALL": "", "LANG": ""},
    {"LANG": ENGLISH},
    {"LANG": "en_US.utf8"},
    {"LANG": "en_US.UTF8"},
    {"LANG": LATIN},
    {"LANG": "en_US"},
    {"LANG": "POSIX"},
    {"LANG": "C.UTF-8"},
    {"LANG": "C.utf-8"},
    {"LANG": MISSING},
    {"LANG": "en"},
    {"LANG": "en_US.UTF-9"},
    {"LANG": "../en_US.UTF-8"},
    # precedence
    {"LC_ALL": ENGLISH, "LANG": "C"},
    {"LC_ALL": "C", "LANG": ENGLISH},
    {"LC_ALL": "POSIX", "LC_COLLATE": ENGLISH},
    {"LC_ALL": "", "LANG": ENGLISH},
    {"LC_ALL": "", "LC_COLLATE": "", "LANG": ENGLISH},
    {"LC_ALL": ENGLISH, "LC_COLLATE": "C", "LC_NUMERIC": DANISH_ENGLISH},
    {"LC_COLLATE": "C", "LANG": ENGLISH},
    {"LC_COLLATE": ENGLISH},
    {"LC_COLLATE": "", "LANG": ENGLISH},
    {"LC_COLLATE": WELSH, "LANG": "C.UTF-8"},
    {"LC_NUMERIC": DANISH_ENGLISH},
    {"LC_NUMERIC": DANISH_ENGLISH, "LC_COLLATE": ENGLISH, "LC_CTYPE": LATIN},
    {"LC_CTYPE": LATIN, "LC_COLLATE": "C"},
    # one bad name anywhere, unless another variable outweighs it
    *({category: MISSING, "LANG": ENGLISH} for category in CATEGORIES),
    *({category: MISSING, "LC_ALL": ENGLISH} for category in ("LC_COLLATE", "LC_MESSAGES")),
    {"LC_ALL": MISSING, "LANG": ENGLISH},
    {"LC_ALL": ENGLISH, "LANG": MISSING},
    {"LC_COLLATE": MISSING, "LC_ALL": "C"},
    {"LC_PAPER": MISSING},
    {"LC_PAPER": MISSING, "LANG": "C.UTF-8"},
    {"LC_UNKNOWN": MISSING, "LANG": ENGLISH},
    {"LANG": MISSING, "LC_CTYPE": ENGLISH},
    {"LANG": MISSING, **dict.fromkeys(CATEGORIES, ENGLISH)},
    # CPython puts LC_CTYPE=C.UTF-8 into its own environment in all of these but the first two
    {"LC_CTYPE": "C.UTF-8"},
    {"LC_CTYPE": "C.utf8"},
    {"LC_CTYPE": ""},
    {"LC_CTYPE": "C"},
    {"LC_CTYPE": "POSIX", "LC_COLLATE": ENGLISH},
    {"LC_CTYPE": "C", "LANG": ENGLISH},
    {"LC_CTYPE": "", "LANG": ENGLISH},
    {"LC_CTYPE": MISSING},
    {"LC_CTYPE": "UTF-8", "LC_COLLATE": ENGLISH},
    {"LC_CTYPE": "C.UTF-8", "LC_COLLATE": MISSING},
]

# Case and punctuation tell the collation, the last byte the character type, comma and full stop the numbers.
PROBE = b"".join(
    line + b"\n"
    for line in [
        *(b"b 1,5", b"B 1.5", b"a 1.000", b"A 1,000", b"a 2", b"A 10", b"co-op 1", b"coop 2", b"Co-op 0,9", b"cop 0.9"),
        *(
            b"ch 1",
            b"cz 1",
            b"d 1",
            b"\xe9t\xe9 1",
            b"\xc9t\xe9 1",
            b"e 3",
            b"\xc3\xa9 4",
            b"\xc3\x89 3",
            b"f 1",
            b"z 0",
        ),
    ]
)


def everything(command: list[str], env: Environment, cwd: Path) -> list[bytes]:
    """The probe sorted, and an error message for its quotes."""
    changes = {"LC_ALL": None, **env}
    result = support.run(command, ["-k1,1df", "-k2,2n"], cwd, data=PROBE, env=changes)
    return [*result[1:], support.normalized(support.run(command, ["-k0"], cwd, env=changes).stderr)]


@support.needs_gnu
@needs(ENGLISH, DANISH_ENGLISH, WELSH, LATIN)
@pytest.mark.parametrize("env", ENVIRONMENTS, ids=lambda env: " ".join(f"{k}={v}" for k, v in env.items()) or "nothing")
def test_the_environment_means_what_it_means_to_gnu_sort(env: Environment, tmp_path: Path) -> None:
    assert everything(support.CONTENDER, env, tmp_path) == everything(support.GNU, env, tmp_path)


@support.needs_gnu
@needs(ENGLISH, DANISH_ENGLISH, WELSH, LATIN)
def test_the_environments_are_told_apart_by_the_probe(tmp_path: Path) -> None:
    kinds = [{}, {"LANG": "C.UTF-8"}, {"LANG": ENGLISH}, {"LANG": LATIN}, {"LANG": DANISH_ENGLISH}, {"LANG": WELSH}]
    assert len({tuple(everything(support.GNU, env, tmp_path)) for env in kinds}) == len(kinds)


names = st.sampled_from(["", "C", "POSIX", "C.UTF-8", ENGLISH, ENGLISH, DANISH_ENGLISH, WELSH, LATIN, LATIN])
variables = st.sampled_from(["LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", *CATEGORIES])


@support.needs_gnu
@needs(ENGLISH, DANISH_ENGLISH, WELSH, LATIN)
@settings(max_examples=settings.default.max_examples // 8)
@given(env=st.dictionaries(variables, names | st.sampled_from([MISSING] + [ENGLISH] * 9), max_size=5))
def test_any_environment_means_what_it_means_to_gnu_sort(
    tmp_path_factory: pytest.TempPathFactory, env: Environment
) -> None:
    cwd = tmp_path_factory.getbasetemp()
    assert everything(support.CONTENDER, env, cwd) == everything(support.GNU, env, cwd)


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, b"C"),
        ({b"LANG": b"l"}, b"l"),
        ({b"LANG": b"l", b"LC_COLLATE": b"c"}, b"c"),
        ({b"LANG": b"l", b"LC_COLLATE": b"c", b"LC_ALL": b"a"}, b"a"),
        ({b"LANG": b"l", b"LC_CTYPE": b"c"}, b"l"),
        ({b"LANG": b"l", b"LC_COLLATE": b"", b"LC_ALL": b""}, b"l"),
        ({b"LANG": b"", b"LC_COLLATE": b"", b"LC_ALL": b""}, b"C"),
    ],
)
def test_the_name_of_a_category(environ: dict[bytes, bytes], name: bytes) -> None:
    assert locale.category_name(environ, b"LC_COLLATE") == name


@both_kernels
@pytest.mark.parametrize("name", [b"C", b"POSIX", b""])
def test_the_c_locale_is_known_without_asking(implementation: ModuleType, name: bytes) -> None:
    found = locale.load_locale({b"LANG": name}, None)
    assert (found.collate, found.ctype, found.numeric, found.failed) == (b"C", b"C", b"C", False)
    assert found.tables is locale.C_TABLES
    asked = implementation.locale_facts(b"C", b"C", b"C")
    tables = locale.C_TABLES
    newline = locale.NEWLINE
    assert asked[0][:newline] + b"\1" + asked[0][newline + 1 :] == tables.blank
    assert asked[1:4] == (tables.alnum, tables.print, tables.upper)
    assert asked[4:6] == (b".", b"")
    assert tuple(month.upper() for month in asked[6]) == tables.months


@both_kernels
@pytest.mark.parametrize("category", [category.encode() for category in CATEGORIES])
def test_a_name_that_is_not_known_makes_everything_c(implementation: ModuleType, category: bytes) -> None:
    found = locale.load_locale({b"LANG": b"C.UTF-8", category: MISSING.encode()}, implementation)
    assert found.failed
    assert (found.collate, found.ctype, found.numeric) == (b"C", b"C", b"C")
    assert found.tables is locale.C_TABLES


@both_kernels
def test_each_category_keeps_its_own_name(implementation: ModuleType) -> None:
    environ = {b"LC_COLLATE": b"C.UTF-8", b"LC_NUMERIC": b"POSIX"}
    found = locale.load_locale(environ, implementation)
    assert (found.collate, found.ctype, found.numeric, found.failed) == (b"C.UTF-8", b"C", b"POSIX", False)


def test_first_levels_are_used_only_where_they_were_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        def open_locale(self, *args: object) -> object:
            return args

    language = locale.Locale(b"one", b"two", b"three")
    for version, coarse in [(locale.TESTED_C_LIBRARIES[0], True), ("glibc 1.99", False), (None, False)]:
        monkeypatch.setattr(os, "confstr", lambda _, version=version: version)
        assert locale.open_collation(language, Kernel(), True) == (b"one", b"three", coarse)
        assert locale.open_collation(language, Kernel(), False) == (b"one", b"three", False)
    monkeypatch.delattr(os, "confstr")
    assert locale.open_collation(language, Kernel(), True) == (b"one", b"three", False)


# C.UTF-8 --------------------------------------------------------------------------------------------------------------


@not_gnu
@support.needs_gnu
@needs("C.UTF-8")
@pytest.mark.parametrize("words", [[], [b"-u"], [b"-r"], [b"-f"], [b"-k2,2d"], [b"-k1,1i", b"-u"], [b"-t\xff", b"-k2"]])
@pytest.mark.parametrize("name", ["C.UTF-8", "C.utf8", "C.UTF8"])
def test_c_utf8_is_the_order_of_bytes(worker: Worker, words: list[bytes], name: str) -> None:
    rng = random.Random(len(words))
    pieces = [b"\0", b"\x80", b"\xff", b"\xfe", b"\xc3\xa9", "한글".encode(), "\ue000".encode(), b" ", b"a", b"A", b"_"]
    text = b"".join(b"".join(rng.choices(pieces, k=rng.randrange(6))) + b"\n" for _ in range(2000))
    ours = worker.run(words, stdin=text, env={"LC_ALL": name})
    assert ours.stdout == worker.run(words, stdin=text).stdout
    assert ours.stdout == ask_gnu(words, stdin=text, env={"LC_ALL": name}).stdout
    assert ours.status == 0


@both_kernels
@needs("C.UTF-8")
def test_c_utf8_needs_no_collation(implementation: ModuleType) -> None:
    found = locale.load_locale({b"LC_ALL": b"C.UTF-8"}, implementation)
    assert found.is_byte_order
    assert not found.failed
    for name in ("blank", "alnum", "print", "upper", "point", "grouping", "months"):
        assert getattr(found.tables, name) == getattr(locale.C_TABLES, name)


# What a locale says ---------------------------------------------------------------------------------------------------

_ASK = """
import ctypes, json, locale, sys
libc = ctypes.CDLL(None)
answers = {}
for name in json.load(sys.stdin):
    locale.setlocale(locale.LC_ALL, name)
    tables = [[getattr(libc, f)(b) for b in range(256)] for f in ("isblank", "isalnum", "isprint", "toupper")]
    answers[name] = [[bool(x) for x in table] for table in tables[:3]] + tables[3:]
json.dump(answers, sys.stdout)
"""


@functools.cache
def every_locale() -> list[str]:
    listing = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout
    return sorted({*listing.split(), "C"})


@functools.cache
def spellings(name: str) -> tuple[bytes, bytes, tuple[bytes, ...]]:
    """Decimal point, thousands separator and months, as the command `locale` prints them."""
    keywords = ["decimal_point", "thousands_sep", "abmon"]
    printed = subprocess.run(
        ["locale", *keywords], capture_output=True, check=True, env=support.environment({"LC_ALL": name})
    ).stdout
    point, separator, months = printed.split(b"\n")[:3]
    return point, separator, tuple(months.split(b";"))


def test_tables_are_those_of_the_c_library_in_every_locale() -> None:
    listed = every_locale()
    asked = subprocess.run(
        [sys.executable, "-c", _ASK], input=json.dumps(listed), capture_output=True, text=True, check=True
    )
    answers = json.loads(asked.stdout)
    for implementation in KERNELS:
        for name in listed:
            code = os.fsencode(name)
            *tables, _, _, _ = implementation.locale_facts(code, b"C", b"C")
            assert [list(map(int, table)) for table in answers[name]] == [list(table) for table in tables], name
            found = locale.load_locale({b"LC_CTYPE": code, b"LC_NUMERIC": b"C"}, implementation).tables
            assert found.blank[locale.NEWLINE] == 1
            assert (found.alnum, found.print, found.upper) == tuple(tables[1:])
    assert set(answers) == set(listed)


@both_kernels
def test_numbers_and_months_are_spelled_as_the_c_library_says(implementation: ModuleType) -> None:
    seen = set()
    for name in every_locale()[::3]:
        point, separator, months = spellings(name)
        found = locale.load_locale({b"LC_ALL": os.fsencode(name)}, implementation)
        assert (found.decimal_point, found.thousands_separator) == (point, separator), name
        assert found.tables.point == (point if len(point) == 1 else b".")[0]
        assert found.tables.grouping == (separator[0] if len(separator) == 1 else None)
        upper, blank = found.tables.upper, found.tables.blank
        assert found.tables.months == tuple(bytes(upper[b] for b in month if not blank[b]) for month in months), name
        seen.add((found.tables.point, found.tables.grouping))
    assert seen >= {(ord("."), None), (ord("."), ord(",")), (ord(","), ord(".")), (ord(","), None)}


@functools.cache
def locales_by_spelling() -> dict[tuple[bytes, bytes], str]:
    return {spellings(name)[:2]: name for name in reversed(every_locale())}


NUMBERS = [
    *(
        b"1,5",
        b"1.5",
        b"1,05",
        b"1.05",
        b"1,000",
        b"1.000",
        b"1 000",
        b"1'000",
        b"1000",
        b"999",
        b"-1,5",
        b"-1.5",
        b"0,9",
    ),
    *("1\u202f000".encode(), "1\u2019000".encode(), "1\u066b5".encode(), "1\u066c000".encode(), b",5", b".5", b"1..5"),
    *(b"1,,5", b"1.,5", b"1,.5", b"5K", b"4.0K", b"4,0K", b"33K", b"1.5M", b"1,5M"),
]


@not_gnu
@support.needs_gnu
@pytest.mark.parametrize("letter", ["n", "h", "g"])
def test_numbers_sort_as_gnu_sort_reads_them_in_every_spelling(worker: Worker, letter: str) -> None:
    """GNU sort up to 9.1 does not know a separator above 0x7F, where char is signed; the next test is about these."""
    shuffled = random.Random(1).sample(NUMBERS, len(NUMBERS))
    text = b"".join(number + b"\n" for number in shuffled)
    compared_n = 0
    for (_, separator), name in locales_by_spelling().items():
        if len(separator) == 1 and separator[0] >= 0x80:
            continue
        for others in ([b"-s"], [], [b"-u"]):
            words = [f"-{letter}".encode(), *others]
            env = {"LC_ALL": None, "LC_NUMERIC": name}
            assert worker.run(words, stdin=text, env=env).stdout == ask_gnu(words, stdin=text, env=env).stdout, name
        compared_n += 1
    assert compared_n >= 2


@not_gnu
@needs("fr_FR.ISO-8859-1")
def test_a_separator_above_ascii_groups_digits(worker: Worker) -> None:
    text = b"2\n1\xa0000\n1,5\n10\n"
    answer = worker.run([b"-n"], stdin=text, env={"LC_ALL": "fr_FR.ISO-8859-1"})
    assert answer.stdout == b"1,5\n2\n10\n1\xa0000\n"


@not_gnu
@needs("fr_FR.UTF-8", "ps_AF.UTF-8")
@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("fr_FR.UTF-8", "9\n1\u202f000\n1,5\n", "1\u202f000\n1,5\n9\n"),
        ("ps_AF.UTF-8", "1\u066b9\n1.5\n2\n1\u066c000\n", "1\u066b9\n1\u066c000\n1.5\n2\n"),
    ],
)
def test_spellings_of_several_bytes_are_not_known(worker: Worker, name: str, text: str, expected: str) -> None:
    answer = worker.run([b"-n"], stdin=text.encode(), env={"LC_ALL": None, "LC_NUMERIC": name})
    assert answer.stdout.decode() == expected


# Mixtures -------------------------------------------------------------------------------------------------------------

MIXED = [name for name in ("C", ENGLISH, LATIN, "de_DE.UTF-8", "tr_TR.ISO-8859-9", WELSH) if support.has_locale(name)]
_WORDS = [
    *(b"a", b"A", b"i", b"I", b"\xdd", b"\xfd", b"\xe9", b"\xc9", b"\xc3\xa9", b"\xc3\x89", b"ch", b"Ch", b"c", b"ss"),
    *(b"\xdf", b"\xc3\x9f", b"-", b".", b",", b"1", b"10", b"1,5", b"1.5", b"1.000", b"\t", b" ", b"\0", b"\xff"),
]


@not_gnu
@support.needs_gnu
@given(
    mixture=st.fixed_dictionaries(
        {category: st.sampled_from(MIXED) for category in ("LC_COLLATE", "LC_CTYPE", "LC_NUMERIC")}
    ),
    lines=st.lists(st.lists(st.sampled_from(_WORDS), max_size=6).map(b"".join), max_size=40),
    words=st.lists(st.sampled_from([b"-r", b"-s", b"-u", b"-f", b"-d", b"-i"]), max_size=2),
    keys=st.lists(st.sampled_from([b"-k1,1f", b"-k2,2n", b"-k1,1df", b"-k1.2i", b"-k2r", b"-k1,1r"]), max_size=2),
)
def test_categories_may_differ(
    worker: Worker, mixture: dict[str, str], lines: list[bytes], words: list[bytes], keys: list[bytes]
) -> None:
    text = b"".join(line + b"\n" for line in lines)
    env = {"LC_ALL": None, **mixture}
    argv = [*words, *keys, b"-Ttmp", b"-S1K"]
    ours, gnus = (run(argv, stdin=text, env=env) for run in (worker.run, ask_gnu))
    assert ours[:3] == gnus[:3]


@not_gnu
@support.needs_gnu
@pytest.mark.parametrize(
    "name", ["de_DE.UTF-8", "fr_FR.UTF-8", "fr_FR.ISO-8859-1", "cs_CZ.UTF-8", "ja_JP.UTF-8", "ru_RU.KOI8-R"]
)
def test_months_sort_as_gnu_sort_knows_them(worker: Worker, name: str) -> None:
    if not support.has_locale(name):
        pytest.skip(f"not installed: {name}")
    months = [*spellings(name)[2], b"jan", b"DEC", b"May", b"", b"x", b"1"]
    rng = random.Random(name)
    forms = [form for month in months for form in (month, month.upper(), month.swapcase(), b"  " + month, month + b"z")]
    text = b"".join(line + b" %d\n" % i for i, line in enumerate(rng.sample(forms, len(forms))))
    for words in ([b"-M", b"-s"], [b"-M"], [b"-k1M", b"-r"], [b"-Mu"]):
        env = {"LC_ALL": name}
        assert worker.run(words, stdin=text, env=env).stdout == ask_gnu(words, stdin=text, env=env).stdout


@not_gnu
@pytest.mark.parametrize("ctype", ["fr_FR.ISO-8859-1", "ru_RU.KOI8-R"])
def test_a_name_is_shown_by_the_characters_of_the_locale(ctype: str, worker: Worker, tmp_path: Path) -> None:
    """By forks, and sometimes by an interpreter of its own, which decodes its arguments by the locale."""
    if not support.has_locale(ctype):
        pytest.skip(f"no locale {ctype}")
    env = {"LC_ALL": None, "LC_CTYPE": ctype}
    for byte in range(0x80, 0x100, 3):
        words = [b"--", b"a" + bytes([byte])]
        gnus = support.normalized(ask_gnu(words, env=env).stderr)
        ours = worker.run(words, env=env)
        assert (ours.status, support.normalized(ours.stderr)) == (2, gnus), hex(byte)
        if byte % 8 == 0:
            result = support.run(support.CONTENDER, words, tmp_path, env=env)
            assert (result.status, support.normalized(result.stderr)) == (2, gnus), hex(byte)
