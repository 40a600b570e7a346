"""The public statistics, vectorised over cells: arrays or cells in, a named result out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastgate.stats.design import (
        EquivalenceResult,
        NoninferiorityResult,
        equivalence,
        minimum_detectable_effect,
        noninferiority,
    )
    from fastgate.stats.distributions import student_t_isf, student_t_ppf, student_t_sf, student_t_two_sided
    from fastgate.stats.multiplicity import adjust
    from fastgate.stats.pairs import PairMoments, merge_pair_moments, pair_moments, paired_from_moments
    from fastgate.stats.summary import Moments, merge_moments, moments, moments_from_summary
    from fastgate.stats.ttest import PairedResult, WelchResult, paired, welch, welch_from_moments

__all__ = [
    "EquivalenceResult",
    "Moments",
    "NoninferiorityResult",
    "PairMoments",
    "PairedResult",
    "WelchResult",
    "adjust",
    "equivalence",
    "merge_moments",
    "merge_pair_moments",
    "minimum_detectable_effect",
    "moments",
    "moments_from_summary",
    "noninferiority",
    "pair_moments",
    "paired",
    "paired_from_moments",
    "student_t_isf",
    "student_t_ppf",
    "student_t_sf",
    "student_t_two_sided",
    "welch",
    "welch_from_moments",
]

_HOMES = {
    "multiplicity": ("adjust",),
    "design": (
        "EquivalenceResult",
        "NoninferiorityResult",
        "equivalence",
        "minimum_detectable_effect",
        "noninferiority",
    ),
    "distributions": ("student_t_isf", "student_t_ppf", "student_t_sf", "student_t_two_sided"),
    "pairs": ("PairMoments", "merge_pair_moments", "pair_moments", "paired_from_moments"),
    "summary": ("Moments", "merge_moments", "moments", "moments_from_summary"),
    "ttest": ("PairedResult", "WelchResult", "paired", "welch", "welch_from_moments"),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
