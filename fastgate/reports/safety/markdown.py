"""The safety gate's result as one Markdown comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from fastgate.reports import words
from fastgate.reports.comment import Detail, Layout, bullets, comment
from fastgate.reports.markdown import LIMIT, code, html_code, table
from fastgate.reports.safety import facts
from fastgate.reports.safety.sentences import (
    beside_the_rule,
    change_and_floor,
    notes,
    outcome_words,
    rate,
    verdict_line,
    why,
)

if TYPE_CHECKING:
    from fastgate.gates.safety.result import SafetyResult

__all__ = ["markdown"]

_HEADINGS: Final = ("candidate", "verdict", "regressed", "refused", "no signal", "improved", "because of")
_SUITE_HEADINGS: Final = ("suite", "baseline", "candidate", "change, points", "e, points", "outcome")
# A regression is an incident: it is shown before anything else.
_DETAILED_FIRST: Final = ("block", "refused", "review", "pass")


def markdown(result: SafetyResult, limit: int = LIMIT) -> str:
    """The result as Markdown.

    Parameters
    ----------
    result : SafetyResult
    limit : int, optional
        The most characters.

    Returns
    -------
    str
        Begins with `MARKER`. Over the limit first what is beside the rule is left out of single candidates,
        then their suites, then rows of the table of candidates; the text says what is missing.
    """
    lines = facts.headline(result)
    layout = Layout(
        noun="candidate",
        rule=f"Against {code(result.baseline)}, no pass rate may fall by more than {lines[2]}.",
        headings=_HEADINGS,
        right=[2, 3, 4, 5],
        row_of=_row,
        without_full="the figures beside the rule",
        without_brief="the suites",
    )

    def details(names: Sequence[str]) -> Iterator[Detail]:
        for candidate in facts.candidates(result, names):
            title = f"{html_code(candidate.name)}: <b>{candidate.verdict}</b>, {verdict_line(candidate)}"
            brief = _brief(candidate)
            yield Detail(title, brief, f"{brief}{_full(candidate, result.policy)}")

    ranked = facts.ranked(result)
    return comment(result, layout, ranked, details, _DETAILED_FIRST, notes(result, code), limit)


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    reasons = words.short_reasons(row["reasons"])
    every = len(row["worst_suites"]) == row["suites"] > 1
    suites = "every suite" if every else words.listing([code(suite) for suite in row["worst_suites"]], 3)
    return (
        code(row["candidate"]),
        f"**{row['verdict']}**",
        *(words.count(row[key]) for key in ("regressions", "refused", "no_signal", "improvements")),
        f"{suites}: {words.listing(reasons, 3)}" if reasons else "",
    )


def _brief(candidate: facts.Candidate) -> str:
    rows = [
        (
            code(row["suite"]),
            *(
                rate(row[f"passes_{side}"], row[f"n_{side}"], row[f"rate_{side}"])
                for side in ("baseline", "candidate")
            ),
            *change_and_floor(row),
            outcome_words(row) if row["verdict"] == "pass" else f"**{outcome_words(row)}**",
        )
        for row in candidate.suites
    ]
    text = table(_SUITE_HEADINGS, rows, right=[1, 2, 3, 4])
    reasons = bullets(why(candidate, code))
    return f"{text}\n\n{reasons}" if reasons else f"{text}\n"


def _full(candidate: facts.Candidate, policy: dict[str, Any]) -> str:
    found = []
    for row in candidate.suites:
        sentences = beside_the_rule(row, policy, code)
        if sentences:
            found += [f"{code(row['suite'])}, beside the rule", *(f"  {each}" for each in sentences)]
    return f"\n{bullets(found)}" if found else ""
