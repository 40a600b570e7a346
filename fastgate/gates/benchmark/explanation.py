"""Why a candidate got its verdict, and which suites stand nearest to the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from fastgate.errors import ArgumentError
from fastgate.gates.benchmark.significance import sufficient_alpha
from fastgate.gates.reasons import MEANINGS

if TYPE_CHECKING:
    from fastgate.gates.benchmark.result import BenchmarkResult

__all__ = ["cases_needed", "explain"]

# Beyond this many times the present cases, "more cases" is no advice.
_MOST: Final = 10**6


def cases_needed(statistic: float, df: float, n: int, alpha: float, *, two_sided: bool = True) -> int | None:
    """The cases a side at which a difference of this size and spread would be significant.

    Parameters
    ----------
    statistic, df : float
        Of the test with `n` cases; the statistic's sign is that of a win.
    n : int
        The present cases of the smaller side.
    alpha : float
        The level.
    two_sided : bool, optional
        Whether the test is.

    Returns
    -------
    int or None
        The smallest m with t·√(m/n) ≥ the critical value of t at df·(m−1)/(n−1) degrees of freedom; None when the
        difference is not in the direction of a win, or a million times as many cases would not do.

    Notes
    -----
    An extrapolation from one sample: it takes the observed difference and spread for the true ones.

    Examples
    --------
    >>> cases_needed(1.5, 18.0, 10, 0.05)
    19
    """
    from fastgate.stats.distributions import student_t_isf

    if not (statistic > 0 and df > 0 and n > 1):
        return None
    tail = alpha / 2 if two_sided else alpha

    def enough(m: int) -> bool:
        critical = float(student_t_isf(tail, df * (m - 1) / (n - 1)))
        return bool(statistic * (m / n) ** 0.5 >= critical)

    low, high = 1, 2
    while not enough(high):
        low, high = high, high * 2
        if high > _MOST * n:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def explain(result: BenchmarkResult, candidate: str) -> dict[str, Any]:
    """Why a candidate got its verdict, and what stands nearest to another one.

    Parameters
    ----------
    result : BenchmarkResult
        The gate's result, fresh or loaded.
    candidate : str
        One of its candidates.

    Returns
    -------
    dict
        ``candidate``, ``verdict``, ``reasons`` (a list of code and meaning), ``baselines``: for each, wins, required,
        verdict, ``to_change`` (how many suites would have to change for the other verdict on this baseline), and
        ``nearest``: the deciding comparisons that stand closest to the line, closest first, each with suite,
        kpi, outcome, delta, half_width, pvalue, pvalue_adjusted, detectable_effect, n, and ``cases_needed``, the
        number of cases a side that would have sufficed for a win at this effect (null where more cases do not help,
        and with the bootstrap, whose intervals do not say).

    Raises
    ------
    ArgumentError
        When the result has no such candidate.
    """
    names = list(result)
    if candidate not in names:
        import difflib

        similar = difflib.get_close_matches(candidate, names, 1)
        raise ArgumentError(
            f"the result has no candidate {candidate!r}",
            expected="one of " + ", ".join(names[:20]) + (", ..." if len(names) > 20 else ""),
            hint=f"did you mean {similar[0]!r}?" if similar else None,
        )
    mine = pl.col("candidate").cast(pl.String) == candidate
    verdict = result.verdicts.filter(mine).to_dicts()[0]
    suites = result.suites.filter(mine)
    cells = result.cells.filter(mine & (pl.col("role") != "shown"))
    decides = pl.col("role") == "decides"
    one_family = result.policy["correction"]["family"] == "candidate"
    family = (cells if one_family else result.cells).filter(decides).height
    baselines = [
        _baseline(row, suites, cells, result.policy, family)
        for row in result.baselines.filter(mine).to_dicts()
    ]
    return {
        "candidate": candidate,
        "verdict": verdict["verdict"],
        "reasons": [{"code": code, "meaning": MEANINGS[code]} for code in verdict["reasons"]],
        "lost_suites": verdict["lost_suites"],
        "baselines": baselines,
    }


def _distance(near: pl.DataFrame, policy: dict[str, Any]) -> pl.Series:
    """How far each statistic stands from the critical value, on the scale of t; corrected p-values as such.

    With the bootstrap, how far the end of the interval that decides a win is from 0, in half widths.
    """
    from fastgate.stats.distributions import student_t_isf

    if policy["test"] == "bootstrap":
        end = pl.when(pl.col("direction") == "higher").then(pl.col("ci_low")).otherwise(-pl.col("ci_high"))
        distance = (end / pl.col("half_width")).abs()
        return near.select(pl.when(distance.is_finite()).then(distance).alias("distance"))["distance"]
    sides = 2 if policy["alternative"] == "two-sided" else 1
    df = near["df"].fill_null(np.nan).to_numpy()
    critical = np.asarray(student_t_isf(np.full(df.size, policy["alpha"] / sides), df))
    towards = near["towards"].fill_null(np.nan).to_numpy()
    if policy["correction"]["method"] != "none":
        adjusted = near["pvalue_adjusted"].fill_null(np.nan).to_numpy()
        size = np.asarray(student_t_isf(adjusted / sides, df))
        towards = np.where(towards >= 0, size, towards)
    return pl.Series(np.abs(towards - critical)).fill_nan(None)


def _needed(cell: dict[str, Any], policy: dict[str, Any], family: int) -> int | None:
    """The cases that suffice for a win whatever the rest of the family does."""
    n = min(cell["n_candidate"], cell["n_baseline"])
    alpha = sufficient_alpha(policy["alpha"], policy["correction"]["method"], family)
    needed = cases_needed(
        cell["towards"], cell["df"], n, alpha, two_sided=policy["alternative"] == "two-sided"
    )
    return n if needed is not None and cell["outcome"] == "win" and needed > n else needed


def _baseline(
    row: dict[str, Any], suites: pl.DataFrame, cells: pl.DataFrame, policy: dict[str, Any], family: int
) -> dict[str, Any]:
    against = pl.col("baseline").cast(pl.String) == row["baseline"]
    beaten = row["wins"] >= row["required"]
    to_change = row["wins"] - row["required"] + 1 if beaten else row["required"] - row["wins"]
    # Only suites on this side of the line can bring the other verdict: wins can be lost, others won.
    wanted = (pl.col("outcome") == "win") if beaten else (pl.col("outcome") != "win")
    movable = suites.filter(against & wanted).select(
        "suite", suite_outcome="outcome", suite_reasons="reasons"
    )
    near = cells.filter(against & (pl.col("role") == "decides")).join(
        movable, on="suite", maintain_order="left"
    )
    sign = pl.when(pl.col("direction") == "higher").then(1.0).otherwise(-1.0)
    near = near.with_columns(towards=sign * pl.col("statistic"))
    near = near.with_columns(distance=_distance(near, policy)).sort(
        "distance", nulls_last=True, maintain_order=True
    )
    nearest = [
        {
            "suite": cell["suite"],
            "kpi": cell["kpi"],
            "outcome": cell["outcome"],
            "suite_outcome": cell["suite_outcome"],
            "reasons": cell["suite_reasons"],
            "delta": cell["delta"],
            "half_width": cell["half_width"],
            "pvalue": cell["pvalue"],
            "pvalue_adjusted": cell["pvalue_adjusted"],
            "detectable_effect": cell["detectable_effect"],
            "n": min(cell["n_candidate"], cell["n_baseline"]),
            "cases_needed": None
            if cell["statistic"] is None or cell["df"] is None
            else _needed(cell, policy, family),
        }
        for cell in near.to_dicts()
    ]
    return {
        "baseline": row["baseline"],
        "verdict": row["verdict"],
        "wins": row["wins"],
        "required": row["required"],
        "suites": suites.filter(against).height,
        "reasons": row["reasons"],
        "lost_suites": row["lost_suites"],
        "to_change": to_change,
        "nearest": nearest,
    }
