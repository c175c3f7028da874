"""What `python -m bench peers` compares besides GNU sort: rivals and the roofline; checks, merges and the plot."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench_support import GNU, SMALL, SORT, bench

from bench import __main__, peers, peers_plot, rivals
from bench.cases import PEERS, SUBJECT, Case
from bench.contenders import Job, environment, sort_like
from bench.corpora import ensure_corpus, ensure_pieces
from bench.roofline import ROOFLINE, copy_command

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None

# --- rivals --------------------------------------------------------------------------------------


def test_every_rival_that_is_installed_writes_gnu_sort_s_bytes(tmp_path: Path) -> None:
    found, missing = rivals.rivals()
    assert len(found) + len(missing) == 4
    corpus = ensure_corpus("random", SMALL, tmp_path)
    case = next(case for case in PEERS if case.rival_floor is not None)
    for contender in (GNU, *found):
        assert contender.version()
        output = tmp_path / contender.name
        command = contender.command(Job(case, (corpus,), output, SMALL))
        subprocess.run(command or [], check=True, env=environment(case, tmp_path), capture_output=True)
        assert output.read_bytes() == (tmp_path / GNU.name).read_bytes(), contender.name


def test_rivals_stay_out_of_cases_without_a_floor_for_them(tmp_path: Path) -> None:
    found, _ = rivals.rivals()
    for contender in found:
        assert contender.command(Job(Case("x", "random"), (tmp_path / "in",), tmp_path / "out")) is None


def test_a_rival_that_is_not_installed_is_left_out_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rivals.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(rivals.shutil, "which", lambda name: None)
    nobody = rivals.rivals()
    assert nobody[0] == []
    assert set(nobody[1]) == {"uutils", "chdb", "polars", "duckdb"}
    monkeypatch.undo()
    monkeypatch.setattr(peers, "contenders", lambda: [GNU, sort_like(SUBJECT, SORT)])
    monkeypatch.setattr(peers, "rivals", lambda: nobody)
    assert __main__.main(["peers", "--smoke", "--size", str(SMALL), "--case", "lines", "--dir", str(tmp_path)]) == 0
    assert "warning: duckdb did not take part: Python has no module duckdb: pip install" in capsys.readouterr().out


# --- the roofline, and jobs of other shapes ------------------------------------------------------


@pytest.mark.parametrize("copies_n", [0, 1, 2])
def test_the_roofline_copies_its_inputs_by_way_of_so_many_files(copies_n: int, tmp_path: Path) -> None:
    inputs = (tmp_path / "one", tmp_path / "two")
    for path in inputs:
        path.write_text(f"{path.name}\n")
    output = tmp_path / "output"
    subprocess.run(copy_command(Job(Case("x", "random"), inputs, output), copies_n), check=True)
    assert output.read_text() == "one\ntwo\n"
    assert len(list(tmp_path.glob("output.*"))) == copies_n


def test_a_case_that_spills_tells_how_much_and_what_copying_it_takes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = measured_cases(monkeypatch, tmp_path, "records-128M", "merge-16", "check")
    spilled = found["records-128M"]
    assert spilled["spilled_bytes"] >= spilled["corpus_bytes"]
    assert "$0" in spilled["commands"][ROOFLINE][2]
    assert '$0".0' in spilled["commands"][ROOFLINE][2]
    assert len(found["merge-16"]["commands"][SUBJECT]) == len(["pysort", "--parallel=2", "-m", "-o", "output"]) + 16
    assert found["check"]["commands"][SUBJECT][-2:] == ["-c", "presorted-gigabyte-v1-19608.txt"]
    assert {len(case["runs"][ROOFLINE]) for case in found.values()} == {1}


def measured_cases(monkeypatch: pytest.MonkeyPatch, directory: Path, *names: str) -> dict[str, dict[str, Any]]:
    """The JSON of these cases, with the real pysort."""
    subject = next(contender for contender in peers.contenders() if contender.name == SUBJECT)
    chosen = [argument for name in names for argument in ("--case", name)]
    assert bench(monkeypatch, subject, "peers", "--smoke", "--size", str(SMALL), *chosen, "--out", str(directory)) == 0
    return {case["name"]: case for case in json.loads((directory / "peers.json").read_text())["cases"]}


def test_pieces_are_sorted_and_make_up_the_corpus(tmp_path: Path) -> None:
    corpus = ensure_corpus("random", SMALL, tmp_path)
    pieces = [path.read_bytes().splitlines() for path in ensure_pieces(corpus, 16)]
    assert len(pieces) == 16
    assert all(lines == sorted(lines) for lines in pieces)
    assert sorted(line for lines in pieces for line in lines) == sorted(corpus.read_bytes().splitlines())


@pytest.mark.skipif(not HAS_MATPLOTLIB, reason="matplotlib is not installed")
def test_the_plot_of_the_peers_names_every_comparison(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    measured_cases(monkeypatch, tmp_path, "lines", "check")
    drawn = (tmp_path / "peers.svg").read_text()
    assert ">lines<" in drawn
    assert ">check<" in drawn
    (tmp_path / "peers.svg").unlink()
    assert peers_plot.draw(tmp_path, "peers") is None
    assert (tmp_path / "peers.svg").read_text() == drawn  # of the results alone
