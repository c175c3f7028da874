"""The command line: each row's literal is checked against pysort's parser and against GNU sort."""

from __future__ import annotations

import os
import re
import resource
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import needs_gnu

from pysort.command_line import parse
from pysort.errors import SortError, shell_name
from pysort.help import help_text
from pysort.keys.spec import KeySpec, check_compatible, inherit, parse_key, parse_obsolescent
from pysort.option_table import OPTIONS, OWN
from pysort.options import (
    Options,
    check_check,
    check_debug,
    check_files0_from,
)
from pysort.units import COUNT_MAX, SizeSpec

SOFT_LIMIT = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
HINT = "Try 'sort --help' for more information.\n"

Environ = Mapping[bytes, bytes]


def read(argv: Sequence[bytes], environ: Environ | None = None) -> Options:
    return parse(
        argv,
        environ or {},
        parse_key=parse_key,
        parse_obsolescent=parse_obsolescent,
        descriptor_limit=SOFT_LIMIT,
    )


def read_text(text: str, **environ: str) -> Options:
    return read(shlex_bytes(text), {k.encode(): v.encode() for k, v in environ.items()})


def shlex_bytes(text: str) -> list[bytes]:
    return [word.encode() for word in shlex.split(text)]


def judge(argv: Sequence[bytes], environ: Environ | None = None) -> Options | SortError:
    """The options, or what is wrong with them in the order in which GNU sort looks."""
    try:
        options = read(argv, environ)
        if not options.request:
            check_files0_from(options)
            check_compatible(inherit(options.keys, options.ordering, options.reverse))
            check_debug(options)
            check_check(options, options.files)
    except SortError as error:
        return error
    return options


