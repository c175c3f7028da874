"""--completions: what each shell makes of the scripts."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import support
from support import CONTENDER, run

from pysort.completions import completions
from pysort.option_table import OPTIONS, SHELLS
from pysort.storage.hints import HINTS

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort has no such option")

NAMES = [option.name for option in OPTIONS if option.name]


def needs(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "some-file").touch()
    (tmp_path / "some-directory").mkdir()
    for shell in SHELLS:
        (tmp_path / f"script.{shell}").write_bytes(completions(shell))
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
def test_the_option_prints_the_script(tmp_path: Path, shell: str) -> None:
    result = run(CONTENDER, [f"--completions={shell}", "--foo"], tmp_path)
    assert result == (0, completions(shell), b"")


def test_a_shell_that_is_not_known(tmp_path: Path) -> None:
    result = run(CONTENDER, ["--completions=csh"], tmp_path)
    assert result.status == 2
    assert b"'zsh'" in result.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_reads_it(directory: Path, shell: str) -> None:
    needs(shell)
    assert (
        subprocess.run([shell, "-n", f"script.{shell}"], cwd=directory, capture_output=True, check=True).stderr == b""
    )


CASES = [
    ("--sor", {"--sort"}, set()),
    ("--sort=ge", {"general-numeric"}, {"month"}),
    ("--check=q", {"quiet"}, {"silent"}),
    ("--reader=", {"pread", "mmap", "direct"}, set()),
    ("--fadvise=will", {"willneed", "willneed-chunked"}, {"random"}),
    ("-T ", {"some-directory"}, {"some-file"}),
    ("--temporary-directory=so", {"some-directory"}, {"some-file"}),
]


def bash(directory: Path, typed: str) -> set[str]:
    """What _pysort offers for the words, cut as readline cuts them."""
    words = ["pysort", *typed.replace("=", " = ").split(" ")]
    if typed.endswith("="):
        words.pop()
    script = (
        'source script.bash; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pysort; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    output = subprocess.run(["bash", "-c", script, "bash", *words], cwd=directory, capture_output=True, check=True)
    assert output.stderr == b""
    return {word.rstrip("=") for word in output.stdout.decode().split()}


def fish(directory: Path, typed: str) -> set[str]:
    script = f"source script.fish; complete -C 'pysort {typed}'"
    output = subprocess.run(["fish", "-c", script], cwd=directory, capture_output=True, check=True).stdout.decode()
    offered = {line.split("\t")[0].rstrip("/") for line in output.splitlines()}
    return offered | {word.partition("=")[2] for word in offered}


@pytest.mark.parametrize(("typed", "offered", "others"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_what_is_offered(directory: Path, shell: str, typed: str, offered: set[str], others: set[str]) -> None:
    needs(shell)
    found = {"bash": bash, "fish": fish}[shell](directory, typed)
    assert offered <= found
    assert not others & found


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_all_options_are_offered(directory: Path, shell: str) -> None:
    needs(shell)
    assert {f"--{name}" for name in NAMES} <= {"bash": bash, "fish": fish}[shell](directory, "--")


def test_an_argument_that_may_be_missing_is_none_for_bash(directory: Path) -> None:
    needs("bash")
    assert bash(directory, "--check q") == set()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("--uni", b"--unique"),
        ("--reader=d", b"--reader=direct"),
        ("-T some-", b"some-directory"),
        ("--compl", b"--completions="),
    ],
)
def test_zsh_completes_what_is_typed(directory: Path, typed: str, completed: bytes) -> None:
    needs("zsh")
    child, terminal = pty.fork()
    if not child:
        os.chdir(directory)
        os.execvpe("zsh", ["zsh", "-f", "-i"], os.environ | {"TERM": "dumb", "PS1": "ready> "})
    try:
        talk(terminal, b"", b"ready> ")
        talk(terminal, b'autoload -U compinit; compinit -u -D; eval "$(<script.zsh)"; print -r x\n', b"ready> ")
        assert completed in talk(terminal, f"pysort {typed}\t".encode(), completed)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def talk(terminal: int, text: bytes, awaited: bytes) -> bytes:
    """Type the text; what the terminal shows until the awaited has come, or for 20 seconds."""
    os.write(terminal, text)
    shown = b""
    end = time.monotonic() + 20
    while awaited not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 4096)
    return shown


def test_hints_are_those_of_the_storage_layer() -> None:
    for shell in SHELLS:
        assert " ".join(HINTS).encode() in completions(shell)
