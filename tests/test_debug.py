"""--debug: GNU sort's remarks and underlines, in many locales. With -m lines stay as they are given, so that the
comparison needs no order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import support

ATOMS = [
    *(
        b" ",
        b" ",
        b"\t",
        b"a",
        b"b",
        b"1",
        b"2",
        b"0",
        b"-",
        b"+",
        b".",
        b",",
        b"e",
        b"E",
        b"0x",
        b"p",
        b"K",
        b"k",
        b"M",
    ),
    *(b"inf", b"infinity", b"nan", b"nan(", b")", b"JAN", b"jan", b"Feb", b"MAY", b"janv.", b"1\xe6\x9c\x88"),
    *(b"\xc3\xa9", b"\xe6\x97\xa5", b"\xcc\x81", b"\xf0\x9f\x98\x80", b"\xc2\xa0", b"\xd9\xab", b"\xe2\x80\xaf"),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x9b", b"\xa0", b"\xad", b"\xb1\xd1"),
    *(b"\x01", b"\r", b"\v", b"\x7f", b"\0"),
]
LOCALES = [
    *("C", "en_US.UTF-8", "fr_FR.UTF-8", "C.UTF-8", "ps_AF.UTF-8", "ja_JP.UTF-8"),
    *("ja_JP.eucJP", "de_DE.ISO-8859-1", "sv_SE.ISO-8859-1", "th_TH.TIS-620"),
]
KEYS = [
    "",
    "-b",
    "-n",
    "-g -s",
    "-h -r",
    "-M",
    "-k2",
    "-k2,2 -k1,1",
    "-k1.3,1.5 -s",
    "-k2b,2b",
    "-k1b,1.2",
    "-k1.2n,1.1",
    "-k2n,1 -k2.2n,2.1",
    "-k1.2,2.1h",
    "-k2g",
    "-k2M -k1.2M,1.4",
    "-t, -k2,2 -k2n -k1.2g,2",
    "-t. -k2n -k1h",
    "-t- -k2n,3",
    "-t+ -k2g,3 -k1n",
    "-k1dfV -k2iR,3",
    "-bdfghiMnRrV -s -k1r",
]

pytestmark = support.needs_gnu


def gnus_remarks(text: bytes) -> bytes:
    """With the newest release's wording."""
    return text.replace(b": note numbers use ", b": numbers use ")


def compare(args: Sequence[str], cwd: Path, data: bytes = b"", locale: str = "C") -> support.Result:
    if not support.has_locale(locale):
        pytest.skip(f"the locale {locale} is not installed")
    env = {"LC_ALL": locale, "LANGUAGE": "en"}  # which has no translation
    ours, gnus = (
        support.run(command, ["--debug", *args], cwd, data=data, env=env)
        for command in (support.CONTENDER, support.GNU)
    )
    assert support.normalized(ours.stderr) == gnus_remarks(gnus.stderr)
    assert ours.stdout.split(b"\n") == gnus.stdout.split(b"\n")
    assert ours.status == gnus.status
    return ours


def random_lines(seed: int, end: bytes = b"\n") -> bytes:
    rng = random.Random(seed)
    return b"".join(b"".join(rng.choices(ATOMS, k=rng.randrange(9))) + end for _ in range(300))


@pytest.mark.parametrize(
    ("keys", "locale"),
    [(keys, LOCALES[(3 * i + j) % len(LOCALES)]) for i, keys in enumerate(KEYS) for j in range(3)],
)
def test_underlines_and_remarks_are_gnus(keys: str, locale: str, tmp_path: Path) -> None:
    result = compare(["-m", *keys.split()], tmp_path, random_lines(len(keys)), locale)
    assert result.stdout.count(b"\n") >= 600


@pytest.mark.parametrize("keys", ["", "-k1.2", "-k2n", "-b"])
def test_lines_that_a_nul_ends_show_a_newline_instead(keys: str, tmp_path: Path) -> None:
    data = random_lines(5, b"\xfe").replace(b"\0", b"\n").replace(b"\xfe", b"\0")
    compare(["-mz", *keys.split()], tmp_path, data, "en_US.UTF-8")


