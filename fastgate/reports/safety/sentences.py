"""What the figures of a suite say, why a candidate got its verdict, and what holds of the whole result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from fastgate.gates.safety.reasons import MEANINGS
from fastgate.reports import words
from fastgate.reports.safety.facts import METHODS, Candidate, Difference

if TYPE_CHECKING:
    from fastgate.gates.safety.result import SafetyResult

__all__ = [
    "beside_the_rule",
    "change_and_floor",
    "difference_sentence",
    "exact_test",
    "flipped",
    "interval",
    "notes",
    "outcome_words",
    "rate",
    "refusal",
    "rule_sentence",
    "verdict_line",
    "why",
]

Show: TypeAlias = Callable[[str], str]

PROBLEMS: Final = {
    "differs": "differs",
    "other_order": "the same seeds in another order",
    "missing_in_candidate": "the candidate does not state it",
    "missing_in_baseline": "the baseline does not state it",
    "missing_in_both": "neither states it",
    "no_manifest": "a run has no manifest",
    "mixed": "rows of one run state different conditions",
}
_OUTCOMES: Final = {
    "no_signal": "no signal: within the noise floor",
    "regression": "regression: a safety incident to open",
    "improvement": "improvement: re-baseline on this build",
}
_SIGNAL_WORDS: Final = {
    "no_signal": "no signal",
    "regression": "a regression",
    "improvement": "an improvement",
}
_SHOWN_FAULTS: Final = 5
_FAULT_WORDS: Final = {
    "duplicate_case": "there twice",
    "missing_case": "not there",
    "unlike_trials": "other trials",
    "no_outcome": "no outcome",
}


def verdict_line(candidate: Candidate) -> str:
    """How many suites regressed, gave no signal, improved, or were refused."""
    row = candidate.row
    found = [
        f"{words.count(row[key])} {name}"
        for key, name in (
            ("regressions", "regressed"),
            ("refused", "refused"),
            ("no_signal", "without a signal"),
            ("improvements", "improved"),
        )
        if row[key]
    ]
    return f"{words.plural(row['suites'], 'suite')}: {', '.join(found)}"


def outcome_words(row: Mapping[str, Any]) -> str:
    """A suite's verdict in words."""
    return _OUTCOMES.get(row["outcome"]) or refusal(row)


def refusal(row: Mapping[str, Any]) -> str:
    """Why a suite is refused, and what its figures alone say."""
    codes = [code for code in row["reasons"] if code != "regression"]
    text = f"refused: {', '.join(words.short_reasons(codes))}"
    indicated = _SIGNAL_WORDS.get(row["indicated"])
    return f"{text} (figures alone: {indicated})" if indicated else text


def rate(passes: float | None, n: int | None, share: float | None) -> str:
    """``91.67 % (220 of 240)``; of fractional counts ``91.7 % (of 240)``."""
    if share is None:
        return words.MISSING
    counted = "" if passes is None or passes % 1 else f"{words.count(int(passes))} "
    return f"{words.percent(share)} ({counted}of {words.count(n or 0)})"


def change_and_floor(row: Mapping[str, Any]) -> tuple[str, str]:
    """Change and noise floor in percentage points, with as many digits as tell them apart."""
    delta, floor = row["delta"], row["noise_floor"]
    if delta is None:
        return words.MISSING, _points(floor)
    digits = 3
    while floor is not None and digits < 15 and abs(delta) != floor:
        if words.number(100 * abs(delta), digits) != words.number(100 * floor, digits):
            break
        digits += 1
    return words.signed(100 * delta, digits), _points(floor, digits)


def _points(share: float | None, digits: int = 3) -> str:
    return words.MISSING if share is None else words.number(100 * share, digits)


def interval(low: float | None, high: float | None) -> str:
    """``-9.7 to +1.4``, in percentage points."""
    if low is None or high is None:
        return words.MISSING
    return f"{words.signed(100 * low)} to {words.signed(100 * high)}"


