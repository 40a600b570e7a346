"""The public statistics, vectorised over cells: arrays or cells in, a named result out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastgate.stats.binomial import (
        BinomialInterval,
        binomial_half_width,
        binomial_half_width_at,
        binomial_interval,
    )
    from fastgate.stats.bootstrap_interval import BootstrapResult, bootstrap
    from fastgate.stats.design import (
        EquivalenceResult,
        NoninferiorityResult,
        equivalence,
        minimum_detectable_effect,
        noninferiority,
    )
    from fastgate.stats.discordance import McNemarResult, mcnemar
    from fastgate.stats.distributions import student_t_isf, student_t_ppf, student_t_sf, student_t_two_sided
    from fastgate.stats.multiplicity import adjust
    from fastgate.stats.paired_ttest import PairedResult, paired
    from fastgate.stats.pairs import PairMoments, merge_pair_moments, pair_moments, paired_from_moments
    from fastgate.stats.planning import RuleCases, RulePower, rule_cases, rule_power, wins_distribution
    from fastgate.stats.posterior import (
        BetaWidth,
        CredibleInterval,
        MeanWidth,
        NormalWidth,
        beta_width,
        credible_interval,
        mean_width,
        normal_width,
    )
    from fastgate.stats.power import CasesNeeded, noncentral_t_sf, ttest_cases, ttest_power
    from fastgate.stats.probes import (
        Agreement,
        StabilityFlags,
        agreement,
        observation_weight,
        stability_flags,
    )
    from fastgate.stats.proportions import (
        PairedProportionDifference,
        ProportionDifference,
        paired_proportion_difference,
        proportion_difference,
    )
    from fastgate.stats.sample_size import (
        DetectableChange,
        TrialsNeeded,
        detectable_change,
        detection_power,
        trials_for_half_width,
        trials_needed,
    )
    from fastgate.stats.summary import Moments, merge_moments, moments, moments_from_summary
    from fastgate.stats.ttest import WelchResult, welch, welch_from_moments
    from fastgate.stats.utilities import UtilityFit, fit_utilities

__all__ = [
    "Agreement",
    "BetaWidth",
    "BinomialInterval",
    "BootstrapResult",
    "CasesNeeded",
    "CredibleInterval",
    "DetectableChange",
    "EquivalenceResult",
    "McNemarResult",
    "MeanWidth",
    "Moments",
    "NoninferiorityResult",
    "NormalWidth",
    "PairMoments",
    "PairedProportionDifference",
    "PairedResult",
    "ProportionDifference",
    "RuleCases",
    "RulePower",
    "StabilityFlags",
    "TrialsNeeded",
    "UtilityFit",
    "WelchResult",
    "adjust",
    "agreement",
    "beta_width",
    "binomial_half_width",
    "binomial_half_width_at",
    "binomial_interval",
    "bootstrap",
    "credible_interval",
    "detectable_change",
    "detection_power",
    "equivalence",
    "fit_utilities",
    "mcnemar",
    "mean_width",
    "merge_moments",
    "merge_pair_moments",
    "minimum_detectable_effect",
    "moments",
    "moments_from_summary",
    "noncentral_t_sf",
    "noninferiority",
    "normal_width",
    "observation_weight",
    "pair_moments",
    "paired",
    "paired_from_moments",
    "paired_proportion_difference",
    "proportion_difference",
    "rule_cases",
    "rule_power",
    "stability_flags",
    "student_t_isf",
    "student_t_ppf",
    "student_t_sf",
    "student_t_two_sided",
    "trials_for_half_width",
    "trials_needed",
    "ttest_cases",
    "ttest_power",
    "welch",
    "welch_from_moments",
    "wins_distribution",
]

_HOMES = {
    "binomial": (
        "BinomialInterval",
        "binomial_half_width",
        "binomial_half_width_at",
        "binomial_interval",
    ),
    "bootstrap_interval": (
        "BootstrapResult",
        "bootstrap",
    ),
    "design": (
        "EquivalenceResult",
        "NoninferiorityResult",
        "equivalence",
        "minimum_detectable_effect",
        "noninferiority",
    ),
    "discordance": (
        "McNemarResult",
        "mcnemar",
    ),
    "distributions": (
        "student_t_isf",
        "student_t_ppf",
        "student_t_sf",
        "student_t_two_sided",
    ),
    "multiplicity": ("adjust",),
    "paired_ttest": (
        "PairedResult",
        "paired",
    ),
    "pairs": (
        "PairMoments",
        "merge_pair_moments",
        "pair_moments",
        "paired_from_moments",
    ),
    "planning": (
        "RuleCases",
        "RulePower",
        "rule_cases",
        "rule_power",
        "wins_distribution",
    ),
    "posterior": (
        "BetaWidth",
        "CredibleInterval",
        "MeanWidth",
        "NormalWidth",
        "beta_width",
        "credible_interval",
        "mean_width",
        "normal_width",
    ),
    "power": (
        "CasesNeeded",
        "noncentral_t_sf",
        "ttest_cases",
        "ttest_power",
    ),
    "probes": (
        "Agreement",
        "StabilityFlags",
        "agreement",
        "observation_weight",
        "stability_flags",
    ),
    "proportions": (
        "PairedProportionDifference",
        "ProportionDifference",
        "paired_proportion_difference",
        "proportion_difference",
    ),
    "sample_size": (
        "DetectableChange",
        "TrialsNeeded",
        "detectable_change",
        "detection_power",
        "trials_for_half_width",
        "trials_needed",
    ),
    "summary": (
        "Moments",
        "merge_moments",
        "moments",
        "moments_from_summary",
    ),
    "ttest": (
        "WelchResult",
        "welch",
        "welch_from_moments",
    ),
    "utilities": (
        "UtilityFit",
        "fit_utilities",
    ),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
