"""--completions: what makes a shell complete pysort's options, made of the option table."""

from __future__ import annotations

from pysort.option_table import NONE, OPTIONAL, OPTIONS, REQUIRED
from pysort.storage.access import MAP_FLAGS
from pysort.storage.hints import HINTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pysort.option_table import Option

# What arguments are that are not chosen from the table's own words.
_WORDS: dict[str, Iterable[str]] = {"fadvise": HINTS, "run-fadvise": HINTS, "mmap-flags": MAP_FLAGS}
_FILES = frozenset(["FILE", "F"])
_DIRECTORIES = frozenset(["DIR"])
_PROGRAMS = frozenset(["PROG"])


def completions(shell: str) -> bytes:
    """A script for "bash", "zsh" or "fish"."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]().encode()


def _words(option: Option) -> Iterable[str]:
    return option.words or _WORDS.get(option.name, ())


def _text(option: Option) -> str:
    """What it does, on one line and without quotation marks, which mean something else in each shell."""
    return " ".join(option.text.split()).translate(str.maketrans("", "", "'\"\\`$[]"))


def _bash() -> str:
    names = [f"-{option.letter}" for option in OPTIONS if option.letter]
    names += [f"--{option.name}{'=' * (option.argument == REQUIRED)}" for option in OPTIONS if option.name]
    cases = [_bash_case(option) for option in OPTIONS if option.argument != NONE]
    return f"""\
# eval "$(pysort --completions=bash)"
_pysort() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD-1]}} attached=
    # bash makes three words of --name=value
    if [[ $word == = ]]; then
        attached=1 word=
    elif [[ $option == = ]]; then
        attached=1 option=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    COMPREPLY=()
    case $option$attached in
{"".join(cases)}    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "{" ".join(names)}" -- "$word"))
        [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
    fi
}}
complete -o bashdefault -o default -F _pysort pysort
"""


def _bash_case(option: Option) -> str:
    """An argument that may be missing is completed behind = only."""
    patterns = [f"--{option.name}1"] if option.name else []
    if option.argument == REQUIRED:
        patterns += [f"--{option.name}"] if option.name else []
        patterns += [f"-{option.letter}"] if option.letter else []
    words = " ".join(_words(option))
    if words:
        act = f'COMPREPLY=($(compgen -W "{words}" -- "$word")); '
    elif option.metavar in _DIRECTORIES:
        act = 'compopt -o filenames; COMPREPLY=($(compgen -d -- "$word")); '
    elif option.metavar in _PROGRAMS:
        act = 'COMPREPLY=($(compgen -c -- "$word")); '
    elif option.metavar in _FILES:
        act = ""
    else:
        act = "compopt +o default +o bashdefault; "
    return f"        {'|'.join(patterns)}) {act}return ;;\n"


def _zsh() -> str:
    rows = "".join(f" \\\n        {_zsh_row(option)}" for option in OPTIONS)
    return f"""\
#compdef pysort
# eval "$(pysort --completions=zsh)"
_pysort() {{
    _arguments -s -S{rows} \\
        '*:file:_files'
}}
if [[ $funcstack[1] == _pysort ]]; then
    _pysort "$@"
else
    compdef _pysort pysort
fi
"""


def _zsh_row(option: Option) -> str:
    letter = f"-{option.letter}{'+' * (option.argument == REQUIRED)}"
    name = f"--{option.name}" + ("", "=", "=-")[option.argument]
    spelled = f"{{{letter},{name}}}" if option.letter and option.name else letter if option.letter else name
    words = " ".join(_words(option))
    if words:
        action = f"({words})"
    elif option.metavar in _DIRECTORIES:
        action = "_directories"
    elif option.metavar in _PROGRAMS:
        action = "_command_names -e"
    else:
        action = "_files" if option.metavar in _FILES else " "
    argument = ("", f":{option.metavar}:{action}", f"::{option.metavar}:{action}")[option.argument]
    return f"'*'{spelled}'[{_text(option)}]{argument}'"


def _fish() -> str:
    return "# pysort --completions=fish | source\n" + "".join(map(_fish_row, OPTIONS))


def _fish_row(option: Option) -> str:
    row = "complete -c pysort"
    row += f" -s {option.letter}" if option.letter else ""
    row += f" -l {option.name}" if option.name else ""
    words = " ".join(_words(option))
    if words:
        row += (" -f" if option.argument == OPTIONAL else " -x") + f" -a '{words}'"
    elif option.metavar in _DIRECTORIES:
        row += " -x -a '(__fish_complete_directories)'"
    elif option.metavar in _PROGRAMS:
        row += " -x -a '(__fish_complete_command)'"
    elif option.metavar in _FILES:
        row += " -r"
    elif option.argument == REQUIRED:
        row += " -x"
    return row + f" -d '{_text(option)}'\n"
