"""The benchmark gate: a candidate must beat every baseline on at least k of the suites.

The rule, as its functions read from top to bottom: a comparison is a win when the difference is in the KPI's
better direction and significant, or its bootstrap interval excludes 0 (`with_outcomes`); a suite is won by its
deciding KPIs, and not at the cost of a guard (`suite_outcomes`); a baseline is beaten when enough suites are won
(`baseline_verdicts`); a candidate passes when every baseline is beaten and no suite of the previous release is lost
(`candidate_verdicts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from fastgate.gates import reasons
from fastgate.gates.benchmark.comparisons import compare
from fastgate.gates.benchmark.groups import summed_up
from fastgate.gates.benchmark.result import TABLES
from fastgate.gates.benchmark.significance import SweepPvalues, criteria, with_significance
from fastgate.gates.verdict import GUARDS, OUTCOMES, STATUSES, Guard, Outcome, Verdict

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = [
    "baseline_verdicts",
    "candidate_verdicts",
    "judge",
    "suite_outcomes",
    "with_outcomes",
]

KEYS = ["candidate", "baseline", "suite"]

_COUNTS = {"wins": "win", "losses": "loss", "ties": "tie", "undefined": "undefined"}
_ANY_FAULT = reasons.mask_of(reasons.FAULTS)
_NO_INTERVAL = (
    "no_root",
    "doubtful",
    "no_exact_law",
    "zero_denominator",
    "few_resamples",
    "unbounded",
    "degenerate",
    "not_converged",
)
_STATUS_REASONS = {
    name: name for name in ("zero_var_equal", "zero_var_diff", "precision_loss")
} | dict.fromkeys(_NO_INTERVAL, "no_interval")
_GUARD_REASONS = {state: f"guard_{state}" for state in ("worse", "not_shown", "undefined")}


def _choose(choices: dict[str, pl.Expr], otherwise: str, dtype: pl.Enum) -> pl.Expr:
    """The first choice whose condition is true; a condition that is null is not true."""
    chain: Any = pl  # pl.when(…) starts a chain, and chain.when(…) goes on with it
    for name, condition in choices.items():
        chain = chain.when(condition).then(pl.lit(name, dtype))
    chosen: pl.Expr = chain.otherwise(pl.lit(otherwise, dtype))
    return chosen


def with_outcomes(cells: pl.DataFrame, rules: BenchmarkRules) -> pl.DataFrame:
    """Win, loss or tie of each comparison, and whether a guard holds."""
    whole = pl.col("faults") == 0
    sound = whole & (pl.col("status") == "ok")
    decidable = whole & (rules.zero_variance == "decide")
    constant_diff = decidable & (pl.col("status") == "zero_var_diff")
    constant_equal = decidable & (pl.col("status") == "zero_var_equal")
    better, worse = pl.col("_gain") > 0, pl.col("_gain") < 0
    shown = criteria(rules)

    outcome = _choose(
        {
            "win": (sound & shown.win) | (constant_diff & better),
            "loss": (sound & shown.loss) | (constant_diff & worse),
            "tie": (sound & shown.decided) | constant_equal,
        },
        "undefined",
        Outcome,
    )
    is_worse = (sound & shown.worse) | (constant_diff & worse)
    not_worse = (sound & shown.not_worse) | constant_equal | (constant_diff & better)
    within = (sound & shown.within) | (
        (constant_equal | constant_diff) & (pl.col("_gain") > -pl.col("margin"))
    )
    guard = pl.when(pl.col("role") == "guard").then(
        _choose(
            {
                "worse": pl.col("not_worse") & is_worse,
                "holds": (~pl.col("not_worse") | not_worse) & (pl.col("margin").is_null() | within),
                "not_shown": pl.col("margin").is_not_null() & (sound | constant_equal | constant_diff),
            },
            "undefined",
            Guard,
        )
    )
    significant = [_finds_a_difference(pl.col(f"{test}_pvalue"), rules) for test in ("welch", "paired")]
    # Of a bootstrap, whatever it compares, the t tests are no rivals.
    rivals = (pl.col("role") == "decides") & sound & (rules.test != "bootstrap")
    disagree = rivals & (significant[0] != significant[1])
    judged = cells.with_columns(outcome=outcome, guard=guard, tests_disagree=disagree.fill_null(False))
    return judged.with_columns(
        _mask=pl.col("faults")
        | _reasons(pl.col("status"), STATUSES, _STATUS_REASONS)
        | _reasons(pl.col("guard"), GUARDS, _GUARD_REASONS)
    )


def _reasons(column: pl.Expr, words: Sequence[str], reason_of: dict[str, str]) -> pl.Expr:
    """The mask of the reason that a status, or the state of a guard, is; of null none."""
    masks = [reasons.bit(reason_of[word]) if word in reason_of else 0 for word in words]
    return pl.lit(pl.Series(masks, dtype=pl.UInt32)).gather(column.to_physical()).fill_null(0)


def _finds_a_difference(pvalue: pl.Expr, rules: BenchmarkRules) -> pl.Expr:
    """Whether a test, by its two-sided p, is significant in the policy's sense, corrections aside."""
    if rules.alternative == "two-sided":
        return pvalue < rules.alpha
    return pl.when(pl.col("_gain") > 0).then(pvalue / 2).otherwise(1 - pvalue / 2) < rules.alpha


