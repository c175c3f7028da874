"""The exact orderings -h -M -g -V -R: their encodings against models, against each other and against GNU sort."""

from __future__ import annotations

import ctypes
import hashlib
import locale
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_support import HEADER, IN_LINE, NO_BYTE, RECORD, may_be_short, pack_segment, pack_table, storing, texts
from orderings_model import MONTHS, by, compare_versions, is_only_suffixes, month, sign_of, size
from support import GNU, environment, needs_gnu

from pysort import _kernel_py
from pysort.errors import SortError
from pysort.keys import program
from pysort.keys.locale import C_TABLES
from pysort.keys.spec import KeySpec

COMPLEMENT = bytes(range(255, -1, -1))
SEED = b"sixteen bytes, 1"
LETTERS = "hMgVR"


def compiled(letters: str, *, reverse: bool = False, transformed: bool = False, unique: bool = False) -> bytes:
    """The program of one key, the whole line."""
    key = KeySpec(to_line_end=True, ordering=letters, reverse=reverse)
    return program.compile(
        [key],
        reverse=False,
        stable=True,
        unique=unique,
        zero_terminated=True,
        field_separator=None,
        tables=C_TABLES,
        transformed=transformed,
        seed=SEED,
    )


def c_locale(kernel: ModuleType) -> Any:
    return kernel.open_locale(b"C", b"C", False)


class Encoder:
    """Keys of lines that follow one another in an arena; lines end with NUL or must not hold a newline."""

    def __init__(
        self, kernel: ModuleType, order: bytes, lines: Sequence[bytes], handle: Any, room: int | None = None
    ) -> None:
        need = sum(64 + 24 * 3 + 3 * len(line) for line in lines)
        text = b"".join(lines)
        self.start = len(text)
        limit = self.start + (need if room is None else room)
        top = limit + RECORD.size * len(lines)
        self.arena = bytearray(top + -top % RECORD.size)
        self.arena[: len(text)] = text
        self.top = len(self.arena)
        at = 0
        for index, line in enumerate(lines, 1):
            RECORD.pack_into(self.arena, self.top - RECORD.size * index, 0, at, len(line))
            at += len(line)
        self.done, self.end = kernel.encode(order, handle, self.arena, self.top, 0, len(lines), self.start, limit)

    def records(self) -> list[tuple[int, ...]]:
        return [RECORD.unpack_from(self.arena, self.top - RECORD.size * (i + 1)) for i in range(self.done)]

    def keys(self) -> list[bytes]:
        """Where all are stored."""
        spans = [RECORD.unpack_from(self.arena, self.top - RECORD.size * (i + 1))[1:] for i in range(self.done)]
        return [bytes(self.arena[offset : offset + length]) for offset, length in spans]


def encodings(kernel: ModuleType, order: bytes, lines: Sequence[bytes], handle: Any = None) -> list[bytes]:
    encoder = Encoder(kernel, storing(order) if may_be_short(order) else order, lines, handle or c_locale(kernel))
    assert encoder.done == len(lines)
    return encoder.keys()


def encoded(kernel: ModuleType, letters: str, text: bytes) -> bytes:
    return encodings(kernel, compiled(letters), [text])[0]


NUMBERS = st.from_regex(
    rb"[ \t\v]{0,2}[-+]?[0-9,]{0,20}(\.[0-9]{0,12})?([eE][-+]?[0-9]{0,5})?[a-zA-Z0-9.,-]?", fullmatch=True
)
HEXADECIMALS = st.from_regex(rb"[-+]?0[xX][0-9a-fA-F]{0,40}(\.[0-9a-f]{0,20})?([pP][-+]?[0-9]{0,6})?", fullmatch=True)
WORDS = st.sampled_from(
    b"inf -INF infinity +Infinit nan -nan NaN(0x1) -nan(bc nan() in na . - + 0x 0x. 1e -.e5 e5".split()
)
SIZES = st.from_regex(rb"[ \t]?[-+]?[0-9,]{0,6}(\.[0-9]{0,3})?\.?,?[kKMGTPEZYRQmx ]{0,2}i?", fullmatch=True)
NAMES = (
    texts(b"aZ~.019-_\x00\xe9", 12)
    | texts(b"a.~0", 8)
    | st.from_regex(rb"[a.]?[0-9]{0,3}(\.[a~0]{1,2}){0,3}", fullmatch=True)
)
DATES = st.builds(
    lambda blanks, name, rest: blanks + name + rest,
    st.sampled_from([b"", b" ", b"\t ", b"\n"]),
    st.sampled_from([*MONTHS, b"jan", b"Mar", b"mAy", b"JA", b"JU", b"", b"DE\x00C", b"\xe9"]),
    texts(b"NRab -1\x00", 3),
)


