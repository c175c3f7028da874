"""The bench of the orderings: its corpora, what it leaves out and says so, and the tables in README.md."""

from __future__ import annotations

import collections
import json
import re
from pathlib import Path

import pytest
from bench_support import GNU, SMALL, SORT, bench, generated, shell

from bench import __main__, peers, readme
from bench.cases import GROUPS, ORDERINGS, SUBJECT, Case, Order
from bench.contenders import BenchError, sort_like
from bench.corpora import CORPORA
from bench.process import Run
from bench.realistic import MONTHS
from bench.report import Report
from bench.results import CaseResult
from bench.roofline import ROOFLINE

# --- corpora -------------------------------------------------------------------------------------


def share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def test_every_ordering_is_timed_on_two_million_lines_with_a_floor() -> None:
    for case in ORDERINGS:
        assert CORPORA[case.corpus].lines_n(1.0) == 2_000_000
        assert case.floor is not None
        assert (case.threads_n, case.subject_threads_n) == (2, 1)


def test_prose_has_words_capitals_punctuation_and_some_accents() -> None:
    lines = [line.decode() for line in generated("prose", 20_000)]
    words_n = [len(line.replace(" - ", " ").replace(" -", "").split(" ")) for line in lines]
    assert 4 <= min(words_n) < max(words_n) == 14
    assert 0.45 < share([line[0].isupper() for line in lines]) < 0.55
    assert 0.1 < share([not line.isascii() for line in lines]) < 0.25
    assert 0.35 < share([line[-1] in ".,!?" for line in lines]) < 0.75
    assert 0.3 < share(["," in line[:-1] for line in lines]) < 0.7
    words = collections.Counter(re.findall(r"[^\W\d]+", " ".join(lines).lower()))
    [(first, first_n), (_, second_n)] = words.most_common(2)
    assert first == "the"
    assert 1.5 < first_n / second_n < 2.5  # in inverse proportion to the rank
    assert len(words) > 1500
    assert len(set(lines)) / len(lines) > 0.999


def test_amounts_have_signs_fractions_and_all_magnitudes() -> None:
    lines = generated("amounts", 20_000)
    assert all(re.fullmatch(rb"-?\d{1,10}(\.\d\d)?", line) for line in lines)
    assert 0.45 < share([b"." in line for line in lines]) < 0.55
    assert 0.1 < share([line.startswith(b"-") for line in lines]) < 0.15
    assert {len(line.lstrip(b"-").split(b".")[0]) for line in lines} == set(range(1, 11))


def test_measurements_have_exponents_plain_numbers_and_missing_values() -> None:
    lines = generated("measurements", 40_000)
    assert all(re.fullmatch(rb"NA|-?[1-9]\.\d{6}(e[+-]\d\d)?", line) for line in lines)
    assert 0.7 < share([b"e" in line for line in lines]) < 0.8
    assert 0.005 < share([line == b"NA" for line in lines]) < 0.015
    assert 0.2 < share([line.startswith(b"-") for line in lines]) < 0.3
    exponents = {int(line.partition(b"e")[2]) for line in lines if b"e" in line}
    assert exponents == set(range(-30, 11))


def test_releases_share_names_and_differ_in_versions() -> None:
    lines = generated("releases", 40_000)
    pattern = rb"([a-z]+)-(\d+)\.(\d+)\.(\d+)(~rc1|-beta2|a1|-rc\.3)?(\.tar\.[gx]z|\.deb|\.zip|-x86_64\.rpm)"
    matches = [re.fullmatch(pattern, line) for line in lines]
    assert all(matches)
    names = collections.Counter(match[1] for match in matches if match)
    assert 400 < len(names) <= 600
    assert 0.1 < names.most_common(1)[0][1] / len(lines) < 0.2
    assert 0.2 < share([bool(match and match[5]) for match in matches]) < 0.3
    assert {len(match[4]) for match in matches if match} == {1, 2, 3}
    assert len(set(lines)) / len(lines) > 0.98


def test_usage_has_all_units_and_one_decimal_below_ten() -> None:
    lines = generated("usage", 20_000)
    sizes = [line.split(b"\t")[0] for line in lines]
    assert all(re.fullmatch(rb"0|(\d\.\d|\d{2,4})[KMG]", size) for size in sizes)
    assert all(int(size[:-1]) < 1024 for size in sizes if size != b"0" and b"." not in size)
    units = collections.Counter(size[-1:] for size in sizes)
    assert [unit for unit, _ in units.most_common(2)] == [b"K", b"M"]
    assert min(units[b"0"], units[b"G"]) > 0.02 * len(lines)
    assert 0.4 < share([b"." in size for size in sizes]) < 0.6
    assert len(set(lines)) == len(lines)


