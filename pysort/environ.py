"""What the machine, the container and the shell grant this process: memory, descriptors, CPUs, a
directory.

Read once at start, so it is cheap (a dozen small files, about 0.1 ms) and never fails:
a fact that cannot be had is None.
"""

from __future__ import annotations

import os
import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from pysort.units import SizeSpec

# Taken for the machine's memory where no system call or file tells it.
UNKNOWN_MEMORY_BYTES = 1 << 30

U64_DIGITS_N = 20  # int() refuses numbers of thousands of digits


class Environment:
    """Frozen: mypy holds everybody to it. Byte counts, None for "no limit" or "not known":

    total_bytes, available_bytes: the machine's memory, and what is free or can be freed at once. swap_bytes: free.
    cgroup_bytes, cgroup_available_bytes: tightest limit of our control groups, and least room.
    data_limit_bytes, address_space_limit_bytes, rss_limit_bytes: soft rlimits. data_bytes, address_space_bytes: what
    this process, which may be a program that is about to sort, has of these already.
    descriptor_limit_n: soft RLIMIT_NOFILE. cpu_n: CPUs that this process may run on.
    temporary_directory: TMPDIR, which may be empty, else /tmp.
    """

    __slots__ = (
        "address_space_bytes",
        "address_space_limit_bytes",
        "available_bytes",
        "cgroup_available_bytes",
        "cgroup_bytes",
        "cpu_n",
        "data_bytes",
        "data_limit_bytes",
        "descriptor_limit_n",
        "rss_limit_bytes",
        "swap_bytes",
        "temporary_directory",
        "total_bytes",
    )

    def __init__(
        self,
        *,
        total_bytes: int | None = None,
        available_bytes: int | None = None,
        swap_bytes: int = 0,
        cgroup_bytes: int | None = None,
        cgroup_available_bytes: int | None = None,
        data_limit_bytes: int | None = None,
        address_space_limit_bytes: int | None = None,
        rss_limit_bytes: int | None = None,
        data_bytes: int = 0,
        address_space_bytes: int = 0,
        descriptor_limit_n: int | None = None,
        cpu_n: int = 1,
        temporary_directory: bytes = b"/tmp",
    ) -> None:
        self.total_bytes: Final = total_bytes
        self.available_bytes: Final = available_bytes
        self.swap_bytes: Final = swap_bytes
        self.cgroup_bytes: Final = cgroup_bytes
        self.cgroup_available_bytes: Final = cgroup_available_bytes
        self.data_limit_bytes: Final = data_limit_bytes
        self.address_space_limit_bytes: Final = address_space_limit_bytes
        self.rss_limit_bytes: Final = rss_limit_bytes
        self.data_bytes: Final = data_bytes
        self.address_space_bytes: Final = address_space_bytes
        self.descriptor_limit_n: Final = descriptor_limit_n
        self.cpu_n: Final = cpu_n
        self.temporary_directory: Final = temporary_directory

    @classmethod
    def from_process(cls, environ: Mapping[bytes, bytes], root: str = "") -> Environment:
        """environ: os.environb. root: a directory that /proc and /sys are looked up under."""
        total, available, swap = _machine_memory(root)
        cgroup, cgroup_available = _cgroup_memory(root)
        address_space, data = _own_memory(root)
        return cls(
            total_bytes=total,
            available_bytes=available,
            swap_bytes=swap,
            cgroup_bytes=cgroup,
            cgroup_available_bytes=cgroup_available,
            data_limit_bytes=_soft_limit("RLIMIT_DATA"),
            address_space_limit_bytes=_soft_limit("RLIMIT_AS"),
            rss_limit_bytes=_soft_limit("RLIMIT_RSS"),
            data_bytes=data,
            address_space_bytes=address_space,
            descriptor_limit_n=_soft_limit("RLIMIT_NOFILE"),
            cpu_n=_cpu_n(),
            temporary_directory=environ.get(b"TMPDIR", b"/tmp"),
        )

    @property
    def memory_bytes(self) -> int:
        """The memory that is ours to divide: the machine's or the control group's, whichever is
        less."""
        return _least(self.total_bytes, self.cgroup_bytes) or UNKNOWN_MEMORY_BYTES

    @property
    def free_bytes(self) -> int | None:
        """What is available of it now, None where that is not known."""
        return _least(self.available_bytes, self.cgroup_available_bytes)

    @property
    def room_bytes(self) -> int | None:
        """What may be taken now and not more, whatever -S says; None where it is not known. A sixteenth stays."""
        machine = None if self.available_bytes is None else self.available_bytes + self.swap_bytes
        least = _least(machine, self.cgroup_available_bytes)
        return None if least is None else least * 15 // 16

    def default_memory(self) -> int:
        """Bytes that a sort may use when -S does not say."""
        return min(self.memory_shares())[0]

    def memory_shares(self) -> list[tuple[int, str]]:
        """What each fact about this machine would have a sort use, in bytes, and in words which part of what that is;
        the least of them holds. GNU sort's rule, held to the control group, and with a quarter of what is available
        left to the page cache and others."""
        total = self.memory_bytes
        available = self.free_bytes
        owner = "the control group's" if total == self.cgroup_bytes else "the machine's"
        shares = [(total * 3 // 4, f"3/4 of {owner} memory")]
        if available is not None:
            room = "the control group" if available == self.cgroup_available_bytes else "the machine"
            share = (available * 3 // 4, f"3/4 of what is available now in {room}")
            shares.append(max(share, (total // 8, f"1/8 of {owner} memory, since less is available now")))
        shares += self._limit_shares()
        if self.rss_limit_bytes is not None:
            shares.append((self.rss_limit_bytes * 15 // 16, "15/16 of the limit on resident memory, ulimit -m"))
        return shares

    def _limit_shares(self) -> list[tuple[int, str]]:
        """What may be allocated. Two sort buffers and Python's own must find room: half of what each limit leaves."""
        shares = []
        for limit, used, words in (
            (self.data_limit_bytes, self.data_bytes, "data, ulimit -d"),
            (self.address_space_limit_bytes, self.address_space_bytes, "address space, ulimit -v"),
        ):
            if limit is not None:
                shares.append((max(limit - used, 0) // 2, f"half of what is left of the limit on {words}"))
        return shares

    def granted_memory(self, size: SizeSpec) -> tuple[int, str]:
        """Bytes that a sort may use when -S says so, and in words what decided. A share is one of the least of all that
        limits memory; and, as with GNU sort, what cannot be allocated is not missed."""
        limits = self.data_limit_bytes, self.address_space_limit_bytes, self.rss_limit_bytes, self.free_bytes
        asked = size.resolve(_least(self.memory_bytes, *limits) or 0)
        words = "-S" if asked == size.absolute_bytes else "-S, a share of all memory"
        return min([(asked, words), *self._limit_shares()])


def free_descriptor_n(limit: int | None) -> int | None:
    """How many files can be opened, as far as can be known. limit: Environment.descriptor_limit_n."""
    if limit is None:
        return None
    try:
        names = os.listdir("/dev/fd")
    except OSError:
        return None
    return limit - sum(int(name) < limit for name in names) + 1  # the listing held one


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _soft_limit(name: str) -> int | None:
    # Not every system has every limit.
    which = getattr(resource, name, None)
    if which is None:
        return None
    limit = resource.getrlimit(which)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _cpu_n() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read(path: str) -> bytes:
    """The file's content, nothing when it cannot be had."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(fd, 1 << 16)  # more than any of these files holds
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return b""


def _number(text: bytes) -> int | None:
    text = text.strip()
    return int(text) if text.isdigit() and len(text) <= U64_DIGITS_N else None


def _field(text: bytes, name: bytes) -> int | None:
    """The number after `name` in a file of lines `name number ...`."""
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name:
            return _number(words[1])
    return None


def _machine_memory(root: str) -> tuple[int | None, int | None, int]:
    meminfo = _read(f"{root}/proc/meminfo")
    total = _field(meminfo, b"MemTotal:")
    available = _field(meminfo, b"MemAvailable:")
    if total is not None:
        swap = _field(meminfo, b"SwapFree:") or 0
        return total * 1024, None if available is None else available * 1024, swap * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), None, 0
    except (OSError, ValueError):
        return None, None, 0


def _own_memory(root: str) -> tuple[int, int]:
    """Address space and data of this process, 0 where they are not known."""
    pages = [_number(word) or 0 for word in _read(f"{root}/proc/self/statm").split()]
    return (pages[0] * resource.getpagesize(), pages[5] * resource.getpagesize()) if len(pages) > 5 else (0, 0)


class _Version:
    """How a version of control groups names things: mount points below /sys/fs/cgroup, limit,
    usage, and what of the usage is cache that goes when memory is asked for."""

    __slots__ = ("cache", "limit", "mounts", "usage")

    def __init__(self, mounts: tuple[str, ...], limit: str, usage: str, cache: bytes) -> None:
        self.mounts = mounts
        self.limit = limit
        self.usage = usage
        self.cache = cache


V1 = _Version(("/memory",), "memory.limit_in_bytes", "memory.usage_in_bytes", b"total_inactive_file")
V2 = _Version(("", "/unified"), "memory.max", "memory.current", b"inactive_file")


def _cgroup_memory(root: str) -> tuple[int | None, int | None]:
    """The least limit and the least room in this process's control groups. A group counts only
    together with all above it, so the walk goes up to the mount point. Inside a container the path
    may be the host's: its lower part does not exist then, and the mount point is the container's
    own group."""
    limits: list[int] = []
    rooms: list[int] = []
    for line in _read(f"{root}/proc/self/cgroup").splitlines():
        number, _, rest = line.partition(b":")
        controllers, _, path = rest.partition(b":")
        if b"memory" in controllers.split(b","):
            version = V1
        elif number == b"0":
            version = V2
        else:
            continue
        for mount in version.mounts:
            for directory in _upwards(f"{root}/sys/fs/cgroup{mount}", os.fsdecode(path)):
                _measure(directory, version, limits, rooms)
    return min(limits, default=None), min(rooms, default=None)


def _upwards(mount: str, path: str) -> list[str]:
    directories = [mount]
    for part in path.split("/"):
        if part == "..":  # the group lies outside of our namespace
            return [mount]
        if part:
            directories.append(f"{directories[-1]}/{part}")
    return directories


def _measure(directory: str, version: _Version, limits: list[int], rooms: list[int]) -> None:
    limit = _number(_read(f"{directory}/{version.limit}"))
    # No such file, "max", or the huge number by which version 1 says that there is none.
    if limit is None or limit >= 1 << 62:
        return
    limits.append(limit)
    usage = _number(_read(f"{directory}/{version.usage}")) or 0
    cache = _field(_read(f"{directory}/memory.stat"), version.cache) or 0
    rooms.append(max(0, limit - usage + cache))