@st.composite
def halfway_numbers(draw: st.DrawFn) -> bytes:
    """Exact decimal or hexadecimal spellings of values at, or next to, where rounding to 53, 64 or 113 bits turns."""
    bits = draw(st.sampled_from([1, 2, 53, 64, 113]))
    mantissa = draw(st.integers(1 << (bits - 1), (1 << bits) - 1)) * 2 + 1
    exponent = draw(st.integers(-80, 80) | st.sampled_from([-16445, -16446, -16447, -1074, -1075, 16319, 16320, 16383]))
    nudge = draw(st.sampled_from([-1, 0, 0, 1]))
    if draw(st.booleans()):
        return b"0x%xp%d" % (mantissa * 16 + nudge, exponent - 4)
    numerator = mantissa * 2 ** max(exponent, 0) * 5 ** max(-exponent, 0)
    return f"{numerator * 10 + nudge}e{min(exponent, 0) - 1}".encode()


@pytest.fixture(autouse=True, scope="module")
def _long_integers() -> Any:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


TEXTS = {"h": SIZES, "M": DATES, "g": NUMBERS | HEXADECIMALS | WORDS | halfway_numbers(), "V": NAMES, "R": NAMES}
MODELS: dict[str, Callable[[bytes, bytes], int]] = {
    "h": by(size),
    "M": by(month),
    "V": compare_versions,
    "R": by(lambda text: hashlib.md5(SEED + text).digest()),
}


@pytest.mark.parametrize(
    ("letters", "text", "expected"),
    [
        ("h", b"", "80"),
        ("h", b"-0.0G", "80"),
        ("h", b"1", "81 82 02 00"),
        ("h", b"1k", "82 82 02 00"),
        ("h", b" 1.5Q", "8b 82 02 33 00"),
        ("h", b"-1K", "7d 7d fd ff"),
        ("h", b"1.K", "82 82 02 00"),
        ("h", b".5K", "82 81 33 00"),
        ("h", b"1 K", "81 82 02 00"),
        ("h", b"1m", "81 82 02 00"),
        ("h", b"1..2E", "81 82 02 00"),
        ("h", b"1\x00K", "81 82 02 00"),
        ("h", b"+3K", "80"),
        ("M", b"", "00"),
        ("M", b" january", "01"),
        ("M", b"Mayday", "05"),
        ("M", b"DE", "00"),
        ("M", b"\x0bDEC", "00"),
        ("g", b"", "00"),
        ("g", b"+", "00"),
        ("g", b"-nan", "01"),
        ("g", b"nan(0x1)", "02"),
        ("g", b"-inf", "03"),
        ("g", b"InFiNiTyx", "fc"),
        ("g", b"-0x0p9", "80"),
        ("g", b"1", "c0 8001 80"),
        ("g", b"-1", "3f 7ffe 7f"),
        ("g", b"\r\f 0x.8x", "c0 8000 80"),
        ("g", b"257", "c0 8009 81 40"),
        ("g", b"1e", "c0 8001 80"),
        ("g", b"1,000", "c0 8001 80"),
        ("g", b"1\x002", "c0 8001 80"),
        ("g", b"1e99999999999999999999", "fc"),
        ("g", b"1e-99999999999999999999", "80"),
        ("g", b"0e99999999999999999999", "80"),
        ("V", b"", "00"),
        ("V", b".", "01"),
        ("V", b"..", "02"),
        ("V", b"...", "03 656565 020002 020002"),
        ("V", b"a", "04 1d 020002 020002"),
        ("V", b"a00", "04 1d 020002 020002"),
        ("V", b"~012", "04 01 02020d 020002 020002"),
        ("V", b"a1.tz", "04 1d 020102 020002 65 30 36 020002"),
    ],
)
def test_keys_are_encoded_as_specified(kernel: ModuleType, letters: str, text: bytes, expected: str) -> None:
    code = bytes.fromhex(expected)
    assert encoded(kernel, letters, text) == code
    order = compiled(letters, reverse=True)
    assert encodings(kernel, order, [text]) == [code.translate(COMPLEMENT)]


