"""The bench of growth: its series, its inputs, exponents and verdicts, and the table in README.md."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from bench_support import ROOT, SORT

from bench import __main__, readme, scale, scale_report
from bench.cases import SUBJECT, Case
from bench.contenders import BenchError, environment
from bench.scale_inputs import KINDS, ensure_input
from bench.scale_report import Curves, Measured, exponent
from bench.scale_series import MB, Point, Series, series

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None

# --- growth --------------------------------------------------------------------------------------


def test_smoke_measures_every_series_and_leaves_nothing(tmp_path: Path) -> None:
    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "bench", "scale", "--smoke", "--largest", "1", "--out", str(out)],
        cwd=ROOT,
        env=environment(Case("x", ""), work),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(work.iterdir()) == []
    result = json.loads((out / "scale.json").read_text())
    assert [one["name"] for one in result["series"]] == ["hard", "length", "memory", "size"]
    assert result["left_out"] == ["fan-in: inputs of 4 MB, by --largest", "size: inputs of 4, 16 MB, by --largest"]
    assert "smoke run: speed means nothing" in done.stdout
    markdown = (out / "scale.md").read_text()
    for one in result["series"]:
        assert f"## {one['name']}: " in markdown
        for curve in one["curves"]:
            assert all(len(point["seconds"]) == 1 and point["runs"] >= 1 for point in curve["points"])
    plots = {path.name for path in out.glob("*.svg")}
    assert plots == ({f"scale-{one['name']}.svg" for one in result["series"]} if HAS_MATPLOTLIB else set())


def test_the_series_span_what_they_promise() -> None:
    every = {one.name: one.points for one in series(1.0, 4096 * MB)}
    sizes = sorted({point.size_bytes for point in every["size"]})
    assert (sizes[0], sizes[-1]) == (MB, 4096 * MB)
    shares = sorted({point.x for point in every["memory"]})
    assert (shares[0], shares[-1]) == (1 / 64, 1)
    assert all(point.buffer_bytes == point.size_bytes * point.x for point in every["memory"])
    assert {point.x for point in every["length"]} == {1, 10, 100, 1000, 10_000}
    fan_ins = sorted({point.fan_in or 0 for point in every["fan-in"]})
    assert (fan_ins[0], fan_ins[-1]) == (2, 256)
    for name in ("size", "memory", "length", "fan-in"):
        assert {point.threads_n for point in every[name]} == {1, 2}
    hard = {point.kind for point in every["hard"]}
    assert hard == {"equal", "prefix", "nested", "length-1", "length-10000", "equal-keys", "deep-keys"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_has_its_size_and_its_shape(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.scale_inputs._BLOCK_BYTES", 50_000)
    size = max(200_000, 2 * KINDS[kind][1])
    path = ensure_input(kind, size, tmp_path)
    text = path.read_bytes()
    assert len(text) == pytest.approx(size, rel=0.06)
    lines = text.removesuffix(b"\n").split(b"\n")
    lengths = {len(line) for line in lines}
    if kind == "random":
        assert lengths == set(range(101))
        assert len({line for line in lines if len(line) > 10}) == sum(len(line) > 10 for line in lines)
    elif kind == "equal":
        assert len(set(lines)) == 1
    elif kind == "prefix":
        assert len({line[:200] for line in lines}) == 1
        assert len(set(lines)) == len(lines)
    elif kind == "nested":
        assert len(lengths) == 250
        assert max(lengths) < 400
        assert set(text) == set(b"=\n")
    elif kind == "equal-keys":
        assert {line.split(b" ")[0] for line in lines} == {b"/./."}
        assert len(set(lines)) == len(lines)
    elif kind == "deep-keys":
        assert {(line[:201], line.count(b" ")) for line in lines} == {(lines[0][:201], 1)}
        assert len(set(lines)) == len(lines)
    else:
        assert lengths == {int(kind.partition("-")[2])}


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_is_the_power_of_size(power: float) -> None:
    assert exponent((n, 3e-8 * n**power) for n in (10**6, 10**7, 10**9)) == pytest.approx(power)


def test_one_point_has_no_exponent() -> None:
    assert exponent([(1000, 1.0)]) is None


def measured(point: Point, seconds: float, peak_bytes: int = 1 << 20) -> Measured:
    return Measured(point, point.size_bytes, [seconds], peak_bytes, 1, 0)


def growing(power: float) -> Curves:
    """A curve of two small sizes, which must not count, and two large ones."""
    points = [Point(n, "a curve", "random", n) for n in (MB, 4 * MB, 16 * MB, 256 * MB)]
    times = [5.0, 5.0, 1.0, 16.0**power]
    one = Series("growth", "a title", "bytes", tuple(points), 1.2)
    return Curves(one, list(map(measured, points, times)))


def report(curves: Sequence[Curves], judged: bool = True) -> scale_report.Report:
    machine = {name: name.upper() for name in ("cpu", "cores", "memory", "kernel", "libc", "python", "load")}
    return scale_report.Report(
        "python -m bench scale", judged, machine, {SUBJECT: "pysort 1"}, [], ["a lot"], list(curves), []
    )


def test_growth_beyond_the_limit_fails_all_but_a_smoke_run() -> None:
    assert report([growing(1.1)]).passed()
    assert not report([growing(1.3)]).passed()
    assert report([growing(1.3)], judged=False).passed()
    assert "growth, a curve: time grows as size to the power 1.30, more than 1.2" in report([growing(1.3)]).text()


def test_memory_beyond_the_buffer_fails() -> None:
    point = Point(1.0, "a curve", "random", MB, buffer_bytes=1 << 20)
    one = Series("memory", "a title", "share", (point,))
    assert report([Curves(one, [measured(point, 1.0, 41 << 20)])]).passed()
    assert not report([Curves(one, [measured(point, 1.0, (41 << 20) + 1)])]).passed()


def test_the_table_in_the_readme_tells_where_a_curve_begins_and_ends(tmp_path: Path) -> None:
    report([growing(1.0)]).write(tmp_path)
    made = readme.rewritten("<!-- bench: scale -->\n<!-- /bench -->\n", tmp_path)
    link = "[growth](bench/results/scale-growth.svg)"
    assert f"| {link}: a title | a curve | 1 MB | 256 MB | 5.00 / 16.00 | 0 / 16 | 1.00 |" in made
    for fact in ("CPU, CORES cores", "pysort 1", "left out: a lot", "`python -m bench scale`"):
        assert fact in made
    report([growing(1.0)], judged=False).write(tmp_path)
    with pytest.raises(BenchError, match="smoke"):
        readme.rewritten(made, tmp_path)


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ('LC_ALL=C sort "$1" | sed 1d > "$2"', "another size"),
        ('cp "$1" "$2"', "out of order"),
    ],
)
def test_a_wrong_output_is_a_fault(script: str, fault: str, tmp_path: Path) -> None:
    stand_in = f'#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\nset -- "$2" "$1"\n{script}\n'
    stand_in += """echo '{"runs_generated": 1, "merge_passes": 0}' >&2\n"""
    program = tmp_path / "pysort"
    program.write_text(stand_in)
    program.chmod(0o700)
    variables = environment(Case("x", ""), tmp_path)
    place = scale.Place(tmp_path, tmp_path, 1, [str(program)], SORT, variables)
    place.measure([Point(1, "a curve", "random", 20_000)])
    assert len(place.faults) == 1
    assert fault in place.faults[0]
    place.measure([Point(1, "a curve", "equal-keys", 20_000, order=("-u", "-k1,1"))])
    assert place.faults[1].endswith("the output is not GNU sort's")


@pytest.mark.parametrize("arguments", [["scale", "--case", "no-such"], ["scale", "--case", "fan-in", "--largest", "1"]])
def test_a_series_that_is_not_there_is_trouble(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(arguments) == 2
    assert capsys.readouterr().err.startswith("bench: no case named")
