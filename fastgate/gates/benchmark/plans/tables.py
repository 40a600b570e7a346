"""The tables of a plan, and in sentences what its numbers take for granted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from fastgate.gates.benchmark.plans.power import SuitePowers
    from fastgate.gates.benchmark.policy import BenchmarkRules
    from fastgate.stats.planning import RulePower

__all__ = ["assumptions", "baseline_table", "comparison_table", "suite_table", "with_least"]

Floats = npt.NDArray[np.float64]

_COMPARISONS: Final = (
    *("suite", "kpi", "baseline", "role", "direction", "sd", "sd_candidate", "sd_baseline", "correlation"),
    *("effect", "standardised_effect", "observed_effect", "margin", "cases_now", "power_now"),
    *("min_cases", "cases_needed", "reason"),
)


def with_least(cases: int | None, rules: BenchmarkRules) -> int | None:
    """The cases as a run has them, where the policy asks for more in every suite."""
    return None if cases is None else max(cases, min(suite.min_cases for suite in rules.suites.values()))


def _numbers(name: str, values: Floats | None, height: int) -> pl.Series:
    """A column of figures, null where there are none."""
    if values is None:
        return pl.Series(name, [None] * height, pl.Float64)
    return pl.Series(name, values.reshape(-1)).fill_nan(None)


def baseline_table(
    powers: SuitePowers,
    wanted: float,
    present: RulePower | None,
    at: RulePower | None,
) -> pl.DataFrame:
    """Each baseline to be beaten alone; see `BenchmarkPlan`."""
    from fastgate.stats.planning import rule_cases

    rules = powers.rules
    known: dict[int, Floats] = {}

    def wins(n: int) -> Floats:
        if n not in known:
            known[n] = powers.suites(n)
        return known[n]

    def alone(column: int) -> int | None:
        return rule_cases(lambda n: wins(n)[:, column], rules.min_suite_wins, power=wanted).cases

    cases = [alone(column) for column in range(len(rules.baselines))]
    n = len(rules.baselines)
    return pl.DataFrame(
        {
            "baseline": list(rules.baselines),
            "power_now": _numbers("power_now", None if present is None else present.baselines, n),
            "power_planned": _numbers("power_planned", None if at is None else at.baselines, n),
            "cases_needed": pl.Series([with_least(value, rules) for value in cases], dtype=pl.Int64),
        }
    )


def suite_table(powers: SuitePowers, wanted: float, now: Floats | None) -> pl.DataFrame:
    """Each suite against each baseline; see `BenchmarkPlan`."""
    table, rules = powers.table, powers.rules
    cases = powers.cases(wanted).reshape(-1)
    keys = pl.DataFrame(
        {
            "suite": np.repeat(list(rules.suites), len(rules.baselines)),
            "baseline": np.tile(list(rules.baselines), len(rules.suites)),
            "decided_by": np.repeat(
                [suite.decided_by for suite in rules.suites.values()], len(rules.baselines)
            ),
        }
    )
    parts = table.group_by("suite", "baseline", maintain_order=True).agg(
        pl.col("cases_now").min(),
        pl.col("reason").drop_nulls().first(),
        ((pl.col("role") == "decides") & (pl.col("effect") <= 0)).any().alias("no_gain"),
    )
    found = keys.join(parts, on=["suite", "baseline"], how="left", maintain_order="left").with_columns(
        power_now=_numbers("power_now", now, keys.height),
        cases_needed=pl.Series(cases, dtype=pl.Int64),
    )
    why = pl.when(pl.col("no_gain")).then(pl.lit("no_gain")).otherwise(pl.lit("guard_limit"))
    none = pl.col("cases_needed") == 0
    return found.with_columns(
        reason=pl.coalesce("reason", pl.when(none).then(why)),
        cases_needed=pl.when(~none).then("cases_needed"),
    ).select("suite", "baseline", "decided_by", "cases_now", "power_now", "cases_needed", "reason")


def comparison_table(powers: SuitePowers, wanted: float, now: Floats | None) -> pl.DataFrame:
    """Each KPI of each suite that counts, against each baseline; see `BenchmarkPlan`."""
    from fastgate.stats.power import ttest_cases

    table, rules = powers.table, powers.rules
    margin = powers.number("margin")
    cases = np.zeros(table.height, np.int64)
    for rows, effect, alpha, sides in (
        (powers.planned & powers.decides, powers.number("effect"), powers.level, rules.alternative),
        (powers.planned & ~powers.decides & ~np.isnan(margin), margin, rules.alpha, "one-sided"),
    ):
        if rows.any():
            found = ttest_cases(
                effect[rows],
                powers.number("sd_candidate")[rows],
                power=wanted,
                baseline_sd=powers.number("sd_baseline")[rows],
                correlation=powers.number("correlation")[rows],
                test=rules.test,
                alpha=alpha,
                alternative=sides,
            )
            cases[rows] = np.where(found.cases == 0, 0, np.maximum(found.cases, powers.least[rows]))
    lost = (pl.col("role") == "decides") & pl.col("reason").is_null() & (pl.col("cases_needed") == 0)
    return (
        table.with_columns(
            _numbers("power_now", now, table.height), cases_needed=pl.Series(cases, dtype=pl.Int64)
        )
        .with_columns(reason=pl.coalesce("reason", pl.when(lost).then(pl.lit("no_gain"))))
        .with_columns(cases_needed=pl.when(pl.col("cases_needed") > 0).then("cases_needed"))
        .select(_COMPARISONS)
    )


def assumptions(
    rules: BenchmarkRules, table: pl.DataFrame, level: float, settings: dict[str, Any]
) -> tuple[str, ...]:
    """What the numbers take for granted, the most doubtful first."""
    planned = table.filter(pl.col("reason").is_null())
    said = []
    if settings["pilot_effect"]:
        said.append(
            "The effects are those that the pilot happened to show. Pilots that are followed up tend to overstate "
            "them, so treat the numbers as the least that may do."
        )
    else:
        said.append(
            "The candidate is taken to be better by the stated effect in every suite and against every baseline; "
            "a smaller gain needs more cases."
        )
    n = planned["cases_now"].to_numpy()
    if settings["pilot"] is not None and settings["sd"] is None and settings["cases"] is None and n.size:
        off = 100 / (2 * (float(n.min()) - 1)) ** 0.5
        said.append(
            f"A standard deviation from {n.min()} cases is known to about {off:.0f} % (one standard error), and so the "
            f"cases needed to about {2 * off:.0f} %."
        )
    if rules.test == "welch":
        unknown = settings["correlation"] is None and (
            settings["pilot"] is None
            or bool(planned.filter(pl.col("correlation_known").not_())["suite"].len())
        )
        if unknown:
            said.append(
                "Where no correlation is known it is taken to be 0, as Welch's test does; if the cases of both sides "
                "are the same and correlate, fewer do."
            )
    if (table["role"] == "guard").any():
        said.append(
            "Guards are taken to be neither better nor worse, and to fail by chance, whatever the deciding KPI does."
        )
    said.append(
        "Suites are independent, values about normal and data complete; the comparisons of one suite with several "
        "baselines share the candidate's noise."
    )
    if rules.correction.method != "none":
        said.append(
            f"P-values are corrected: each comparison is planned at alpha {level:.2g}, which suffices whatever the "
            "others show."
        )
    return tuple(said)
