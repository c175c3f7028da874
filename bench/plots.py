"""x"""

from pathlib import Path


def draw(directory: Path) -> None:
    return
