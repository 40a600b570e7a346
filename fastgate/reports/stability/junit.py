"""The stability gate's result as JUnit test cases: one per build and kind, one for the posterior, one for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastgate.reports import words
from fastgate.reports.junit import Case, Suite, junit_xml, stated_properties, together
from fastgate.reports.stability import facts
from fastgate.reports.stability.sentences import (
    flip_sentences,
    holds,
    kind_sentence,
    kind_verdict,
    short_reasons,
    verdict_line,
    why,
    width_sentence,
    width_verdict,
)

if TYPE_CHECKING:
    from fastgate.gates.stability.result import StabilityResult

__all__ = ["junit"]


def junit(result: StabilityResult) -> bytes:
    """The result as JUnit XML.

    Returns
    -------
    bytes
        A test suite per build. Its cases are the kinds of perturbation, the width of the posterior, and a last
        one, "all kinds together", which fails only where the build's verdict is worse than that of each case.
    """
    properties = [*stated_properties(result), ("profile", result.policy.get("profile") or "")]
    suites = [_suite(build, result.policy) for build in facts.builds(result, list(result))]
    return junit_xml(f"fastgate stability: {result.policy['name']}", suites, properties)


def _suite(build: facts.Build, policy: dict[str, Any]) -> Suite:
    cases = [_kind(kind) for kind in build.kinds]
    width = width_sentence(build, policy)
    lines = [width, *(_alternative(row) for row in build.alternatives)]
    verdict = width_verdict(build)
    cases.append(Case("posterior is narrow", verdict, width if verdict != "pass" else "", "\n".join(lines)))
    reasons = [verdict_line(build), *why(build, str)]
    last = together("all kinds together", build.verdict, cases, reasons)
    return Suite(
        build.name, [*cases, last._replace(text="\n".join([last.text, *flip_sentences(build, str)]))]
    )


def _kind(kind: dict[str, Any]) -> Case:
    message = f"{holds(kind)}; {kind_sentence(kind)}"
    verdict = kind_verdict(kind)
    return Case(f"survives {kind['kind']}", verdict, message if verdict != "pass" else "", message)


def _alternative(row: dict[str, Any]) -> str:
    status = "" if row["status"] == "ok" else f" ({short_reasons([row['status']])[0]})"
    return (
        f"{row['alternative']}: {words.number(row['estimate'], 3)}, {words.number(row['ci_low'], 3)} to "
        f"{words.number(row['ci_high'], 3)}, width {words.number(row['width'], 3)}{status}"
    )
