"""`python -m bench.session > man/session.svg`: a session, recorded in a real terminal as it is run.

The commands are run by a shell in a directory of their own. A bar is gone when its job has ended, so one that was seen
on the way is shown in its place.
"""

from __future__ import annotations

import fcntl
import os
import pty
import random
import re
import shutil
import struct
import sys
import tempfile
import termios
import time
from html import escape
from pathlib import Path

WIDTH = 80
LINE_HEIGHT, CHAR_WIDTH, MARGIN = 18, 8.4, 14
LINES_N = 5_000_000
COMMANDS = (
    "ls -lh numbers",
    "pysort --plan -S 32M -T . -n numbers | head -n 13",
    "time pysort --progress -S 32M -T . -n -o sorted numbers",
    "pysort --bytes -c -n sorted && head -n 2 sorted",
    "pysort -t '\\t' -k2 numbers",
    "pysort --uniqe numbers",
)


def run(command: str, directory: Path) -> list[str]:
    """What the terminal showed, line by line."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(directory)
        time.sleep(0.2)  # the terminal gets its size meanwhile
        os.execvp("bash", ["bash", "-c", f"TIMEFORMAT='%R s'; {command}"])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 40, WIDTH, 0, 0))
    shown = b""
    while piece := _read(terminal):
        shown += piece
    os.waitpid(child, 0)
    os.close(terminal)
    return seen(shown.decode("utf-8", "replace"))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other side has gone
        return b""


def seen(shown: str) -> list[str]:
    """The lines, each as it was last; before a line that began as a bar the bar as it was halfway."""
    lines = []
    for line in shown.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        states = [state.rstrip() for state in line.split("\r") if state.strip()]
        bars = [state for state in states if "%|" in state]
        lines += bars[len(bars) // 2 : len(bars) // 2 + 1]
        lines += [states[-1]] if states and "%|" not in states[-1] else [] if bars else [""]
    return lines


def svg(lines: list[str]) -> str:
    """A picture of the terminal; what begins with `$ ` is what was typed."""
    width = WIDTH * CHAR_WIDTH + 2 * MARGIN
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    rows = []
    for i, line in enumerate(lines):
        colour = "#9ece6a" if line.startswith("$ ") else "#d5d9e0"
        y = MARGIN + (i + 0.75) * LINE_HEIGHT
        rows.append(f'<text x="{MARGIN}" y="{y:g}" fill="{colour}" xml:space="preserve">{escape(line)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'font-family="ui-monospace, DejaVu Sans Mono, Menlo, monospace" font-size="14">\n'
        f'<rect width="100%" height="100%" rx="8" fill="#1a1d24"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


def main() -> None:
    if not shutil.which("pysort"):
        sys.exit("pysort is not on PATH")
    lines = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        numbers = random.Random(1)
        with open(directory / "numbers", "w") as file:
            file.writelines(f"{numbers.randrange(10**12)}\n" for _ in range(LINES_N))
        os.environ.update(LC_ALL="C.UTF-8", TERM="xterm")
        for command in COMMANDS:
            lines += [f"$ {command}", *run(command, directory)]
    if any(re.search(r"Traceback|command not found", line) for line in lines):
        sys.exit("\n".join(lines))
    sys.stdout.write(svg(lines))


if __name__ == "__main__":
    main()