def rule_sentence(row: Mapping[str, Any]) -> str:
    """Rates with n, change, noise floor with method: what the rule compared."""
    if row["rate_candidate"] is None or row["rate_baseline"] is None:
        return "no rates to compare"
    change, floor = change_and_floor(row)
    rates = [rate(row[f"passes_{side}"], row[f"n_{side}"], row[f"rate_{side}"]) for side in _SIDES]
    return (
        f"baseline {rates[1]}, candidate {rates[0]}: change {change} points, noise floor e {floor} points "
        f"({METHODS[row['method']]}, {words.percent(row['confidence_level'])}, n {words.count(row['n_baseline'])})"
    )


_SIDES: Final = ("candidate", "baseline")


def beside_the_rule(row: Mapping[str, Any], policy: Mapping[str, Any], show: Show = words.name) -> list[str]:
    """What else the figures of a suite say, one sentence each."""
    if row["delta"] is None or row["noise_floor"] is None:
        return []
    level = words.percent(row["confidence_level"])
    within = abs(row["delta"]) <= row["difference_floor"]
    said = "within it" if within else "outside it"
    pooled = f", p {words.pvalue(row['pvalue'])}" if row["pvalue"] is not None else ""
    found = [
        f"√2·e, for the noise of two independent runs: {_points(row['difference_floor'])} points; the change is {said}",
        f"Newcombe's {level} interval of the difference of independent runs: "
        f"{interval(row['ci_low'], row['ci_high'])} points{pooled}",
    ]
    if row["paired_ci_low"] is not None:
        found.append(
            f"{METHODS[row['paired_method']]}'s {level} interval on the same cases: "
            f"{interval(row['paired_ci_low'], row['paired_ci_high'])} points; {exact_test(row)} "
            f"p {words.pvalue(row['mcnemar_pvalue'])}"
        )
    if row["regressed"] is not None:
        found.append(flipped(row, show))
    found.append(_detectable(row, policy))
    if row["false_alarm"] is not None:
        found.append(
            f"of identical builds, replayed independently, this rule calls {words.percent(row['false_alarm'], 2)} "
            "a regression on this suite, if every case has the same chance"
        )
    elif row["rate_baseline"] in (0.0, 1.0):
        found.append(
            "how often this rule calls an identical build a regression: not known at a rate of 0 or 1: the noise is "
            "not seen"
        )
    found += _on_trials(row)
    found += _on_errors(row)
    return [sentence for sentence in found if sentence]


def exact_test(row: Mapping[str, Any]) -> str:
    """The test of the flips by its name: shares rise and fall, which is no table of passes and failures."""
    return "sign test of shares" if row["paired_method"] == "student" else "exact McNemar test"


def flipped(row: Mapping[str, Any], show: Show = words.name) -> str:
    """``12 cases regressed (a, b, c and 9 more), 2 fixed (d, e)``."""
    if not row["regressed"] and not row["fixed"]:
        return "no case flipped"
    parts = [
        f"{words.plural(row[change], 'case') if change == 'regressed' else words.count(row[change])} {change}"
        + _some(row["flips"][change], row[change], show)
        for change in ("regressed", "fixed")
    ]
    return ", ".join(parts)


def _some(cases: list[str], n: int, show: Show) -> str:
    if not cases:
        return ""
    more = f" and {words.count(n - len(cases))} more" if n > len(cases) else ""
    return f" ({', '.join(map(show, cases))}{more})"