def gnu(
    argv: Sequence[bytes], environ: Environ | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    env = {b"LC_ALL": b"C", b"PATH": os.environb[b"PATH"], **(environ or {})}
    return subprocess.run(
        [b"sort", *argv],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def usage(message: str) -> str:
    return f"sort: {message}\n{HINT}"


SORT_WORDS = """Valid arguments are:
  - 'general-numeric'
  - 'human-numeric'
  - 'month'
  - 'numeric'
  - 'random'
  - 'version'
"""
CHECK_WORDS = """Valid arguments are:
  - 'quiet', 'silent'
  - 'diagnose-first'
"""

ERRORS = [
    # getopt_long
    ("--foo", 2, usage("unrecognized option '--foo'")),
    ("--foo=bar", 2, usage("unrecognized option '--foo=bar'")),
    ("-j", 2, usage("invalid option -- 'j'")),
    ("-nj", 2, usage("invalid option -- 'j'")),
    ("-/", 2, usage("invalid option -- '/'")),
    ("-:", 2, usage("invalid option -- ':'")),
    ("-1", 2, usage("invalid option -- '1'")),
    ("-k", 2, usage("option requires an argument -- 'k'")),
    ("-nk", 2, usage("option requires an argument -- 'k'")),
    ("-y", 2, usage("option requires an argument -- 'y'")),
    ("--key", 2, usage("option '--key' requires an argument")),
    ("--k", 2, usage("option '--key' requires an argument")),
    ("--sort", 2, usage("option '--sort' requires an argument")),
    ("--version=3", 2, usage("option '--version' doesn't allow an argument")),
    ("--g=1", 2, usage("option '--general-numeric-sort' doesn't allow an argument")),
    (
        "--r",
        2,
        usage("option '--r' is ambiguous; possibilities: '--random-sort' '--random-source' '--reverse'"),
    ),
    (
        "--c=1",
        2,
        usage("option '--c=1' is ambiguous; possibilities: '--check' '--compress-program'"),
    ),
    ("--s", 2, usage("option '--s' is ambiguous; possibilities: '--sort' '--stable'")),
    ("--ver", 2, usage("option '--ver' is ambiguous; possibilities: '--version-sort' '--version'")),
    ("--d", 2, usage("option '--d' is ambiguous; possibilities: '--debug' '--dictionary-order'")),
    ("--m", 2, usage("option '--m' is ambiguous; possibilities: '--merge' '--month-sort'")),
    # words
    ("--check=foo", 1, f"sort: invalid argument 'foo' for '--check'\n{CHECK_WORDS}{HINT}"),
    ("--check=", 1, f"sort: ambiguous argument '' for '--check'\n{CHECK_WORDS}{HINT}"),
    ("--sort=foo", 1, f"sort: invalid argument 'foo' for '--sort'\n{SORT_WORDS}{HINT}"),
    ("--so ''", 1, f"sort: ambiguous argument '' for '--sort'\n{SORT_WORDS}{HINT}"),
    # options that may come once
    ("-o x -o y", 2, "sort: multiple output files specified\n"),
    ("-o x --output ./x", 2, "sort: multiple output files specified\n"),
    ("--compress-program=a --comp=b", 2, "sort: multiple compress programs specified\n"),
    ("--random-source=a --random-sou=b", 2, "sort: multiple random sources specified\n"),
    ("-c -C", 2, "sort: options '-cC' are incompatible\n"),
    ("--check=silent -c", 2, "sort: options '-cC' are incompatible\n"),
    ("-cC --foo", 2, "sort: options '-cC' are incompatible\n"),
    # -t
    ("-t ab", 2, "sort: multi-character tab 'ab'\n"),
    (r"-t '\00'", 2, "sort: multi-character tab '\\\\00'\n"),
    ("-t é", 2, "sort: multi-character tab '\\303\\251'\n"),
    ("-t ''", 2, "sort: empty tab\n"),
    ("-t x -ty", 2, "sort: incompatible tabs\n"),
    (r"-t '\0' -t x", 2, "sort: incompatible tabs\n"),
    # numbers
    ("-S a", 2, "sort: invalid -S argument 'a'\n"),
    ("--buf=1x", 2, "sort: invalid suffix in --buffer-size argument '1x'\n"),
    ("-S1Z", 2, "sort: -S argument '1Z' too large\n"),
    ("--parallel=-1", 2, "sort: invalid --parallel argument '-1'\n"),
    ("--parallel=''", 2, "sort: invalid --parallel argument ''\n"),
    ("--parallel=1k", 2, "sort: invalid suffix in --parallel argument '1k'\n"),
    ("--parallel=0", 2, "sort: number in parallel must be nonzero\n"),
    (
        "--batch-size=1",
        2,
        "sort: invalid --batch-size argument '1'\nsort: minimum --batch-size argument is '2'\n",
    ),
    (
        "--batch-size=99999999999999999999",
        2,
        "sort: --batch-size argument '99999999999999999999' too large\n"
        f"sort: maximum --batch-size argument with current rlimit is {SOFT_LIMIT - 3}\n",
    ),
    ("--batch-size=a", 2, "sort: invalid --batch-size argument 'a'\n"),
    ("--batch-size=2k", 2, "sort: invalid suffix in --batch-size argument '2k'\n"),
    # keys
    ("-k0", 2, "sort: field number is zero: invalid field specification '0'\n"),
    ("-k0 --help", 2, "sort: field number is zero: invalid field specification '0'\n"),
    ("-n -k1.0", 2, "sort: character offset is zero: invalid field specification '1.0'\n"),
    ("+1 -2x", 2, "sort: stray character in field spec: invalid field specification '-2x'\n"),
    ("+1 -2.x", 2, "sort: invalid number after '.': invalid count at start of 'x'\n"),
    ("+1 -2 -3", 2, usage("invalid option -- '3'")),
    # after parsing
    (
        "--files0-from=- x y",
        2,
        "sort: extra operand 'x'\nfile operands cannot be combined with --files0-from\n" + HINT,
    ),
    ("-nd missing", 2, "sort: options '-dn' are incompatible\n"),
    ("-ndc missing --debug", 2, "sort: options '-dn' are incompatible\n"),
    ("--debug -c -o x", 2, "sort: options '-c --debug' are incompatible\n"),
    ("--debug -o x", 2, "sort: options '-o --debug' are incompatible\n"),
    ("--debug -C x y", 2, "sort: options '-C --debug' are incompatible\n"),
    ("-c -o x f g", 2, "sort: extra operand 'g' not allowed with -c\n"),
    ("-C a 'b c'", 2, "sort: extra operand 'b c' not allowed with -C\n"),
    ("-c - -", 2, "sort: extra operand '-' not allowed with -c\n"),
    ("-co x", 2, "sort: options '-co' are incompatible\n"),
    ("-Cox", 2, "sort: options '-Co' are incompatible\n"),
]


@pytest.mark.parametrize(("text", "status", "stderr"), ERRORS, ids=[row[0] for row in ERRORS])
def test_what_is_wrong_with_a_command_line(text: str, status: int, stderr: str) -> None:
    argv = shlex_bytes(text)
    error = judge(argv)
    assert isinstance(error, SortError)
    assert (error.status, error.render(b"sort", utf8=False)) == (status, stderr.encode())
    run = gnu(argv)
    assert (run.returncode, run.stderr) == (status, stderr.encode())


def test_the_end_of_a_command_line_is_not_read_after_help() -> None:
    assert read_text("-n --help -k0").request == "help"
    assert read_text("--version --foo").request == "version"
    assert gnu([b"--help", b"-k0"]).returncode == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-nrk2,2", {"ordering": "n", "reverse": True, "keys": [KeySpec(1, 0, 1, 0)]}),
        ("-bdfghiMnRV", {"ordering": "bdfghiMnRV"}),
        ("-ff -nn --ignore-case", {"ordering": "fn"}),
        ("--sort=month --sort n --so=version", {"ordering": "MnV"}),
        (
            "-z --sta -u -m",
            {"zero_terminated": True, "stable": True, "unique": True, "merge": True},
        ),
        ("-c", {"check": "c"}),
        ("--che", {"check": "c"}),
        ("-c --check=diag", {"check": "c"}),
        ("-CC --check=quiet --check=s", {"check": "C"}),
        ("-o --dash", {"output": b"--dash"}),
        ("-ox -o x", {"output": b"x"}),
        ("--output=", {"output": b""}),
        ("-S 1b -S 2M -S 3% -S 64", {"buffer_size": SizeSpec(2 << 20, 3)}),
        ("-S 0", {"buffer_size": SizeSpec(0)}),
        ("-T a -Tb --temp=c", {"temporary_directories": [b"a", b"b", b"c"]}),
        ("--parallel=7 --p=3", {"parallel": 3}),
        (f"--parallel={2**70}", {"parallel": 2**64 - 1}),
        ("--batch-size 7 --ba=' +5'", {"batch_size": 5}),
        ("-t : -t:", {"field_separator": ord(":")}),
        (r"-t '\0'", {"field_separator": 0}),
        (r"-t '\'", {"field_separator": ord("\\")}),
        ("--files0-from=a --files=b", {"files0_from": b"b"}),
        ("--compress-p=a --compress-program a", {"compress_program": b"a"}),
        ("--random-sou=a", {"random_source": b"a"}),
        ("--deb", {"debug": True}),
        ("a -n - b", {"ordering": "n", "files": [b"a", b"-", b"b"]}),
        ("-- -n +1 --", {"files": [b"-n", b"+1", b"--"]}),
        ("a -- -n", {"files": [b"a", b"-n"]}),
        ("-y 5 a", {"files": [b"a"]}),
        ("-y '' a", {"files": [b"a"]}),
        ("-y5x a", {"files": [b"a"]}),
        ("-ry 5", {"reverse": True}),
        ("-y a", {"files": [b"a"]}),
        ("-y -r", {"reverse": True}),
        ("-y -- -r", {"files": [b"-r"]}),
        ("+1 f", {"keys": [KeySpec(1, to_line_end=True, obsolescent=True)], "files": [b"f"]}),
        ("+1x -r", {"files": [b"+1x"], "reverse": True}),
        ("+0 -1 -r", {"keys": [KeySpec(0, 0, 0, 0, obsolescent=True)], "reverse": True}),
        ("--fadvise=random --fadvise none", {"fadvise": b"none"}),
        ("--run-fadvise=noreuse,\xff", {"run_fadvise": "noreuse,\xff".encode()}),
        ("--reader=mmap --input-reader=mmap", {"reader": "mmap", "input_reader": "mmap"}),
        ("--reader=mmap --reader=pread", {"reader": "pread"}),
        ("--reader=direct --input-reader=direct", {"reader": "direct", "input_reader": "direct"}),
        ("--mmap-flags=populate,0x8000", {"mmap_flags": b"populate,0x8000"}),
        ("--madvise=random --madvise=populate-read", {"madvise": "populate-read"}),
        ("--read-size=64 --read-size=4096b", {"read_size": 4096}),
        ("--read-size 1M", {"read_size": 1 << 20}),
        ("--prefetch=0", {"prefetch": 0}),
        ("--prefetch=99999999999999999999", {"prefetch": COUNT_MAX}),
        ("--parallel-reads=4", {"parallel_reads": 4}),
        ("--stats a", {"stats": "text", "files": [b"a"]}),
        ("--stats=json", {"stats": "json"}),
        ("--stats=notiming", {"stats": "text", "stats_timing": False}),
        ("--stats=notiming,json", {"stats": "json", "stats_timing": False}),
        ("--stats=notiming --stats", {"stats": "text"}),
        ("--stats=hits,json", {"stats": "json", "stats_hits": True}),
        ("--compare-hints a", {"compare_hints": b"", "files": [b"a"]}),
        ("--compare-hints=none,random", {"compare_hints": b"none,random"}),
    ],
)
def test_what_a_command_line_means(text: str, expected: dict[str, object]) -> None:
    assert as_dict(read_text(text)) == as_dict(Options(**expected))  # type: ignore[arg-type]


