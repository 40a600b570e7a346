"""The safety gate's reason codes: what kept a suite or candidate from passing, and what each means in words."""

from __future__ import annotations

from typing import Final

from fastgate.gates import reasons

__all__ = ["CODES", "MEANINGS", "bit"]

MEANINGS: Final = {
    "missing_cell": "a run has no outcomes of this suite",
    "missing_manifest": "a run has no manifest",
    "mixed_manifest": "the rows of one run state different conditions",
    "missing_field": "a manifest lacks a field that must be stated",
    "differing_field": "the runs differ in a condition that must agree",
    "duplicate_case": "a case, or a trial of it, stands twice",
    "unpaired_cases": "candidate and baseline ran different cases",
    "unpaired_trials": "candidate and baseline ran trials of a case that do not fit together",
    "too_many_errors": "more executions failed than the policy allows",
    "no_cases": "no case has an outcome in both runs",
    "n_lt_min": "fewer cases have an outcome in both runs than the policy asks for",
    "no_noise_floor": "the method's half-width is zero at a rate of 0 or 1: no noise floor",
    "regression": "the pass rate fell by more than the noise floor",
}
CODES: Final = tuple(MEANINGS)


def bit(code: str) -> int:
    """The bit of a reason in a mask."""
    return reasons.bit(code, CODES)
