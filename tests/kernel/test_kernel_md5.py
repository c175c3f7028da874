"""The kernel's own MD5 beside hashlib's: through the random order, and alone where there is a compiler."""

from __future__ import annotations

import ctypes
import hashlib
import random
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_kernel_orderings import SEED, compiled, encodings

import pysort

SOURCE = Path(pysort.__file__).parent / "csrc" / "md5.c"
BYTES = random.Random(5).randbytes(300_000)


def test_keys_of_all_lengths_are_digested(kernel: ModuleType) -> None:
    lines = [BYTES[:n] for n in (*range(301), 4095, 4096, 65536 + 7, 300_000)]
    expected = [hashlib.md5(SEED + line).digest() for line in lines]
    assert encodings(kernel, compiled("R"), lines) == expected


class Md5(ctypes.Structure):
    _fields_ = (("state", ctypes.c_uint32 * 4), ("n", ctypes.c_uint64), ("block", ctypes.c_uint8 * 64))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(compiler[0]) or not SOURCE.exists():
        pytest.skip("no compiler, or no source")
    target = tmp_path_factory.mktemp("md5") / "md5.so"
    subprocess.run([*compiler, "-std=c11", "-shared", "-fPIC", "-o", str(target), str(SOURCE)], check=True)
    library = ctypes.CDLL(str(target))
    library.ps_md5_add.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
    return library


def digest(library: ctypes.CDLL, pieces: list[bytes]) -> bytes:
    state = Md5()
    result = (ctypes.c_uint8 * 16)()
    library.ps_md5_start(ctypes.byref(state))
    for piece in pieces:
        library.ps_md5_add(ctypes.byref(state), piece, len(piece))
    library.ps_md5_end(ctypes.byref(state), result)
    return bytes(result)


def test_messages_of_all_lengths_are_digested(library: ctypes.CDLL) -> None:
    for n in (*range(301), 65536, 300_000):
        assert digest(library, [BYTES[:n]]) == hashlib.md5(BYTES[:n]).digest()


@given(pieces=st.lists(st.binary(max_size=150), max_size=8))
def test_a_message_may_come_in_pieces(library: ctypes.CDLL, pieces: list[bytes]) -> None:
    assert digest(library, pieces) == hashlib.md5(b"".join(pieces)).digest()