@pytest.mark.parametrize(
    "args",
    [
        "+0",
        "+0 -0",
        "+0 -1",
        "+1.2 -2.3b",
        "+1n -3.1",
        "-k2,1",
        "-k3n,2",
        "-k1.2,1.3",
        "-k2.2n -k1.1n",
        "-k2M,3b",
        "-r -k1",
        "-rs -k1b",
        "-ru -k1b",
        "-rs",
        "-r",
        "-rn",
        "-bf -k1b,2",
        "-b -k1b,2b",
        "-di -k1d",
        "-i -k1d",
        "-d -k1i",
        "-di -k1i",
        "-V -k1n -r",
        "-R -k1n",
        "-fMrs -k1h",
        "-t. -k1g",
        "-t- -k1n",
        "-t+ -k1n",
        "-t+ -k1g,2",
        "-t, -k1,1n",
        "-t, -k1n -k2g",
    ],
)
@pytest.mark.parametrize("locale", ["en_US.UTF-8", "de_DE.ISO-8859-1"])
def test_every_remark_in_its_order(args: str, locale: str, tmp_path: Path) -> None:
    compare(args.split(), tmp_path, b"a 1\n", locale)


def test_a_locale_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    args = ["--debug", "-f"]
    env = {"LC_ALL": "missing"}
    ours, gnus = (support.run(command, args, tmp_path, env=env) for command in (support.CONTENDER, support.GNU))
    assert support.normalized(ours.stderr) == gnus.stderr
    assert ours.stderr.count(b"failed to set locale") == 1


def test_bytes_orders_by_bytes_in_any_locale(tmp_path: Path) -> None:
    result = support.run(
        support.CONTENDER, ["--debug", "--bytes"], tmp_path, data=b"\xc3\xa9\n", env={"LC_ALL": "en_US.UTF-8"}
    )
    assert result.stdout == b"\xc3\xa9\n_\n"
    assert support.normalized(result.stderr) == b"sort: text ordering performed using simple byte comparison\n"


def test_the_newest_units_are_part_of_a_number(tmp_path: Path) -> None:
    result = support.run(support.CONTENDER, ["--debug", "-sh"], tmp_path, data=b"1R\n1Q\n1X\n")
    assert result.stdout == b"1X\n_\n1R\n__\n1Q\n__\n"


def test_lines_longer_than_any_buffer(tmp_path: Path) -> None:
    data = b"b" * 3_000_000 + b" 7\n" + b"a\n" * 3 + b"c " * 2_000_000 + b"\n"
    result = compare(["-k2n", "-k1,1", "-S", "2M"], tmp_path, data)
    assert len(result.stdout) > 10_000_000


@pytest.mark.parametrize("args", [["-S", "50K", "-k2,2n"], ["-S", "50K", "-u"], ["-S", "50K", "-s", "-k1,1"]])
def test_runs_on_disk_are_not_annotated(args: list[str], tmp_path: Path) -> None:
    rng = random.Random(3)
    data = b"".join(b"%d %d\n" % (rng.randrange(99), rng.randrange(99)) for _ in range(5000))
    compare(args, tmp_path, data)


@pytest.mark.parametrize("args", ["-o out", "-c", "-C", "-m -o out", "-co out"])
def test_there_is_no_debugging_without_lines_on_standard_output(args: str, tmp_path: Path) -> None:
    result = compare(args.split(), tmp_path)
    assert (result.status, result.stdout) == (2, b"")
    assert not (tmp_path / "out").exists()


def test_remarks_that_cannot_be_written_fail_a_sort_that_goes_on(tmp_path: Path) -> None:
    for command in (support.CONTENDER, support.GNU):
        with open("/dev/full", "wb") as full:
            result = support.run(command, ["--debug"], tmp_path, data=b"b\na\n", stderr=full)
        assert (result.status, result.stdout) == (2, b"a\n_\nb\n_\n")
        result = support.run(command, ["--debug", "/dev/null"], tmp_path, closed=[2])
        assert result.status == 2


def test_annotated_lines_that_cannot_be_written_are_a_write_error(tmp_path: Path) -> None:
    for data in (b"a\n", b"a\n" * 100_000):
        with open("/dev/full", "wb") as full:
            ours, gnus = (
                support.run(command, ["--debug"], tmp_path, data=data, stdout=full)
                for command in (support.CONTENDER, support.GNU)
            )
        assert support.normalized(ours.stderr) == gnus.stderr
        assert ours.status == gnus.status == 2
