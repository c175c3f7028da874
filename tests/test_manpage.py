"""The man page: generated from the options, committed, and read by groff without complaint."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pysort import __version__
from pysort.command_line import parse
from pysort.keys.spec import parse_key, parse_obsolescent
from pysort.manpage import escape, render
from pysort.manpage_text import PROSE
from pysort.option_details import DETAILS
from pysort.option_table import OPTIONS
from pysort.storage.hints import HINTS

PAGE = Path(__file__).parent.parent / "man" / "pysort.1"

needs_groff = pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
needs_man_db = pytest.mark.skipif(shutil.which("lexgrog") is None, reason="man-db is not installed")

PRINTABLE = st.characters(min_codepoint=32, max_codepoint=126)
SENTENCE_CHARACTERS = st.sampled_from(".'\\-`\"^~ a")


def formatted(*command: str, roff: str) -> tuple[str, str]:
    """What the formatter makes of the page, and what it has to say about it."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}
    result = subprocess.run(command, input=roff.encode(), capture_output=True, check=True, env=environment)
    return result.stdout.decode(), result.stderr.decode()


def plain(roff: str) -> str:
    """The page as readers see it, each stretch of white space as one blank."""
    text, _ = formatted("groff", "-man", "-Tascii", "-P-cbou", "-rHY=0", roff=roff)
    return " ".join(text.split())


def test_the_committed_page_is_the_rendered_one() -> None:
    command = [sys.executable, "-m", "pysort.manpage"]
    rendered = subprocess.run(command, capture_output=True, check=True, cwd=PAGE.parent.parent).stdout
    assert PAGE.read_bytes() == rendered, "run: python -m pysort.manpage > man/pysort.1"


def test_the_page_is_the_same_everywhere() -> None:
    """ASCII, and nothing that a clock or a locale would change."""
    assert render().isascii()
    assert render().startswith(f'.TH PYSORT 1 "" "pysort {__version__}" ')


@needs_groff
@pytest.mark.parametrize("device", ["ascii", "utf8"])
def test_groff_finds_nothing_wrong(device: str) -> None:
    _, complaints = formatted("groff", "-man", f"-T{device}", "-ww", "-Z", roff=render())
    assert complaints == ""


@needs_man_db
def test_man_finds_nothing_wrong_and_knows_the_name(tmp_path: Path) -> None:
    _, complaints = formatted("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "-", roff=render())
    assert complaints == ""
    page = tmp_path / "pysort.1"
    page.write_text(render())
    name, _ = formatted("lexgrog", str(page), roff="")
    assert '"pysort - sort lines' in name


@needs_groff
@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_every_option_is_there(option) -> None:
    names = [f"-{option.letter}"] * bool(option.letter) + [f"--{option.name}"] * bool(option.name)
    argument = option.syntax[option.syntax.rindex(names[-1]) + len(names[-1]) :]
    text = option.text.replace("\n", " ")
    assert f"{', '.join(names)}{argument} {text[0].upper()}{text[1:]}." in plain(render())


def test_details_belong_to_options() -> None:
    assert DETAILS.keys() <= {option.key for option in OPTIONS}


def test_every_hint_is_explained() -> None:
    part = PROSE.partition("\n= Hints\n")[2].partition("\n# ")[0]
    assert re.findall(r"^- `(.*)`$", part, re.MULTILINE) == list(HINTS)


def test_marks_are_closed() -> None:
    """An odd one would turn the rest of its paragraph bold or slanted, or the markup around."""
    for paragraph in re.split(r"\n(?=\n|- )", "\n\n".join([PROSE, *DETAILS.values()])):
        outside = paragraph.split("`")[::2]
        assert paragraph.count("`") % 2 == 0, paragraph
        assert all(part.count("_") % 2 == 0 for part in outside), paragraph
    assert not any(mark in option.text for option in OPTIONS for mark in "`_")


EXAMPLES = re.findall(r"^    (.*)$", PROSE, re.MULTILINE)


@pytest.mark.parametrize("line", EXAMPLES)
def test_examples_are_commands_that_pysort_takes(line: str) -> None:
    commands = [shlex.split(command) for command in line.split("|")]
    words = [command[1:] for command in commands if command[0] == "pysort"]
    assert len(words) == 1
    argv = [word.encode() for word in words[0]]
    parse(argv, {}, parse_key=parse_key, parse_obsolescent=parse_obsolescent, descriptor_limit=None)


# One escaped character, as escape() writes them.
ESCAPE = re.compile(r"\\(?:\((?:rs|aq|ga|dq|ha|ti)|[-&])")


@given(st.text(PRINTABLE | SENTENCE_CHARACTERS | st.just("\n")))
def test_escaped_text_has_no_request_and_no_other_escape(text: str) -> None:
    escaped = escape(text)
    assert not re.search(r"^[.']", escaped, re.MULTILINE)
    assert not set(ESCAPE.sub("", escaped)) & set("\\-'`\"^~")
    assert escaped.count("\n") == text.count("\n")


LINE = st.text(PRINTABLE | SENTENCE_CHARACTERS, min_size=1, max_size=70).map(str.rstrip).filter(bool)


@needs_groff
@settings(max_examples=20)  # each starts groff; a page holds many lines
@given(st.lists(LINE, min_size=1, max_size=60))
def test_escaped_text_comes_out_of_groff_as_it_was(lines: list[str]) -> None:
    roff = ".pl 1000\n.nf\n" + escape("\n".join(lines)) + "\n"
    text, complaints = formatted("groff", "-Tascii", "-P-cbou", "-ww", roff=roff)
    assert complaints == ""
    assert text.rstrip("\n").split("\n") == lines


def test_start_up_does_without_the_page() -> None:
    script = "import sys, pysort.cli; print('pysort.manpage' in sys.modules)"
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"False\n"
