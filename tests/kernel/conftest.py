"""The kernel's two implementations, one suite."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest


def _load(name: str) -> ModuleType:
    module = {"python": "pysort._kernel_py", "c": "pysort._kernel"}[name]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if os.environ.get("PYSORT_KERNEL") == name:
            pytest.fail(f"PYSORT_KERNEL={name}, but {module} cannot be imported: {error}")
        pytest.skip(f"{module} was not built: {error}")


@pytest.fixture(scope="session", params=["python", "c"])
def kernel(request: pytest.FixtureRequest) -> ModuleType:
    return _load(request.param)


@pytest.fixture(scope="session")
def twins() -> tuple[ModuleType, ModuleType]:
    """Both implementations, the Python one first."""
    return _load("python"), _load("c")