def _flags(conditions: dict[str, pl.Expr]) -> pl.Expr:
    """The mask of the reasons whose condition is true."""
    mask = pl.lit(0, pl.UInt32)
    for code, condition in conditions.items():
        mask = mask | pl.when(condition).then(pl.lit(reasons.bit(code), pl.UInt32)).otherwise(
            pl.lit(0, pl.UInt32)
        )
    return mask


def suite_outcomes(cells: pl.DataFrame, rules: BenchmarkRules) -> pl.DataFrame:
    """Won, lost or neither: each suite of each candidate against each baseline."""
    decides = pl.col("role") == "decides"
    columns = [*KEYS, "kpi", "_suite_row", "role", "outcome", "guard", "tests_disagree", "_mask"]
    suites = summed_up(
        cells.select(columns).filter(pl.col("role") != "shown"),
        ["_suite_row"],
        kept=KEYS,
        counts={
            "_kpis": decides,
            **{f"_{outcome}": decides & (pl.col("outcome") == outcome) for outcome in OUTCOMES},
            **{f"_guard_{state}": pl.col("guard") == state for state in GUARDS},
            "_disagreeing": pl.col("tests_disagree"),
        },
        unions={"_mask": pl.col("_mask")},
        names={"failed_guards": ("kpi", pl.col("guard") != "holds")},
    )
    decided_by = pl.Series([suite.decided_by for suite in rules.suites.values()])
    suites = suites.with_columns(decided_by=decided_by[suites["suite"].to_physical()])
    any_kpi = pl.col("decided_by") == "any"
    won = pl.when(any_kpi).then(pl.col("_win") > 0).otherwise(pl.col("_win") == pl.col("_kpis"))
    outcome = _choose(
        {
            "loss": (~won & (pl.col("_loss") > 0)) | (pl.col("_guard_worse") > 0),
            "undefined": (~won & (pl.col("_undefined") > 0)) | (pl.col("_guard_undefined") > 0),
            "tie": ~won | (pl.col("_guard_not_shown") > 0),
            "win": won,
        },
        "undefined",
        Outcome,
    )
    return suites.select(
        *KEYS,
        "decided_by",
        "failed_guards",
        "_mask",
        outcome=outcome,
        tests_disagree=pl.col("_disagreeing") > 0,
    )


def _with_previous(suites: pl.DataFrame, won_before: pl.DataFrame | None) -> pl.DataFrame:
    """Which suites the previous release won, and which of them are lost now."""
    if won_before is None:
        return suites.with_columns(won_before=pl.lit(None, pl.Boolean), lost=pl.lit(False))
    keys = {name: suites.schema[name] for name in KEYS}
    before = won_before.with_columns(pl.col(name).cast(dtype) for name, dtype in keys.items())
    suites = suites.join(before, on=KEYS, how="left", maintain_order="left")
    return suites.with_columns(lost=pl.col("won_before").fill_null(False) & (pl.col("outcome") != "win"))


