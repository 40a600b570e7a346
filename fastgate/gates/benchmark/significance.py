"""The p-values, or ends of intervals, by which comparisons are called wins, losses and ties, and guards held or not."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

if TYPE_CHECKING:
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = [
    "Criteria",
    "SweepPvalues",
    "adjusted_parts",
    "criteria",
    "sufficient_alpha",
    "sweep_pvalues",
    "with_significance",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
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


class SweepPvalues(NamedTuple):
    """The p-values of deciding comparisons, in their order, where the family is the sweep."""

    win: Floats
    """Of a difference in the better direction, or of any; NaN for a broken comparison."""
    loss: Floats
    """Of one in the worse direction, or of any."""
    size: int
    """The comparisons of the family."""


def sweep_pvalues(cells: pl.DataFrame, rules: BenchmarkRules) -> SweepPvalues:
    """The p-values of some of a sweep's comparisons, not adjusted yet."""
    family = _family(cells, rules)
    win, loss = _pvalues(cells, rules)
    return SweepPvalues(family.members(win), family.members(loss), family.size)


def adjusted_parts(parts: Sequence[SweepPvalues], rules: BenchmarkRules) -> list[SweepPvalues]:
    """The p-values of all parts of a sweep, adjusted for one another."""
    from fastgate.stats.multiplicity import adjust_arrays

    size = sum(part.size for part in parts)
    cuts = np.cumsum([part.size for part in parts])[:-1]
    whole = np.array([0, size], np.int64)
    sides = [
        np.split(adjust_arrays(np.concatenate(pvalues), whole, _method(rules), "count"), cuts)
        for pvalues in ([part.win for part in parts], [part.loss for part in parts])
    ]
    return [SweepPvalues(win, loss, size) for win, loss in zip(*sides, strict=True)]