def as_dict(options: Options) -> dict[str, object]:
    return {name: getattr(options, name) for name in Options.__slots__}


@pytest.mark.parametrize(
    ("text", "environ", "files", "keys_n"),
    [
        ("a -n +1", {}, "a", 1),
        ("a -n", {"POSIXLY_CORRECT": ""}, "a -n", 0),
        ("a -- b", {"POSIXLY_CORRECT": ""}, "a -- b", 0),
        ("-n -- a -r", {"POSIXLY_CORRECT": ""}, "a -r", 0),
        ("a -o x -n", {"POSIXLY_CORRECT": ""}, "a -n", 0),
        ("a -ox b -n -ox -o", {"POSIXLY_CORRECT": ""}, "a b -n -o", 0),
        ("a -o", {"POSIXLY_CORRECT": ""}, "a -o", 0),
        ("-c a -o x", {"POSIXLY_CORRECT": ""}, "a -o x", 0),
        ("a -o x", {"POSIXLY_CORRECT": "", "_POSIX2_VERSION": "200112"}, "a -o x", 0),
        ("+1 -n a", {"POSIXLY_CORRECT": ""}, "a", 1),
        ("+1", {"_POSIX2_VERSION": "200112"}, "+1", 0),
        ("+1", {"_POSIX2_VERSION": "200808"}, "+1", 0),
        ("+1", {"_POSIX2_VERSION": "200809"}, "", 1),
        ("+1", {"_POSIX2_VERSION": "199209"}, "", 1),
        ("+1", {"_POSIX2_VERSION": "200112x"}, "", 1),
        ("+1", {"_POSIX2_VERSION": ""}, "", 1),
        ("+1 -2 a +3", {"_POSIX2_VERSION": "200112"}, "a", 2),
        ("+1x -r +1", {"_POSIX2_VERSION": "200112"}, "+1x +1", 0),
        ("+1 a", {"POSIXLY_CORRECT": "", "_POSIX2_VERSION": "200112"}, "+1 a", 0),
    ],
)
def test_posix_ends_options_and_takes_old_keys(
    tmp_path: Path, text: str, environ: dict[str, str], files: str, keys_n: int
) -> None:
    options = read_text(text, **environ)
    assert [*options.files] == shlex_bytes(files)
    assert len(options.keys) == keys_n
    environb = {name.encode(): value.encode() for name, value in environ.items()}
    if not options.check:
        assert files_read_by_gnu(options, shlex_bytes(text), environb, tmp_path) == sorted(options.files)


