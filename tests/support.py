"""Runs pysort, and GNU sort beside it, as real processes in real directories.

PYSORT_COMMAND names another command to test (`PYSORT_COMMAND=sort pytest` turns the suites on GNU sort itself, which
is how their expectations are checked).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import locale
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple

import pytest

Argument = str | bytes
Stream = int | IO[bytes]

CONTENDER: list[str] = shlex.split(os.environ.get("PYSORT_COMMAND", "")) or [
    sys.executable,
    "-m",
    "pysort",
]
GNU = ["sort"]
TIMEOUT_S = 60

# Root without these capabilities is held to the modes of files, and unlike a user of its own it still gets at an
# interpreter below /root. From linux/prctl.h and linux/capability.h: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH.
_PR_CAPBSET_DROP = 24
_MAY_READ_EVERYTHING = (1, 2)

_KEPT_VARIABLES = ("PATH", "HOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYSORT_KERNEL")


# Words of --compress, each with the packages of which one has to be there.
METHODS = [
    pytest.param(
        method,
        marks=pytest.mark.skipif(not any(map(find_spec, packages)), reason=f"there is no package {packages[-1]}"),
    )
    for method, packages in {"zlib": ["zlib"], "zstd": ["compression", "zstandard"], "lz4": ["lz4"]}.items()
]


class Result(NamedTuple):
    """How a process ended; a status below zero is the signal that killed it."""

    status: int
    stdout: bytes
    stderr: bytes


def testing_gnu_itself() -> bool:
    return Path(CONTENDER[0]).name == "sort"


def system_sort_is_gnu() -> bool:
    try:
        banner = subprocess.run([*GNU, "--version"], capture_output=True, check=False).stdout
    except OSError:
        return False
    return b"GNU coreutils" in banner


@functools.cache
def has_locale(name: str) -> bool:
    """Whether the C library can open it; the encoding may be spelled in any way."""
    library = ctypes.CDLL(None)
    library.newlocale.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
    library.newlocale.restype = ctypes.c_void_p
    library.freelocale.argtypes = (ctypes.c_void_p,)
    handle = library.newlocale(1 << locale.LC_CTYPE, name.encode(), None)
    if handle:
        library.freelocale(handle)
    return bool(handle)


needs_gnu = pytest.mark.skipif(not system_sort_is_gnu(), reason="the system's sort is not GNU's")


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """A small environment in the C locale, with `changes` applied; None removes a variable."""
    env = {k: v for k, v in os.environ.items() if k in _KEPT_VARIABLES or k.startswith("PYTHON")}
    env["LC_ALL"] = "C"
    for name, value in (changes or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def _child_setup(
    closed: Sequence[int], limits: Mapping[str, int], ignored: Sequence[str], unprivileged: bool
) -> Callable[[], None] | None:
    if not (closed or limits or ignored or unprivileged):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def prepare() -> None:
        for name in ignored:
            signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
        if unprivileged and os.geteuid() == 0:
            for capability in _MAY_READ_EVERYTHING:
                if prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                    raise OSError(ctypes.get_errno(), "prctl")
        for descriptor in closed:
            os.close(descriptor)

    return prepare


def start(
    command: Sequence[str],
    args: Sequence[Argument],
    cwd: Path,
    *,
    env: Mapping[str, str | None] | None = None,
    stdin: Stream = subprocess.PIPE,
    stdout: Stream = subprocess.PIPE,
    stderr: Stream = subprocess.PIPE,
    closed: Sequence[int] = (),
    limits: Mapping[str, int] | None = None,
    ignored: Sequence[str] = (),
    unprivileged: bool = False,
) -> subprocess.Popen[bytes]:
    """Start the command.

    closed: descriptors it starts without. limits: NOFILE=7 and the like. ignored: signals. unprivileged: file modes
    hold for it even if we are root.
    """
    return subprocess.Popen(
        [*command, *args],
        cwd=cwd,
        env=environment(env),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        preexec_fn=_child_setup(closed, limits or {}, ignored, unprivileged),  # noqa: PLW1509 - allocates nothing
    )


def finish(process: subprocess.Popen[bytes], data: bytes | None = None, timeout_s: float = TIMEOUT_S) -> Result:
    """Feed the process, wait for it, and hold it to what every run promises: no Python text on stderr."""
    with put_away(process):
        out, err = process.communicate(data, timeout=timeout_s)
    result = Result(process.returncode, out or b"", err or b"")
    for word in (b"Traceback", b"Exception ignored", b"Fatal Python error", b"internal error"):
        assert word not in result.stderr, result.stderr.decode(errors="backslashreplace")
    return result


def run(
    command: Sequence[str],
    args: Sequence[Argument],
    cwd: Path,
    *,
    data: bytes = b"",
    env: Mapping[str, str | None] | None = None,
    stdin: Stream = subprocess.PIPE,
    stdout: Stream = subprocess.PIPE,
    stderr: Stream = subprocess.PIPE,
    closed: Sequence[int] = (),
    limits: Mapping[str, int] | None = None,
    ignored: Sequence[str] = (),
    unprivileged: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Result:
    """start() and finish() in one; `data` is fed to stdin unless `stdin` is given."""
    process = start(
        command,
        args,
        cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        closed=closed,
        limits=limits,
        ignored=ignored,
        unprivileged=unprivileged,
    )
    return finish(process, data if stdin == subprocess.PIPE else None, timeout_s)


def shell(script: str, cwd: Path, command: Sequence[str], timeout_s: float = TIMEOUT_S) -> Result:
    """Run a bash script in which "$@" is the command."""
    return run(["bash", "-c", script, "bash"], command, cwd, timeout_s=timeout_s)


_PROGRAM = re.compile(rb"^(?:\S*/)?(?:py)?sort(?=: )", re.MULTILINE)
_HELP_HINT = re.compile(rb"^Try '[^']*sort --help'", re.MULTILINE)


def normalized(stderr: bytes) -> bytes:
    """The text with the program's name as GNU sort's own."""
    return _HELP_HINT.sub(b"Try 'sort --help'", _PROGRAM.sub(b"sort", stderr))


def has_spilled(process: subprocess.Popen[bytes], directory: Path) -> bool:
    """Whether the process has written a temporary file in `directory`, be it one without a name there."""
    if any(directory.iterdir()):
        return True
    for descriptor in Path(f"/proc/{process.pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            target = os.readlink(descriptor)
            if target.startswith(f"{directory}/") and descriptor.stat().st_size > 0:
                return True
    return False


def wait_for_spill(process: subprocess.Popen[bytes], directory: Path) -> None:
    """Return once the process has spilled; fail when it ends before that."""
    end = time.monotonic() + TIMEOUT_S
    while not has_spilled(process, directory):
        assert process.poll() is None, "ended before it spilled"
        assert time.monotonic() < end, "no temporary file appeared"
        time.sleep(0.01)


@contextlib.contextmanager
def put_away(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Whatever happens in the block, the process is dead and its pipes are closed afterwards."""
    try:
        yield process
    finally:
        process.kill()  # nothing happens when it has ended already
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        process.wait()


