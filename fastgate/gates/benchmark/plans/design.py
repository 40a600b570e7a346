"""What a plan rests on: noise, correlation and effect of every comparison that counts, stated or from a pilot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import ArgumentError, DataError
from fastgate.gates import reasons
from fastgate.gates.benchmark.comparisons import compare, rule_table
from fastgate.gates.names import some
from fastgate.gates.schema import nearest

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["MEANINGS", "PerKpi", "design", "pilot_noise"]

PerKpi = float | Mapping[str, float] | None

_KEYS: Final = ["suite", "kpi", "baseline"]
_NOISE: Final = {
    "sd_candidate": pl.Float64,
    "sd_baseline": pl.Float64,
    "correlation": pl.Float64,
    "observed_effect": pl.Float64,
    "cases_now": pl.Int64,
    "reason": pl.String,
}
# Faults that a pilot may have: it need not be large enough, nor complete, to be judged.
_FATAL: Final = ("missing_cell", "duplicate_case", "nonfinite")
_NO_NOISE: Final = ("zero_var_equal", "zero_var_diff", "precision_loss")

MEANINGS: Final = {
    **{code: reasons.MEANINGS[code] for code in (*_FATAL, "too_few", *_NO_NOISE, "unpaired_cases")},
    "no_sd": "no standard deviation is stated for the KPI, and there is no pilot",
    "no_correlation": "the pilot does not say how candidate and baseline correlate, and no correlation is stated",
    "no_effect": "no effect is stated for the KPI",
    "no_gain": "the effect is not a gain, so no number of cases wins the suite as often as wanted",
    "guard_limit": "guards fail by chance too often for any number of cases",
}
"""Why a comparison or suite has no number of cases."""


def per_kpi(values: PerKpi, kpis: Sequence[str], what: str) -> dict[str, float]:
    """A number stated for all KPIs, or for some, by KPI.

    Raises
    ------
    ArgumentError
        When a KPI is unknown, or a number is not above 0.
    """
    if values is None:
        return {}
    stated = dict(values) if isinstance(values, Mapping) else dict.fromkeys(kpis, values)
    for kpi, value in stated.items():
        if kpi not in kpis:
            similar = nearest(str(kpi), kpis)
            raise ArgumentError(
                f"{what} is stated for {kpi!r}, which the policy neither decides by nor guards",
                expected=some(list(kpis)),
                received=repr(kpi),
                where=f"argument {what}",
                hint=f"did you mean {similar!r}?" if similar else None,
            )
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not (number and 0.0 < value < np.inf):
            gain = "" if what == "sd" else "; a gain is positive whichever direction is better"
            raise ArgumentError(
                f"{what} is not usable",
                expected=f"a number above 0{gain}",
                received=repr(value),
                where=f"argument {what}" + (f", {kpi}" if isinstance(values, Mapping) else ""),
            )
    return {kpi: float(value) for kpi, value in stated.items()}


def pilot_noise(samples: Samples, rules: BenchmarkRules, candidates: Sequence[str]) -> pl.DataFrame:
    """The noise that a pilot shows, over all its candidates.

    Returns
    -------
    DataFrame
        A row per suite, KPI and baseline: suite, kpi, baseline (text), sd_candidate, sd_baseline (pooled over the
        candidates), correlation (null where unknown), observed_effect (their mean gain), cases_now (the fewest),
        reason (null where there are figures).

    Raises
    ------
    DataError
        When the pilot holds nothing of a baseline.
    """
    _check_baselines(samples, rules)
    rows = compare(samples, rules, candidates)
    fatal = pl.lit(None, pl.String)
    for code in reversed(_FATAL):
        fatal = pl.when(pl.col("faults") & reasons.bit(code) != 0).then(pl.lit(code)).otherwise(fatal)
    sign = pl.when(pl.col("direction") == "higher").then(1.0).otherwise(-1.0)
    text = pl.col("candidate", *_KEYS).cast(pl.String)
    table = rows.with_columns(text, gain=sign * pl.col("delta"))
    table = _with_variances(table, samples)
    # The rule's own too_few is also said of pairs that nobody knows to be some.
    few = pl.min_horizontal("cells_candidate", "cells_baseline") < 2
    status = pl.col("status").cast(pl.String)
    table = table.with_columns(
        fatal=pl.when(fatal.is_not_null())
        .then(fatal)
        .when(few)
        .then(pl.lit("too_few"))
        .when(status.is_in(_NO_NOISE))
        .then(status),
        unpaired=(pl.col("faults") & reasons.bit("unpaired_cases")) != 0,
    )
    sound = pl.col("fatal").is_null()
    ours, theirs = pl.col("variance_candidate"), pl.col("variance_baseline")
    # The covariance of a constant with anything is 0; where the cases are not known to be the same it is unknown.
    r = pl.col("correlation").fill_nan(None)
    flat = (ours == 0.0) | (theirs == 0.0)
    weight = (pl.min_horizontal("cells_candidate", "cells_baseline") - 1).cast(pl.Float64)
    table = table.with_columns(
        covariance=pl.when(flat).then(0.0).otherwise(r * (ours * theirs).sqrt()), weight=weight
    )

    def pooled(column: pl.Expr) -> pl.Expr:
        usable = sound & column.is_not_null()
        return (column * pl.col("weight")).filter(usable).sum() / pl.col("weight").filter(usable).sum()

    found = table.group_by(_KEYS, maintain_order=True).agg(
        pooled(ours).sqrt().alias("sd_candidate"),
        pooled(theirs).sqrt().alias("sd_baseline"),
        pooled(pl.col("covariance")).alias("covariance"),
        pooled(pl.col("gain").fill_nan(None)).alias("observed_effect"),
        pl.min_horizontal("cells_candidate", "cells_baseline").filter(sound).min().alias("cases_now"),
        pl.col("fatal").first().alias("reason"),
        sound.any().alias("sound"),
        pl.col("unpaired").any().alias("unpaired"),
    )
    both = pl.col("sd_candidate") * pl.col("sd_baseline")
    r = pl.when(both > 0.0).then(pl.col("covariance") / both).otherwise(pl.col("covariance"))
    return found.with_columns(
        pl.col("sd_candidate", "sd_baseline", "observed_effect").fill_nan(None),
        correlation=r.fill_nan(None).clip(-1.0, 1.0),
        cases_now=pl.col("cases_now").cast(pl.Int64),
        reason=pl.when(pl.col("sound"))
        .then(pl.when(pl.col("unpaired") & (rules.test == "paired")).then(pl.lit("unpaired_cases")))
        .otherwise("reason"),
    ).select(*_KEYS, *_NOISE)


def _check_baselines(samples: Samples, rules: BenchmarkRules) -> None:
    column = "build" if samples.shape == "runs" else "baseline"
    found = samples.index[column].unique().cast(pl.String).sort().to_list()
    for name in rules.baselines:
        if name not in set(found):
            similar = nearest(name, found)
            raise DataError(
                f"the pilot holds nothing of the policy's baseline {name!r}",
                expected=f"rows whose {column} is {name!r}",
                received=some(found),
                where=f"column {column!r}",
                hint=f"did you mean {similar!r}?" if similar else "measure the baseline in the pilot too",
            )


def _with_variances(table: pl.DataFrame, samples: Samples) -> pl.DataFrame:
    """The comparisons with the variance and size of either cell: null where there is none."""
    n, variance = _cell_variances(samples)
    keys = ["suite", "kpi"]
    index = samples.index.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))
    if samples.shape == "pairs":
        sides = {
            f"{what}_{side}": pl.Series(values[index[f"{side}_cell"].to_numpy()])
            for side in ("candidate", "baseline")
            for what, values in (("cells", n), ("variance", variance))
        }
        cells = index.select("candidate", "baseline", *keys).with_columns(**sides)
        joined = table.join(cells, on=["candidate", "baseline", *keys], how="left", maintain_order="left")
    else:
        cells = index.select("build", *keys).with_columns(cells=pl.Series(n), variance=pl.Series(variance))
        joined = table
        for side in ("candidate", "baseline"):
            named = cells.rename({"build": side, "cells": f"cells_{side}", "variance": f"variance_{side}"})
            joined = joined.join(named, on=[side, *keys], how="left", maintain_order="left")
    return joined.with_columns(pl.col("variance_candidate", "variance_baseline").fill_nan(None))


def _cell_variances(samples: Samples) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The size and the variance of every cell, in the order of their numbers; NaN below two values."""
    from fastgate.stats.summary import moments_arrays

    if samples.moments is not None:
        n, m2, flat = samples.moments.n, samples.moments.m2, samples.moments.constant
    else:
        parts = [moments_arrays(part.values, part.offsets) for part in samples.parts]
        n = np.concatenate([part.n for part in parts])
        m2 = np.concatenate([np.ldexp(part.m2, 2 * part.exponent) for part in parts])
        flat = np.concatenate([part.constant == 1 for part in parts])
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(n > 1, np.where(flat, 0.0, m2 / (n - 1)), np.nan)
    return n, variance