@pytest.mark.parametrize("letters", sorted(MODELS))
@given(data=st.data())
def test_encodings_are_ordered_as_the_model_compares(kernel: ModuleType, letters: str, data: st.DataObject) -> None:
    lines = data.draw(st.lists(TEXTS[letters], min_size=2, max_size=8))
    keys = encodings(kernel, compiled(letters), lines)
    for line_a, key_a in zip(lines, keys, strict=True):
        for line_b, key_b in zip(lines, keys, strict=True):
            assert sign_of(key_a, key_b) == sign_of(MODELS[letters](line_a, line_b), 0), (line_a, line_b)


@pytest.mark.parametrize("letters", LETTERS)
@given(data=st.data())
def test_encodings_are_free_of_prefixes(kernel: ModuleType, letters: str, data: st.DataObject) -> None:
    keys = set(encodings(kernel, compiled(letters), data.draw(st.lists(TEXTS[letters], max_size=12))))
    assert not [(a, b) for a in keys for b in keys if a != b and b.startswith(a)]


@given(text=SIZES)
def test_grouped_sizes_have_their_unit_behind_well_grouped_digits(kernel: ModuleType, text: bytes) -> None:
    order = program._PROGRAM.pack(0, 1, 0, 0, 0, 0, SEED, C_TABLES.blank)
    order += pack_segment(program.HUMAN, grouping=ord(","))
    rank, number = size(text, grouped=True)
    plain = f"{abs(number):f}{' KMGTPEZYRQ'[abs(rank)]}".encode()
    key = encodings(kernel, compiled("h"), [b"-" + plain if number < 0 else plain])
    assert encodings(kernel, order, [text]) == key


@given(values=st.lists(st.floats(allow_nan=False), min_size=2, max_size=6))
def test_general_numbers_are_ordered_as_floats_are(kernel: ModuleType, values: list[float]) -> None:
    keys = encodings(kernel, compiled("g"), [repr(value).encode() for value in values])
    for value_a, key_a in zip(values, keys, strict=True):
        for value_b, key_b in zip(values, keys, strict=True):
            assert sign_of(key_a, key_b) == sign_of(value_a, value_b)


@given(names=st.lists(NAMES, max_size=6), letters=st.sampled_from(["", "d", "i", "f", "df", "fi", "di"]))
@pytest.mark.parametrize("kind", "VR")
def test_versions_and_random_keys_are_filtered_first(
    kernel: ModuleType, kind: str, names: list[bytes], letters: str
) -> None:
    keep, upper = pack_table(letters)[:256], pack_table(letters)[256:]
    filtered = [bytes(upper[byte] for byte in name if keep[byte]) for name in names]
    assert encodings(kernel, compiled(kind + letters), names) == encodings(kernel, compiled(kind), filtered)


def test_random_outweighs_version_and_fold_is_harmless(kernel: ModuleType) -> None:
    assert encoded(kernel, "VR", b"a1") == encoded(kernel, "R", b"a1")
    for letters, text in (("n", b"1"), ("g", b"0x1F"), ("h", b"1k"), ("M", b"may")):
        assert encoded(kernel, "f" + letters, text) == encoded(kernel, letters, text)


