"""The options as data: what parsing, --help, the man page and the completions are made of."""

from __future__ import annotations

from pysort.errors import Quoted, SortError, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

NONE = 0
REQUIRED = 1
OPTIONAL = 2  # only attached to the long name; the letter takes no argument

ORDERING = "Ordering options:"
OTHER = "Other options:"
OWN = "Options that GNU sort does not have:"
SECTIONS = (ORDERING, OTHER, OWN)
SHELLS = ("bash", "zsh", "fish")

# What an argument has to be, and what that means.
_CHECKS = {"quiet": "C", "silent": "C", "diagnose-first": "c"}
_SORTS = {"general-numeric": "g", "human-numeric": "h", "month": "M", "numeric": "n", "random": "R", "version": "V"}
_READERS = {word: word for word in ("pread", "mmap", "direct")}
_MADVICE = {word: word for word in ("normal", "sequential", "random", "willneed", "populate-read")}
_FORMATS = {word: word for word in ("text", "json")}
COMPRESSIONS = {word: word for word in ("none", "zlib", "zstd", "lz4")}
_PROGRESS = {word: word for word in ("auto", "always", "never")}
_STATS = {word: word for word in ("text", "json", "notiming", "hits")}


class Option:
    """A row of the table. Frozen: mypy holds everybody to it.

    section: where it stands in --help; all but OWN are GNU sort's.
    letter, name: its short and its long name, "" if it has none.
    text: what it does, a line of --help for each of its lines.
    metavar, argument: what the argument is called, and whether it is NONE, REQUIRED or OPTIONAL.
    words: what the argument has to be, with what each means; synonyms stand together.
    many: the argument may be several of the words, separated by commas.
    """

    __slots__ = ("argument", "letter", "many", "metavar", "name", "section", "text", "words")

    def __init__(
        self,
        section: str,
        letter: str,
        name: str,
        text: str,
        metavar: str = "",
        *,
        argument: int | None = None,
        words: Mapping[str, str] | None = None,
        many: bool = False,
    ) -> None:
        self.section: Final = section
        self.letter: Final = letter
        self.name: Final = name
        self.text: Final = text
        self.metavar: Final = metavar
        self.argument: Final = bool(metavar) * REQUIRED if argument is None else argument
        self.words: Final = words
        self.many: Final = many

    @property
    def key(self) -> str:
        """The long name, or the letter of an option that has none."""
        return self.name or self.letter

    @property
    def syntax(self) -> str:
        """How it is written, like `-k, --key=KEYDEF`."""
        value = self.metavar and (f"[={self.metavar}]" if self.argument == OPTIONAL else f"={self.metavar}")
        if not self.name:
            return f"-{self.letter}" + (f" {self.metavar}" if self.metavar else "")
        return (f"-{self.letter}, " if self.letter else "    ") + f"--{self.name}{value}"

    def choose(self, typed: bytes) -> str:
        """What one of the words, or the unambiguous beginning of one, means. Raises SortError."""
        words = {word.encode(): meaning for word, meaning in (self.words or {}).items()}
        if typed in words:
            return words[typed]
        meanings = {meaning for word, meaning in words.items() if word.startswith(typed)}
        if len(meanings) == 1:
            return meanings.pop()
        raise self.refuse(typed, b"ambiguous" if meanings else b"invalid")

    def refuse(self, typed: bytes, what: bytes) -> SortError:
        """`WHAT argument TYPED for --NAME`, and the words that it takes."""
        listed: list[bytes | Quoted] = []
        previous = None
        for word, meaning in (self.words or {}).items():
            listed += [b", " if meaning == previous else b"\n  - ", quote(word.encode())]
            previous = meaning
        option = quote(b"--" + self.name.encode())
        status = 2 if self.section == OWN else 1  # GNU sort's own oddity
        parts = what, b" argument ", quote(typed), b" for ", option, b"\nValid arguments are:"
        return SortError(*parts, *listed, status=status, usage=True)


