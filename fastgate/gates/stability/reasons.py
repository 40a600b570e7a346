"""The stability gate's reason codes: what kept a kind, posterior or build from passing, and what each means."""

from __future__ import annotations

from typing import Final

from fastgate.gates import reasons

__all__ = ["CODES", "MEANINGS", "REVIEW", "bit"]

MEANINGS: Final = {
    "no_probes": "no probe of this kind was compared",
    "no_primary": "a probe has no primary run",
    "duplicate_probe": "a probe stands twice",
    "unknown_choice": "a choice is none of A, B, tie and abstain",
    "unknown_order": "an order swap does not show the alternatives in two orders, or a run does not say in which",
    "self_comparison": "an alternative is compared with itself",
    "missing_runs": "more runs are missing than the policy allows",
    "n_lt_min": "fewer probes were compared than the policy asks for",
    "low_agreement": "too few probes make the primary run's choice",
    "no_posterior": "there is no posterior of this build",
    "one_alternative": "a posterior of one alternative says nothing about preferences",
    "duplicate_alternative": "an alternative has two posteriors",
    "unknown_outcome": "a preference's outcome is not known",
    "bad_weight": "a preference's weight is negative, infinite or no number",
    "too_few": "a posterior has fewer than two draws, or no preference has weight",
    "nonfinite": "a draw or parameter of a posterior is infinite or no number",
    "invalid": "a standard deviation or shape is not above 0",
    "degenerate": "an interval has no width",
    "not_converged": "the fit of the utilities did not converge",
    "disconnected": "no preference connects two groups of alternatives",
    "separation": "some alternatives never lost to the others: the prior alone bounds their distance",
    "prior_driven": "a utility is known by little more than its prior",
    "wide_posterior": "the mean width of the credible intervals is above the cap",
    "agreement_drop": "agreement fell by more than the policy allows since the previous release",
    "no_previous_agreement": "the previous result has no agreement of this kind",
    "no_previous_result": "the previous result does not hold this build",
}
CODES: Final = tuple(MEANINGS)

REVIEW: Final = CODES[-3:]
"""These stop a release until somebody has looked at it; all others block it."""


def bit(code: str) -> int:
    """The bit of a reason in a mask."""
    return reasons.bit(code, CODES)