def design(
    rules: BenchmarkRules,
    noise: pl.DataFrame | None,
    *,
    effect: PerKpi,
    standardised_effect: PerKpi,
    pilot_effect: bool,
    sd: PerKpi,
    correlation: float | None,
) -> pl.DataFrame:
    """Every comparison that counts, with its figures; what is stated goes before what the pilot shows.

    Returns
    -------
    DataFrame
        A row per suite, KPI (that decides or guards) and baseline: suite, kpi, baseline, direction, role, margin,
        not_worse, min_cases, sd_candidate, sd_baseline, sd (the root of the mean variance), correlation,
        correlation_known, effect (of guards 0), standardised_effect, observed_effect, cases_now, reason (null where the
        comparison can be planned). Without any figure of the noise it is the unit: sd is 1.
    """
    table = rule_table(rules).filter(pl.col("role") != "shown").drop("measure")
    deciding = table.filter(pl.col("role") == "decides")["kpi"].cast(pl.String).unique(maintain_order=True)
    every = table["kpi"].cast(pl.String).unique(maintain_order=True).to_list()
    effects = per_kpi(effect, deciding.to_list(), "effect")
    relative = per_kpi(standardised_effect, deciding.to_list(), "standardised_effect")
    sds = per_kpi(sd, every, "sd")
    order = pl.DataFrame({"baseline": list(rules.baselines)})
    table = table.with_columns(pl.col("suite", "kpi").cast(pl.String)).join(order, how="cross")
    if noise is None:
        empty = [pl.lit(None, dtype).alias(name) for name, dtype in _NOISE.items()]
        table = table.with_columns(empty).with_columns(reason=pl.lit("no_sd"))
    else:
        table = table.join(noise, on=_KEYS, how="left", maintain_order="left")

    def of_kpi(values: Mapping[str, float]) -> pl.Expr:
        return pl.col("kpi").replace_strict(dict(values), default=None, return_dtype=pl.Float64)

    stated = of_kpi(sds)
    guard = pl.col("role") == "guard"
    # An effect in standard deviations has no other unit, nor the chance that an equal guard looks worse.
    free = (guard & pl.col("margin").is_null()) | (~guard & of_kpi(relative).is_not_null())
    unit = pl.when(free & (pl.col("reason") == "no_sd")).then(1.0)
    table = table.with_columns(
        sd_candidate=pl.coalesce(stated, "sd_candidate", unit),
        sd_baseline=pl.coalesce(stated, "sd_baseline", unit),
        correlation=pl.coalesce(pl.lit(correlation, pl.Float64), "correlation"),
    )
    variance = (pl.col("sd_candidate") ** 2 + pl.col("sd_baseline") ** 2) / 2
    table = table.with_columns(sd=variance.sqrt())
    chosen = (
        pl.col("observed_effect")
        if pilot_effect
        else pl.coalesce(of_kpi(effects), of_kpi(relative) * pl.col("sd"))
    )
    table = table.with_columns(effect=pl.when(guard).then(0.0).otherwise(chosen))
    no_sd = pl.col("sd").is_null()
    no_r = pl.col("correlation").is_null() & (rules.test == "paired")
    flat = pl.col("sd") == 0.0
    # A stated standard deviation does not make a constant sample vary.
    broken = pl.col("reason").is_not_null() & (pl.col("reason") != "no_sd")
    cured = stated.is_not_null() & ((correlation is not None) | (rules.test == "welch"))
    healed = broken & (cured | (pl.col("reason") == "unpaired_cases") & (correlation is not None))
    reason = (
        pl.when(broken & ~healed)
        .then("reason")
        .when(no_sd)
        .then(pl.coalesce("reason", pl.lit("no_sd")))
        .when(flat)
        .then(pl.lit("zero_var_equal"))
        .when(no_r)
        .then(pl.lit("no_correlation"))
        .when(pl.col("effect").is_null())
        .then(pl.lit("no_effect"))
    )
    return table.with_columns(
        reason=reason,
        correlation_known=pl.col("correlation").is_not_null(),
        correlation=pl.col("correlation").fill_null(0.0),
        standardised_effect=pl.col("effect") / pl.col("sd"),
    )