def files_read_by_gnu(options: Options, argv: Sequence[bytes], environ: Environ, cwd: Path) -> list[bytes]:
    """Each operand becomes a file that holds its own name, so the output tells which were read."""
    for name in options.files:
        (cwd / os.fsdecode(name)).write_bytes(name + b"\n")
    run = gnu(argv, environ, cwd)
    assert (run.returncode, run.stderr) == (0, b"")
    out = run.stdout if options.output is None else (cwd / os.fsdecode(options.output)).read_bytes()
    return sorted(out.splitlines())


LETTERS = "bcCdfghimMnrRsuz"
ARGUMENTS = {
    "k": ["1", "2n,2", "1,1bV", "0", "x", "1.0"],
    "o": ["o1", "o2", "--"],
    "S": ["1M", "5%", "1x", "b", "1Z"],
    "t": [",", ";", "ab", ""],
    "T": ["t", "x"],
    "y": ["5", "", "a"],
    "batch-size": ["1", "2", "x", "99999999999999999999"],
    "parallel": ["0", "1", "1k"],
    "check": ["quiet", "silent", "d", "", "x"],
    "sort": ["n", "version", "month", "x", ""],
    "random-source": ["r1", "r2"],
    "compress-program": ["gzip", "xz"],
    "files0-from": ["names", "-"],
}
GNU_NAMES = [option.name for option in OPTIONS if option.name and option.section != OWN]
OPERANDS = ["a", "b c", "-", "--", "+1", "+1.2n", "+1x", "-1", "-2.3r", "-0", "x"]
values = st.sampled_from(sorted({value for listed in ARGUMENTS.values() for value in listed}))


