"""The bench is a program like any other: its corpora, its checks, its verdicts and its clean-up."""

from __future__ import annotations

import collections
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from bench_support import GNU, ROOT, SMALL, SORT, bench, generated, shell

from bench import __main__, peers, process, startup, verify
from bench.cases import BESIDE_BUFFER_MIB, GROUPS, SUBJECT, Case, Order
from bench.contenders import Job, contenders, environment, sort_like
from bench.corpora import CORPORA, corpus_path, ensure_corpus, ensure_pieces
from bench.machine import has_locale, install_warning
from bench.peers import UNSUPPORTED
from bench.process import Run
from bench.randomness import CHUNK_LINES_N
from bench.report import Report
from bench.results import CaseResult, Spread
from bench.roofline import ROOFLINE

# --- the whole program ---------------------------------------------------------------------------


def has_reason_to_skip(case: dict[str, Any]) -> bool:
    return UNSUPPORTED in case["skipped"] or not all(map(has_locale, case["environment"].values()))


def test_smoke_sorts_and_verifies_every_case(tmp_path: Path) -> None:
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "bench", "peers", "--smoke", "--out", str(out)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(temporary.iterdir()) == []
    for group, cases in GROUPS.items():
        result = json.loads((out / f"{group}.json").read_text())
        assert [case["name"] for case in result["cases"]] == [case.name for case in cases]
        for case in result["cases"]:
            assert case["passed"]
            assert case["skipped"] is None or has_reason_to_skip(case)
            assert case["skipped"] or (case["ratios"]["GNU sort"] and {SUBJECT, ROOFLINE} <= set(case["runs"]))
        assert result["command"] == f"python -m bench peers --smoke --out {out}"
        assert {"cpu", "cores", "memory", "kernel", "python"} <= set(result["machine"])
        assert {"GNU sort", SUBJECT} <= set(result["versions"])
        markdown = (out / f"{group}.md").read_text()
        for case in cases:
            assert f"| {case.name} |" in markdown
            assert case.name in done.stdout


def test_list_names_every_case_and_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["peers", "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [case.name for cases in GROUPS.values() for case in cases]
    assert len(set(names)) == len(names)
    assert __main__.main(["peers", "--list", "--orderings"]) == 0
    orderings = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert orderings == [case.name for case in GROUPS["orderings"]]


@pytest.mark.parametrize(
    "arguments",
    [
        ["peers", "--case", "no-such"],
        ["peers", "--orderings", "--case", "lines"],
        ["peers", "--rounds", "2"],
        ["startup", "--rounds", "49"],
    ],
)
def test_a_request_that_cannot_be_met_is_trouble(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(arguments) == 2
    assert capsys.readouterr().err.startswith("bench: ")


def test_corpora_are_kept_in_a_given_directory_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept, out = tmp_path / "kept", tmp_path / "out"
    arguments = ["peers", "--smoke", "--size", str(SMALL), "--dir", str(kept), "--case", "lines", "--out", str(out)]
    assert bench(monkeypatch, sort_like(SUBJECT, SORT), *arguments) == 0
    corpus = corpus_path("random", SMALL, kept)
    assert list(kept.iterdir()) == [corpus]
    made = corpus.stat().st_mtime_ns
    assert bench(monkeypatch, sort_like(SUBJECT, SORT), *arguments) == 0
    assert corpus.stat().st_mtime_ns == made
    assert json.loads((out / "peers.json").read_text())["command"] == (
        f"python -m bench peers --smoke --size {SMALL} --case lines --out {out}"
    )


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ('LC_ALL=C sort "$1" | sed 1d > "$2"', "differs from the first"),
        ('cp "$1" "$2"', "differs from the first"),
        ('sort "$1" > "$2"; exit 3', "exit status 3"),
        ("true", "no output"),
        ("kill -9 $$", "exit status -9"),
    ],
)
def test_a_wrong_output_fails_the_bench(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    script: str,
    fault: str,
) -> None:
    arguments = ["peers", "--smoke", "--size", str(SMALL), "--case", "lines", "--dir"]
    assert bench(monkeypatch, shell(SUBJECT, script), *arguments, str(tmp_path)) == 1
    text = capsys.readouterr().out
    assert "WRONG" in text
    assert fault in text