def test_logs_have_every_month_and_are_out_of_order() -> None:
    lines = generated("logs", 24_000)
    assert all(re.match(rb"[A-Z][a-z]{2} [ 12]\d \d\d:\d\d:\d\d [a-z]+ [a-z]+\[\d+\]: [a-z]", line) for line in lines)
    months = collections.Counter(line[:3] for line in lines)
    assert set(months) == set(MONTHS)
    assert max(months.values()) / min(months.values()) < 1.2
    assert len(set(lines)) / len(lines) > 0.999


def test_links_are_distinct_urls() -> None:
    lines = generated("links", 10_000)
    assert all(line.startswith(b"https://www.example.com/path/") for line in lines)
    assert len(set(lines)) == len(lines)


def test_names_of_the_accounts_tie_often_enough_for_the_line_to_matter() -> None:
    lines = generated("accounts", 50_000)
    assert all(re.fullmatch(rb"\d{7} [a-z]+ [a-z]+ \d+\.\d\d", line) for line in lines)
    names = collections.Counter(line.split(b" ")[1] for line in lines)
    assert 3000 < len(names) <= 5000
    assert sum(found for found in names.values() if found > 1) / len(lines) > 0.95
    assert len(set(lines)) == len(lines)


def test_half_of_the_checksums_repeat_another_line() -> None:
    lines = generated("checksums", 150_000)
    assert len(set(lines)) == len(lines) // 2
    repeats = collections.Counter(lines[1::2])
    assert max(repeats.values()) < 12  # drawn evenly from all, not from a few
    assert 0.6 < len(repeats) / (len(lines) // 2) < 0.66  # 1 - 1/e


# --- what is left out ----------------------------------------------------------------------------


def test_an_option_that_is_not_supported_yet_is_skipped_with_its_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "pysort: option '-g' is not supported yet"
    subject = shell(SUBJECT, f'echo "{message}" >&2; exit 2')
    arguments = ["peers", "--smoke", "--orderings", "--size", str(SMALL), "--case", "general-number", "--out"]
    assert bench(monkeypatch, subject, *arguments, str(tmp_path)) == 0
    assert f"skipped: {message}" in capsys.readouterr().out
    assert f"| skipped: {message} |" in (tmp_path / "orderings.md").read_text()
    [case] = json.loads((tmp_path / "orderings.json").read_text())["cases"]
    assert (case["skipped"], case["runs"], case["ratios"], case["faults"]) == (message, {}, {}, {})


def test_any_other_failure_is_a_fault_that_quotes_the_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = shell(SUBJECT, "echo 'pysort: read failed' >&2; echo more >&2; exit 2")
    arguments = ["peers", "--smoke", "--orderings", "--size", str(SMALL), "--case", "number", "--dir"]
    assert bench(monkeypatch, subject, *arguments, str(tmp_path)) == 1
    assert "number: pysort: exit status 2: pysort: read failed\n" in capsys.readouterr().out


def test_a_complaint_of_a_run_that_succeeds_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = shell(SUBJECT, 'echo beware >&2; LC_ALL=C sort -n "$1" > "$2"')
    arguments = ["peers", "--smoke", "--orderings", "--size", str(SMALL), "--case", "number", "--dir"]
    assert bench(monkeypatch, subject, *arguments, str(tmp_path)) == 0
    assert "warning: number: pysort wrote to standard error: beware\n" in capsys.readouterr().out


def test_a_missing_locale_is_skipped_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Case("far", "prose", (), Order(checked=False), environment={"LC_ALL": "xx_XX.UTF-8"}, floor=4.0)
    monkeypatch.setattr(peers, "GROUPS", {"orderings": (case,)})
    arguments = ["peers", "--orderings", "--size", str(SMALL), "--dir", str(tmp_path / "kept")]
    assert bench(monkeypatch, sort_like(SUBJECT, SORT), *arguments) == 0
    assert "skipped: the machine has no locale xx_XX.UTF-8" in capsys.readouterr().out
    assert list((tmp_path / "kept").iterdir()) == []


def test_where_python_knows_no_order_gnu_sort_s_bytes_decide_and_the_report_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["peers", "--smoke", "--orderings", "--size", str(SMALL), "--case", "version", "--dir", str(tmp_path)]
    assert bench(monkeypatch, sort_like(SUBJECT, SORT), *arguments) == 0
    assert "order judged by the reference's bytes alone: version\n" in capsys.readouterr().out
    assert bench(monkeypatch, shell(SUBJECT, 'LC_ALL=C sort "$1" > "$2"'), *arguments) == 1
    assert "the output differs from the first one" in capsys.readouterr().out


# --- README.md -----------------------------------------------------------------------------------


def report(group: str, judged: bool = True) -> Report:
    """A report with one case that ran, one that was wrong and one that was skipped."""
    ran = CaseResult(
        Case("ran", "table", ("-t", "\t", "-k2,2n"), floor=2.0, rival_floor=1.5, piped=True), GNU.name, 34_000_000
    )
    ran.runs = {GNU.name: [Run(0, wall, wall, 0.0, 50 << 20) for wall in (6.0, 4.0, 5.0)]}
    ran.runs |= {SUBJECT: [Run(0, 2.0, 2.0, 0.0, 30 << 20)] * 3, "rival": [Run(0, 3.0, 3.0, 0.0, 90 << 20)] * 3}
    ran.faults = {"liar": "line 7 is out of order"}
    wrong = CaseResult(Case("wrong", "random", buffer_mib=25), GNU.name, faults={SUBJECT: "exit status 3"})
    skipped = CaseResult(Case("skipped", "prose", environment={"LC_ALL": "en_US.UTF-8"}), GNU.name)
    skipped.skip("no locale")
    for result in (ran, wrong, skipped):
        result.commands = {GNU.name: ["sort"], SUBJECT: ["pysort"], ROOFLINE: ["cat"]}
    ran.commands |= {"rival": ["rival"], "liar": ["liar"]}
    ran.runs[ROOFLINE] = [Run(0, 0.25, 0.25, 0.0, 2 << 20)] * 3
    machine = {name: name.upper() for name in ("cpu", "cores", "memory", "kernel", "libc", "python", "load")}
    versions = {GNU.name: "sort 9.1", SUBJECT: "pysort 1"}
    return Report(group, f"python -m bench {group}", 1.0, 3, judged, machine, versions, [ran, wrong, skipped], [])


def test_a_table_has_ratios_commands_machine_versions_and_nothing_else_changes(tmp_path: Path) -> None:
    report("peers").write(tmp_path)
    text = "before\n\n<!-- bench: {} -->\nold\n\nold\n<!-- /bench -->\n\nafter\n"
    made = readme.rewritten(text.format("peers") + text.format("orderings"), tmp_path)
    assert (
        r"| ran | `sort -t $'\t' -k2,2n < pipe` | 34 | **2.5** (2.0-3.0) | 2 | 5.00 / 2.00 | 50 / 30 | 0.25 |" in made
    )
    assert "| ran, rival |  |  | **1.5** (1.5-1.5) | 1.5 | 3.00 / 2.00 | 90 / 30 |  |" in made
    assert "| ran, liar |  |  | its output was wrong: line 7 is out of order | 1.5 |  |  |  |" in made
    assert "| wrong | `sort -S25M` | 0 | wrong |  |  |  |  |" in made
    assert "| skipped | `LC_ALL=en_US.UTF-8 sort` |  | skipped: no locale |  |  |  |  |" in made
    for fact in ("CPU, CORES cores, MEMORY, KERNEL, LIBC", "sort 9.1", "pysort 1", "`python -m bench peers`"):
        assert fact in made
    assert made.count("before\n") == made.count("after\n") == 2
    assert "old" not in made
    assert made.endswith("<!-- bench: orderings -->\nNot measured yet.\n<!-- /bench -->\n\nafter\n")
    assert readme.rewritten(made, tmp_path) == made


def test_results_of_a_smoke_run_do_not_get_into_the_readme(tmp_path: Path) -> None:
    report("peers", judged=False).write(tmp_path)
    with pytest.raises(BenchError, match="smoke"):
        readme.rewritten("<!-- bench: peers -->\n<!-- /bench -->\n", tmp_path)


def test_the_readme_command_rewrites_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("<!-- bench: peers -->\n<!-- /bench -->\n")
    report("peers").write(tmp_path)
    monkeypatch.setattr(readme, "README", path)
    monkeypatch.setattr(readme, "RESULTS", tmp_path)
    assert __main__.main(["readme"]) == 0
    assert "| ran |" in path.read_text()


def test_the_tables_in_the_readme_are_those_of_the_committed_results() -> None:
    """If this fails: `python -m bench readme`."""
    text = readme.README.read_text("utf-8")
    assert re.findall(r"^<!-- bench: (\w+) -->$", text, re.MULTILINE) == ["headline", *GROUPS, "scale", "hints"]
    assert readme.rewritten(text, readme.RESULTS) == text
