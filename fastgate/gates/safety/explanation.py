"""Why a candidate got its verdict, suite by suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from fastgate.errors import ArgumentError
from fastgate.gates.names import some
from fastgate.gates.safety.reasons import MEANINGS
from fastgate.gates.schema import nearest
from fastgate.gates.verdict import VERDICTS

if TYPE_CHECKING:
    from fastgate.gates.safety.result import SafetyResult

__all__ = ["explain"]


def explain(result: SafetyResult, candidate: str) -> dict[str, Any]:
    """Why a candidate got its verdict.

    Parameters
    ----------
    result : SafetyResult
        The gate's result, fresh or loaded.
    candidate : str
        One of its candidates.

    Returns
    -------
    dict
        ``candidate``, ``baseline``, ``verdict``, ``reasons`` (a list of code and meaning), ``suites``: the row of
        each, from the worst verdict and the largest drop (in noise floors) to the best, with ``floors``, the change
        divided by the noise floor, ``differences`` (field, baseline_value, candidate_value, problem), and
        ``regressed`` and ``fixed``, the cases that flipped, those that did in every trial first.

    Raises
    ------
    ArgumentError
        When the result has no such candidate.
    """
    names = list(result)
    if candidate not in names:
        similar = nearest(candidate, names)
        raise ArgumentError(
            f"the result has no candidate {candidate!r}",
            expected="one of " + some(names),
            hint=f"did you mean {similar!r}?" if similar else None,
        )
    mine = pl.col("candidate").cast(pl.String) == candidate
    verdict = result.verdicts.filter(mine).to_dicts()[0]
    differences = result.differences.filter(mine)
    flips = result.flips.filter(mine).sort("every_trial", descending=True, maintain_order=True)
    suites = []
    for row in result.suites.filter(mine).drop("candidate").to_dicts():
        of_suite = pl.col("suite").cast(pl.String) == row["suite"]
        floor = row["noise_floor"]
        cases = {
            change: flips.filter(of_suite & (pl.col("change") == change))["case"].cast(pl.String).to_list()
            for change in ("regressed", "fixed")
        }
        suites.append(
            {
                **row,
                "floors": row["delta"] / floor if floor and row["delta"] is not None else None,
                "differences": differences.filter(of_suite).drop("candidate", "suite").to_dicts(),
                "n_regressed": row["regressed"],
                "n_fixed": row["fixed"],
                **cases,
            }
        )
    suites.sort(key=lambda row: (-VERDICTS.index(row["verdict"]), row["floors"] or 0.0))
    return {
        "candidate": candidate,
        "baseline": result.baseline,
        "verdict": verdict["verdict"],
        "reasons": [{"code": code, "meaning": MEANINGS[code]} for code in verdict["reasons"]],
        "suites": suites,
    }