def test_a_ratio_below_the_floor_fails_all_but_a_smoke_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "GROUPS", {"peers": (Case("lines", "random", floor=1e9),)})
    arguments = ["peers", "--size", str(SMALL), "--dir", str(tmp_path)]
    assert bench(monkeypatch, sort_like(SUBJECT, SORT), *arguments) == 1
    assert "SLOW" in capsys.readouterr().out
    assert bench(monkeypatch, sort_like(SUBJECT, SORT), *arguments, "--smoke") == 0


def test_rounds_alternate_and_a_piped_case_reads_standard_input(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    names = ("GNU sort", SUBJECT)
    rivals = [shell(name, f'echo {name[0]} >> {log}; LC_ALL=C sort > "$2"') for name in names]
    monkeypatch.setattr(peers, "contenders", lambda: rivals)
    monkeypatch.setattr(peers, "rivals", lambda: ([], {}))
    session = peers.Session(SMALL, 3, tmp_path, tmp_path)
    result = session.measure(Case("pipe", "random", piped=True))
    assert result.faults == {}
    assert log.read_text().split() == ["G", "p", "p", "G", "G", "p"]


@pytest.mark.parametrize(("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_bench_leaves_neither_files_nor_processes(tmp_path: Path, signum: int, status: int) -> None:
    temporary, pid_file = tmp_path / "temporary", tmp_path / "pid"
    temporary.mkdir()
    script = (
        "import sys\n"
        "from bench import __main__, peers\n"
        "from bench.contenders import Contender\n"
        f"command = ['sh', '-c', 'echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file};"
        " touch $TMPDIR/spill; exec sleep 600']\n"
        "peers.contenders = lambda: [Contender('slow', ('true',), lambda job: command)]\n"
        "peers.rivals = lambda: ([], {})\n"
        "sys.exit(__main__.main(['peers', '--smoke', '--case', 'lines']))\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not pid_file.exists():
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    sleeper = Path("/proc", pid_file.read_text().strip(), "cmdline")
    running.send_signal(signum)
    running.communicate(timeout=60)
    assert running.returncode == status
    assert list(temporary.iterdir()) == []
    while sleeper.exists() and b"sleep" in sleeper.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# --- corpora -------------------------------------------------------------------------------------


def test_corpus_bytes_never_change() -> None:
    """A new digest here means a new FORMAT: results of before and after cannot be compared."""
    found = {name: hashlib.sha256(b"\n".join(generated(name, 1000))).hexdigest()[:16] for name in CORPORA}
    assert found == {
        "random": "7e0a63cf8af9cd8d",
        "records": "cdcff1e7c05a77b4",
        "gigabyte": "988ceafd57fd594a",
        "urls": "309e475090b7ab78",
        "integers": "c3eb9a1fd7dff734",
        "table": "89eb129d6c4a9c11",
        "intervals": "a6259400a9726c7c",
        "duplicates": "fd594054a8f70999",
        "presorted": "4ada92aa3490deec",
        "presorted-gigabyte": "6bda299ece4de488",
        "reversed": "c7a2c7e0a6834bc5",
        "equal": "7046792782e789de",
        "empty": "ec56d8086554e6ac",
        "prose": "acb08b8e4c47632c",
        "amounts": "0bc70c970215e034",
        "measurements": "c368ca413ffafd34",
        "releases": "108c817156dba067",
        "links": "fe8533f3dc208e79",
        "usage": "0e84251803c5dc1a",
        "logs": "2c4d816239b8328e",
        "accounts": "9d4689e72acf3799",
        "checksums": "654ce27e35f25bc3",
    }


def test_random_lines_have_uniform_lengths_from_0_to_100_and_uniform_bytes() -> None:
    lines_n = 202_000
    lines = generated("random", lines_n)
    assert len(lines) == lines_n > CHUNK_LINES_N
    lengths = collections.Counter(map(len, lines))
    assert sorted(lengths) == list(range(101))
    expected = lines_n / 101
    chi_square = sum((found - expected) ** 2 / expected for found in lengths.values())
    assert chi_square < 150  # 100 degrees of freedom: mean 100, one in 1000 is above 149
    symbols = collections.Counter(b"".join(lines))
    assert len(symbols) == 64
    assert max(symbols.values()) / min(symbols.values()) < 1.05
    assert len(set(filter(None, lines))) / lines_n > 0.97  # chunks do not repeat each other


def test_records_are_100_bytes_with_distinct_keys_of_10() -> None:
    lines = generated("records", 10_000)
    assert {len(line) for line in lines} == {99}
    assert len({line[:10] for line in lines}) == len(lines)


def test_urls_share_a_prefix_and_nothing_more() -> None:
    lines = generated("urls", 10_000)
    assert all(line.startswith(b"https://www.example.com/path/") for line in lines)
    assert len({line.rsplit(b"/", 1)[0] for line in lines}) == 16
    assert len(set(lines)) == len(lines)


def test_integers_have_both_signs_and_all_magnitudes() -> None:
    lines = generated("integers", 10_000)
    values = list(map(int, lines))
    assert [b"%d" % value for value in values] == lines
    assert {len(str(abs(value))) for value in values} == set(range(1, 11))
    assert 0.4 < sum(value < 0 for value in values) / len(values) < 0.6


def test_ninety_percent_of_the_duplicates_are_duplicates() -> None:
    lines = generated("duplicates", 150_000)
    assert len(set(lines)) / len(lines) == pytest.approx(0.1, abs=0.001)


def test_table_counts_tie_often_enough_for_the_second_key_to_matter() -> None:
    lines = generated("table", 100_000)
    counts = collections.Counter(line.split(b"\t")[1] for line in lines)
    assert sum(found > 1 for found in counts.values()) / len(counts) > 0.9


def test_presorted_and_reversed_run_on_across_chunks() -> None:
    lines_n = CHUNK_LINES_N + 1000
    ascending = generated("presorted", lines_n)
    assert ascending == sorted(ascending)
    descending = generated("reversed", lines_n)
    assert descending == sorted(descending, reverse=True)
    assert len(set(ascending)) == len(set(descending)) == lines_n


def test_equal_and_empty_lines_are_what_they_say() -> None:
    assert len(set(generated("equal", 1000))) == 1
    empty = generated("empty", 10_000)
    assert 0.9 <= empty.count(b"") / len(empty) < 0.92


@pytest.mark.parametrize("name", CORPORA)
def test_a_corpus_is_about_as_large_as_its_row_says(name: str, tmp_path: Path) -> None:
    scale = min(0.01, 2_000_000 / CORPORA[name].size_bytes)
    path = ensure_corpus(name, scale, tmp_path)
    assert path.stat().st_size == pytest.approx(CORPORA[name].size_bytes * scale, rel=0.1)
    assert path.read_bytes().count(b"\n") == CORPORA[name].lines_n(scale)


# --- checks, measurement, judgement --------------------------------------------------------------


@pytest.mark.parametrize("case", [case for cases in GROUPS.values() for case in cases], ids=lambda case: case.name)
def test_the_order_check_agrees_with_gnu_sort(case: Case, tmp_path: Path) -> None:
    corpus, output = ensure_corpus(case.corpus, SMALL, tmp_path), tmp_path / "output"
    inputs = [corpus] if case.pieces_n == 1 else ensure_pieces(corpus, case.pieces_n)
    if case.checks:
        subprocess.run(GNU.command(Job(case, (corpus,), None)) or [], check=True, env=environment(case, tmp_path))
        output = corpus
    else:
        command = GNU.command(Job(case, tuple(inputs), output, SMALL)) or []
        subprocess.run(command, check=True, env=environment(case, tmp_path))
    assert verify.fingerprint(output, case.order) == verify.fingerprint(corpus, case.order)
    if not case.order.checked:
        return
    assert verify.first_disorder(output, case.order) is None
    lines = output.read_bytes().splitlines(keepends=True)
    if len(set(lines)) > 1:
        position = next(n for n in range(1, len(lines)) if lines[n] != lines[0])
        lines[position - 1], lines[position] = lines[position], lines[position - 1]
        output.write_bytes(b"".join(lines))
        assert verify.first_disorder(output, case.order) is not None


@pytest.mark.parametrize(
    ("text", "order", "line"),
    [
        (b"a\nb\nb\n", Order(), None),
        (b"a\nc\nb\n", Order(), 3),
        (b"b\na", Order(), 2),
        (b"b\na\na\n", Order(reverse=True), None),
        (b"a\nb\n", Order(reverse=True), 2),
        (b"a\na\n", Order(unique=True), 2),
        (b"", Order(), None),
    ],
)
def test_first_disorder_names_the_line(
    text: bytes, order: Order, line: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "text"
    path.write_bytes(text)
    for block_bytes in (1, 2, 3, 100):
        monkeypatch.setattr(verify, "_BLOCK_BYTES", block_bytes)
        assert verify.first_disorder(path, order) == line


def test_fingerprints_tell_multisets_apart(tmp_path: Path) -> None:
    def of(text: bytes, order: Order) -> verify.Fingerprint:
        path = tmp_path / "text"
        path.write_bytes(text)
        return verify.fingerprint(path, order)

    assert of(b"a\nb\nb\n", Order()) == of(b"b\na\nb", Order())
    assert of(b"a\nb\nb\n", Order()) != of(b"a\na\nb\n", Order())
    assert of(b"a\nb\n\n", Order()) != of(b"a\nb\n", Order())
    assert of(b"a\nb\nb\n", Order(unique=True)) == of(b"a\nb\n", Order(unique=True))


def test_peak_memory_is_the_command_s_own_whatever_the_caller_s() -> None:
    ballast = b"x" * (200 << 20)
    small = process.run(["true"], os.environ)
    assert len(ballast) == 200 << 20
    assert small.peak_bytes < 50 << 20
    large = process.run([sys.executable, "-c", "x = b'x' * (100 << 20)"], os.environ)
    assert 100 << 20 < large.peak_bytes < 200 << 20


def test_a_run_counts_cpu_and_reports_status_and_output(tmp_path: Path) -> None:
    output = tmp_path / "output"
    burn = "import time\nwhile time.process_time() < 0.2: pass\nprint(input()); raise SystemExit(7)"
    (tmp_path / "input").write_text("hello\n")
    for piped in (False, True):
        found = process.run(
            [sys.executable, "-c", burn],
            os.environ,
            stdin=str(tmp_path / "input"),
            piped=piped,
            stdout=str(output),
        )
        assert found.status == 7
        assert output.read_text() == "hello\n"
        assert found.cpu_s > 0.15
        assert found.wall_s > 0.15


def test_a_command_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(OSError, match="no-such-command"):
        process.run(["no-such-command"], os.environ)


def runs(*wall_s: float, peak_mib: int = 10) -> list[Run]:
    return [Run(0, wall, wall, 0.0, peak_mib << 20) for wall in wall_s]


@pytest.mark.parametrize(
    ("wall_s", "peak_mib", "verdict"),
    [(1.0, 80, "ok"), (1.01, 80, "SLOW"), (1.0, 81, "MEMORY"), (2.0, 90, "SLOW MEMORY")],
)
def test_floor_and_memory_limit_are_judged_at_their_edges(wall_s: float, peak_mib: int, verdict: str) -> None:
    result = CaseResult(Case("x", "random", floor=3.0, buffer_mib=80 - BESIDE_BUFFER_MIB), "GNU sort")
    result.commands = {"GNU sort": [], SUBJECT: []}
    result.runs = {
        "GNU sort": runs(3, 3, 30, peak_mib=500),
        SUBJECT: runs(wall_s, wall_s, 9, peak_mib=peak_mib),
    }
    assert result.verdict("GNU sort", judged=True) == verdict
    assert result.verdict("GNU sort", judged=False) == "ok"
    assert result.passed(judged=True) is (verdict == "ok")


def test_each_rival_is_judged_by_their_own_floor() -> None:
    result = CaseResult(Case("x", "random", floor=3.0, rival_floor=1.5), "GNU sort")
    names = ("GNU sort", SUBJECT, "slow rival", "fast rival", "wrong rival", ROOFLINE)
    result.commands = {name: ["sort"] for name in names}
    result.runs = {"GNU sort": runs(3), SUBJECT: runs(1), "slow rival": runs(1.5), "fast rival": runs(1.4)}
    result.faults = {"wrong rival": "line 3 is out of order"}
    verdicts = {name: result.verdict(name, judged=True) for name in result.opponents()}
    assert verdicts == {"GNU sort": "ok", "slow rival": "ok", "fast rival": "SLOW", "wrong rival": "WRONG"}


def test_ratio_is_of_medians_with_the_range_of_the_rounds() -> None:
    result = CaseResult(Case("x", "random"), "GNU sort")
    result.runs = {"GNU sort": runs(6, 9, 4), SUBJECT: runs(2, 1, 4)}
    assert result.ratio("GNU sort") == Spread(3.0, 1.0, 9.0)


def test_a_large_spread_is_admitted_in_every_report() -> None:
    result = CaseResult(Case("x", "random"), "GNU sort")
    result.commands = {"GNU sort": ["sort"], SUBJECT: ["pysort"], ROOFLINE: ["cat"]}
    result.runs = {"GNU sort": runs(4, 4, 4), SUBJECT: runs(1, 1, 2), ROOFLINE: runs(1, 2, 3)}
    result.warnings += result.spread_warnings()
    machine = dict.fromkeys(("cpu", "cores", "memory", "kernel", "libc", "python", "load"), "?")
    report = Report("peers", "python -m bench peers", 1.0, 3, True, machine, {}, [result], [])
    [warning] = report.all_warnings()
    assert "pysort's times spread over 100%" in warning
    assert warning in report.text()
    assert warning in report.markdown()
    assert warning in json.dumps(report.as_json())
    assert "2.000 (pysort 0.5x)" in report.text()


def test_startup_compares_medians_against_the_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for extra_ms, status in ((startup.LIMIT_MS, 0), (startup.LIMIT_MS + 1, 1)):
        times = {SUBJECT: [10.0 + extra_ms] * 50, "empty": [10.0] * 50}
        monkeypatch.setattr(startup, "measure", lambda work, rounds_n, times=times: times)
        assert __main__.main(["startup"]) == status
        assert f"difference {extra_ms:.1f} ms" in capsys.readouterr().out


def test_the_real_contenders_are_gnu_sort_and_pysort() -> None:
    assert [contender.name for contender in contenders()] == ["GNU sort", SUBJECT]


@pytest.mark.parametrize(
    ("url", "warns"),
    [
        (None, False),
        ('{"url": "file:///pysort", "dir_info": {}}', False),
        ('{"url": "file:///pysort", "dir_info": {"editable": true}}', True),
    ],
)
def test_an_editable_install_is_told(
    url: str | None, warns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "pysort-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: pysort\nVersion: 1\n")
    if url is not None:
        (metadata / "direct_url.json").write_text(url)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert (install_warning() is not None) == warns
