"""Who may import whom, and what may be loaded before the first byte is sorted."""

from __future__ import annotations

import ast
import graphlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pysort"

# Lowest first. A module imports from lower lines only; a package counts as one name, and its own modules may import
# each other.
LAYERS = [
    ["__init__"],
    ["errors"],
    ["units"],
    ["option_table"],
    ["arguments", "help", "manpage_text", "option_details", "figures"],
    ["options", "environ"],
    ["command_line"],
    ["_kernel_py_numbers", "_kernel_py_locale", "_kernel_py_counts"],
    ["_kernel_py_orderings"],
    ["_kernel_py_encode"],
    ["_kernel_py_records"],
    ["_kernel_py_arguments"],
    ["_kernel_py_merge", "_kernel_py_sort"],
    ["_kernel_py", "_kernel"],
    ["kernel", "storage", "keys"],
    ["plan", "manpage", "stats"],
    ["arena", "outlook", "completions"],
    ["firststep"],
    ["room", "sorting", "linekeys", "gauge"],
    ["sortbuffer"],
    ["rounds", "inputrun"],
    ["runs", "merging", "checking", "output", "diagnostics", "finishing"],
    ["passes", "filekeys", "items", "settings"],
    ["sorter"],
    ["prepare", "lines"],
    ["api", "report", "describe", "progress", "comparison", "child"],
    ["strategies"],
    ["compare", "texts"],
    ["cli"],
    ["__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Each of these costs milliseconds, on every start.
SLOW_TO_LOAD = {
    *("argparse", "asyncio", "collections", "concurrent.futures", "contextlib", "ctypes", "dataclasses", "decimal"),
    *("enum", "functools", "gettext", "hashlib", "inspect", "json", "locale", "logging", "multiprocessing", "pathlib"),
    *("random", "re", "selectors", "shutil", "socket", "string", "subprocess", "tempfile", "threading", "tqdm"),
    "typing",
}


def module_names() -> dict[str, Path]:
    """Dotted names below the package, "storage.spill" and the like."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and parts[1:] else parts)] = path
    return found


MODULES = module_names()


def imports(name: str) -> Iterator[str]:
    """The modules of the package that the module imports, anywhere in its text, for types only or not."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (known(alias.name) for alias in node.names if is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            if is_ours(node.module or ""):
                yield from (known(f"{node.module}.{alias.name}") for alias in node.names)


def is_ours(dotted: str) -> bool:
    return top(dotted) == "pysort"


def known(dotted: str) -> str:
    """The module that `from PACKAGE import NAME` loads: PACKAGE.NAME if that is one, else PACKAGE."""
    name = dotted.partition(".")[2]
    while name and name not in MODULES and name not in LEVEL:
        name = name.rpartition(".")[0]
    return name or "__init__"


def top(name: str) -> str:
    return name.partition(".")[0]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_go_down_only(name: str) -> None:
    assert top(name) in LEVEL, "a new module needs a place in LAYERS"
    if name == "__init__":  # its __getattr__ loads the API when somebody asks for it
        assert set(imports(name)) == {"api", "errors", "lines", "settings"}
        return
    wrong = [other for other in imports(name) if top(other) != top(name) and LEVEL[top(other)] >= LEVEL[top(name)]]
    assert wrong == []


def test_the_map_names_every_module() -> None:
    text = (PACKAGE / "ARCHITECTURE.md").read_text(encoding="utf-8")
    sources = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.c")]
    assert [path.name for path in sources if path.name != "__init__.py" and f"`{path.name}`" not in text] == []


def test_no_circles() -> None:
    graph = {name: set(imports(name)) - {name} for name in MODULES}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError


def loaded_by(code: str) -> set[str]:
    """What is in sys.modules after the code, in an interpreter without site-packages and their start-up files."""
    script = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); {code}; print(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True
    ).stdout
    return set(output.split())


def test_start_up_loads_nothing_slow() -> None:
    loaded = loaded_by("import pysort.cli") - loaded_by("pass")
    assert "pysort.cli" in loaded
    assert loaded & SLOW_TO_LOAD == set()


# All that a sort of a small file loads: what it can do without is loaded where it is needed. Each costs 0.1 to 0.3 ms.
SMALL_SORT = {
    *("__future__", "_collections", "_struct", "errno", "itertools", "mmap", "resource", "struct"),
    *("pysort", "pysort._kernel", "pysort.arena", "pysort.arguments", "pysort.cli", "pysort.command_line"),
    *("pysort.environ", "pysort.errors", "pysort.kernel", "pysort.keys", "pysort.keys.locale", "pysort.keys.program"),
    *(
        "pysort.keys.spec",
        "pysort.option_table",
        "pysort.options",
        "pysort.output",
        "pysort.passes",
        "pysort.plan",
        "pysort.prepare",
    ),
    *("pysort.room", "pysort.runs", "pysort.sortbuffer", "pysort.sorter", "pysort.sorting", "pysort.stats"),
    *("pysort.storage", "pysort.storage.access", "pysort.storage.advice", "pysort.storage.handle"),
    *(
        "pysort.storage.hints",
        "pysort.storage.iostats",
        "pysort.storage.opening",
        "pysort.storage.positional",
        "pysort.storage.readers",
    ),
    *("pysort.storage.spill", "pysort.storage.workers", "pysort.storage.writer", "pysort.units"),
}


@pytest.mark.skipif("pysort._kernel" not in MODULES and not list(PACKAGE.glob("_kernel.*so")), reason="no C kernel")
def test_a_small_sort_loads_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"b\na\n")
    argv = [b"pysort", os.fsencode(tmp_path / "in"), b"-o", os.fsencode(tmp_path / "out")]
    loaded = loaded_by(f"from pysort.cli import main; main({argv!r})")
    assert (tmp_path / "out").read_bytes() == b"a\nb\n"
    assert loaded - loaded_by("import os, site") == SMALL_SORT  # site loads os on every start
