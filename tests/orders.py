"""Orders and texts in which disorder, ties and -u are frequent."""

from __future__ import annotations

import random

import support
from hypothesis import strategies as st
from jobs import Text

ORDERS = [
    [],
    [b"-r"],
    [b"-u"],
    [b"-f", b"-u"],
    [b"-k1,1"],
    [b"-s", b"-k1,1"],
    [b"-s", b"-k2n", b"-r"],
    [b"-u", b"-k1,1r"],
    [b"-t,", b"-k2,2n", b"-k1,1r"],
    [b"-n"],
    [b"-nr", b"-u"],
    [b"-d", b"-k2b"],
]
LOCALES = [name for name in ("C", "C", "en_US.UTF-8") if support.has_locale(name)]
# Each changes how the work is done and not one byte of the result. Memory is tiny in most.
WAYS = [
    [],
    [b"-S1b"],
    [b"-S1b", b"--batch-size=2"],
    [b"-S1K", b"--batch-size=3", b"--reader=mmap"],
    [b"-S3K", b"--input-reader=mmap"],
    [b"-S3K", b"--reader=direct", b"--input-reader=direct", b"--read-size=1K"],
    [b"-S6K", b"--batch-size=5", b"--fadvise=random,willneed"],
    [b"-S6K", b"--parallel=2", b"--run-fadvise=noreuse,dontneed,willneed-chunked"],
    [b"--batch-size=2"],
]
PIECES = [
    b"",
    b" ",
    b",",
    b"a",
    b"A",
    b"b",
    b"word",
    b"0",
    b"1",
    b"10",
    b"-3",
    b"\t",
    b"\0",
    b"\n",
    b"\xff",
    b"-",
    b"x" * 90,
]

orders = st.sampled_from(ORDERS)
ways = st.sampled_from(WAYS)


@st.composite
def texts(draw: st.DrawFn, separator: bytes) -> Text:
    """The last line may lack its separator."""
    lines = draw(st.lists(st.lists(st.sampled_from(PIECES), max_size=4).map(b"".join), max_size=12))
    if lines and draw(st.booleans()):
        rng = random.Random(draw(st.integers(0, 2**32)))
        lines = [rng.choice(lines) + rng.choice([b"", b" %d" % rng.randrange(9)]) for _ in range(rng.randrange(250))]
    return Text(separator.join(lines) + separator * bool(lines and draw(st.booleans())))
