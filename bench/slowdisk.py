"""A disk that is slow on purpose: a loop device whose requests a control group counts.

An ext4 on a loop device has a read_ahead_kb of its own, and the throttle of cgroup v1's blkio controller holds its
requests back for the processes in one group: this one and its children, which enter it for as long as the disk lives.
A limit on requests a second stands for latency, a limit on bytes for a thin wire. About a tenth of a second's worth of
requests is free at the start of a run.

The mount is seen by this process and its children only and the image has no name once it is attached: when they are
gone the kernel takes everything apart, after SIGKILL too, save an empty control group.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

READ_AHEAD_KIB = 128  # what the kernel gives a disk that says nothing about itself
LIMITS = ("read_bps", "read_iops", "write_bps", "write_iops")

_GROUPS = Path("/sys/fs/cgroup/blkio")
_TOOLS = ("losetup", "mkfs.ext4", "mount", "umount")
_CLONE_NEWNS = 0x00020000
_LEAVE_TRIES_N = 1500
_LEAVE_PAUSE_S = 0.02


class SlowDiskError(Exception):
    """There is no slow disk here; the text says why."""


class SlowDisk:
    """`directory` is on it. All limits are per second, 0 none."""

    def __init__(self, directory: Path, group: Path) -> None:
        self.directory = directory
        self._group = group
        device = directory.stat().st_dev
        self._number = f"{os.major(device)}:{os.minor(device)}"

    @property
    def read_ahead_kib(self) -> int:
        return int(self._read_ahead_file().read_text())

    @contextmanager
    def read_ahead(self, kib: int) -> Iterator[None]:
        """The device's read-ahead, for every file opened meanwhile; 0: the kernel fetches page by page."""
        kept = self._read_ahead_file().read_text()
        self._read_ahead_file().write_text(str(kib))
        try:
            yield
        finally:
            self._read_ahead_file().write_text(kept)

    @contextmanager
    def limited(self, **limits: int) -> Iterator[None]:
        """Hold the requests back by some of LIMITS."""
        try:
            self._limit(limits)
            yield
        finally:
            self._limit({})

    def _limit(self, limits: dict[str, int]) -> None:
        for name in LIMITS:  # all four, whatever was left there
            (self._group / f"blkio.throttle.{name}_device").write_text(f"{self._number} {limits.get(name, 0)}")

    def _read_ahead_file(self) -> Path:
        return Path("/sys/dev/block", self._number, "queue", "read_ahead_kb")


@contextmanager
def slow_disk(work: Path, size_bytes: int) -> Iterator[SlowDisk]:
    """Make the disk with its image in the directory `work`, and take it apart at the end. Raises SlowDiskError where
    the machine does not let us. Needs a process of one thread, which sees the mounts of others no more afterwards."""
    _demand()
    with ExitStack() as undo:
        try:
            _hide_mounts()
            directory = _mounted(work, size_bytes, undo)
            group = _entered(undo)
            disk = SlowDisk(directory, group)
            undo.enter_context(disk.read_ahead(READ_AHEAD_KIB))
        except subprocess.CalledProcessError as error:
            raise SlowDiskError(f"{error.cmd[0]} failed: {error.stderr.strip()}") from error
        except OSError as error:
            raise SlowDiskError(str(error)) from error
        yield disk


def _demand() -> None:
    if os.geteuid() != 0:
        raise SlowDiskError("it takes root")
    missing = [name for name in _TOOLS if shutil.which(name) is None]
    if missing:
        raise SlowDiskError(f"there is no {', '.join(missing)}")
    if not (_GROUPS / "blkio.throttle.read_iops_device").exists():
        raise SlowDiskError("the kernel offers no blkio controller of cgroup version 1")


def _run(*argv: str | Path) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def _hide_mounts() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS):
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")
    _run("mount", "--make-rprivate", "/")


def _mounted(work: Path, size_bytes: int, undo: ExitStack) -> Path:
    image, directory = work / "slow.image", work / "slow"
    directory.mkdir()
    undo.callback(directory.rmdir)
    with image.open("xb") as file:
        file.truncate(size_bytes)
    try:
        # Without direct I/O the image sits in the page cache of the disk below, and reads run at memory speed.
        loop = _run("losetup", "--find", "--show", "--direct-io=on", image)
    finally:
        image.unlink()
    try:
        # Blocks of a page: a small file system has smaller ones by itself, and a map then asks for each one alone.
        _run("mkfs.ext4", "-q", "-F", "-m", "0", "-b", "4096", "-O", "^has_journal", loop)
        _run("mount", "-o", "noatime", loop, directory)
        undo.callback(_run, "umount", "--lazy", directory)  # lazy: a process that was ended may hold it yet
    finally:
        _run("losetup", "--detach", loop)  # it goes when nothing is mounted from it any more
    return directory


def _entered(undo: ExitStack) -> Path:
    """A control group of our own, with this process in it until the end."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    home = next(line.split(":", 2)[2] for line in lines if "blkio" in line.split(":")[1].split(","))
    group = _GROUPS / f"pysort-bench-{os.getpid()}"
    group.mkdir(exist_ok=True)  # one of a process of that number, which was killed
    undo.callback(_left, group)
    (group / "cgroup.procs").write_text("0")  # who writes it
    undo.callback((_GROUPS / home.lstrip("/") / "cgroup.procs").write_text, "0")
    return group


def _left(group: Path) -> None:
    """Remove the group once its last process, a sort that was ended perhaps, has gone."""
    for _ in range(_LEAVE_TRIES_N):
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(_LEAVE_PAUSE_S)
    group.rmdir()
