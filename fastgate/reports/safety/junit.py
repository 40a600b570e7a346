"""The safety gate's result as JUnit test cases: one per candidate and suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastgate.reports.junit import Case, Suite, junit_xml, stated_properties
from fastgate.reports.safety import facts
from fastgate.reports.safety.sentences import (
    beside_the_rule,
    difference_sentence,
    outcome_words,
    rule_sentence,
)

if TYPE_CHECKING:
    from fastgate.gates.safety.result import SafetyResult

__all__ = ["junit"]


def junit(result: SafetyResult) -> bytes:
    """The result as JUnit XML.

    Returns
    -------
    bytes
        A test suite per candidate, with a case for each suite that was replayed: a regression is a failure, a
        refusal an error. The text holds the figures, and the fields on account of which runs may not be compared.
    """
    properties = [*stated_properties(result), ("baseline", result.baseline)]
    suites = [
        Suite(candidate.name, [_case(row, candidate, result.policy) for row in _in_order(candidate)])
        for candidate in facts.candidates(result, list(result))
    ]
    return junit_xml(f"fastgate safety: {result.policy['name']}", suites, properties)


def _in_order(candidate: facts.Candidate) -> list[dict[str, Any]]:
    """The suites by name, so that a suite's place does not depend on how it went."""
    return sorted(candidate.suites, key=lambda row: str(row["suite"]))


def _case(row: dict[str, Any], candidate: facts.Candidate, policy: dict[str, Any]) -> Case:
    message = f"{outcome_words(row)}; {rule_sentence(row)}"
    differing = [each for each in candidate.differences if row["suite"] in each.suites]
    lines = [
        message,
        *(difference_sentence(each, len(each.suites), str) for each in differing),
        *beside_the_rule(row, policy, str),
    ]
    return Case(row["suite"], row["verdict"], message if row["verdict"] != "pass" else "", "\n".join(lines))