@st.composite
def option_words(draw: st.DrawFn) -> list[str]:
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return [draw(st.sampled_from(OPERANDS))]
    if kind == 1:
        return ["-" + draw(st.text(LETTERS, min_size=1, max_size=3))]
    if kind == 2:
        letter = draw(st.sampled_from("koStTy"))
        value = draw(st.sampled_from(ARGUMENTS[letter]))
        return [f"-{letter}{value}"] if draw(st.booleans()) else [f"-{letter}", value]
    name = draw(st.sampled_from(GNU_NAMES))
    shown = name[: draw(st.integers(1, len(name)))] if draw(st.booleans()) else name
    value = draw(st.sampled_from(ARGUMENTS.get(name, [""])) | values)
    with_value = draw(st.sampled_from(["", "=", " "])) if name not in ARGUMENTS else "="
    if with_value == "=":
        return [f"--{shown}={value}"]
    return [f"--{shown}", value] if with_value else [f"--{shown}"]


NAMES_FAILED = re.compile(rb"sort: (open failed: |no input from )")
environs = st.fixed_dictionaries(
    {},
    optional={
        b"POSIXLY_CORRECT": st.just(b""),
        b"_POSIX2_VERSION": st.sampled_from([b"199209", b"200112", b"200809", b"x"]),
    },
)


@needs_gnu
@given(words=st.lists(option_words(), max_size=4), environ=environs)
def test_any_command_line_is_judged_as_gnu_sort_judges_it(words: list[list[str]], environ: dict[bytes, bytes]) -> None:
    argv = [word.encode() for group in words for word in group]
    verdict = judge(argv, environ)
    with tempfile.TemporaryDirectory() as name:
        cwd = Path(name)
        (cwd / "a").write_bytes(b"a\n")
        run = gnu(argv, environ, cwd)
    if isinstance(verdict, SortError):
        if "incompatible" in str(verdict) and NAMES_FAILED.match(run.stderr):
            return  # the names are read between the words and what contradicts what
        assert (verdict.status, verdict.render(b"sort", utf8=False)) == (run.returncode, run.stderr)
        return
    missing = [name for name in verdict.files if name not in (b"a", b"-")]
    if verdict.request or not run.returncode:
        assert run.returncode == 0
        assert verdict.request or not missing or verdict.files0_from is not None
        return
    # Only a file can fail now, after the remarks of --debug: the first of the missing operands.
    last_line = run.stderr.splitlines(keepends=True)[-1]
    if missing and verdict.output is None and "R" not in str(verdict.keys) + verdict.ordering:
        action = b"open failed: " if verdict.check else b"cannot read: "
        error = SortError(action, shell_name(missing[0]), b": No such file or directory")
        assert last_line == error.render(b"sort", utf8=False)
    assert NAMES_FAILED.match(last_line) or re.match(rb"sort: (cannot read: |.*: end of file)", last_line)