@contextlib.contextmanager
def small_filesystem(mount_point: Path, size: str) -> Iterator[None]:
    """A tmpfs of `size` ("64k") at mount_point, or a skip where nobody may mount one."""
    with _mounted(mount_point, "-t", "tmpfs", "-o", f"size={size},mode=1777", "none"):
        yield


@contextlib.contextmanager
def small_disk(mount_point: Path, size_bytes: int) -> Iterator[None]:
    """An ext4 on a loop device at mount_point, or a skip where nobody may make one."""
    image = mount_point.with_name(f"{mount_point.name}.image")
    with image.open("wb") as file:
        file.truncate(size_bytes)
    try:
        words = ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "root_owner", str(image)]
        if not shutil.which(words[0]) or subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("mkfs.ext4 makes no file system here")
        with _mounted(mount_point, "-o", "loop", str(image)):
            yield
    finally:
        image.unlink()


@contextlib.contextmanager
def _mounted(mount_point: Path, *words: str) -> Iterator[None]:
    mount_point.mkdir(exist_ok=True)
    become_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    command = [*become_root, "mount", *words, str(mount_point)]
    if (become_root and not shutil.which("sudo")) or subprocess.run(
        command, capture_output=True, check=False
    ).returncode:
        pytest.skip(f"mount {' '.join(words[:2])} does not work here")
    try:
        yield
    finally:
        subprocess.run([*become_root, "umount", "-l", str(mount_point)], check=True)


def _own_memory_groups() -> Iterator[tuple[Path, str]]:
    """Of this process, and what the file of the limit is called in them."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield Path(f"/sys/fs/cgroup/memory{path}"), "memory.limit_in_bytes"
        elif number == "0":
            yield Path(f"/sys/fs/cgroup{path}"), "memory.max"


@contextlib.contextmanager
def memory_group(limit_bytes: int) -> Iterator[list[str]]:
    """What to put before a command that is to run in a control group, below our own, with so much memory; or a skip
    where none can be made."""
    for parent, limit in _own_memory_groups():
        group = parent / f"pysort-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(limit_bytes))
            yield ["sh", "-c", 'echo $$ > "$0"/cgroup.procs && exec "$@"', str(group)]
            return
        except OSError:  # the group has no such file: memory is not counted below our own
            continue
        finally:
            group.rmdir()
    pytest.skip("no control group for memory can be made here")
