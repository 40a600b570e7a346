"""fastgate: may this build ship? Verdicts of release gates from noisy measurements, fast and exact."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastgate.cell_intervals import intervals
    from fastgate.cells import Cells
    from fastgate.errors import ArgumentError, DataError, FastgateError, PolicyError
    from fastgate.frames import pack
    from fastgate.gates.benchmark.confidence.calibration import Calibration, calibrate
    from fastgate.gates.benchmark.gate import benchmark_gate
    from fastgate.gates.benchmark.plans.planning import BenchmarkPlan, benchmark_plan
    from fastgate.gates.benchmark.result import BenchmarkResult
    from fastgate.gates.benchmark.sweep import BenchmarkSweep, benchmark_sweep
    from fastgate.gates.policy import load_policy
    from fastgate.gates.safety.result import SafetyResult
    from fastgate.gates.safety.sweep import safety_gate
    from fastgate.gates.stability.gate import stability_gate
    from fastgate.gates.stability.result import StabilityResult
    from fastgate.gates.storage import load

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "BenchmarkPlan",
    "BenchmarkResult",
    "BenchmarkSweep",
    "Calibration",
    "Cells",
    "DataError",
    "FastgateError",
    "PolicyError",
    "SafetyResult",
    "StabilityResult",
    "__version__",
    "benchmark_gate",
    "benchmark_plan",
    "benchmark_sweep",
    "calibrate",
    "intervals",
    "load",
    "load_policy",
    "pack",
    "safety_gate",
    "stability_gate",
    "stats",
]

_HOMES = {
    "cell_intervals": ("intervals",),
    "cells": ("Cells",),
    "errors": ("ArgumentError", "DataError", "FastgateError", "PolicyError"),
    "frames": ("pack",),
    "gates.benchmark.confidence.calibration": ("Calibration", "calibrate"),
    "gates.benchmark.gate": ("benchmark_gate",),
    "gates.benchmark.plans.planning": ("BenchmarkPlan", "benchmark_plan"),
    "gates.policy": ("load_policy",),
    "gates.benchmark.result": ("BenchmarkResult",),
    "gates.benchmark.sweep": ("BenchmarkSweep", "benchmark_sweep"),
    "gates.safety.result": ("SafetyResult",),
    "gates.safety.sweep": ("safety_gate",),
    "gates.stability.gate": ("stability_gate",),
    "gates.stability.result": ("StabilityResult",),
    "gates.storage": ("load",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Loaded when first used: importing fastgate alone takes a millisecond and loads no numba, polars or pyarrow.
    if name == "stats":
        return import_module("fastgate.stats")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
