"""--random-source: the seed of a shuffle is the first 16 bytes of a file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import support
from test_cli_errors import Twins

from pysort.errors import SortError
from pysort.storage.seed import SEED_BYTES, read_seed


def message(source: bytes) -> bytes:
    with pytest.raises(SortError) as caught:
        read_seed(source)
    return caught.value.render(b"sort", utf8=False)


def test_the_first_bytes_are_the_seed(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(bytes(range(256)))
    assert read_seed(os.fsencode(path)) == bytes(range(SEED_BYTES))
    path.write_bytes(bytes(SEED_BYTES))
    assert read_seed(os.fsencode(path)) == bytes(SEED_BYTES)


def test_a_pipe_may_bring_them_one_by_one(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def write() -> None:
        with open(fifo, "wb", buffering=0) as stream:
            for i in range(SEED_BYTES):
                stream.write(bytes([i]))

    writer = threading.Thread(target=write)
    writer.start()
    assert read_seed(os.fsencode(fifo)) == bytes(range(SEED_BYTES))
    writer.join()


def test_without_a_source_no_two_are_equal() -> None:
    seeds = {read_seed(None) for _ in range(100)}
    assert len(seeds) == 100
    assert {len(seed) for seed in seeds} == {SEED_BYTES}


def test_what_can_be_wrong_with_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short").write_bytes(bytes(SEED_BYTES - 1))
    Path("d").mkdir()
    assert message(b"short") == b"sort: 'short': end of file\n"
    assert message(b"/dev/null") == b"sort: '/dev/null': end of file\n"
    assert message(b"d") == b"sort: 'd': read error: Is a directory\n"
    assert message(b"missing") == b"sort: open failed: missing: No such file or directory\n"
    assert message(b"a b") == b"sort: open failed: 'a b': No such file or directory\n"
    assert message(b"-") == b"sort: open failed: -: No such file or directory\n"


@support.needs_gnu
@pytest.mark.parametrize(
    "script",
    [
        '"$@" -R --random-source=source f',
        '"$@" -R --random-source=d f',
        '"$@" -R --random-source=f f',
        '"$@" -R --random-source=missing f',
        '"$@" -k1,1R --random-source=missing missing-too',
        '"$@" --random-source=missing f',
        '"$@" -R --random-source=source --random-source=f f',
        '"$@" -c -R --random-source=missing f g -o new',
        '"$@" -c -R --random-source=source f',
        '"$@" -Rn --random-source=missing f',
        '"$@" -m -R --random-source=source f f g',
        '"$@" -R --random-source=/dev/stdin f < source',
    ],
)
def test_a_shell_script_sees_no_difference(tmp_path: Path, script: str) -> None:
    script = f"head -c 100 /dev/zero > source; {script}"
    Twins(tmp_path).compare_scripts(script)
