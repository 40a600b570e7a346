"""Why a candidate got its verdict, and what a reader should know about the whole result, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fastgate.gates.reasons import MEANINGS
from fastgate.reports import words
from fastgate.reports.benchmark.facts import Candidate

if TYPE_CHECKING:
    from fastgate.gates.result import BenchmarkResult

__all__ = ["entry_notes", "notes", "verdict_line", "why"]

_SHOWN_FAULTS: Final = 5


def verdict_line(candidate: Candidate) -> str:
    """``beats 2 of 3 baselines``, and the suites lost where there are any."""
    text = f"beats {candidate.beaten} of {words.plural(len(candidate.baselines), 'baseline')}"
    if candidate.lost_suites:
        text += f", {words.plural(len(candidate.lost_suites), 'suite')} lost since the previous release"
    return text


def why(candidate: Candidate) -> list[str]:
    """The reasons of a verdict, one sentence each, with the suites and baselines they are about."""
    return [_sentence(code, candidate) for code in candidate.reasons]


def _sentence(code: str, candidate: Candidate) -> str:
    if code == "too_few_wins":
        short = [
            f"{row['wins']} of {row['required']} against {words.name(row['baseline'])}"
            for row in candidate.baselines
            if row["wins"] < row["required"]
        ]
        return f"too few suites won: {words.listing(short)}"
    if code == "lost_suite":
        lost = [
            f"{words.name(entry.suite)} (now a {entry.outcome} against {words.name(entry.baseline)})".replace(
                "a undefined", "undefined"
            )
            for row in candidate.grid.values()
            for entry in row.values()
            if entry.lost
        ]
        return f"won by the previous release, not won now: {words.listing(lost)}"
    where: dict[str, list[str]] = {}
    for suite, row in candidate.grid.items():
        for baseline, entry in row.items():
            if code in entry.reasons:
                where.setdefault(suite, []).append(baseline)
    if not where:
        return MEANINGS[code]
    everywhere = all(len(found) == len(candidate.baselines) for found in where.values())
    suites = [
        words.name(suite)
        if everywhere
        else f"{words.name(suite)} ({words.listing([words.name(baseline) for baseline in found], 3)})"
        for suite, found in where.items()
    ]
    return f"{MEANINGS[code]}: {words.listing(suites)}"


def entry_notes(entry: Any) -> list[str]:
    """What a suite's outcome does not say by itself, in a few characters each."""
    found = []
    if entry.lost:
        found.append("was won")
    for cell in entry.cells:
        if cell["role"] == "guard" and cell["guard"] != "holds":
            found.append(f"guard {words.name(cell['kpi'])} {cell['guard'].replace('_', ' ')}")
    if entry.outcome == "undefined" and not any(cell["guard"] == "undefined" for cell in entry.cells):
        found.append(words.short_reason(entry.reasons))
    return [note for note in found if note]


def notes(result: BenchmarkResult) -> list[str]:
    """What a reader should know about the figures: disagreeing tests, correction, missing values, faults."""
    return [
        note
        for note in (_on_tests(result), _on_correction(result), _on_missing(result), *_on_faults(result))
        if note
    ]


def _on_tests(result: BenchmarkResult) -> str:
    differ = result.cells.filter(pl.col("tests_disagree"))
    if differ.is_empty():
        return ""
    deciding = result.cells.filter(pl.col("role") == "decides").height
    welch = "Welch's test decides" if result.policy["test"] == "welch" else "the paired test decides"
    alpha = result.policy["alpha"]
    examples = [
        f"{words.name(row['suite'])} of {words.name(row['candidate'])} against {words.name(row['baseline'])} "
        f"(Welch {words.pvalue(row['welch_pvalue'], alpha)}, paired {words.pvalue(row['paired_pvalue'], alpha)})"
        for row in differ.head(2).iter_rows(named=True)
    ]
    only_paired = differ.filter(pl.col("paired_pvalue") < alpha).height
    return (
        f"Welch's and the paired test disagree about {words.count(differ.height)} of "
        f"{words.plural(deciding, 'deciding comparison')}; in {words.count(only_paired)} only the paired test is "
        f"significant. By the policy {welch}. {'First' if len(examples) > 1 else 'It is'}: {'; '.join(examples)}."
    )


def _on_correction(result: BenchmarkResult) -> str:
    policy = result.policy
    deciding = result.cells.filter(pl.col("role") == "decides")
    wins = deciding.filter(pl.col("outcome") == "win")
    method, family = policy["correction"]["method"], policy["correction"]["family"]
    over = "the whole sweep" if family == "sweep" else "each candidate's comparisons"
    if method != "none":
        return (
            f"p-values are adjusted ({words.CORRECTIONS[method]}, over {over}); "
            "the single test's own are in the saved result."
        )
    if wins.is_empty():
        return ""
    kept = wins.filter(pl.col("pvalue_adjusted") < policy["alpha"]).height
    return (
        f"p-values are not corrected for the number of comparisons; by Holm's correction over {over} "
        f"{words.count(kept)} of {words.plural(wins.height, 'win')} would remain."
    )


def _on_missing(result: BenchmarkResult) -> str:
    sides = [
        result.cells.select(
            pl.col(side).cast(pl.String).alias("build"),
            pl.col("suite", "kpi").cast(pl.String),
            pl.col(f"n_missing_{side}").alias("missing"),
        )
        for side in ("candidate", "baseline")
    ]
    # Each cell of a build stands beside every cell that it is compared with.
    by_build = (
        pl.concat(sides)
        .filter(pl.col("missing") > 0)
        .unique(["build", "suite", "kpi"], maintain_order=True)
        .group_by("build", maintain_order=True)
        .agg(pl.col("missing").sum())
        .sort("missing", descending=True, maintain_order=True)
    )
    if by_build.is_empty():
        return ""
    builds = [f"{words.name(build)} {words.count(missing)}" for build, missing in by_build.iter_rows()]
    share = result.policy["max_missing_share"]
    rule = "any makes a comparison undefined" if share == 0 else f"up to a share of {words.number(share)} is allowed"
    return f"Values missing: {words.listing(builds)}. By the policy {rule}."


def _on_faults(result: BenchmarkResult) -> list[str]:
    if result.faults.is_empty():
        return []
    kinds = result.faults.group_by("fault", maintain_order=True).len().iter_rows()
    total = ", ".join(f"{words.count(n)} {MEANINGS.get(fault, fault)}" for fault, n in kinds)
    lines = [f"Faults of the data, case by case: {total}."]
    for row in result.faults.head(_SHOWN_FAULTS).iter_rows(named=True):
        place = [words.name(row[key]) for key in ("build", "suite", "kpi", "case") if row[key] is not None]
        lines.append(f"  {' / '.join(place)}: {MEANINGS.get(row['fault'], row['fault'])}")
    if result.faults.height > _SHOWN_FAULTS:
        lines.append(f"  and {words.count(result.faults.height - _SHOWN_FAULTS)} more; -o writes them all.")
    return lines
