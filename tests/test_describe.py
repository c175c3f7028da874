"""--plan: nothing is done, and what it says comes true."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import support
from hypothesis import given
from hypothesis import strategies as st
from support import CONTENDER, run

from pysort.environ import Environment
from pysort.figures import PLAN_FIGURES
from pysort.outlook import Outlook, held_bytes, merge_passes, pass_bytes
from pysort.plan import merge_pass

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort has no such option")

MIB = 1 << 20
LINES_N = 200_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "file"
    path.write_bytes(b"".join(b"%d %d\n" % (i * 7919 % LINES_N, i) for i in range(LINES_N)))
    return path


def plan_of(file: Path, *args: str, **more: Any) -> dict[str, Any]:
    result = run(CONTENDER, ["--plan=json", *args], file.parent, **more)
    assert (result.status, result.stderr) == (0, b"")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def stats_of(file: Path, *args: str) -> dict[str, Any]:
    result = run(CONTENDER, ["--stats=json", "-o", "/dev/null", *args], file.parent)
    assert result.status == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stderr)
    return found


@pytest.mark.parametrize("size", ["256K", "1M", "9M", "64M"])
@pytest.mark.parametrize("key", [[], ["-k1,1n"]], ids=["bytes", "keyed"])
@pytest.mark.parametrize("threads", [1, 2])
def test_runs_and_passes_come_out_as_planned(file: Path, size: str, key: list[str], threads: int) -> None:
    args = ["-S", size, f"--parallel={threads}", *key, "file"]
    plan, done = plan_of(file, *args), stats_of(file, *args)
    assert done["runs_generated"] <= plan["runs"] + 1
    assert plan["runs"] <= 2 * done["runs_generated"]
    assert plan["input_bytes"] in (done["inputs"]["read_bytes"], file.stat().st_size + 1)
    if plan["runs"] == 1:
        assert (plan["merge_passes"], plan["temporary_bytes"]) == (0, 0)
    elif plan["runs"] <= plan["fan_in"]:
        assert plan["merge_passes"] == done["merge_passes"] == 1
        assert done["temporary_peak_bytes"] <= plan["temporary_bytes"] == file.stat().st_size + 1


def test_a_merge(file: Path) -> None:
    plan = plan_of(file, "-m", "--batch-size=2", "file", "file", "file")
    assert (plan["mode"], plan["runs"], plan["fan_in"], plan["merge_passes"]) == ("merge", 3, 2, 2)
    assert plan["temporary_bytes"] == 2 * (file.stat().st_size + 1)


def test_a_check(file: Path) -> None:
    plan = plan_of(file, "-c", "file")
    assert (plan["mode"], plan["runs"], plan["merge_passes"], plan["temporary_bytes"]) == ("check", 0, 0, 0)
    assert plan["input_bytes"] == file.stat().st_size + 1


def test_how_much_is_in_compressed_inputs_is_not_known(file: Path) -> None:
    assert plan_of(file, "-Z", "-S", "256K", "file")["runs"] is None


def test_the_first_lines_alone_need_no_temporary_space(file: Path) -> None:
    plan, done = (make(file, "--top=5", "-S", "256K", "file") for make in (plan_of, stats_of))
    assert (plan["runs"], plan["temporary_bytes"]) == (done["runs_generated"], done["temporary_peak_bytes"]) == (1, 0)
    assert plan_of(file, "--top=100000", "-S", "256K", "file")["runs"] > 1


def test_a_pipe_is_not_read_and_its_size_not_known(file: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"b\na\n")
    try:
        plan = plan_of(file, stdin=reader)
        assert [plan[key] for key in ("input_bytes", "runs", "merge_passes", "enough_space")] == [None] * 4
        assert os.read(reader, 4) == b"b\na\n"
    finally:
        os.close(reader)
        os.close(writer)


def test_nothing_is_written_and_the_file_of_o_stays(file: Path) -> None:
    before = sorted(os.listdir(file.parent))
    plan_of(file, "-S", "256K", "-o", "new", "file")
    assert sorted(os.listdir(file.parent)) == before


def test_space_that_is_free_and_whether_it_is_enough(file: Path, tmp_path: Path) -> None:
    status = os.statvfs(tmp_path)
    plan = plan_of(file, "-S", "256K", "-T", str(tmp_path), "-T", "missing", "file")
    here, missing = plan["temporary_directories"]
    assert here["directory"] == str(tmp_path)
    assert abs(here["free_bytes"] - status.f_bavail * status.f_frsize) < 1 << 34
    assert (missing, plan["enough_space"]) == ({"directory": "missing", "free_bytes": None}, None)
    with support.small_filesystem(tmp_path / "full", "64k"):
        assert plan_of(file, "-S", "256K", "-T", str(tmp_path / "full"), "file")["enough_space"] is False
        assert plan_of(file, "-S", "64M", "-T", str(tmp_path / "full"), "file")["enough_space"] is True


def test_how_files_are_read(file: Path) -> None:
    args = ["--fadvise=random,willneed", "--run-fadvise=noreuse", "--input-reader=mmap", "--reader=direct"]
    plan = plan_of(file, *args, "--prefetch=3", "file")
    assert (plan["input_hints"], plan["run_hints"]) == ("random,willneed", "sequential,noreuse")
    assert (plan["input_reader"], plan["run_reader"], plan["prefetch_blocks"]) == ("mmap", "direct", 3)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"total_bytes": 100, "available_bytes": 80}, "3/4 of what is available now in the machine"),
        ({"total_bytes": 100}, "3/4 of the machine's memory"),
        ({"total_bytes": 1000, "cgroup_bytes": 100}, "3/4 of the control group's memory"),
        (
            {"total_bytes": 1000, "available_bytes": 900, "cgroup_bytes": 100, "cgroup_available_bytes": 50},
            "3/4 of what is available now in the control group",
        ),
        ({"total_bytes": 800, "available_bytes": 10}, "1/8 of the machine's memory, since less is available now"),
        ({"total_bytes": 800, "data_limit_bytes": 10}, "half of what is left of the limit on data, ulimit -d"),
        (
            {"total_bytes": 800, "address_space_limit_bytes": 10},
            "half of what is left of the limit on address space, ulimit -v",
        ),
        ({"total_bytes": 800, "rss_limit_bytes": 10}, "15/16 of the limit on resident memory, ulimit -m"),
    ],
)
def test_what_decided_the_memory(facts: dict[str, int], words: str) -> None:
    assert min(Environment(**facts).memory_shares())[1] == words  # type: ignore[arg-type]


def test_a_limit_is_named(file: Path) -> None:
    assert (
        plan_of(file, "file", limits={"DATA": 200 * MIB})["memory_from"]
        == "half of what is left of the limit on data, ulimit -d"
    )
    assert plan_of(file, "-S", "1M", "file")["memory_from"] == "-S"
    assert plan_of(file, "-S", "1%", "file")["memory_from"] == "-S, a share of all memory"


def test_text_says_what_json_says(file: Path) -> None:
    found = plan_of(file, "-S", "256K", "file")
    text = run(CONTENDER, ["--plan", "-S", "256K", "file"], file.parent).stdout.decode()
    assert set(found) == {key for key, _, _ in PLAN_FIGURES}
    rows = {line[:20].strip(): line[20:] for line in text.splitlines()}
    assert list(rows) == [label for _, label, _ in PLAN_FIGURES]
    assert rows["runs"] == str(found["runs"])
    assert rows["memory"] == "262144 bytes"
    assert rows["inputs"].startswith(f"{found['input_bytes']} bytes (")
    assert rows["enough space"] == "yes"


@pytest.mark.parametrize(
    "args", [["missing"], ["--fadvise=x", "file"], ["-c", "file", "file"], ["--plan=x"]], ids=" ".join
)
def test_what_the_job_would_refuse_is_refused(file: Path, args: list[str]) -> None:
    job = [arg for arg in args if not arg.startswith("--plan")]
    planned = run(CONTENDER, ["--plan", *args], file.parent)
    assert (planned.status, planned.stdout) == (2, b"")
    if job == args:
        assert planned.stderr == run(CONTENDER, args, file.parent).stderr


def test_not_together_with_compare_hints(file: Path) -> None:
    result = run(CONTENDER, ["--plan", "--compare-hints", "file"], file.parent)
    assert result.stderr.endswith(b": options '--plan --compare-hints' are incompatible\n")


@given(st.lists(st.integers(0, 100), min_size=1, max_size=200), st.integers(2, 20))
def test_passes_move_what_their_merges_take(sizes: list[int], fan_in: int) -> None:
    passes = pass_bytes(merge_passes(sizes, fan_in))
    assert passes[-1] == sum(sizes)
    assert all(moved <= sum(sizes) for moved in passes)
    assert (len(passes) == 1) == (merge_pass(len(sizes), fan_in) == [(0, len(sizes))])


def test_a_merge_holds_a_batch_of_each_of_its_runs_at_most() -> None:
    assert held_bytes(merge_passes([MIB] * 9, 3)) == 9 * MIB
    assert held_bytes(merge_passes([MIB] * 9, 3)[:-1]) == 3 * MIB
    assert held_bytes(merge_passes([100 * MIB] * 9, 3)[:-1]) == 3 * 8 * MIB
    assert held_bytes([]) == 0


def test_an_outlook_without_runs() -> None:
    assert Outlook(5).passes == ()
