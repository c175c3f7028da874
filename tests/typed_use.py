"""How the API looks to mypy, which reads this file (see pyproject.toml); tests/test_api.py runs it."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import pysort


def use(directory: Path) -> None:
    source, target = directory / "typed-in", str(directory / "typed-out")
    source.write_text("b 2\na 10\n")
    pysort.sort_file(source, target, key="2,2n", memory=1 << 20, temporary_directories=[directory], warn=print)
    pysort.merge([target], source, key=["2,2n"], progress=lambda phase, done, total: phase.title())
    assert_type(pysort.check(source, key="2,2n"), int | None)
    pysort.sort_file(source, target, key=lambda line: float(line[2:]))
    pysort.merge([target], source, key=len)
    assert_type(pysort.check(source, key=bytes.upper), int | None)
    assert_type(next(pysort.sort_lines(["b", "a"], key=lambda line: line.upper())), str)
    assert_type(next(pysort.sort_lines([b"b", b"a"], key=len, reverse=True)), bytes)
    assert_type(list(pysort.sort_lines(["a", "a"], count=True, header=1)), list[tuple[str, int]])
    assert_type(next(pysort.sort_lines([b"a"], key=len, count=False, crlf=True)), bytes)
    lines: pysort.SortedLines[str]
    with source.open() as file, pysort.sort_lines(file, key=lambda line: float(line[2:])) as lines:
        assert_type(list(lines), list[str])
        lines.close()
    settings: pysort.FileSettings = {"numeric": True, "memory": None}
    pysort.sort_file(source, target, **settings)
    try:
        pysort.sort_lines([1])  # type: ignore[type-var]
    except TypeError:
        pass
    try:
        pysort.sort_lines(["a"], key=lambda line: None)  # type: ignore[arg-type, return-value]
    except TypeError:
        pass
    try:
        pysort.check(source, key=lambda line: [line])  # type: ignore[arg-type, return-value]
    except TypeError:
        pass
    try:
        pysort.sort_lines(["a"], decompress=True)  # type: ignore[call-overload]
    except TypeError:
        pass
    try:
        pysort.sort_file(source, directory / "none" / "out")
    except pysort.SortError as error:
        assert_type((error.errno, error.filename), tuple[int | None, bytes | None])
