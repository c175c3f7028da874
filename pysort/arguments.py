"""Words of a command line matched with the option table by the rules of GNU getopt_long."""

from __future__ import annotations

from pysort.errors import SortError
from pysort.option_table import NONE, OPTIONS, OWN, REQUIRED, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    # An option, its argument, and its name as messages give it (-S, --buffer-size).
    Use = tuple[Option, bytes | None, bytes]

_BY_LETTER = {option.letter.encode(): option for option in OPTIONS if option.letter}
_BY_NAME = {option.name.encode(): option for option in OPTIONS if option.name}
# Only these may be shortened: a new option of our own must not make an old script ambiguous.
_GNU_NAMES = [name for name, option in _BY_NAME.items() if option.section != OWN]


class Words:
    """The words and how far they have been read: `at` is the index of the next one."""

    __slots__ = ("at", "words")

    def __init__(self, words: Sequence[bytes]) -> None:
        self.words = words
        self.at = 0

    @property
    def last(self) -> bytes:
        return self.words[self.at - 1]

    @property
    def rest(self) -> Sequence[bytes]:
        return self.words[self.at :]

    def take(self) -> bytes:
        self.at += 1
        return self.last

    def options_in(self, word: bytes) -> Iterator[Use]:
        """What the word says that was read last, -abc or --name; takes the next word if an option
        needs it for its argument. Raises SortError."""
        if word.startswith(b"--"):
            yield self._long(word[2:])
            return
        letters = word[1:]
        while letters:
            letter, letters = letters[:1], letters[1:]
            option = find_short(letter)
            argument = None
            if option.argument == REQUIRED:
                if not letters and not self.rest:
                    raise SortError(b"option requires an argument -- '", letter, b"'", usage=True)
                argument, letters = letters or self.take(), b""
            yield option, argument, b"-" + letter

    def _long(self, typed: bytes) -> Use:
        option = find_long(typed)
        spelled = b"--" + option.name.encode()
        _, equals, attached = typed.partition(b"=")
        argument = attached if equals else None
        if option.argument == NONE and equals:
            raise SortError(b"option '", spelled, b"' doesn't allow an argument", usage=True)
        if option.argument == REQUIRED and not equals:
            if not self.rest:
                raise SortError(b"option '", spelled, b"' requires an argument", usage=True)
            argument = self.take()
        return option, argument, spelled


def find_short(letter: bytes) -> Option:
    """Raises SortError for a letter that is none."""
    option = _BY_LETTER.get(letter)
    if option is None:
        raise SortError(b"invalid option -- '", letter, b"'", usage=True)
    return option


def find_long(typed: bytes) -> Option:
    """typed: what follows the dashes, `=ARGUMENT` too. Raises SortError for an unknown name."""
    name = typed.partition(b"=")[0]
    if name in _BY_NAME:
        return _BY_NAME[name]
    possible = [known for known in _GNU_NAMES if known.startswith(name)]
    if not possible:
        raise SortError(b"unrecognized option '--", typed, b"'", *_hint(name), usage=True)
    if len(possible) > 1:
        listed = b"".join(b" '--" + known + b"'" for known in possible)
        what = b"' is ambiguous; possibilities:"
        raise SortError(b"option '--", typed, what, listed, usage=True)
    return _BY_NAME[possible[0]]


def _hint(name: bytes) -> list[bytes]:
    """A line of the message that names what may have been meant. Our own options may not be shortened, but whoever
    does so is told the whole name."""
    from difflib import get_close_matches

    beginning = [known.decode() for known in _BY_NAME if len(name) > 1 and known.startswith(name)]
    known_names = [known.decode() for known in _BY_NAME]
    close = beginning or get_close_matches(name.decode("ascii", "replace"), known_names, n=1, cutoff=0.75)
    return [b"\ndid you mean '--", close[0].encode(), b"'?"] if close else []