# In the order in which GNU sort lists the possibilities of an ambiguous name.
OPTIONS = (
    Option(ORDERING, "b", "ignore-leading-blanks", "let keys start after leading blanks"),
    Option(
        OTHER,
        "c",
        "check",
        "check whether the input is sorted, nothing else;\n"
        "WORD: diagnose-first (default) shows the first\n"
        "line out of order, quiet and silent are -C",
        "WORD",
        argument=OPTIONAL,
        words=_CHECKS,
    ),
    Option(OTHER, "C", "", "like -c, but only the exit status tells"),
    Option(
        OTHER,
        "",
        "compress-program",
        "compress temporary files with PROG and\ndecompress them with PROG -d",
        "PROG",
    ),
    Option(OTHER, "", "debug", "underline what each key compares, and warn\nabout questionable use"),
    Option(ORDERING, "d", "dictionary-order", "compare blanks, letters and digits only"),
    Option(ORDERING, "f", "ignore-case", "take lower case letters for upper case"),
    Option(
        OTHER,
        "",
        "files0-from",
        "read the inputs' names from F, each ended by\nNUL; if F is -, from standard input",
        "F",
    ),
    Option(ORDERING, "g", "general-numeric-sort", "compare numbers, also like 1e3, 0x1f and inf"),
    Option(ORDERING, "i", "ignore-nonprinting", "compare printable characters only"),
    Option(OTHER, "k", "key", "compare by this part of the lines; see below", "KEYDEF"),
    Option(OTHER, "m", "merge", "merge inputs that are sorted already"),
    Option(ORDERING, "M", "month-sort", "compare months: anything else < JAN < ... < DEC"),
    Option(ORDERING, "n", "numeric-sort", "compare decimal numbers"),
    Option(ORDERING, "h", "human-numeric-sort", "compare numbers with units, like 2K and 1G"),
    Option(ORDERING, "V", "version-sort", "compare numbers inside text, as in versions"),
    Option(ORDERING, "R", "random-sort", "shuffle, but keep equal keys together"),
    Option(ORDERING, "", "random-source", "take the shuffle's random bytes from FILE", "FILE"),
    Option(
        ORDERING,
        "",
        "sort",
        "order by WORD: general-numeric (-g),\n"
        "human-numeric (-h), month (-M), numeric (-n),\n"
        "random (-R), version (-V)",
        "WORD",
        words=_SORTS,
    ),
    Option(OTHER, "o", "output", "write to FILE, which may be one of the inputs", "FILE"),
    Option(ORDERING, "r", "reverse", "turn the order around"),
    Option(OTHER, "s", "stable", "keep the order of lines whose keys are equal"),
    Option(OTHER, "", "batch-size", "merge at most N inputs at a time", "N"),
    Option(OTHER, "S", "buffer-size", "use this much memory; see below", "SIZE"),
    Option(
        OTHER,
        "t",
        "field-separator",
        "fields end at the byte SEP ('\\0' is NUL)\ninstead of before blanks after a non-blank",
        "SEP",
    ),
    Option(
        OTHER,
        "T",
        "temporary-directory",
        "put temporary files into DIR, not $TMPDIR or\n/tmp; given several times, into all of them",
        "DIR",
    ),
    Option(
        OTHER,
        "u",
        "unique",
        "of lines that compare equal write only the\nfirst; with -c equal lines are disorder",
    ),
    Option(OTHER, "y", "", "ignored, for old scripts", "N"),
    Option(OTHER, "z", "zero-terminated", "lines end with NUL instead of newline"),
    Option(OTHER, "", "parallel", "sort with N threads", "N"),
    Option(OTHER, "", "help", "show this help and exit"),
    Option(OTHER, "", "version", "show the version and exit"),
    Option(OWN, "", "atomic", "write beside the file of -o, which keeps its\ncontent until everything is on the disk"),
    Option(OWN, "", "bytes", "compare bytes, whatever the locale"),
    Option(
        OWN,
        "",
        "header",
        "the first N lines (1) are not sorted: those of\nthe first input come first, others are dropped",
        "N",
        argument=OPTIONAL,
    ),
    Option(OWN, "", "header-prefix", "the same for first lines that begin with STR", "STR"),
    Option(OWN, "", "top", "write the first N lines only", "N"),
    Option(OWN, "", "count", "write each line once, behind how often there is\none, like uniq -c"),
    Option(OWN, "Z", "", "decompress inputs that are gzip, bzip2, xz, zstd\nor lz4"),
    Option(OWN, "", "crlf", "lines may end with CR and newline: leave out\nthe CR"),
    Option(
        OWN,
        "",
        "compress",
        "compress temporary files by METHOD, in this\nprogram: none (default), zlib, zstd or lz4",
        "METHOD",
        words=COMPRESSIONS,
    ),
    Option(
        OWN,
        "",
        "fadvise",
        "tell the system how inputs will be read: none,\n"
        "sequential (default) or random; and any of\n"
        "noreuse, willneed, willneed-chunked, dontneed\n"
        "and dontcache, separated by commas",
        "HINTS",
    ),
    Option(OWN, "", "run-fadvise", "the same for temporary files", "HINTS"),
    Option(
        OWN,
        "",
        "reader",
        "read temporary files, and what -m merges, by\npread (default), mmap or direct",
        "HOW",
        words=_READERS,
    ),
    Option(OWN, "", "input-reader", "read inputs by pread (default), mmap or direct", "HOW", words=_READERS),
    Option(
        OWN,
        "",
        "mmap-flags",
        "map files with these flags as well, such as\npopulate: names separated by commas, or a number",
        "FLAGS",
    ),
    Option(
        OWN,
        "",
        "madvise",
        "give this advice for what is mapped: normal\n(default), sequential, random, willneed or\npopulate-read",
        "ADVICE",
        words=_MADVICE,
    ),
    Option(OWN, "", "read-size", "read this much at once", "SIZE"),
    Option(
        OWN,
        "",
        "prefetch",
        "while runs are merged ask for N blocks of each\nahead; 0 asks for none; by default 16, or none\n"
        "where the page cache has the runs",
        "N",
    ),
    Option(OWN, "", "parallel-reads", "read each large input with N threads", "N"),
    Option(
        OWN,
        "",
        "stats",
        "report afterwards what was done, as text\n(default) or json; notiming times no reads and\n"
        "writes, hits looks for them in the page cache",
        "WORDS",
        argument=OPTIONAL,
        words=_STATS,
        many=True,
    ),
    Option(
        OWN,
        "",
        "progress",
        "show how far the job is: auto (default) if it\n"
        "takes more than a second and standard error is\na terminal, always, or never",
        "WHEN",
        argument=OPTIONAL,
        words=_PROGRESS,
    ),
    Option(
        OWN,
        "",
        "plan",
        "show what this job would do with memory, threads\nand temporary space, as text (default) or json;\n"
        "sort nothing",
        "FORMAT",
        argument=OPTIONAL,
        words=_FORMATS,
    ),
    Option(
        OWN,
        "",
        "compare-hints",
        "run this job under each of the STRATEGIES and\nshow which is fastest; the output is thrown away",
        "STRATEGIES",
        argument=OPTIONAL,
    ),
    Option(
        OWN,
        "",
        "completions",
        "print what makes SHELL complete these options",
        "SHELL",
        words={shell: shell for shell in SHELLS},
    ),
)
