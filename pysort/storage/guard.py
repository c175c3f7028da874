"""Copying out of mappings of files that others may cut short.

Touching a mapped page that its file has lost, or that cannot be read, brings SIGBUS, which ends the process; Python
cannot catch it. The C kernel has a handler for it that ends such a copy, and nothing else. A process has one such
handler, and the command line alone installs it: everybody else maps only files that nobody else can get at.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Copy = Callable[[memoryview, memoryview], bool]

_installed: list[Copy] = []  # one at most: it is the process's


def install(kernel: Any) -> None:
    """Have the kernel catch SIGBUS, if it can: the one in Python cannot."""
    if not _installed and hasattr(kernel, "install_guard"):
        kernel.install_guard()
        _installed.append(kernel.copy_guarded)


def is_installed() -> bool:
    return bool(_installed)


def copy(source: memoryview, target: memoryview) -> bool:
    """Copy all of source, as long as target. False when a page of source could not be had; target holds anything
    then."""
    if _installed:
        return _installed[0](source, target)
    target[:] = source
    return True
