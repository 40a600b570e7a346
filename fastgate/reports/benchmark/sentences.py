"""Why a candidate got its verdict, and what a reader should know about the whole result, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from fastgate.gates.reasons import FAULTS, MEANINGS
from fastgate.reports import words
from fastgate.reports.benchmark.facts import Candidate, Entry

if TYPE_CHECKING:
    from fastgate.reports.benchmark.facts import Anywhere

__all__ = ["confidence_line", "entry_notes", "in_order", "notes", "verdict_line", "why"]

Show: TypeAlias = Callable[[str], str]

_SHOWN_FAULTS: Final = 5


def verdict_line(candidate: Candidate) -> str:
    """Against how many baselines a candidate has wins enough, and what else there is against it."""
    text = f"enough wins against {candidate.beaten} of {words.plural(len(candidate.baselines), 'baseline')}"
    if set(candidate.reasons) & set(FAULTS):
        text += ", faults in the data"
    if candidate.lost_suites:
        text += f", {words.plural(len(candidate.lost_suites), 'suite')} lost since the previous release"
    return text


_HAPPENS: Final = {"pass": "passes", "review": "needs review", "block": "is blocked"}


def confidence_line(candidate: Candidate) -> str:
    """``passes in 97 %, is blocked in 3 % of 500 resamplings of the cases``; empty where there were none."""
    if candidate.replicates is None:
        return ""
    shares = [f"{_HAPPENS[kind]} in {words.share(share)}" for kind, share in candidate.shares.items()]
    return f"{', '.join(shares)} of {words.plural(candidate.replicates, 'resampling')} of the cases"


def why(candidate: Candidate, policy: dict[str, Any], show: Show = words.name) -> list[str]:
    """The reasons of a verdict, one sentence each, with the suites and baselines they are about.

    Parameters
    ----------
    candidate : Candidate
    policy : dict
        The result's policy.
    show : callable, optional
        From a name in the data to what stands for it in the report.
    """
    sentences = (_sentence(code, candidate, policy, show) for code in in_order(candidate.reasons))
    return [sentence for sentence in sentences if sentence]


def in_order(codes: Sequence[str]) -> list[str]:
    """Reason codes, what the rule says of the whole before what is said of single suites."""
    return sorted(codes, key=lambda code: code not in ("too_few_wins", "lost_suite", "no_previous_result"))


def _sentence(code: str, candidate: Candidate, policy: dict[str, Any], show: Show) -> str:
    if code == "too_few_wins":
        short = [
            f"{row['wins']} of {row['required']} required against {show(row['baseline'])}"
            for row in candidate.baselines
            if row["wins"] < row["required"]
        ]
        return f"too few suites won: {words.listing(short)}"
    if code == "lost_suite":
        return f"won by the previous release, not won now: {words.listing(_lost(candidate, show))}"
    if code == "no_previous_result":
        return MEANINGS[code]
    where: dict[str, list[str]] = {}
    for entry in candidate.entries():
        if code.startswith("guard_"):
            guards = entry.held_back_by(policy["suites"][entry.suite]["decided_by"])
            concerned = any(f"guard_{cell['guard']}" == code for cell in guards)
        else:
            concerned = code in entry.reasons
        if concerned:
            where.setdefault(entry.suite, []).append(entry.baseline)
    if not where:  # a guard that failed where its suite was not won anyway
        return ""
    everywhere = all(len(found) == len(candidate.baselines) for found in where.values())
    suites = [
        show(suite)
        if everywhere
        else f"{show(suite)} ({words.listing([show(baseline) for baseline in found], 3)})"
        for suite, found in where.items()
    ]
    return f"{MEANINGS[code]}: {words.listing(suites)}"


def _lost(candidate: Candidate, show: Show) -> list[str]:
    """``prose (a tie against old, plain)``: the suites lost, and to whom."""
    found: dict[str, dict[str, list[str]]] = {}
    for entry in candidate.entries():
        if entry.lost:
            found.setdefault(entry.suite, {}).setdefault(entry.outcome, []).append(show(entry.baseline))
    return [
        f"{show(suite)} ({'; '.join(f'{_ARTICLE[how]} against {words.listing(who)}' for how, who in outcomes.items())})"
        for suite, outcomes in found.items()
    ]


_ARTICLE: Final = {"win": "a win", "loss": "a loss", "tie": "a tie", "undefined": "undefined"}


def entry_notes(entry: Entry, policy: dict[str, Any], show: Show = words.name) -> list[str]:
    """What a suite's outcome does not say by itself, in a few characters each."""
    found = ["was won"] if entry.lost else []
    guards = entry.held_back_by(policy["suites"][entry.suite]["decided_by"])
    found += [f"guard {show(cell['kpi'])} {cell['guard'].replace('_', ' ')}" for cell in guards]
    if entry.outcome == "undefined":
        found.append(words.short_reason([code for code in entry.reasons if not code.startswith("guard_")]))
    return [note for note in found if note]


def notes(result: Anywhere, show: Show = words.name) -> list[str]:
    """What a reader should know about the figures: disagreeing tests, correction, missing values, faults.

    A sentence that begins with two blanks belongs to the one above it. `show` is as in `why`.
    """
    return [
        note
        for note in (
            _on_replicates(result),
            _on_tests(result, show),
            _on_correction(result),
            _on_ignored(result, show),
            _on_missing(result, show),
            *_on_faults(result, show),
        )
        if note
    ]