def with_significance(
    cells: pl.DataFrame, rules: BenchmarkRules, sweep: SweepPvalues | None = None
) -> pl.DataFrame:
    """The comparisons with everything that the rule reads.

    Parameters
    ----------
    cells : DataFrame
        From `fastgate.gates.benchmark.comparisons.compare`.
    rules : BenchmarkRules
        The policy as applied.
    sweep : SweepPvalues, optional
        The adjusted p-values of these comparisons, where they are only some of their family.

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
    sign = _sign(cells)
    gain = sign * cells["delta"].to_numpy()
    if rules.bootstrap is not None:
        ends = sign * cells["ci_low"].to_numpy(), sign * cells["ci_high"].to_numpy()
        nothing = pl.lit(None, pl.Float64)
        return _finite_or_null(
            cells.with_columns(
                pvalue_adjusted=nothing,
                detectable_effect=nothing,
                margin_pvalue=nothing,
                _gain=pl.Series(gain),
                _gain_low=pl.Series(np.minimum(*ends)),
                _gain_high=pl.Series(np.maximum(*ends)),
            )
        )
    statistic, df = cells["statistic"].to_numpy(), cells["df"].to_numpy()
    win, loss = _pvalues(cells, rules)
    family = _family(cells, rules)
    adjusted = _adjusted(win, family, rules) if sweep is None else family.spread(sweep.win)
    decisive = {"_pvalue_win": win, "_pvalue_loss": loss}
    if rules.correction.method != "none":
        # Guards and KPIs that are only shown keep their own p-values.
        decisive["_pvalue_win"] = np.where(family.deciding, adjusted, win)
        adjusted_loss = _adjusted(loss, family, rules) if sweep is None else family.spread(sweep.loss)
        decisive["_pvalue_loss"] = np.where(family.deciding, adjusted_loss, loss)

    guarded, margins = _rows_and_values(cells["margin"])
    with np.errstate(invalid="ignore", divide="ignore"):
        above = (gain[guarded] + margins) / cells["standard_error"].to_numpy()[guarded]
    not_worse = np.flatnonzero(cells["not_worse"].to_numpy())
    below = -sign[not_worse] * statistic[not_worse]
    return _finite_or_null(
        cells.with_columns(
            pvalue=pl.Series(win),
            pvalue_adjusted=pl.Series(adjusted),
            detectable_effect=pl.Series(
                _detectable_effect(cells, rules, family, family.size if sweep is None else sweep.size)
            ),
            margin_pvalue=_in_rows(guarded, _upper_tail(above, df[guarded]), cells.height),
            _gain=pl.Series(gain),
            _pvalue_worse=_in_rows(not_worse, _upper_tail(below, df[not_worse]), cells.height),
            **{name: pl.Series(pvalues) for name, pvalues in decisive.items()},
        )
    )


def _sign(cells: pl.DataFrame) -> Floats:
    """1 where higher is better, −1 where lower is."""
    return np.where(cells["direction"].to_physical().to_numpy() == 0, 1.0, -1.0)


def _pvalues(cells: pl.DataFrame, rules: BenchmarkRules) -> tuple[Floats, Floats]:
    """The p-values of a win and of a loss."""
    if rules.alternative == "two-sided":
        pvalue = cells["pvalue"].to_numpy()
        return pvalue, pvalue
    sign, statistic, df = _sign(cells), cells["statistic"].to_numpy(), cells["df"].to_numpy()
    return _upper_tail(sign * statistic, df), _upper_tail(-sign * statistic, df)


def _method(rules: BenchmarkRules) -> str:
    """The policy's correction; Holm's, whose p-values are shown, where it has none."""
    return "holm" if rules.correction.method == "none" else rules.correction.method


def _finite_or_null(cells: pl.DataFrame) -> pl.DataFrame:
    """The comparisons with null for every figure that is no finite number."""
    broken = [column.name for column in cells.select(cs.float()) if not _is_finite(column)]
    if not broken:
        return cells
    return cells.with_columns(pl.when(pl.col(broken).is_finite()).then(pl.col(broken)))


def _is_finite(column: pl.Series) -> bool:
    """Whether null is all that a column holds beside finite numbers: of most columns, quickly seen."""
    if column.null_count():
        return column.null_count() == len(column) or bool(column.is_finite().all())
    return bool(np.isfinite(column.to_numpy()).all())


def _upper_tail(statistic: Floats, df: Floats) -> Floats:
    """P(T ≥ statistic)."""
    from fastgate.stats.distributions import student_t_sf

    return np.asarray(student_t_sf(statistic, df), np.float64)


def _rows_and_values(column: pl.Series) -> tuple[Integers, Floats]:
    """Where a column is not null, and what stands there."""
    rows = np.flatnonzero(column.is_not_null().to_numpy())
    return rows, column.drop_nulls().to_numpy()


def _in_rows(rows: Integers, figures: Floats, n: int) -> pl.Series | pl.Expr:
    """A column with figures in some of its n rows."""
    if not rows.size:
        return pl.lit(None, pl.Float64)
    column = np.full(n, np.nan)
    column[rows] = figures
    return pl.Series(column)


class _Family(NamedTuple):
    """The deciding comparisons, whose p-values are adjusted for one another."""

    sound: Flags
    """Of every comparison: whether it has a result."""
    deciding: Flags
    """Of every comparison."""
    families: int
    """How many they are, each of as many comparisons."""

    @property
    def size(self) -> int:
        """The comparisons of one of them."""
        return int(np.count_nonzero(self.deciding)) // self.families

    def members(self, pvalue: Floats) -> Floats:
        """The p-values of the deciding comparisons; a broken one keeps its place, lest it loosen its neighbours."""
        return np.where(self.sound, pvalue, np.nan)[self.deciding]

    def spread(self, members: Floats) -> Floats:
        """Figures of the deciding comparisons as a column, NaN in the others."""
        column = np.full(self.deciding.size, np.nan)
        column[self.deciding] = members
        return column


def _family(cells: pl.DataFrame, rules: BenchmarkRules) -> _Family:
    sound, deciding = cells.select(
        sound=(pl.col("faults") == 0) & (pl.col("status") == "ok"), deciding=pl.col("role") == "decides"
    )
    families = 1 if rules.correction.family == "sweep" else cells["candidate"].n_unique()
    return _Family(sound.to_numpy(), deciding.to_numpy(), families)


def _adjusted(pvalue: Floats, family: _Family, rules: BenchmarkRules) -> Floats:
    """Adjusted p-values of the deciding comparisons, by the policy's method; by Holm's, to be shown, without one."""
    from fastgate.stats.multiplicity import adjust_arrays

    offsets = np.arange(family.families + 1, dtype=np.int64) * family.size
    return family.spread(adjust_arrays(family.members(pvalue), offsets, _method(rules), "count"))


def _detectable_effect(cells: pl.DataFrame, rules: BenchmarkRules, family: _Family, size: int) -> Floats:
    """(critical value + t of the power) × standard error: see `fastgate.stats.minimum_detectable_effect`.

    Under a correction the level of the deciding comparisons is the one that suffices in their family, of `size`.
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
        alpha = sufficient_alpha(rules.alpha, rules.correction.method, size)
        return np.where(family.deciding, at(alpha), at(rules.alpha))
    if two_sided and isclose(rules.alpha, 1.0 - rules.confidence_level, rel_tol=1e-12):
        # The interval's half-width holds the critical value already: one quantile a comparison instead of two.
        reserve: Any = student_t_isf(1.0 - rules.power, df)
        with np.errstate(over="ignore"):
            return np.asarray(cells["half_width"].to_numpy() + reserve * error, np.float64)
    return at(rules.alpha)
