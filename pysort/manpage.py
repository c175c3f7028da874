"""The man page, made of the option table and of its prose: `python -m pysort.manpage > man/pysort.1`."""

from __future__ import annotations

from pysort import __version__, figures
from pysort.manpage_text import PROSE
from pysort.option_details import DETAILS
from pysort.option_table import OPTIONAL, OPTIONS, SECTIONS, Option

# roff reads these as something else, or sets typographic ones in their place.
_ESCAPES = str.maketrans(
    {"\\": r"\(rs", "-": r"\-", "'": r"\(aq", "`": r"\(ga", '"': r"\(dq", "^": r"\(ha", "~": r"\(ti"}
)


def render() -> str:
    """The page, in ASCII, for the man macros."""
    prose = PROSE.replace("{options}", "\n\n".join(map(_options, SECTIONS)))
    prose = prose.replace("{figures}", figures.prose((*figures.JOB_FIGURES, *figures.SIDE_FIGURES)))
    prose = prose.replace("{plan}", figures.prose(figures.PLAN_FIGURES))
    prose = prose.replace("\n- ", "\n\n- ")
    title = f'.TH PYSORT 1 "" "{escape(f"pysort {__version__}")}" "User Commands"\n'
    paragraphs = prose.strip().split("\n\n")
    return title + "".join(map(_paragraph, ["", *paragraphs], paragraphs))


def escape(text: str) -> str:
    """roff for these printable ASCII characters and newlines: no request, no escape sequence, every one as it is."""
    return _protect(text.translate(_ESCAPES))


def _protect(roff: str) -> str:
    """A dot begins a request where it begins a line. (So does an apostrophe, but none is left.)"""
    return "\n".join(r"\&" + line if line.startswith(".") else line for line in roff.split("\n"))


def _paragraph(previous: str, text: str) -> str:
    if text.startswith("# "):
        return f".SH {escape(text[2:])}\n"
    if text.startswith("= "):
        return f".SS {escape(text[2:])}\n"
    if text.startswith("    "):
        example = "\n".join(line[4:] for line in text.split("\n"))
        return f".PP\n.RS 4\n.nf\n{escape(example)}\n.fi\n.RE\n"
    if text.startswith("- "):
        tag, _, text = text[2:].partition("\n")
        return f".TP\n{_inline(tag)}\n{_sentences(text)}\n"
    separator = "" if previous.startswith(("# ", "= ")) else ".PP\n"
    return f"{separator}{_sentences(text)}\n"


def _sentences(text: str) -> str:
    """Each on a line of its own, which is how roff knows them. Three dots end none."""
    return _inline(text.replace("\n", " ").replace(". ", ".\n").replace("...\n", "... "))


def _inline(text: str) -> str:
    out = []
    for i, part in enumerate(text.split("`")):
        for j, piece in enumerate(part.split("_") if i % 2 == 0 else [part]):
            font = "B" if i % 2 else "I" if j % 2 else ""
            roff = piece.translate(_ESCAPES)
            out.append(rf"\f{font}{roff}\fR" if font else roff)
    return _protect("".join(out))


def _options(section: str) -> str:
    rows = [f"- {_syntax(option)}\n{_text(option)}" for option in OPTIONS if option.section == section]
    return "\n".join((f"= {section.rstrip(':')}", *rows))


def _syntax(option: Option) -> str:
    letter = f"`-{option.letter}`"
    if not option.name:
        return f"{letter} _{option.metavar}_" if option.metavar else letter
    value = f"=_{option.metavar}_" if option.metavar else ""
    if option.argument == OPTIONAL:
        value = f"[{value}]"
    return (f"{letter}, " if option.letter else "") + f"`--{option.name}`{value}"


def _text(option: Option) -> str:
    """The text of --help as a sentence, options in bold and the argument in italics; then the details."""
    words = []
    for word in option.text.split():
        core = word.strip("(),;:.")
        mark = "`" if core.startswith("-") else "_" if core and core == option.metavar else ""
        words.append(word.replace(core, f"{mark}{core}{mark}") if mark else word)
    sentence = " ".join(words)
    parts = [sentence[:1].upper() + sentence[1:] + "."]
    if option.key in DETAILS:
        parts.append(DETAILS[option.key])
    return " ".join(parts)


if __name__ == "__main__":
    print(render(), end="")
