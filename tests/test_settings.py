"""Keyword arguments of the API: which there are, that they mean what the options mean, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import support
from jobs import ask_gnu

import pysort
from pysort import gauge
from pysort.command_line import parse
from pysort.keys.spec import parse_key, parse_obsolescent
from pysort.option_table import OPTIONS
from pysort.options import Options
from pysort.settings import FileSettings, Settings, read_settings

# Options that are no settings: arguments of the functions or functions themselves, what prints, what another setting
# says, and a program.
OTHERS = {
    *("check", "C", "merge", "output", "files0-from", "y", "sort", "bytes"),
    *("debug", "stats", "plan", "progress", "compare-hints", "completions", "help", "version"),
    "compress-program",
}
SETTINGS: list[tuple[dict[str, Any], list[str]]] = [
    ({"ignore_leading_blanks": True, "ignore_case": True}, ["-b", "-f"]),
    ({"dictionary_order": True, "ignore_nonprinting": True}, ["-d", "-i"]),
    ({"general_numeric": True}, ["-g"]),
    ({"human_numeric": True}, ["-h"]),
    ({"month": True}, ["-M"]),
    ({"numeric": True, "reverse": True, "stable": True}, ["-n", "-r", "-s"]),
    ({"version": True, "unique": True}, ["-V", "-u"]),
    ({"random": True, "random_source": b"file"}, ["-R", "--random-source=file"]),
    ({"zero_terminated": True, "numeric": False, "header": 0, "header_prefix": ""}, ["-z"]),
    ({"field_separator": "\t", "key": ["2,2n", "1"]}, ["-t\t", "-k2,2n", "-k1"]),
    ({"field_separator": b"\0", "key": "2"}, ["-t\\0", "-k2"]),
    ({"field_separator": "", "key": None, "top": None, "memory": None, "threads": None}, []),
    ({"memory": 5000}, ["-S5000b"]),
    ({"memory": "5M", "temporary_directories": "a"}, ["-S5M", "-Ta"]),
    ({"memory": "10%", "temporary_directories": ["a", b"b", Path("c")]}, ["-S10%", "-Ta", "-Tb", "-Tc"]),
    ({"threads": 3, "batch_size": 4, "compress": "zlib"}, ["--parallel=3", "--batch-size=4", "--compress=zlib"]),
    ({"header": 2, "header_prefix": "#", "top": 0}, ["--header=2", "--header-prefix=#", "--top=0"]),
    ({"count": True, "crlf": True, "decompress": True, "atomic": True}, ["--count", "--crlf", "-Z", "--atomic"]),
    ({"fadvise": "random,noreuse", "run_fadvise": "none"}, ["--fadvise=random,noreuse", "--run-fadvise=none"]),
    ({"reader": "mmap", "input_reader": "direct"}, ["--reader=mmap", "--input-reader=direct"]),
    ({"mmap_flags": "populate", "madvise": "willneed"}, ["--mmap-flags=populate", "--madvise=willneed"]),
    ({"mmap_flags": 0, "read_size": 8192}, ["--mmap-flags=0", "--read-size=8K"]),
    ({"read_size": "1M", "prefetch": 0, "parallel_reads": 2}, ["--read-size=1M", "--prefetch=0", "--parallel-reads=2"]),
]


def read(settings: dict[str, Any]) -> Options:
    known = FileSettings.__optional_keys__
    return read_settings(settings, known, settings.get("key"), 1024)


def test_each_option_is_a_setting_or_left_out_with_a_reason() -> None:
    taken = FileSettings.__optional_keys__ - {"key", "locale", "warn"}
    tried = {name for settings, _ in SETTINGS for name in settings}
    assert tried == taken | {"key"}
    assert len(taken) + len(OTHERS) + 1 == len(OPTIONS)
    assert {option.key for option in OPTIONS} >= OTHERS
    assert FileSettings.__optional_keys__ > Settings.__optional_keys__


@pytest.mark.parametrize(("settings", "words"), SETTINGS, ids=str)
def test_settings_are_read_as_the_options_are(settings: dict[str, Any], words: list[str]) -> None:
    argv = [os.fsencode(word) for word in words]
    limit = 1024
    expected = parse(argv, {}, parse_key=parse_key, parse_obsolescent=parse_obsolescent, descriptor_limit=limit)
    ours = read(settings)
    assert {name: getattr(ours, name) for name in Options.__slots__} == {
        name: getattr(expected, name) for name in Options.__slots__
    }


@pytest.mark.parametrize(
    "settings",
    [
        {"key": "0"},
        {"key": ["1", ""]},
        {"memory": "1X"},
        {"memory": -1},
        {"field_separator": "ab"},
        {"top": -1},
        {"header": -1},
        {"threads": 0},
        {"batch_size": 1},
        {"batch_size": 100_000},
        {"compress": "cat"},
        {"fadvise": "hastily"},
        {"run_fadvise": "sequential,random"},
        {"reader": "telepathy"},
        {"madvise": "none"},
        {"mmap_flags": "fixed"},
        {"mmap_flags": 0x10},
        {"read_size": 0},
        {"read_size": "5%"},
        {"prefetch": -1},
        {"parallel_reads": 0},
    ],
    ids=str,
)
def test_wrong_values_are_a_value_error(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read(settings)


@pytest.mark.parametrize("settings", [{"keys": "1"}, {"output": "x"}, {"temporary_directories": [1.5]}, {"key": [1.5]}])
def test_what_is_no_setting_is_a_type_error(settings: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        read(settings)


LINES = [b"%09d\n" % (i * 7919 % 30_011) for i in range(30_011)]
WAYS: list[dict[str, Any]] = [
    {"batch_size": 2},
    {"fadvise": "random,dontneed", "run_fadvise": "none"},
    {"reader": "mmap", "mmap_flags": "populate", "madvise": "sequential"},
    {"reader": "direct", "input_reader": "direct"},
    {"read_size": 4096, "prefetch": 2},
    {"parallel_reads": 2, "atomic": True},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_lines_are_sorted_in_every_way(tmp_path: Path, way: dict[str, Any]) -> None:
    (tmp_path / "in").write_bytes(b"".join(LINES))
    pysort.sort_file(tmp_path / "in", tmp_path / "out", memory="64K", temporary_directories=tmp_path, **way)
    assert (tmp_path / "out").read_bytes() == b"".join(sorted(LINES))
    files_only = set(way) - Settings.__optional_keys__
    if files_only:
        with pytest.raises(TypeError, match=f"for files only.*{', '.join(sorted(files_only))}"):
            pysort.sort_lines(LINES, **way)
    else:
        assert list(pysort.sort_lines(LINES, memory="64K", temporary_directories=[tmp_path], **way)) == sorted(LINES)
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


def test_what_cannot_be_had_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a\n")
    for call in (pysort.sort_file, pysort.merge):
        with pytest.raises(ValueError, match="mapped"):
            call(tmp_path / "in", tmp_path / "out", input_reader="mmap")
    with pytest.raises(ValueError, match="mapped"):
        pysort.merge(tmp_path / "in", tmp_path / "out", reader="mmap")
    with pytest.raises(ValueError, match="mapped"):
        pysort.check(tmp_path / "in", input_reader="mmap")
    with pytest.raises(ValueError, match="needs -o"):
        pysort.check(tmp_path / "in", atomic=True)
    assert os.listdir(tmp_path) == ["in"]


def test_an_atomic_output_keeps_its_content_until_all_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauge, "INTERVAL_SECONDS", -1.0)
    (tmp_path / "in").write_bytes(b"".join(LINES))
    (tmp_path / "out").write_bytes(b"old")

    def fail(phase: str, done: int, total: int | None) -> None:
        if phase == "writing":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        pysort.sort_file(tmp_path / "in", tmp_path / "out", atomic=True, progress=fail)
    assert (tmp_path / "out").read_bytes() == b"old"
    with (tmp_path / "out").open("rb") as opened:
        pysort.sort_file(tmp_path / "in", tmp_path / "out", atomic=True)
        assert opened.read() == b"old"
    assert (tmp_path / "out").read_bytes() == b"".join(sorted(LINES))
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


@support.needs_gnu
def test_a_shuffle_that_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "seed").write_bytes(bytes(range(16)))
    (tmp_path / "in").write_bytes(b"".join(LINES[:1000]))
    pysort.sort_file(tmp_path / "in", tmp_path / "out", random=True, random_source=tmp_path / "seed")
    argv = [b"-R", b"--random-source=" + os.fsencode(tmp_path / "seed")]
    expected = ask_gnu(argv, stdin=b"".join(LINES[:1000])).stdout
    assert (tmp_path / "out").read_bytes() == expected
    lines = pysort.sort_lines(LINES[:1000], random=True, random_source=tmp_path / "seed")
    assert b"".join(lines) == expected
    assert pysort.check(tmp_path / "out", random=True, random_source=tmp_path / "seed") is None
