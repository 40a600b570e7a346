"""Why one candidate got its verdict from the safety gate, suite by suite, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from fastgate.reports import words
from fastgate.reports.console import bullets, indented, rendered
from fastgate.reports.overview import verdict_text
from fastgate.reports.safety import facts
from fastgate.reports.safety.sentences import beside_the_rule, outcome_words, rule_sentence, verdict_line, why

if TYPE_CHECKING:
    from fastgate.gates.safety.result import SafetyResult

__all__ = ["explain", "explanation_report"]


def explain(result: SafetyResult, candidate: str) -> dict[str, Any]:
    """Why one candidate got its verdict, as plain data."""
    return result.explain(candidate)


def explanation_report(result: SafetyResult, explanation: Mapping[str, Any], stream: IO[str]) -> str:
    """An explanation as text for `stream`.

    Parameters
    ----------
    result : SafetyResult
        The result it is taken from.
    explanation : mapping
        As `SafetyResult.explain` returns it.
    stream : text file
        Where the text will be written: gives width, colours and encoding.
    """
    (candidate,) = facts.candidates(result, [explanation["candidate"]])
    policy = result.policy
    parts: list[RenderableType] = [
        Text.assemble(
            verdict_text(candidate.verdict),
            " ",
            (words.name(candidate.name), "bold"),
            f"  against {words.name(candidate.baseline)}, {verdict_line(candidate)}",
        ),
        Text(f"policy {words.name(policy['name'])}; {facts.floor_words(policy, _levels(candidate))}"),
    ]
    reasons = why(candidate)
    if reasons:
        parts += ["", Text("Why", style="bold"), indented(bullets(reasons))]
    parts += ["", Text("What would change it", style="bold"), indented(bullets(_changes(candidate)))]
    for row in candidate.suites:
        parts += ["", *_suite(row, policy)]
    return rendered(parts, stream)


def _levels(candidate: facts.Candidate) -> list[float]:
    return [row["confidence_level"] for row in candidate.suites[:1]]


def _suite(row: dict[str, Any], policy: dict[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((words.name(row["suite"]), "bold"), f": {outcome_words(row)}")
    yield indented(bullets([rule_sentence(row), *beside_the_rule(row, policy)]))


def _changes(candidate: facts.Candidate) -> list[str]:
    """What it takes for another verdict, and what to do."""
    regressed = [row for row in candidate.suites if row["outcome"] == "regression"]
    found = [f"{words.name(row['suite'])}: {_recovery(row)}" for row in regressed]
    codes = set(candidate.row["reasons"])
    if codes & {"differing_field", "mixed_manifest"}:
        fields = list(dict.fromkeys(words.name(each.field) for each in candidate.differences))
        found.append(
            f"a run under the baseline's conditions, or a baseline under the candidate's: {words.listing(fields)}"
        )
    if codes & {"missing_field", "missing_manifest"}:
        found.append(
            "manifests that state what is missing (--manifest), or a policy that does not require it"
        )
    if "unpaired_trials" in codes:
        found.append(
            "the same trials of each case on both sides; or, where the harness stops at the first failure or trials "
            'are not replayed, trial_sets = "first-failure" or "any" in the policy'
        )
    if codes & {"duplicate_case", "unpaired_cases", "missing_cell", "too_many_errors"}:
        found.append(
            "whole data: every case once, on both sides, with an outcome; the figures below name what is not"
        )
    if codes & {"no_cases", "n_lt_min"}:
        found.append("more cases with an outcome in both runs")
    if "no_noise_floor" in codes:
        found.append('another method in the policy: wilson has a width at every rate (method = "wilson")')
    if regressed:
        found.append("open a safety incident; a rerun of the same build that passes is no repair")
    if not found:
        least = min(
            (row for row in candidate.suites if row["delta"] is not None and row["noise_floor"]),
            key=lambda row: row["delta"] / row["noise_floor"],
            default=None,
        )
        if least is None:
            return ["a suite to be judged on"]
        left = 100 * (least["delta"] + least["noise_floor"])
        found.append(
            f"a pass rate lower by more than {words.number(left, 3)} points on {words.name(least['suite'])}, "
            "the suite with the least to spare"
        )
        if candidate.row["improvements"]:
            found.append("improved suites ask for a new baseline once this build is released")
    return found


def _recovery(row: Mapping[str, Any]) -> str:
    """How many more cases have to pass."""
    short = -row["delta"] - row["noise_floor"]
    cases = short * row["n_candidate"]
    if row["passes_candidate"] is not None and row["passes_candidate"] % 1 == 0:
        needed = max(int(-(-cases // 1)), 1)
        return (
            f"{words.plural(needed, 'more pass', 'more passes')} of {words.count(row['n_candidate'])} "
            "would have been within the noise floor"
        )
    return (
        f"a pass rate higher by {words.number(100 * short, 3)} points would have been within the noise floor"
    )