def _on_replicates(result: Anywhere) -> str:
    asked = result.evidence.get("replicates")
    if not asked:
        return ""
    error = words.number(50 / asked["n"] ** 0.5, 2)
    return (
        f"The shares of {words.plural(asked['n'], 'resampling')} (seed {asked['seed']}) say how the verdict varies "
        f"with the cases that happen to be in the suites, within {error} percentage points (a standard error at most). "
        "They are not the probability that a build is better."
    )


def _on_tests(result: Anywhere, show: Show) -> str:
    columns = ("candidate", "baseline", "suite", "welch_pvalue", "paired_pvalue")
    differ = result.scan("cells").filter(pl.col("tests_disagree")).select(columns).collect()
    if differ.is_empty():
        return ""
    deciding = result.scan("cells").select((pl.col("role") == "decides").sum()).collect().item()
    welch = "Welch's test decides" if result.policy["test"] == "welch" else "the paired test decides"
    alpha = result.policy["alpha"]
    examples = [
        f"{show(row['suite'])} of {show(row['candidate'])} against {show(row['baseline'])} "
        f"(Welch {words.pvalue(row['welch_pvalue'], alpha)}, paired {words.pvalue(row['paired_pvalue'], alpha)})"
        for row in differ.head(2).iter_rows(named=True)
    ]
    return (
        f"Welch's and the paired test disagree about {words.count(differ.height)} of "
        f"{words.plural(deciding, 'deciding comparison')}: {_significant(differ, alpha)}. By the policy {welch}. "
        f"{'First' if len(examples) > 1 else 'It is'}: {'; '.join(examples)}."
    )


def _significant(differ: pl.DataFrame, alpha: float) -> str:
    """By which of the tests the comparisons are significant."""
    paired = differ.filter(pl.col("paired_pvalue") < alpha).height
    welch = differ.height - paired
    if not welch:
        return "only the paired one finds them significant"
    if not paired:
        return "only Welch's finds them significant"
    return (
        f"{words.count(paired)} are significant by the paired one only, {words.count(welch)} by Welch's only"
    )


def _on_correction(result: Anywhere) -> str:
    policy = result.policy
    if policy["test"] == "bootstrap":
        return ""
    method, family = policy["correction"]["method"], policy["correction"]["family"]
    over = "the whole sweep" if family == "sweep" else "each candidate's comparisons"
    if method != "none":
        return (
            f"p-values are adjusted ({words.CORRECTIONS[method]}, over {over}); "
            "the single test's own are in the saved result."
        )
    won = (pl.col("role") == "decides") & (pl.col("outcome") == "win")
    lasting = won & (pl.col("pvalue_adjusted") < policy["alpha"])
    wins, kept = result.scan("cells").select(won.sum().alias("won"), lasting.sum()).collect().row(0)
    if not wins:
        return ""
    return (
        f"p-values are not corrected for the number of comparisons; by Holm's correction over {over} "
        f"{words.count(kept)} of the {words.plural(wins, 'comparison')} won would remain so."
    )


def _on_missing(result: Anywhere, show: Show) -> str:
    allowed = result.policy["max_missing_share"]
    if allowed == 0:
        return ""  # each is a fault, listed below
    sides = [
        result.scan("cells")
        .filter(pl.col(f"n_missing_{side}") > 0)
        .select(
            pl.col(side).cast(pl.String).alias("build"),
            pl.col("suite", "kpi").cast(pl.String),
            pl.col(f"n_missing_{side}").alias("missing"),
        )
        for side in ("candidate", "baseline")
    ]
    # Each cell of a build stands beside every cell that it is compared with.
    by_build = (
        pl.concat(sides)
        .unique(["build", "suite", "kpi"], maintain_order=True)
        .group_by("build", maintain_order=True)
        .agg(pl.col("missing").sum())
        .sort("missing", descending=True, maintain_order=True)
        .collect()
    )
    if by_build.is_empty():
        return ""
    builds = [f"{show(build)} {words.count(missing)}" for build, missing in by_build.iter_rows()]
    return (
        f"Values missing, over all suites and KPIs: {words.listing(builds)}. "
        f"The policy allows a share of {words.number(allowed)} in a comparison."
    )


_FAULT_WORDS: Final = {
    "duplicate_case": "there twice",
    "missing_value": "no value",
    "nonfinite": "infinite value",
    "missing_case": "not there",
}


def _on_faults(result: Anywhere, show: Show) -> list[str]:
    keys = ["build", "suite", "case", "fault"]
    # Of a sweep each part has the baselines' faults.
    faults = result.scan("faults").unique(maintain_order=True)
    cases = (
        faults.group_by(keys, maintain_order=True)
        .agg(pl.col("kpi", "against").unique(maintain_order=True))
        .collect()
    )
    if cases.is_empty():
        return []
    by_build = (
        cases.group_by("build", maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    )
    builds = [f"{show(build)} {words.count(n)}" for build, n in by_build.iter_rows()]
    lines = [f"Cases at fault: {words.count(cases.height)} ({words.listing(builds)}), such as"]
    for build, suite, case, fault, kpis, against in cases.head(_SHOWN_FAULTS).iter_rows():
        others = [show(other) for other in against if other]
        other = f", but in {words.listing(others, 3)}" if others else ""
        of = words.listing([show(kpi) for kpi in kpis], 4)
        lines.append(
            f"  {show(build)}, suite {show(suite)}, case {show(case)}: {_FAULT_WORDS.get(fault, fault)} ({of}){other}"
        )
    return lines


def _on_ignored(result: Anywhere, show: Show) -> str:
    ignored = result.evidence.get("ignored") or {}
    parts = [f"{kind} {words.listing([show(name) for name in names])}" for kind, names in ignored.items()]
    return f"Not judged, since the policy does not name them: {'; '.join(parts)}." if parts else ""
