"""What is read off the machine, and what memory a sort takes without -S."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysort.environ import UNKNOWN_MEMORY_BYTES, Environment
from pysort.units import parse_size

GIB = 1 << 30
MIB = 1 << 20
NO_LIMIT_V1 = "9223372036854771712"


def make_root(directory, files):
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return str(directory)


def meminfo(total_kib=16 << 20, available_kib=12 << 20):
    return f"MemTotal: {total_kib} kB\nMemFree: 1 kB\nMemAvailable: {available_kib} kB"


def from_root(tmp_path, files):
    return Environment.from_process({}, make_root(tmp_path, files))


def v2(path, limit="max", usage=0, inactive=0):
    return {
        f"sys/fs/cgroup{path}/memory.max": limit,
        f"sys/fs/cgroup{path}/memory.current": usage,
        f"sys/fs/cgroup{path}/memory.stat": f"anon 5\ninactive_file {inactive}\nactive_file 7",
    }


def v1(path, limit=NO_LIMIT_V1, usage=0, inactive=0):
    base = f"sys/fs/cgroup/memory{path}"
    return {
        f"{base}/memory.limit_in_bytes": limit,
        f"{base}/memory.usage_in_bytes": usage,
        f"{base}/memory.stat": f"inactive_file 1\ntotal_inactive_file {inactive}",
    }


def test_this_process_has_memory_cpus_and_descriptors():
    found = Environment.from_process(os.environb)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert found.total_bytes == pytest.approx(pages, rel=0.01)
    assert 0 < found.available_bytes <= found.total_bytes
    assert found.cpu_n == len(os.sched_getaffinity(0))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert found.descriptor_limit_n == (None if soft == resource.RLIM_INFINITY else soft)
    assert 0 < found.default_memory() <= found.memory_bytes * 3 // 4


def test_meminfo_is_in_kibibytes(tmp_path):
    found = from_root(tmp_path, {"proc/meminfo": meminfo(1000, 500)})
    assert (found.total_bytes, found.available_bytes) == (1000 * 1024, 500 * 1024)


def test_what_this_process_has_is_in_pages(tmp_path):
    found = from_root(tmp_path, {"proc/self/statm": "5000 300 200 1 0 400 0"})
    page_bytes = resource.getpagesize()
    assert (found.address_space_bytes, found.data_bytes) == (5000 * page_bytes, 400 * page_bytes)


def test_without_any_file_the_system_call_tells_the_total(tmp_path):
    found = from_root(tmp_path, {})
    assert found.total_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert found.available_bytes is None
    assert (found.cgroup_bytes, found.cgroup_available_bytes) == (None, None)


@pytest.mark.parametrize(
    ("cgroup", "files"),
    [
        ("0::/job", v2("/job", 2 * GIB, 1 * GIB, 100 * MIB)),
        ("0::/job/step/task", v2("/job", 2 * GIB, 1 * GIB, 100 * MIB) | v2("/job/step/task")),
        ("0::/", v2("", 2 * GIB, 1 * GIB, 100 * MIB)),
        # In a container: the path is the host's and does not exist here, or lies outside.
        ("0::/host/docker/0123", v2("", 2 * GIB, 1 * GIB, 100 * MIB)),
        ("0::/../../other", v2("", 2 * GIB, 1 * GIB, 100 * MIB)),
        # Both versions at once, memory in the second.
        ("4:cpu:/x\n0::/job", v2("/unified/job", 2 * GIB, 1 * GIB, 100 * MIB)),
        ("4:memory:/job\n0::/", v1("/job", 2 * GIB, 1 * GIB, 100 * MIB)),
        ("4:cpu,memory:/job/task", v1("/job", 2 * GIB, 1 * GIB, 100 * MIB) | v1("/job/task")),
        ("4:memory:/host/docker/0123", v1("", 2 * GIB, 1 * GIB, 100 * MIB)),
    ],
)
def test_the_control_group_that_limits_is_found(cgroup, files, tmp_path):
    files = {"proc/self/cgroup": cgroup, "proc/meminfo": meminfo(), **files}
    found = from_root(tmp_path, files)
    assert found.cgroup_bytes == found.memory_bytes == 2 * GIB
    assert found.cgroup_available_bytes == 1 * GIB + 100 * MIB
    assert found.default_memory() == (1 * GIB + 100 * MIB) * 3 // 4


def test_the_tightest_limit_and_the_least_room_may_be_of_different_groups(tmp_path):
    files = v2("/a", 8 * GIB, 8 * GIB - 10 * MIB) | v2("/a/b", 1 * GIB, 100 * MIB)
    found = from_root(tmp_path, {"proc/self/cgroup": "0::/a/b", **files})
    assert (found.cgroup_bytes, found.cgroup_available_bytes) == (1 * GIB, 10 * MIB)


@pytest.mark.parametrize("files", [v1("/job"), v2("/job")])
def test_a_group_without_a_limit_is_none(files, tmp_path):
    cgroup = {"proc/self/cgroup": "4:memory:/job\n0::/job"}
    found = from_root(tmp_path, files | cgroup)
    assert (found.cgroup_bytes, found.cgroup_available_bytes) == (None, None)


@given(
    st.text(max_size=200),
    st.text(max_size=200),
    st.text(max_size=50) | st.integers(0, 5000).map(lambda n: "9" * n),
)
def test_nonsense_in_the_files_is_survived(tmp_path_factory, table, cgroup, limit):
    root = tmp_path_factory.mktemp("root", numbered=True)
    for path, text in {
        "proc/meminfo": table,
        "proc/self/cgroup": f"{cgroup}\n0::/\n4:memory:/",
        "sys/fs/cgroup/memory.max": limit,
        "sys/fs/cgroup/memory/memory.limit_in_bytes": limit,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode("utf-8", "surrogatepass"))
    assert Environment.from_process({}, str(root)).default_memory() >= 0


def test_start_up_reads_few_files(tmp_path, monkeypatch):
    deep = "/a" * 5
    files = {"proc/self/cgroup": f"0::{deep}", **v2(deep, 1 * GIB)}
    root = make_root(tmp_path, files)
    real, opened = os.open, []
    monkeypatch.setattr(os, "open", lambda *args: opened.append(args) or real(*args))
    assert Environment.from_process({}, root).cgroup_bytes == 1 * GIB
    assert len(opened) <= 20


@pytest.mark.parametrize(
    ("environ", "directory"),
    [({}, b"/tmp"), ({b"TMPDIR": b"/var/tmp"}, b"/var/tmp"), ({b"TMPDIR": b""}, b"")],
)
def test_tmpdir_counts_even_when_it_is_empty(environ, directory):
    assert Environment.from_process(environ).temporary_directory == directory


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"total_bytes": 16 * GIB, "available_bytes": 16 * GIB}, 12 * GIB),
        ({"total_bytes": 16 * GIB, "available_bytes": 8 * GIB}, 6 * GIB),
        ({"total_bytes": 16 * GIB, "available_bytes": 1 * GIB}, 2 * GIB),
        ({"total_bytes": 16 * GIB}, 12 * GIB),
        ({"total_bytes": 16 * GIB, "cgroup_bytes": 4 * GIB}, 3 * GIB),
        ({"total_bytes": 4 * GIB, "cgroup_bytes": 16 * GIB}, 3 * GIB),
        (
            {
                "total_bytes": 64 * GIB,
                "available_bytes": 60 * GIB,
                "cgroup_bytes": 8 * GIB,
                "cgroup_available_bytes": 4 * GIB,
            },
            3 * GIB,
        ),
        ({"total_bytes": 16 * GIB, "data_limit_bytes": 1 * GIB}, GIB // 2),
        ({"total_bytes": 16 * GIB, "address_space_limit_bytes": 1 * GIB}, GIB // 2),
        ({"total_bytes": 16 * GIB, "data_limit_bytes": 1 * GIB, "data_bytes": GIB // 2}, GIB // 4),
        ({"address_space_limit_bytes": 1 * GIB, "address_space_bytes": 2 * GIB}, 0),
        ({"total_bytes": 16 * GIB, "rss_limit_bytes": 1 * GIB}, GIB * 15 // 16),
        ({}, UNKNOWN_MEMORY_BYTES * 3 // 4),
    ],
)
def test_default_memory_is_the_least_of_its_shares(facts, expected):
    assert Environment(**facts).default_memory() == expected


@pytest.mark.parametrize(
    ("facts", "size", "expected"),
    [
        ({"total_bytes": 16 * GIB}, b"50%", (8 * GIB, "-S, a share of all memory")),
        ({"total_bytes": 16 * GIB}, b"1G", (GIB, "-S")),
        ({"total_bytes": 16 * GIB, "cgroup_bytes": 4 * GIB}, b"25%", (GIB, "-S, a share of all memory")),
        ({"total_bytes": 16 * GIB, "available_bytes": 2 * GIB}, b"50%", (GIB, "-S, a share of all memory")),
        ({"total_bytes": 16 * GIB, "cgroup_available_bytes": 2 * GIB}, b"50%", (GIB, "-S, a share of all memory")),
        (
            {"total_bytes": 16 * GIB, "rss_limit_bytes": 2 * GIB},
            b"90%",
            (2 * GIB * 9 // 10, "-S, a share of all memory"),
        ),
        ({"total_bytes": 16 * GIB, "available_bytes": 2 * GIB}, b"3G", (3 * GIB, "-S")),  # as the user says
        ({"total_bytes": 16 * GIB, "data_limit_bytes": GIB}, b"10%", (GIB // 10, "-S, a share of all memory")),
        (
            {"total_bytes": 16 * GIB, "data_limit_bytes": GIB},
            b"90%",
            (GIB // 2, "half of what is left of the limit on data, ulimit -d"),
        ),
        (
            {"total_bytes": 16 * GIB, "address_space_limit_bytes": GIB},
            b"3G",
            (GIB // 2, "half of what is left of the limit on address space, ulimit -v"),
        ),
    ],
)
def test_what_is_asked_for_is_granted_as_far_as_it_can_be_had(facts, size, expected):
    assert Environment(**facts).granted_memory(parse_size(size, b"-S")) == expected


def test_what_a_long_line_may_take(tmp_path):
    assert Environment().room_bytes is None
    files = {"proc/meminfo": meminfo(16 << 20, 1 << 20) + "\nSwapFree: 1048576 kB"}
    assert from_root(tmp_path, files).room_bytes == 2 * GIB * 15 // 16
    files |= {"proc/self/cgroup": "0::/job", **v2("/job", GIB, GIB // 2)}
    assert from_root(tmp_path, files).room_bytes == GIB // 2 * 15 // 16


def test_a_limit_set_by_the_shell_is_seen():
    script = (
        "import os; from pysort.environ import Environment;"
        "print(Environment.from_process(os.environb).default_memory())"
    )
    shell = f'ulimit -v {1 << 20}; ulimit -n 64; exec "$0" -c "$1"'
    command = ["sh", "-c", shell, sys.executable, script]
    result = subprocess.run(command, capture_output=True, check=True)
    assert int(result.stdout) <= GIB // 2