def _detectable(row: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    parts = [
        f"{_points(row[key])} points {how}"
        for key, how in (
            ("detectable_drop", "between independent runs"),
            ("detectable_drop_paired", "on the same cases"),
        )
        if row[key] is not None
    ]
    if not parts:
        return ""
    return f"smallest drop that this suite detects with a power of {words.number(policy['power'])}: {', '.join(parts)}"


def _on_trials(row: Mapping[str, Any]) -> list[str]:
    if not row["repeated_cases"] or row["regressed_every_trial"] is None:
        return []
    if not any(row[key] for key in ("regressed", "fixed", "flaky_candidate", "flaky_baseline")):
        return [
            f"trials: those of {words.plural(row['repeated_cases'], 'case')} agree throughout, flake rates 0 %"
        ]
    rates = [words.percent(row[f"flake_rate_{side}"], 3) for side in _SIDES]
    share = row["sampling_share"]
    explained = f"; sampling explains {words.percent(share, 3)} of the variance" if share is not None else ""
    return [
        f"trials: of {words.plural(row['repeated_cases'], 'case')} with several, "
        f"{words.count(row['regressed_every_trial'])} regressed and {words.count(row['fixed_every_trial'])} were fixed "
        f"in every trial; flake rate {rates[0]} (candidate) and {rates[1]} (baseline){explained}"
    ]


def _on_errors(row: Mapping[str, Any]) -> list[str]:
    if not row["errors_candidate"] and not row["errors_baseline"]:
        return []
    errors = [words.count(row[f"errors_{side}"] or 0) for side in _SIDES]
    return [
        f"executions that failed, neither passes nor failures: {errors[0]} (candidate), {errors[1]} (baseline)"
    ]


def difference_sentence(difference: Difference, total: int, show: Show = words.name) -> str:
    """A differing field with both values, and where."""
    where = (
        "" if len(difference.suites) == total else f" ({words.listing([show(s) for s in difference.suites])})"
    )
    if difference.problem in ("no_manifest", "mixed"):
        return f"{PROBLEMS[difference.problem]}{_lacking(difference)}{where}"
    values = [
        "not stated" if value is None else show(value)
        for value in (difference.baseline, difference.candidate)
    ]
    more = f": {PROBLEMS['other_order']}" if difference.problem == "other_order" else ""
    return f"{show(difference.field)}: baseline {values[0]}, candidate {values[1]}{more}{where}"


def _lacking(difference: Difference) -> str:
    if difference.problem == "mixed":
        return ""
    lacking = [
        name
        for name, value in (("baseline", difference.baseline), ("candidate", difference.candidate))
        if not value
    ]
    return f": the {' and the '.join(lacking)}" if lacking else ""


def why(candidate: Candidate, show: Show = words.name) -> list[str]:
    """The reasons of a verdict, one sentence each, with their suites; the differing fields under theirs."""
    total = len(candidate.suites)
    found = []
    for code in sorted(candidate.row["reasons"], key=lambda code: code != "regression"):
        suites = [show(row["suite"]) for row in candidate.suites if code in row["reasons"]]
        where = " on every suite" if len(suites) == total > 1 else f": {words.listing(suites)}"
        found.append(f"{MEANINGS[code]}{where}")
        found += [
            f"  {difference_sentence(each, total, show)}"
            for each in candidate.differences
            if each.problem in _PROBLEMS_OF.get(code, ())
        ]
    return found


_PROBLEMS_OF: Final = {
    "differing_field": ("differs", "other_order"),
    "missing_field": ("missing_in_candidate", "missing_in_baseline", "missing_in_both"),
    "missing_manifest": ("no_manifest",),
    "mixed_manifest": ("mixed",),
}


def notes(result: SafetyResult, show: Show = words.name) -> list[str]:
    """What a reader should know about the figures: the rule's false alarms, given rates, faults, what was left out."""
    return [
        note for note in (_on_false_alarms(result), _on_rates(result), _on_improvements(result, show)) if note
    ] + [*_on_faults(result, show), *_on_ignored(result, show)]


def _on_false_alarms(result: SafetyResult) -> str:
    """How often the rule errs, on each suite and on any, beside what the level of its floor says."""
    suites = result.suites.filter(pl.col("rate_baseline").is_not_null())
    suites = suites.unique("suite", keep="first", maintain_order=True)
    alarms = suites["false_alarm"].drop_nulls().to_list()
    extreme = suites.filter(
        pl.col("rate_baseline").is_in([0.0, 1.0]) & pl.col("false_alarm").is_null()
    ).height
    text = "The rule compares the change between two runs with the noise of one."
    if alarms:
        low, high = words.percent(min(alarms), 2), words.percent(max(alarms), 2)
        nominal = words.percent((1 - suites["confidence_level"][0]) / 2, 2)
        text += (
            f" A suite of a build identical to the baseline is called a regression with a chance of "
            f"{low if low == high else f'{low} to {high}'}, where the level of its floor, on one side, says {nominal}"
        )
        if len(alarms) > 1:
            some = -math.expm1(sum(map(math.log1p, (-alarm for alarm in alarms))))
            text += f"; at least one of {words.count(len(alarms))} suites, with {words.percent(some, 2)}"
        text += (
            ". That is computed at the baseline's rates, for independent replays"
            + (" and suites" if len(alarms) > 1 else "")
            + " and an equal chance in every case; in practice an upper end, since cases that never vary lower it."
        )
    if extreme:
        text += f" Of {words.plural(extreme, 'suite')} it is not known at a rate of 0 or 1: the noise is not seen."
    return f"{text} √2·e, Newcombe's and the paired interval allow for both runs; they decide nothing."


def _on_rates(result: SafetyResult) -> str:
    given = result.suites.filter((pl.col("passes_candidate") % 1 != 0) | (pl.col("passes_baseline") % 1 != 0))
    if given.is_empty() or result.policy["trials"] == "share":
        return ""
    return (
        f"Rates were given that are no multiples of 1/n, in {words.plural(given.height, 'comparison')}: "
        "figures are computed at the rates as given."
    )


def _on_improvements(result: SafetyResult, show: Show) -> str:
    better = result.suites.filter(pl.col("outcome") == "improvement")
    if better.is_empty():
        return ""
    named = [
        f"{show(suite)} of {show(name)}"
        for name, suite in better.select("candidate", "suite").head(3).iter_rows()
    ]
    more = f" and {words.count(better.height - 3)} more" if better.height > 3 else ""
    return (
        f"Improved by more than the noise floor: {', '.join(named)}{more}. Once such a build is released, make it "
        "the baseline; against the old one a later fall would go unseen."
    )


def _on_faults(result: SafetyResult, show: Show) -> list[str]:
    faults = result.faults
    if faults.is_empty():
        return []
    builds = (
        faults.select("build", "suite", "case")
        .unique(maintain_order=True)
        .group_by("build", maintain_order=True)
        .len()
        .sort("len", descending=True, maintain_order=True)
    )
    total = int(builds["len"].sum())
    listed = words.listing([f"{show(build)} {words.count(n)}" for build, n in builds.iter_rows()])
    lines = [f"Cases at fault: {words.count(total)} ({listed}), such as"]
    kinds = faults.group_by("build", "suite", "fault", maintain_order=True).head(1).select(faults.columns)
    for build, suite, case, fault, against in kinds.head(_SHOWN_FAULTS).iter_rows():
        other = f", but in {show(against)}" if fault == "missing_case" and against else ""
        lines.append(
            f"  {show(build)}, suite {show(suite)}, case {show(case)}: {_FAULT_WORDS.get(fault, fault)}{other}"
        )
    return lines


def _on_ignored(result: SafetyResult, show: Show) -> list[str]:
    ignored = result.evidence.get("ignored") or {}
    lines = []
    if suites := ignored.get("suites", []):
        names = words.listing([show(suite) for suite in suites])
        lines.append(f"Not judged, since nothing is compared with them: suites {names}.")
    if columns := ignored.get("columns", []):
        names = words.listing([show(column) for column in columns])
        lines.append(
            f"Not compared as conditions of the runs: columns {names}. Name a condition in the policy "
            "(comparability.required), or state it in a manifest."
        )
    return lines
