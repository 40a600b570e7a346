"""Which kernels there are."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import fastgate.kernels
from fastgate.jit import Compiled

__all__ = ["kernels", "modules"]


def modules() -> list[str]:
    """The modules that may hold kernels, by name."""
    found = pkgutil.iter_modules(fastgate.kernels.__path__, "fastgate.kernels.")
    return sorted(module.name for module in found if module.name != __name__)


def kernels(module: str) -> dict[str, Compiled]:
    """What a module compiles for signatures of its own, by name; helpers are compiled with those that call them."""
    return {
        name: value
        for name, value in vars(import_module(module)).items()
        if isinstance(value, Compiled) and value.signature is not None and value.__module__ == module
    }
