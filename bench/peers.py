"""`python -m bench peers`: pysort against GNU sort, case by case."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench import report
from bench.cases import GROUPS, Case
from bench.contenders import BenchError, Contender, Job, contenders, environment
from bench.corpora import CORPORA, corpus_path, ensure_corpus
from bench.machine import has_locale, load_warning, machine_facts
from bench.process import run
from bench.results import CaseResult
from bench.verify import digest, fingerprint, first_disorder, is_cached, read_once

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
        self.contenders = contenders()
        self.versions = {contender.name: contender.version() for contender in self.contenders}

    def measure(self, case: Case) -> CaseResult:
        """Every contender in every round, the order of a round opposite to that of the last."""
        result = CaseResult(case, self.contenders[0].name)
        for name in case.environment.values():
            if not has_locale(name):
                result.skip(f"the machine has no locale {name}")
                return result
        corpus = self._prepare(case)
        result.corpus_bytes = corpus.stat().st_size
        result.corpus_lines_n = CORPORA[case.corpus].lines_n(self.scale)
        jobs = self._jobs(case, corpus, result)
        check = OutputCheck(case, corpus)
        for round_n in range(self.rounds_n):
            for contender, argv in jobs if round_n % 2 == 0 else reversed(jobs):
                if result.skipped is None and contender.name not in result.faults:
                    self._run_once(contender, argv, corpus, check, result)
        result.warnings += result.spread_warnings()
        return result

    def _prepare(self, case: Case) -> Path:
        needed = CORPORA[case.corpus].size_bytes * self.scale * SPACE_FACTOR
        free = shutil.disk_usage(self.work).free
        if free < needed:
            raise BenchError(
                f"{case.name} may need {needed / 1e6:.0f} MB in {self.work},"
                f" which has {free / 1e6:.0f} MB: give another --dir or a smaller --size"
            )
        corpus = ensure_corpus(case.corpus, self.scale, self.corpora)
        read_once(corpus)
        return corpus

    def _jobs(self, case: Case, corpus: Path, result: CaseResult) -> list[tuple[Contender, list[str]]]:
        options = tuple(case.sort_options(self.scale))
        job = Job(case, options, None if case.piped else corpus, self.work / "output")
        jobs = []
        for contender in self.contenders:
            argv = contender.command(job)
            if argv is not None:
                jobs.append((contender, argv))
                shown = replace(job, input=job.input and Path(corpus.name), output=Path("output"))
                program, *arguments = contender.command(shown) or [""]
                result.commands[contender.name] = [Path(program).name, *arguments]  # no path of this machine
        return jobs

    def _run_once(
        self,
        contender: Contender,
        argv: list[str],
        corpus: Path,
        check: OutputCheck,
        result: CaseResult,
    ) -> None:
        name, case, output = contender.name, result.case, self.work / "output"
        if is_cached(corpus) is False:
            result.warnings.append(f"{case.name}: the input had left the page cache before a run")
            read_once(corpus)
        finished = run(
            argv,
            environment(case, self.work),
            stdin=str(corpus) if case.piped else "/dev/null",
            piped=case.piped,
        )
        if finished.status != 0 and UNSUPPORTED in finished.message:
            result.skip(finished.message)
        elif finished.status != 0:
            result.faults[name] = finished.failure
        elif not output.exists():
            result.faults[name] = "no output"
        elif problem := check.problem(output):
            result.faults[name] = problem
        else:
            result.runs.setdefault(name, []).append(finished)
            if finished.message:
                result.warnings.append(f"{case.name}: {name} wrote to standard error: {finished.message}")
        output.unlink(missing_ok=True)


class OutputCheck:
    """Order and lines of a case's first output; all others must have the same bytes."""

    def __init__(self, case: Case, corpus: Path) -> None:
        self._order = case.order
        self._expected = fingerprint(corpus, case.order)
        self._digest: str | None = None

    def problem(self, output: Path) -> str | None:
        found = digest(output)
        if self._digest is not None:
            return None if found == self._digest else "the output differs from the first one"
        disorder = first_disorder(output, self._order) if self._order.checked else None
        if disorder is not None:
            return f"line {disorder} is out of order"
        if fingerprint(output, self._order) != self._expected:
            return "the output's lines are not the input's"
        self._digest = found
        return None


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
            options = variables + shlex.join(case.sort_options(1.0)) + (" < pipe" if case.piped else "")
            floor = "" if case.floor is None else f"  floor {case.floor}"
            print(f"{case.name:<16}{group:<11}{case.corpus:<14}{size_mb:>4.0f} MB  {options}{floor}")


def measure_all(session: Session, cases: list[Case], keep_corpora: bool) -> list[CaseResult]:
    """All cases in turn. Unless corpora are kept, each goes after the last case that reads it."""
    results = []
    for position, case in enumerate(cases):
        print(f"{case.name} ...", end=" ", file=sys.stderr, flush=True)
        result = session.measure(case)
        results.append(result)
        print("; ".join(report.short(result)), file=sys.stderr)
        if not keep_corpora and all(case.corpus != later.corpus for later in cases[position + 1 :]):
            corpus_path(case.corpus, session.scale, session.corpora).unlink(missing_ok=True)
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
        warnings = [warning] if (warning := load_warning()) else []
        facts = machine_facts()
        for group, cases in chosen.items():
            results = measure_all(session, cases, keep_corpora=arguments.dir is not None)
            made = report.Report(
                group, command_line, scale, rounds_n, judged, facts, session.versions, results, warnings
            )
            print(made.text())
            if arguments.out is not None:
                made.write(arguments.out)
            passed = passed and all(result.passed(judged) for result in results)
    return 0 if passed else 1
