"""The p-values, or ends of intervals, by which comparisons are called wins, losses and ties, and guards held or not."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

if TYPE_CHECKING:
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["Criteria", "criteria", "sufficient_alpha", "with_significance"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Criteria(NamedTuple):
    """What the rule asks of a comparison that has a result; null, which is not true, where a figure is missing."""

    win: pl.Expr
    """The difference is shown to be in the KPI's better direction."""
    loss: pl.Expr
    """It is shown to be in the other."""
    decided: pl.Expr
    """All figures are there, so that it is a tie if it is neither."""
    worse: pl.Expr
    """A guard's KPI is shown to be worse."""
    not_worse: pl.Expr
    """It is not."""
    within: pl.Expr
    """It is shown to be within the guard's margin."""


def criteria(rules: BenchmarkRules) -> Criteria:
    """The criteria in the columns of `with_significance`: p-values under alpha, or bootstrap intervals beyond 0."""
    gain = pl.col("_gain")
    if rules.bootstrap is None:
        win, worse = pl.col("_pvalue_win"), pl.col("_pvalue_worse")
        return Criteria(
            win=(win < rules.alpha) & (gain > 0),
            loss=(pl.col("_pvalue_loss") < rules.alpha) & (gain < 0),
            decided=win.is_not_null() & gain.is_not_null(),
            worse=worse < rules.guard_alpha,
            not_worse=worse >= rules.guard_alpha,
            within=pl.col("margin_pvalue") < rules.alpha,
        )
    low, high, bound = pl.col("_gain_low"), pl.col("_gain_high"), pl.col("_worse_bound")
    return Criteria(
        win=(low > 0) & (gain > 0),
        loss=(high < 0) & (gain < 0),
        decided=low.is_not_null() & high.is_not_null() & gain.is_not_null(),
        worse=bound < 0,
        not_worse=bound >= 0,
        within=low > -pl.col("margin"),
    )


def sufficient_alpha(alpha: float, method: str, family: int) -> float:
    """The level at which one p-value of a family is significant whatever the others are.

    Bonferroni's bound suffices under every method but Benjamini–Yekutieli's, whose sum it takes besides.

    Examples
    --------
    >>> sufficient_alpha(0.05, "none", 8), sufficient_alpha(0.05, "holm", 8)
    (0.05, 0.00625)
    """
    if method == "none":
        return alpha
    return alpha / (family * (sum(1 / i for i in range(1, family + 1)) if method == "by" else 1))


