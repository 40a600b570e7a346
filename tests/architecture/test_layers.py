"""Imports point one way, and the light parts stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fastgate

ROOT = Path(fastgate.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# A layer may import from those it lists and from itself. `errors` is below everything.
ALLOWED = {
    "cli": {"reports", "gates", "cell_intervals", "frames", "stats", "cells", "errors", "threads", "kernels"},
    "reports": {"gates", "errors", "stats"},
    "cell_intervals": {"frames", "stats", "cells", "errors", "kernels"},
    "gates": {"frames", "stats", "cells", "errors", "threads", "kernels"},
    "frames": {"kernels", "cells", "errors", "threads"},
    "stats": {"kernels", "cells", "errors", "threads"},
    "kernels": {"jit"},
    "cells": {"errors"},
    "threads": {"errors"},
    "jit": set(),
    "errors": set(),
    "__main__": {"cli"},
}
# Third-party modules and the layers that may import them.
HOMES = {
    "numba": {"kernels", "jit"},
    "pyarrow": {"frames", "cells"},
    "polars": {"frames", "gates", "cell_intervals", "reports", "cli"},
    "rich": {"reports", "cli"},
    "click": {"cli"},
    "msgspec": {"gates", "reports"},
    "scipy": set(),
}


def layer(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides its layer"
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    mine = layer(path)
    if mine == "__init__":
        return  # the facade names everything, lazily
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "fastgate" and len(parts) > 1 and parts[1] in ALLOWED:
            assert parts[1] in ALLOWED[mine] | {mine}, f"{mine} imports {name}"
        if parts[0] in HOMES:
            assert mine in HOMES[parts[0]], f"{mine} imports {name}"


def compiles(path: Path) -> bool:
    """Whether a module of kernels holds any, rather than codes and records."""
    return any(name.startswith(("numba", "fastgate.jit")) for name in imports(path))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_kernels_are_imported_inside_functions(path: Path) -> None:
    """Compiling or loading a kernel takes time: only a call that needs it may pay."""
    light = {
        f"fastgate.kernels.{one.stem}" for one in MODULES if layer(one) == "kernels" and not compiles(one)
    }
    if layer(path) in {"kernels", "jit"}:
        return
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fastgate.kernels"):
            names = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            assert names & light, f"{path}: {node.module} at the top"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 420


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import fastgate", {"numba", "numpy", "scipy", "polars", "pyarrow", "msgspec", "rich", "click"}),
        ("import fastgate.stats", {"numba", "scipy", "polars", "pyarrow"}),
        ("from fastgate.stats import welch", {"numba", "scipy", "polars", "pyarrow"}),
        ("import fastgate.gates.policy", {"numba", "scipy", "polars", "pyarrow"}),
        ("import fastgate.cli", {"numba", "numpy", "scipy", "polars", "pyarrow", "rich"}),
    ],
)
def test_what_an_import_does_not_load(statement: str, absent: set[str]) -> None:
    assert not loaded_by(statement) & absent


def test_every_public_name_exists() -> None:
    for module in (fastgate, fastgate.stats):
        for name in module.__all__:
            assert getattr(module, name) is not None
        with pytest.raises(AttributeError):
            _ = module.no_such_name
