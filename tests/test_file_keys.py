"""Key functions for files: what sort_file(), merge() and check() make of them, against sorted()."""

from __future__ import annotations

import itertools
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pysort

Key = Callable[[bytes], Any]

seeds = st.integers(0, 2**32)
contents = st.binary(max_size=12)
kinds = st.one_of(
    st.lists(st.binary(max_size=9), min_size=1, max_size=20),
    st.lists(st.text(max_size=6), min_size=1, max_size=20),
    st.lists(st.integers(-(2**70), 2**70) | st.floats(allow_nan=False), min_size=1, max_size=20),
)
ways = st.fixed_dictionaries(
    {"memory": st.sampled_from([1, 2000, "8K", "1M"])},
    optional={"threads": st.sampled_from([1, 3]), "reverse": st.booleans(), "unique": st.booleans()},
)
SPILLING: dict[str, Any] = {"memory": "8M", "threads": 3}


class Case:
    """Lines with their ends, few of them different, and a key for each."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.zero = draw(st.booleans())
        self.end = b"\0" if self.zero else b"\n"
        pool = draw(st.lists(contents.map(lambda line: line.replace(self.end, b"\x0b")), min_size=1, max_size=20))
        rng = random.Random(draw(seeds))
        self.lines = rng.choices(pool, k=draw(st.sampled_from([0, 1, 2, 10, 100, 600])))
        keys = draw(kinds)
        table = {line: rng.choice(keys) for line in pool}
        self.key = table.__getitem__

    def sorted(self, lines: list[bytes], way: dict[str, Any]) -> list[bytes]:
        ordered = sorted(lines, key=self.key, reverse=way.get("reverse", False))
        if not way.get("unique"):
            return ordered
        return [next(group) for _, group in itertools.groupby(ordered, self.key)]

    def text(self, lines: list[bytes]) -> bytes:
        return b"".join(line + self.end for line in lines)


cases = st.builds(lambda: None).flatmap(lambda _: st.composite(Case)())


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@settings(max_examples=40)
@given(cases, ways, st.integers(1, 3), st.booleans())
def test_files_are_sorted_as_by_sorted(
    directory: Path, case: Case, way: dict[str, Any], files_n: int, in_place: bool
) -> None:
    files = [directory / f"in{i}" for i in range(files_n)]
    for i, file in enumerate(files):
        file.write_bytes(case.text(case.lines[i::files_n]))
    lines = [line for i in range(files_n) for line in case.lines[i::files_n]]
    out = files[-1] if in_place else directory / "out"
    pysort.sort_file(files, out, key=case.key, zero_terminated=case.zero, **way)
    assert out.read_bytes() == case.text(case.sorted(lines, way))


@settings(max_examples=40)
@given(cases, ways, st.integers(1, 5), st.booleans())
def test_files_are_merged_as_by_sorted(
    directory: Path, case: Case, way: dict[str, Any], files_n: int, in_place: bool
) -> None:
    files = [directory / f"merged{i}" for i in range(files_n)]
    parts = [sorted(case.lines[i::files_n], key=case.key, reverse=way.get("reverse", False)) for i in range(files_n)]
    for file, part in zip(files, parts, strict=True):
        file.write_bytes(case.text(part))
    out = files[0] if in_place else directory / "out"
    pysort.merge(files, out, key=case.key, zero_terminated=case.zero, **way)
    assert out.read_bytes() == case.text(case.sorted([line for part in parts for line in part], way))


@settings(max_examples=40)
@given(cases, ways, st.booleans())
def test_a_file_is_checked_as_by_sorted(directory: Path, case: Case, way: dict[str, Any], is_sorted: bool) -> None:
    lines = case.sorted(case.lines, way) if is_sorted else case.lines
    (directory / "checked").write_bytes(case.text(lines))

    def follow(one: bytes, other: bytes) -> bool:
        """Whether the other one may come behind the one."""
        a, b = case.key(one), case.key(other)
        return bool((a > b if way.get("reverse") else a < b) or (a == b and not way.get("unique")))

    expected = next((i + 2 for i, pair in enumerate(itertools.pairwise(lines)) if not follow(*pair)), None)
    assert expected is None or not is_sorted
    assert pysort.check(directory / "checked", key=case.key, zero_terminated=case.zero, **way) == expected


@settings(max_examples=20)
@given(cases, ways, st.integers(0, 3), st.integers(0, 30))
def test_what_is_done_to_lines_beside_sorting(
    directory: Path, case: Case, way: dict[str, Any], header: int, top: int
) -> None:
    """Lines are counted as uniq -c has it: adjacent ones of the same bytes, with unique all with the same key."""
    file, out = directory / "in", directory / "out"
    file.write_bytes(case.text(case.lines))
    head, body = case.lines[:header], case.lines[header:]
    pysort.sort_file(file, out, key=case.key, zero_terminated=case.zero, header=header, top=top, **way)
    assert out.read_bytes() == case.text(head + case.sorted(body, way)[:top])
    pysort.sort_file(file, out, key=case.key, zero_terminated=case.zero, header=header, count=True, **way)
    ordered = sorted(body, key=case.key, reverse=way.get("reverse", False))
    groups = [list(group) for _, group in itertools.groupby(ordered, case.key if way.get("unique") else None)]
    assert out.read_bytes() == case.text(head + [b"%7d %b" % (len(group), group[0]) for group in groups])
    (directory / "other").write_bytes(case.text(head + ordered))
    pysort.merge([directory / "other"], out, key=case.key, zero_terminated=case.zero, header=header, count=True, **way)
    assert out.read_bytes() == case.text(head + [b"%7d %b" % (len(group), group[0]) for group in groups])


def test_the_function_gets_lines_without_what_ends_them_once(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"head\r\nb\r\na\n\r\nlast")
    seen: list[tuple[bytes, int]] = []

    def key(line: bytes) -> int:
        seen.append((line, threading.get_ident()))
        return -len(seen)

    pysort.sort_file(tmp_path / "in", tmp_path / "out", key=key, crlf=True, header=1)
    assert (tmp_path / "out").read_bytes() == b"head\nlast\n\na\nb\n"
    assert seen == [(line, threading.get_ident()) for line in (b"b", b"a", b"", b"last")]


def big(directory: Path) -> tuple[list[Path], list[bytes]]:
    """12 MB, sorted by their ends, in three files."""
    lines = sorted((b"%0200d" % (i * 7919 % 60_013) for i in range(60_013)), key=lambda line: int(line[196:]))
    for i in range(3):
        (directory / f"big{i}").write_bytes(b"".join(line + b"\n" for line in lines[i::3]))
    return [directory / f"big{i}" for i in range(3)], [line for i in range(3) for line in lines[i::3]]


def test_many_lines_in_threads_that_do_not_call_the_function(tmp_path: Path) -> None:
    files, lines = big(tmp_path)
    threads: set[int] = set()

    def key(line: bytes) -> int:
        threads.add(threading.get_ident())
        return int(line[196:])

    expected = b"".join(line + b"\n" for line in sorted(lines, key=lambda line: int(line[196:])))
    pysort.merge(files, tmp_path / "out", key=key, **SPILLING)
    assert (tmp_path / "out").read_bytes() == expected
    assert pysort.check(tmp_path / "out", key=key) is None
    pysort.sort_file(files, tmp_path / "out", key=key, temporary_directories=[tmp_path], **SPILLING)
    assert (tmp_path / "out").read_bytes() == expected
    assert threads == {threading.get_ident()}


def test_long_lines_and_long_keys(tmp_path: Path) -> None:
    lines = [b"x" * n for n in (300_000, 5, 70_000, 0, 65_535, 65_536, 1_000_000)]
    (tmp_path / "in").write_bytes(b"\n".join(lines))
    pysort.sort_file(tmp_path / "in", tmp_path / "out", key=lambda line: line + line, memory="16K")
    assert (tmp_path / "out").read_bytes() == b"".join(line + b"\n" for line in sorted(lines))
    pysort.merge([tmp_path / "out", tmp_path / "in"], tmp_path / "out", key=lambda line: b"", memory="16K", unique=True)
    assert (tmp_path / "out").read_bytes() == b"\n"


@pytest.mark.parametrize("n", [0, 5, 60_000])
def test_what_the_function_raises_comes_out(tmp_path: Path, n: int) -> None:
    (tmp_path / "in").write_bytes(b"".join(b"%0200d\n" % i for i in range(60_001)))
    (tmp_path / "out").write_bytes(b"old")

    def key(line: bytes) -> int:
        if int(line) == n:
            raise LookupError(n)
        return int(line)

    before = threading.active_count(), len(os.listdir("/dev/fd"))
    jobs: list[Callable[[], object]] = [
        lambda: pysort.sort_file(tmp_path / "in", tmp_path / "out", key=key, **SPILLING),
        lambda: pysort.check(tmp_path / "in", key=key),
        lambda: pysort.merge([tmp_path / "in", tmp_path / "in"], tmp_path / "merged", key=key, **SPILLING),
    ]
    for job in jobs:
        with pytest.raises(LookupError, match=str(n)):
            job()
    assert (threading.active_count(), len(os.listdir("/dev/fd"))) == before
    assert (tmp_path / "out").read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out", "merged"}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (lambda line: None, "not NoneType"),
        (lambda line: (1, 2), "not tuple"),
        (lambda line: line if line > b"b" else "", "type bytes does not compare with one of type str"),
    ],
)
def test_keys_of_no_order_are_a_type_error(tmp_path: Path, key: Any, message: str) -> None:
    (tmp_path / "in").write_bytes(b"a\nb\nc\n")
    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(TypeError, match=message):
        pysort.sort_file(tmp_path / "in", tmp_path / "out", key=key)
    assert (tmp_path / "out").read_bytes() == b"old"
    with pytest.raises(TypeError, match=message):
        pysort.check(tmp_path / "in", key=key)
    with pytest.raises(TypeError, match=message):
        pysort.merge(tmp_path / "in", tmp_path / "out", key=key)


@pytest.mark.parametrize("settings", [{"numeric": True}, {"locale": "C"}, {"field_separator": ","}], ids=str)
def test_a_function_is_the_only_order(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"not ordered by {next(iter(settings))}"):
        pysort.sort_file(tmp_path, tmp_path / "out", key=len, **settings)
    with pytest.raises(TypeError, match="a key is text as after -k, or a function, not int"):
        pysort.merge(tmp_path, tmp_path / "out", key=1)  # type: ignore[typeddict-item]
    assert list(tmp_path.iterdir()) == []


def test_a_function_that_sorts_files_itself(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"2\n1\n3\n")

    def key(line: bytes) -> bytes:
        pysort.sort_file(tmp_path / "in", tmp_path / "inner", key=lambda line: -int(line))
        return (tmp_path / "inner").read_bytes()[int(line) :]

    pysort.sort_file(tmp_path / "in", tmp_path / "out", key=key)
    assert (tmp_path / "out").read_bytes() == b"".join(
        sorted([b"2\n", b"1\n", b"3\n"], key=lambda line: b"3\n2\n1\n"[int(line) :])
    )