def with_significance(cells: pl.DataFrame, rules: BenchmarkRules) -> pl.DataFrame:
    """The comparisons with everything that the rule reads.

    Parameters
    ----------
    cells : DataFrame
        From `fastgate.gates.benchmark.comparisons.compare`.
    rules : BenchmarkRules
        The policy as applied.

    Returns
    -------
    DataFrame
        With ``pvalue`` (now of the policy's alternative), ``pvalue_adjusted``, ``detectable_effect``,
        ``margin_pvalue``, and, for the rule alone: ``_gain`` (the difference in the KPI's better direction),
        ``_pvalue_win`` and ``_pvalue_loss`` (adjusted if the policy corrects), ``_pvalue_worse`` (one-sided, of
        guards); with the bootstrap, instead of these p-values, which are null, ``_gain_low`` and ``_gain_high``
        (the interval in the better direction). Every figure that does not exist is null, not NaN: a comparison
        with null is null, which no rule takes for true, whereas Polars orders NaN above all numbers, so that
        ``NaN >= 0.05`` holds.
    """
    sign = np.where(cells["direction"].to_physical().to_numpy() == 0, 1.0, -1.0)
    gain = sign * cells["delta"].to_numpy()
    if rules.bootstrap is not None:
        ends = sign * cells["ci_low"].to_numpy(), sign * cells["ci_high"].to_numpy()
        return cells.with_columns(
            pvalue_adjusted=pl.lit(None, pl.Float64),
            detectable_effect=pl.lit(None, pl.Float64),
            margin_pvalue=pl.lit(None, pl.Float64),
            _gain=pl.Series(gain),
            _gain_low=pl.Series(np.minimum(*ends)),
            _gain_high=pl.Series(np.maximum(*ends)),
        ).with_columns(pl.when(cs.float().is_finite()).then(cs.float()))
    statistic, df = cells["statistic"].to_numpy(), cells["df"].to_numpy()
    win = loss = cells["pvalue"].to_numpy()
    if rules.alternative == "one-sided":
        everywhere = np.ones(cells.height, np.bool_)
        win, loss = _tail(sign * statistic, df, everywhere), _tail(-sign * statistic, df, everywhere)

    # A broken comparison keeps its place in the family, so that it cannot loosen its neighbours.
    sound = cells.select((pl.col("faults") == 0) & (pl.col("status") == "ok")).to_series().to_numpy()
    deciding = cells.select(pl.col("role") == "decides").to_series().to_numpy()
    families = 1 if rules.correction.family == "sweep" else cells["candidate"].n_unique()
    adjusted = _adjusted(win, sound, deciding, families, rules)
    corrects = rules.correction.method != "none"
    corrected = deciding & corrects  # guards and KPIs that are only shown keep their own p-values

    margin = cells["margin"].fill_null(np.nan).to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        above = (gain + margin) / cells["standard_error"].to_numpy()
    return cells.with_columns(
        pvalue=pl.Series(win),
        pvalue_adjusted=pl.Series(adjusted),
        detectable_effect=pl.Series(_detectable_effect(cells, rules, deciding, families)),
        margin_pvalue=pl.Series(_tail(above, df, ~np.isnan(margin))),
        _gain=pl.Series(gain),
        _pvalue_win=pl.Series(np.where(corrected, adjusted, win)),
        _pvalue_loss=pl.Series(
            np.where(corrected, _adjusted(loss, sound, deciding, families, rules), loss) if corrects else loss
        ),
        _pvalue_worse=pl.Series(_tail(-sign * statistic, df, cells["not_worse"].to_numpy())),
    ).with_columns(pl.when(cs.float().is_finite()).then(cs.float()))


def _tail(statistic: Floats, df: Floats, rows: Flags) -> Floats:
    """P(T ≥ statistic) in some rows, NaN in the others."""
    from fastgate.stats.distributions import student_t_sf

    pvalue = np.full(statistic.size, np.nan)
    pvalue[rows] = student_t_sf(statistic[rows], df[rows])
    return pvalue


def _adjusted(pvalue: Floats, sound: Flags, deciding: Flags, families: int, rules: BenchmarkRules) -> Floats:
    """Adjusted p-values of the deciding comparisons, by the policy's method; by Holm's, to be shown, without one."""
    from fastgate.stats.multiplicity import adjust_arrays

    method = "holm" if rules.correction.method == "none" else rules.correction.method
    family = np.where(sound, pvalue, np.nan)[deciding]
    offsets = np.arange(families + 1, dtype=np.int64) * (family.size // families)
    adjusted = np.full(pvalue.size, np.nan)
    adjusted[deciding] = adjust_arrays(family, offsets, method, "count")
    return adjusted


def _detectable_effect(cells: pl.DataFrame, rules: BenchmarkRules, deciding: Flags, families: int) -> Floats:
    """(critical value + t of the power) × standard error: see `fastgate.stats.minimum_detectable_effect`.

    Under a correction the level of the deciding comparisons is the one that suffices in their family.
    """
    from fastgate.stats.design import minimum_detectable_effect
    from fastgate.stats.distributions import student_t_isf

    error, df = cells["standard_error"].to_numpy(), cells["df"].to_numpy()
    two_sided = rules.alternative == "two-sided"

    def at(alpha: float) -> Floats:
        effect: Any = minimum_detectable_effect(
            error, df, alpha=alpha, power=rules.power, alternative="two-sided" if two_sided else "greater"
        )
        return np.asarray(effect, np.float64)

    if rules.correction.method != "none":
        family = int(deciding.sum()) // families
        alpha = sufficient_alpha(rules.alpha, rules.correction.method, family)
        return np.where(deciding, at(alpha), at(rules.alpha))
    if two_sided and isclose(rules.alpha, 1.0 - rules.confidence_level, rel_tol=1e-12):
        # The interval's half-width holds the critical value already: one quantile a comparison instead of two.
        reserve: Any = student_t_isf(1.0 - rules.power, df)
        return np.asarray(cells["half_width"].to_numpy() + reserve * error, np.float64)
    return at(rules.alpha)