def test_own_options_are_never_abbreviated_and_never_ambiguous() -> None:
    error = judge([b"--read=mmap"])
    assert isinstance(error, SortError)
    hint = "\ndid you mean '--reader'?"
    assert error.render(b"sort", utf8=False) == usage("unrecognized option '--read=mmap'" + hint).encode()
    assert read_text("--re").reverse
    assert read_text("--input-reader=mmap").input_reader == "mmap"


def valid(*words: str) -> str:
    return "Valid arguments are:\n" + "".join(f"  - '{word}'\n" for word in words)


READERS = valid("pread", "mmap", "direct")
MADVICE = valid("normal", "sequential", "random", "willneed", "populate-read")
STATS = valid("text", "json", "notiming", "hits")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--reader=tape", f"invalid argument 'tape' for '--reader'\n{READERS}{HINT}"),
        ("--input-reader=", f"ambiguous argument '' for '--input-reader'\n{READERS}{HINT}"),
        ("--madvise=free", f"invalid argument 'free' for '--madvise'\n{MADVICE}{HINT}"),
        ("--stats=xml", f"invalid argument 'xml' for '--stats'\n{STATS}{HINT}"),
        ("--stats=json,notime", f"invalid argument 'notime' for '--stats'\n{STATS}{HINT}"),
        ("--stats=text,json", f"invalid argument 'text,json' for '--stats'\n{STATS}{HINT}"),
        ("--read-size=0", "invalid --read-size argument '0'\n"),
        ("--read-size=5%", "invalid suffix in --read-size argument '5%'\n"),
        ("--read-size=x", "invalid --read-size argument 'x'\n"),
        ("--prefetch=-1", "invalid --prefetch argument '-1'\n"),
        ("--prefetch=1k", "invalid suffix in --prefetch argument '1k'\n"),
        ("--parallel-reads=0", "number of parallel reads must be nonzero\n"),
    ],
)
def test_wrong_arguments_of_own_options_are_refused_with_those_there_are(text: str, message: str) -> None:
    error = judge(shlex_bytes(text))
    assert isinstance(error, SortError)
    assert (error.status, error.render(b"sort", utf8=False).decode()) == (2, f"sort: {message}")


def test_help_shows_every_option_in_gnus_layout() -> None:
    text = help_text(b"/bin/a\xff").decode("latin-1")
    assert text.startswith("Usage: /bin/a\xff [OPTION]... [FILE]...\n")
    lines = text.splitlines()
    assert max(map(len, lines)) < 80
    for option in OPTIONS:
        twin = f"-{option.letter}, " if option.letter else "    "
        shown = f"  {twin}--{option.name}" if option.name else f"  -{option.letter}"
        assert sum(bool(re.match(re.escape(shown) + r"(?![\w-])", line)) for line in lines) == 1


@needs_gnu
def test_help_knows_every_option_that_gnus_help_knows() -> None:
    known = {option.name for option in OPTIONS} | {"help", "version"}
    listed = re.findall(r"^  (?:-., |    )--([\w-]+)", gnu([b"--help"]).stdout.decode(), re.M)
    assert len(listed) > 20
    assert set(listed) <= known


def test_options_are_closed() -> None:
    with pytest.raises(AttributeError):
        Options().nonsense = 1  # type: ignore[attr-defined]
    assert Options().files == ()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (r"-t '\t'", "did you mean a tab? Shells write it $'\\t'"),
        ("--uniqe", "did you mean '--unique'?"),
        ("--field-seperator=,", "did you mean '--field-separator'?"),
        ("--compare", "did you mean '--compare-hints'?"),
        ("--key-def=1", None),
        ("--x", None),
        ("--badopt", None),
    ],
)
def test_a_hint_follows_gnus_line(words: str, hint: str | None) -> None:
    error = judge(shlex_bytes(words))
    assert isinstance(error, SortError)
    lines = error.render(b"sort", utf8=False).decode().split("\n")
    assert lines[1] == (hint or "Try 'sort --help' for more information.")
