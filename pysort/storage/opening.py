"""Which way an open file is read."""

from __future__ import annotations

from pysort.storage.positional import Pread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.storage.access import Access
    from pysort.storage.advice import Advisor
    from pysort.storage.handle import Handle
    from pysort.storage.iostats import IoStats


def open_positional(
    handle: Handle, kind: str, access: Access, stats: IoStats, advisor: Advisor, readers_n: int, *, foreign: bool
) -> Pread:
    """A reader of the kind, one of readers_n. foreign: others may cut the file short."""
    if kind == "direct":
        from pysort.storage.direct import Direct

        return Direct(handle, stats, advisor, access.window_bytes(readers_n))
    if kind == "mmap":
        from pysort.storage import guard
        from pysort.storage.mapped import Mmap

        if not foreign or guard.is_installed():
            return Mmap(handle, stats, advisor, access, access.window_bytes(readers_n))
        stats.note(b"mmap needs the C kernel where others may cut a file short, pread took its place")
    return Pread(handle, stats, advisor)