@pytest.mark.parametrize("letters", [*LETTERS, "Vf", "Rd"])
@pytest.mark.parametrize("length", [0, 1, 3, 510, 511, 512, 513, 3000])
def test_a_key_fits_to_the_byte_or_not_at_all(kernel: ModuleType, letters: str, length: int) -> None:
    line = {"M": b"Dec"}.get(letters[0], b"1.5")[:length].ljust(length, b"7")
    handle, order = c_locale(kernel), storing(compiled(letters))
    whole = Encoder(kernel, order, [line], handle)
    need = whole.end - whole.start
    rooms = range(need + 1) if need < 100 else [0, HEADER.size, HEADER.size + 1, need // 2, need - 2, need - 1, need]
    for room in rooms:
        part = Encoder(kernel, order, [line], handle, room)
        assert part.done == (room == need)
        assert part.end == part.start + part.done * need
    assert Encoder(kernel, order, [line], handle, need).keys() == whole.keys()


@pytest.mark.parametrize("letters", LETTERS)
def test_keys_of_any_length_are_exact(kernel: ModuleType, letters: str) -> None:
    long = b"9" * 700
    lines = [long, long + b"0", long[1:], b"a" + long, b"0" * 600 + long, b"." + long + b".b" + long]
    keys = encodings(kernel, compiled(letters), lines)
    if letters == "R":
        assert keys == [hashlib.md5(SEED + line).digest() for line in lines]
    elif letters == "V":
        assert keys[0] == keys[4]
        assert sorted(keys) == [keys[i] for i in sorted(range(6), key=keys.__getitem__)]
        assert keys[5] < keys[2] < keys[0] < keys[1] < keys[3]
    elif letters == "M":
        assert set(keys) == {b"\x00"}
    else:
        assert keys[0] == keys[4]
        assert keys[2] < keys[0] < keys[1]


@st.composite
def hostile_programs(draw: st.DrawFn) -> bytes:
    tables = draw(
        st.lists(
            st.builds(bytes.__add__, st.binary(min_size=256, max_size=256), st.binary(min_size=256, max_size=256)),
            min_size=1,
            max_size=2,
        )
    )
    byte = st.sampled_from([*b".,0K5 \x00\xa0", NO_BYTE])
    segments = [
        pack_segment(
            draw(st.sampled_from([program.NUMERIC, 2, 3, 4, 5, 6])),
            program.TO_LINE_END | draw(st.sampled_from([0, program.SEGMENT_REVERSE])) | draw(st.sampled_from([0, 32])),
            table=draw(st.sampled_from([*range(len(tables)), program.NO_TABLE])),
            point=draw(byte),
            grouping=draw(byte),
            counts=(0, draw(st.integers(0, 3)), 0, 0),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    names = sorted(draw(st.lists(texts(b"JANa\xff1", 5), min_size=12, max_size=12)))
    months = b"".join(bytes([draw(st.integers(0, 12)), len(name)]) + name for name in names)
    plain_blanks, blank = draw(st.sampled_from([(0, C_TABLES.blank), (1, C_TABLES.blank), (0, bytes(256))]))
    header = program._PROGRAM.pack(0, len(segments), len(tables), 10, len(months), plain_blanks, SEED, blank)
    return b"".join((header, *segments, *tables, months))


@given(order=hostile_programs(), data=st.data())
def test_the_twins_encode_the_same_bytes_and_stop_at_the_same_record(
    twins: tuple[ModuleType, ModuleType], order: bytes, data: st.DataObject
) -> None:
    every = SIZES | DATES | NAMES | NUMBERS | HEXADECIMALS | WORDS | halfway_numbers() | st.binary(max_size=30)
    lines = data.draw(st.lists(every, min_size=1, max_size=5))
    python, c = (Encoder(kernel, order, lines, c_locale(kernel), 100_000) for kernel in twins)
    assert python.end == c.end
    assert python.arena[: python.end] == c.arena[: c.end]
    assert python.records() == c.records()
    room = data.draw(st.integers(0, python.end - python.start))
    python, c = (Encoder(kernel, order, lines, c_locale(kernel), room) for kernel in twins)
    assert (python.done, python.end) == (c.done, c.end)
    assert python.records() == c.records()


@given(
    letters=st.sampled_from("nh"),
    reverse=st.booleans(),
    lines=st.lists(
        st.from_regex(rb"[ \t]?-?0{0,9}[0-9]{0,14}(\.[0-9]{0,10}0{0,3})?[kKM.]?", fullmatch=True),
        min_size=1,
        max_size=5,
    ),
)
def test_a_number_whose_code_is_short_is_whole_in_the_prefix(
    kernel: ModuleType, letters: str, reverse: bool, lines: list[bytes]
) -> None:
    order = compiled(letters, reverse=reverse)
    codes = encodings(kernel, order, lines)
    at = 0
    for record, code, line in zip(Encoder(kernel, order, lines, None).records(), codes, lines, strict=True):
        if len(code) <= 8:
            assert record == (int.from_bytes(code.ljust(8, b"\0"), "big"), at, len(line) | IN_LINE)
        else:
            assert (record[0], record[2]) == (int.from_bytes(code[:8], "big"), len(code))
        at += len(line)


@given(text=TEXTS["g"])
def test_the_twins_read_the_same_general_number(twins: tuple[ModuleType, ModuleType], text: bytes) -> None:
    python, c = (encoded(kernel, "g", text) for kernel in twins)
    assert python == c


@given(
    sign=st.sampled_from(["", "-", "+", " -"]),
    digits=st.integers(1, 21).flatmap(lambda n: st.integers(10 ** (n - 1) - 1, 10**n - 1)),
    point=st.integers(0, 21),
    exponent=st.none() | st.integers(-40, 40),
    rest=st.sampled_from(["", "e", "e+", "E5", "x", " 1", ".", ",", "\x00", "\xe9", "p1"]),
)
def test_the_twins_round_the_same_decimal(
    twins: tuple[ModuleType, ModuleType], sign: str, digits: int, point: int, exponent: int | None, rest: str
) -> None:
    """Of so many digits and powers of ten that a long double holds both exactly, and of a few more."""
    text = str(digits)
    text = sign + text[:point] + "." + text[point:] + ("" if exponent is None else f"e{exponent}") + rest
    python, c = (encoded(kernel, "g", text.encode("latin-1")) for kernel in twins)
    assert python == c


def opened(kernel: ModuleType, name: str) -> Any:
    try:
        return kernel.open_locale(name.encode(), name.encode(), False)
    except OSError:
        pytest.skip(f"the locale {name} is not installed")


@pytest.mark.parametrize("name", ["de_DE.UTF-8", "ps_AF", "en_US.UTF-8"])
def test_the_decimal_point_of_general_numbers_is_the_locales(kernel: ModuleType, name: str) -> None:
    handle = opened(kernel, name)
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        locale.setlocale(locale.LC_NUMERIC, name)
        point = locale.localeconv()["decimal_point"]
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
    lines = [text.replace(".", str(point)).encode() for text in ("1.5", ".25", "0x.8", "0x1.8p1", ".", "1.", "2.e1")]
    lines += [b"1.5" if point != "." else b"1,5", str(point).encode()[:1] + b"5"]
    expected = encodings(kernel, compiled("g"), [b"1.5", b".25", b"0x.8", b"3", b".", b"1", b"20", b"1"])
    if len(str(point).encode()) > 1:
        expected.append(expected[4])
    else:
        expected += encodings(kernel, compiled("g"), [b".5"])
    assert encodings(kernel, compiled("g"), lines, handle) == expected


@pytest.mark.parametrize("letters", ["g", "R"])
def test_a_program_that_needs_a_locale_is_refused_without_one(kernel: ModuleType, letters: str) -> None:
    with pytest.raises(ValueError, match="needs a locale"):
        Encoder(kernel, compiled(letters, transformed=True), [b"1"], None)


@pytest.mark.parametrize("months", [b"", b"\x01", b"\x01\x03JA", b"\x01\x00" * 11, b"\x01\x00" * 13])
def test_a_program_without_twelve_whole_months_is_refused(kernel: ModuleType, months: bytes) -> None:
    header = program._PROGRAM.pack(0, 1, 0, 10, len(months), 0, SEED, C_TABLES.blank)
    with pytest.raises(ValueError, match="program"):
        Encoder(kernel, header + pack_segment(program.MONTH) + months, [b"Jan"], None)


def test_a_month_that_begins_another_one_is_found_as_a_binary_search_does(kernel: ModuleType) -> None:
    names = [b"THG%d" % number for number in range(1, 13)]
    entries = b"".join(
        bytes([number, len(name)]) + name for name, number in sorted((n, i) for i, n in enumerate(names, 1))
    )
    header = program._PROGRAM.pack(0, 1, 0, 10, len(entries), 0, SEED, C_TABLES.blank)
    keys = encodings(kernel, header + pack_segment(program.MONTH) + entries, [*names, b"THG1 ", b"THG1x"])
    assert keys == [bytes([number]) for number in [*range(1, 13), 1, 0]]


def gnu_sort(options: Sequence[str], lines: Sequence[bytes], **env: str) -> list[bytes]:
    data = b"".join(line + b"\0" for line in lines)
    command = [*GNU, "-z", *options]
    done = subprocess.run(command, input=data, env=environment(env), capture_output=True, check=True)
    return done.stdout.split(b"\0")[:-1]


def in_order(kernel: ModuleType, order: bytes, lines: Sequence[bytes], handle: Any = None) -> list[bytes]:
    keys = encodings(kernel, order, lines, handle)
    return [lines[index] for index in sorted(range(len(lines)), key=keys.__getitem__)]


def without_newer_rules(letters: str, line: bytes) -> bytes:
    """Away with what GNU sort 9.1 sorts otherwise: units R and Q, names that are only suffixes, and NaN, which may
    differ from itself there."""
    if letters == "h":
        return line.replace(b"R", b"M").replace(b"Q", b"G")
    if letters == "g":
        return b"no number" if b"nan" in line.lower() else line
    if letters == "V":
        return b"a" + line if is_only_suffixes(line) and line not in (b"", b".", b"..") else line
    return line


@needs_gnu
@pytest.mark.parametrize("letters", "hMgV")
@given(data=st.data(), reverse=st.booleans())
def test_lines_are_sorted_as_gnu_sort_does(
    kernel: ModuleType, letters: str, data: st.DataObject, reverse: bool
) -> None:
    text = TEXTS[letters].map(lambda line: without_newer_rules(letters, line.replace(b"\0", b"\x01")))
    lines = [*data.draw(st.lists(text, max_size=40)), *[b"nan"] * (letters == "g")]
    options = ["-s", f"-{letters}", *["-r"] * reverse]
    assert in_order(kernel, compiled(letters, reverse=reverse), lines) == gnu_sort(options, lines)


@needs_gnu
@pytest.mark.parametrize("name", ["C", "en_US.UTF-8", "de_DE", "C.UTF-8"])
@given(
    lines=st.lists(NAMES | st.binary(max_size=12) | texts(b"\0\na\xc3\xa9", 6), max_size=30),
    letters=st.sampled_from(["", "f", "d"]),
)
def test_the_random_order_is_gnu_sorts(
    kernel: ModuleType, tmp_path_factory: pytest.TempPathFactory, name: str, lines: list[bytes], letters: str
) -> None:
    source = tmp_path_factory.getbasetemp() / "source"
    source.write_bytes(SEED + b"and more")
    handle = opened(kernel, name)
    # Keys of GNU sort hold a NUL only where newlines end lines.
    lines = [line.replace(b"\n", b"") for line in lines]
    if name != "C" and letters:
        letters = ""  # its tables are the locale's
    order = compiled("R" + letters, transformed=name != "C")
    options = ["-s", "-R", *[f"-{letter}" for letter in letters], f"--random-source={source}"]
    data = b"".join(line + b"\n" for line in lines)
    command = [*GNU, *options]
    done = subprocess.run(command, input=data, env=environment({"LC_ALL": name}), capture_output=True, check=True)
    assert done.stdout == b"".join(line + b"\n" for line in in_order(kernel, order, lines, handle))


def test_strxfrm_is_what_a_transformed_key_digests(kernel: ModuleType) -> None:
    handle = opened(kernel, "en_US.UTF-8")
    library = ctypes.CDLL(None)
    library.newlocale.restype = ctypes.c_void_p
    library.strxfrm_l.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p)
    collate = library.newlocale(1 << locale.LC_COLLATE | 1 << locale.LC_CTYPE, b"en_US.UTF-8", None)

    def transformed(text: bytes) -> bytes:
        buffer = ctypes.create_string_buffer(100_000)
        n = library.strxfrm_l(buffer, text, len(buffer), collate)
        return buffer.raw[: n + 1]

    long = "\u00e9".encode() * 3000
    cases = {
        b"": b"",
        b"\0": transformed(b""),
        b"a": transformed(b"a"),
        b"a\0": transformed(b"a"),
        long: transformed(long),
    }
    cases[b"a\0\0b"] = transformed(b"a") + transformed(b"") + transformed(b"b")
    keys = encodings(kernel, compiled("R", transformed=True), list(cases), handle)
    assert keys == [hashlib.md5(SEED + text).digest() for text in cases.values()]


def test_constants_are_those_of_the_header() -> None:
    header = (Path(program.__file__).parent.parent / "csrc" / "program.h").read_text()
    for name in ("HUMAN", "MONTH", "GENERAL", "VERSION", "RANDOM"):
        assert f"#define PS_{name} {getattr(program, name)}u" in header
    assert f"#define PS_SEG_COLLATED {program.COLLATED}u" in header


def test_a_long_double_that_the_twin_does_not_know_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as two doubles, on POWER."""
    monkeypatch.setattr(ctypes, "c_longdouble", lambda value: b"\x3f\xf0" + bytes(14))
    with pytest.raises(SortError, match="of a format that only the C kernel"):
        encodings(_kernel_py, compiled("g"), [b"1"])
