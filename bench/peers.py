"""`python -m bench peers`: pysort against GNU sort and its rivals, case by case."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench import peers_plot, report
from bench.cases import GROUPS, SUBJECT, Case
from bench.contenders import BenchError, Job, contenders, environment
from bench.corpora import CORPORA, corpus_path, ensure_corpus, ensure_pieces, remove_corpus
from bench.machine import has_locale, install_warning, load_warning, machine_facts
from bench.process import run
from bench.results import CaseResult
from bench.rivals import rivals
from bench.roofline import ROOFLINE, copy_command, spilled_bytes
from bench.verify import OutputCheck, is_cached, read_once
from bench.warm import warm_memory

SMOKE_SCALE = 0.01
LEAST_ROUNDS_N = 3
# How pysort refuses what it cannot do yet: such a case is no failure.
UNSUPPORTED = "is not supported yet"
# Corpus, spilled runs, an output being written and the room a merge needs on top.
SPACE_FACTOR = 4


class Session:
    """One invocation: scale, rounds, directories, and who takes part."""

    def __init__(self, scale: float, rounds_n: int, work: Path, corpora: Path) -> None:
        self.scale = scale
        self.rounds_n = rounds_n
        self.work = work
        self.corpora = corpora
        found, self.missing = rivals()
        self.reference, *others = contenders()
        self.contenders = [self.reference, *others, *found]
        self.versions = {contender.name: contender.version() for contender in self.contenders}
        self._checks: dict[object, OutputCheck] = {}

    def measure(self, case: Case) -> CaseResult:
        """Every contender in every round, the order of a round opposite to that of the last."""
        result = CaseResult(case, self.reference.name)
        for name in case.environment.values():
            if not has_locale(name):
                result.skip(f"the machine has no locale {name}")
                return result
        inputs = self._prepare(case)
        result.corpus_bytes = sum(path.stat().st_size for path in inputs)
        result.corpus_lines_n = CORPORA[case.corpus].lines_n(self.scale)
        commands = self._commands(case, inputs, result)
        check = None if case.checks else self._check(case)
        for round_n in range(min(self.rounds_n, case.most_rounds_n or self.rounds_n)):
            for name, argv in commands if round_n % 2 == 0 else reversed(commands):
                if result.skipped is None and name not in result.faults:
                    self._run_once(name, argv, inputs, None if name == ROOFLINE else check, result)
        result.warnings += result.spread_warnings()
        return result

    def _prepare(self, case: Case) -> list[Path]:
        needed = CORPORA[case.corpus].size_bytes * self.scale * SPACE_FACTOR
        free = shutil.disk_usage(self.work).free
        if free < needed:
            raise BenchError(
                f"{case.name} may need {needed / 1e6:.0f} MB in {self.work},"
                f" which has {free / 1e6:.0f} MB: give another --dir or a smaller --size"
            )
        corpus = ensure_corpus(case.corpus, self.scale, self.corpora)
        inputs = [corpus] if case.pieces_n == 1 else ensure_pieces(corpus, case.pieces_n)
        for path in inputs:
            read_once(path)
        return inputs

    def _check(self, case: Case) -> OutputCheck:
        """One for all cases that must write the same bytes: judging order and lines in Python takes long."""
        options = tuple(option for option in case.options if option != "-m")
        same = (case.corpus, case.order, options, tuple(case.environment.items()))
        if same not in self._checks:
            corpus = corpus_path(case.corpus, self.scale, self.corpora)
            self._checks[same] = OutputCheck(case.order, corpus)
        return self._checks[same]

    def _commands(self, case: Case, inputs: Sequence[Path], result: CaseResult) -> list[tuple[str, list[str]]]:
        output = None if case.checks else Path("output")
        shown = Job(case, () if case.piped else tuple(Path(path.name) for path in inputs), output, self.scale)
        job = replace(
            shown, inputs=() if case.piped else tuple(inputs), output=None if case.checks else self.work / "output"
        )
        commands = {contender.name: contender.command(job) for contender in self.contenders}
        copies_n = 0
        if case.buffer_mib is not None:
            result.spilled_bytes = spilled_bytes(commands[SUBJECT] or [], environment(case, self.work))
            copies_n = max(1, round((result.spilled_bytes or 0) / result.corpus_bytes))
        for contender in self.contenders:
            if argv := contender.command(shown):
                result.commands[contender.name] = [Path(argv[0]).name, *argv[1:]]  # no path of this machine
        result.commands[ROOFLINE] = copy_command(shown, copies_n)
        commands[ROOFLINE] = copy_command(job, copies_n)
        return [(name, argv) for name, argv in commands.items() if argv is not None]

    def _run_once(
        self, name: str, argv: list[str], inputs: Sequence[Path], check: OutputCheck | None, result: CaseResult
    ) -> None:
        case, output = result.case, self.work / "output"
        for path in inputs:
            if is_cached(path) is False:
                result.warnings.append(f"{case.name}: the input had left the page cache before a run")
                read_once(path)
        stdin = str(inputs[0]) if case.piped else os.devnull
        warm_memory(result.corpus_bytes)
        finished = run(argv, environment(case, self.work), stdin=stdin, piped=case.piped)
        if finished.status != 0 and UNSUPPORTED in finished.message:
            result.skip(finished.message)
        elif finished.status != 0:
            result.faults[name] = finished.failure
        elif check is not None and not output.exists():
            result.faults[name] = "no output"
        elif check is not None and (problem := check.problem(output)):
            result.faults[name] = problem
        else:
            result.runs.setdefault(name, []).append(finished)
            if finished.message:
                result.warnings.append(f"{case.name}: {name} wrote to standard error: {finished.message}")
        for path in self.work.glob("output*"):
            path.unlink()


def chosen_cases(groups: Sequence[str], names: Sequence[str]) -> dict[str, list[Case]]:
    """The cases of these groups, or those named among them, by group; no group is empty."""
    unknown = set(names).difference(case.name for group in groups for case in GROUPS[group])
    if unknown:
        raise BenchError(f"no case named {', '.join(sorted(unknown))} in {', '.join(groups)}; see --list")
    chosen = {group: [case for case in GROUPS[group] if not names or case.name in names] for group in groups}
    return {group: cases for group, cases in chosen.items() if cases}


def list_cases(groups: Sequence[str]) -> None:
    for group in groups:
        for case in GROUPS[group]:
            size_mb = CORPORA[case.corpus].size_bytes / 1e6
            variables = "".join(f"{name}={value} " for name, value in case.environment.items())
            options = (
                variables
                + shlex.join(case.sort_options(1.0, case.subject_threads_n))
                + (" < pipe" if case.piped else "")
            )
            floor = "" if case.floor is None else f"  floor {case.floor}"
            print(f"{case.name:<16}{group:<11}{case.corpus:<14}{size_mb:>4.0f} MB  {options}{floor}")


def measure_all(session: Session, cases: list[Case], keep_corpora: bool) -> list[CaseResult]:
    """All cases in turn. Unless corpora are kept, each goes after the last case that reads it."""
    results = []
    for position, case in enumerate(cases):
        print(f"[{position + 1}/{len(cases)}] {case.name} ...", end=" ", file=sys.stderr, flush=True)
        started = time.monotonic()
        result = session.measure(case)
        results.append(result)
        print(f"{'; '.join(report.short(result))} [{time.monotonic() - started:.0f} s]", file=sys.stderr)
        if not keep_corpora and all(case.corpus != later.corpus for later in cases[position + 1 :]):
            remove_corpus(case.corpus, session.scale, session.corpora)
    return results


def _groups(arguments: argparse.Namespace) -> list[str]:
    if arguments.orderings:
        return ["orderings"]
    return list(GROUPS) if arguments.list or arguments.smoke else ["peers"]


def main(arguments: argparse.Namespace, command_line: str) -> int:
    """Exit status: 0, or 1 when an output was wrong or a demand of a case was missed."""
    groups = _groups(arguments)
    if arguments.list:
        list_cases(groups)
        return 0
    chosen = chosen_cases(groups, arguments.case)
    judged = not arguments.smoke
    rounds_n = arguments.rounds or (LEAST_ROUNDS_N if judged else 1)
    if judged and rounds_n < LEAST_ROUNDS_N:
        raise BenchError(f"a judgement needs at least {LEAST_ROUNDS_N} rounds")
    if arguments.dir is not None:
        arguments.dir.mkdir(parents=True, exist_ok=True)
    passed = True
    with tempfile.TemporaryDirectory(
        prefix="pysort-bench-", dir=arguments.dir, ignore_cleanup_errors=True
    ) as directory:
        work = Path(directory)
        scale = arguments.size or (1.0 if judged else SMOKE_SCALE)
        session = Session(scale, rounds_n, work, arguments.dir or work)
        warnings = [warning for warning in (load_warning(), install_warning()) if warning]
        warnings += [f"{name} did not take part: {reason}" for name, reason in session.missing.items()]
        facts = machine_facts()
        for group, cases in chosen.items():
            results = measure_all(session, cases, keep_corpora=arguments.dir is not None)
            made = report.Report(
                group, command_line, scale, rounds_n, judged, facts, session.versions, results, warnings
            )
            print(made.text())
            if arguments.out is not None:
                made.write(arguments.out)
                if reason := peers_plot.draw(arguments.out, group):
                    print(f"no plot: {reason}", file=sys.stderr)
            passed = passed and all(result.passed(judged) for result in results)
    return 0 if passed else 1
