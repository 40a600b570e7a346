"""The safety gate: a candidate's pass rate must not fall by more than the noise floor, between comparable runs.

`fastgate.safety_gate` judges many candidates on many suites. For two results of one suite there are the names of
this package: `RunManifest`, `SuiteResult`, `pass_rate`, `manifest_hash`, `noise_floor_half_width`, `gate`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastgate.gates.safety.comparability import Difference, require_comparable
    from fastgate.gates.safety.errors import LitmusIncomparableError, LitmusNoiseFloorError
    from fastgate.gates.safety.manifest import RunManifest, manifest_hash, seed_hash
    from fastgate.gates.safety.manifests import compare_manifests, read_manifests
    from fastgate.gates.safety.result import SafetyResult
    from fastgate.gates.safety.single import (
        SafetyVerdict,
        SuiteResult,
        gate,
        noise_floor_half_width,
        pass_rate,
    )
    from fastgate.gates.safety.sweep import safety_gate

__all__ = [
    "Difference",
    "LitmusIncomparableError",
    "LitmusNoiseFloorError",
    "RunManifest",
    "SafetyResult",
    "SafetyVerdict",
    "SuiteResult",
    "compare_manifests",
    "gate",
    "manifest_hash",
    "noise_floor_half_width",
    "pass_rate",
    "read_manifests",
    "require_comparable",
    "safety_gate",
    "seed_hash",
]

_HOMES = {
    "comparability": ("Difference", "require_comparable"),
    "errors": ("LitmusIncomparableError", "LitmusNoiseFloorError"),
    "manifest": ("RunManifest", "manifest_hash", "seed_hash"),
    "manifests": ("compare_manifests", "read_manifests"),
    "result": ("SafetyResult",),
    "single": ("SafetyVerdict", "SuiteResult", "gate", "noise_floor_half_width", "pass_rate"),
    "sweep": ("safety_gate",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Loaded when first used: policies of every gate are read through one module, which needs this package's.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