def baseline_verdicts(suites: pl.DataFrame, rules: BenchmarkRules) -> pl.DataFrame:
    """Beaten or not: each baseline of each candidate."""
    counted = summed_up(
        suites,
        KEYS[:2],
        kept=KEYS[:2],
        counts={name: pl.col("outcome") == outcome for name, outcome in _COUNTS.items()},
        unions={
            "_all": pl.col("_mask"),
            "_not_won": pl.when(pl.col("outcome") != "win").then(pl.col("_mask")),
        },
        names={"lost_suites": ("suite", pl.col("lost"))},
    ).with_columns(required=pl.lit(rules.min_suite_wins, pl.UInt32))
    short = pl.col("wins") < pl.col("required")
    faulty = (pl.col("_all") & _ANY_FAULT) != 0
    lost = pl.col("lost_suites").list.len()
    verdict = _choose(
        {
            "block": short | faulty | (lost > 1),
            "review": lost == 1,
            "pass": pl.col("wins") >= pl.col("required"),
        },
        "block",
        Verdict,
    )
    why_short = pl.when(short).then(pl.col("_not_won")).otherwise(pl.lit(0, pl.UInt32))
    mask = (pl.col("_all") & _ANY_FAULT) | why_short | _flags({"too_few_wins": short, "lost_suite": lost > 0})
    return counted.select(
        *KEYS[:2], *_COUNTS, "required", verdict.alias("verdict"), "lost_suites", mask.alias("_mask")
    )


def candidate_verdicts(baselines: pl.DataFrame, unmatched: Sequence[str]) -> pl.DataFrame:
    """Pass, review or block: each candidate."""
    candidates = baselines.group_by("candidate", maintain_order=True).agg(
        (pl.col("verdict") == "block").any().alias("_block"),
        (pl.col("verdict") == "pass").all().alias("_pass"),
        (pl.col("wins") >= pl.col("required")).sum().alias("baselines_beaten"),
        pl.len().alias("baselines"),
        pl.col("wins").min().alias("fewest_wins"),
        pl.col("required").first(),
        pl.col("lost_suites").explode(empty_as_null=False).unique(maintain_order=True),
        pl.col("_mask").bitwise_or(),
    )
    unknown = pl.col("candidate").cast(pl.String).is_in(list(unmatched))
    # A suite lost to several baselines is one suite; two suites, each lost to another baseline, are two.
    lost = pl.col("lost_suites").list.len()
    verdict = _choose(
        {
            "block": pl.col("_block") | (lost > 1),
            "review": (lost == 1) | unknown,
            "pass": pl.col("_pass"),
        },
        "block",
        Verdict,
    )
    mask = pl.col("_mask") | _flags({"no_previous_result": unknown})
    return candidates.select(
        "candidate",
        verdict.alias("verdict"),
        "baselines_beaten",
        "baselines",
        "fewest_wins",
        "required",
        "lost_suites",
        mask.alias("_mask"),
    )


def _with_reasons(frame: pl.DataFrame) -> pl.DataFrame:
    mask = frame["_mask"]
    none = pl.lit(
        [], pl.List(pl.String)
    )  # of a sweep without faults: a column that takes no time and no memory
    return frame.with_columns(reasons=reasons.listed(mask) if mask.max() else none).drop(cs.starts_with("_"))


def judge(
    samples: Samples,
    rules: BenchmarkRules,
    candidates: Sequence[str],
    *,
    won_before: pl.DataFrame | None = None,
    unmatched: Sequence[str] = (),
    sweep: SweepPvalues | None = None,
) -> dict[str, pl.DataFrame]:
    """The rule applied to measurements: the gate without files, policies and evidence.

    Parameters
    ----------
    samples : Samples
        The measurements.
    rules : BenchmarkRules
        The policy as applied.
    candidates : sequence of str
        The builds to judge, in the order shown.
    won_before : DataFrame, optional
        The suites that the previous release won: candidate, baseline, suite, won_before (true).
    unmatched : sequence of str, optional
        Candidates of which the previous result says nothing; none of them passes.
    sweep : SweepPvalues, optional
        The adjusted p-values of their comparisons, where the family is a sweep of which they are a part.

    Returns
    -------
    dict of str to DataFrame
        ``cells``, ``suites``, ``baselines``, ``verdicts``, in the order of candidates, baselines, suites and KPIs.
    """
    cells = with_outcomes(with_significance(compare(samples, rules, candidates), rules, sweep), rules)
    suites = _with_previous(suite_outcomes(cells, rules), won_before)
    baselines = baseline_verdicts(suites, rules)
    verdicts = candidate_verdicts(baselines, unmatched)
    return {
        "cells": _with_reasons(cells).select(*TABLES["cells"]),
        "suites": _with_reasons(suites).select(*TABLES["suites"]),
        "baselines": _with_reasons(baselines),
        "verdicts": _with_reasons(verdicts),
    }
