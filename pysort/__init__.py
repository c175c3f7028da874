"""pysort: GNU sort's exact bytes, several times faster, for files bigger than memory."""

__all__ = [
    "FileSettings",
    "Settings",
    "SortError",
    "SortedLines",
    "__version__",
    "check",
    "merge",
    "sort_file",
    "sort_lines",
]
__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.api import check, merge, sort_file, sort_lines
    from pysort.errors import SortError
    from pysort.lines import SortedLines
    from pysort.settings import FileSettings, Settings


def __getattr__(name: str) -> object:
    """The API, loaded when it is first used: the command line does without."""
    if name not in __all__:
        raise AttributeError(f"module 'pysort' has no attribute {name!r}")
    from pysort import api

    return getattr(api, name)
