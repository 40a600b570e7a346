"""The stability gate's result as one Markdown comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from fastgate.reports import words
from fastgate.reports.comment import Detail, Layout, bullets, comment
from fastgate.reports.markdown import LIMIT, code, html_code, table
from fastgate.reports.stability import facts
from fastgate.reports.stability.sentences import (
    changed,
    digits_apart,
    flip_sentences,
    holds,
    notes,
    short_reasons,
    verdict_line,
    why,
    width_sentence,
)

if TYPE_CHECKING:
    from fastgate.gates.stability.result import StabilityResult

__all__ = ["markdown"]

_HEADINGS: Final = ("build", "verdict", "failed kinds", "mean width", "flipped pairs", "because of")
_KIND_HEADINGS: Final = ("kind", "agree", "of", "agreement", "Wilson 95 %", "asked for", "previous", "")
_ALTERNATIVE_HEADINGS: Final = ("alternative", "estimate", "interval", "width")
_ALTERNATIVES: Final = 30
# What needs a person comes first, then what may ship, then the rest.
_DETAILED_FIRST: Final = ("review", "refused", "pass", "block")


def markdown(result: StabilityResult, limit: int = LIMIT) -> str:
    """The result as Markdown.

    Parameters
    ----------
    result : StabilityResult
    limit : int, optional
        The most characters.

    Returns
    -------
    str
        Begins with `MARKER`. Over the limit first the alternatives and flipped pairs of single builds are left
        out, then their kinds, then rows of the table of builds; the text says what is missing.
    """
    lines = facts.headline(result)
    layout = Layout(
        noun="build",
        rule=f"{lines[1].split(': ')[1].capitalize()}; {lines[2].split('; ')[1]}.",
        headings=_HEADINGS,
        right=[3, 4],
        row_of=_row,
        without_full="the alternatives and flipped pairs",
        without_brief="the kinds",
    )

    def details(names: Sequence[str]) -> Iterator[Detail]:
        for build in facts.builds(result, names):
            title = f"{html_code(build.name)}: <b>{build.verdict}</b>, {verdict_line(build)}"
            brief = _brief(build, result.policy)
            yield Detail(title, brief, f"{brief}{_full(build)}")

    return comment(result, layout, facts.ranked(result), details, _DETAILED_FIRST, notes(result, code), limit)


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    reasons = short_reasons(row["reasons"])
    return (
        code(row["build"]),
        f"**{row['verdict']}**",
        words.listing([code(kind) for kind in row["failed_kinds"]]),
        digits_apart(row["ci_width"], row["max_ci_width"])[0],
        f"{words.count(row['flipped_pairs'])} of {words.count(row['pairs'])}",
        words.listing(reasons, 3),
    )


def _span(row: dict[str, Any]) -> str:
    if row["ci_low"] is None:
        return words.MISSING
    return f"{words.number(row['ci_low'], 3)} to {words.number(row['ci_high'], 3)}"


def _brief(build: facts.Build, policy: dict[str, Any]) -> str:
    rows = []
    for kind in build.kinds:
        agreement, threshold = digits_apart(kind["agreement"], kind["threshold"])
        said = holds(kind) if holds(kind) == "holds" else f"**{holds(kind)}**"
        rows.append(
            (
                code(kind["kind"]),
                words.count(kind["agree"]),
                words.count(kind["n"]),
                agreement,
                _span(kind),
                threshold,
                changed(kind).removeprefix("previously "),
                said,
            )
        )
    text = table(_KIND_HEADINGS, rows, right=[1, 2, 3, 4, 5])
    return f"{text}\n\n{bullets([*why(build, code), width_sentence(build, policy)])}"


def _full(build: facts.Build) -> str:
    rows = [
        (
            code(row["alternative"]),
            words.number(row["estimate"], 3),
            _span(row),
            words.number(row["width"], 3),
        )
        for row in build.alternatives[:_ALTERNATIVES]
    ]
    text = f"\n{table(_ALTERNATIVE_HEADINGS, rows, right=[1, 2, 3])}\n" if rows else ""
    more = len(build.alternatives) - _ALTERNATIVES
    if more > 0:
        text += f"\nand {words.count(more)} narrower\n"
    return f"{text}\n{bullets(flip_sentences(build, code))}"
