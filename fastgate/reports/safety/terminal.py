"""The safety gate's result for people: tables per candidate for few, a ranked summary for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fastgate.reports import words
from fastgate.reports.console import STYLES, bullets, indented, new_table, rendered, width_of
from fastgate.reports.overview import conclusion, summary, verdict_text
from fastgate.reports.safety import facts
from fastgate.reports.safety.sentences import (
    beside_the_rule,
    change_and_floor,
    exact_test,
    flipped,
    interval,
    notes,
    outcome_words,
    verdict_line,
    why,
)

if TYPE_CHECKING:
    from fastgate.gates.safety.result import SafetyResult

__all__ = ["report"]

_FEW: Final = 6
# Suites shown in full, of all candidates together; with more, the worst.
_ROWS: Final = 48
_FEWEST_ROWS: Final = 8
# Of one candidate so many suites are shown beside the rule.
_LOOKED_AT: Final = 12
# Columns from which what is beside the rule fits in a table.
_WIDE: Final = 96


def report(result: SafetyResult, stream: IO[str], *, saved: str | None = None) -> str:
    """The result as text for `stream`.

    Parameters
    ----------
    result : SafetyResult
    stream : text file
        Where the text will be written: gives width, colours and encoding.
    saved : str, optional
        Where the result was saved, for the command that explains it.
    """
    parts: list[RenderableType] = [Text(line) for line in facts.headline(result)]
    if len(result) <= _FEW:
        width = width_of(stream)
        rows = max(_ROWS // max(len(result), 1), _FEWEST_ROWS)
        for candidate in facts.candidates(result, list(result)):
            parts += ["", *_candidate(candidate, result.policy, rows, width)]
    else:
        parts += ["", *_summary(result)]
    parts += ["", Text("Notes", style="bold"), indented(bullets(notes(result)))]
    parts += ["", *conclusion(result, facts.ranked(result), saved)]
    return rendered(parts, stream)


# A few candidates


def _candidate(
    candidate: facts.Candidate, policy: dict[str, Any], rows: int, width: int
) -> Iterator[RenderableType]:
    yield Text.assemble(
        verdict_text(candidate.verdict),
        " ",
        (words.name(candidate.name), "bold"),
        f"  {verdict_line(candidate)}",
    )
    reasons = why(candidate)
    if reasons:
        yield ""
        yield indented(bullets(reasons))
    shown = candidate.suites[:rows]
    figures = [row for row in shown if row["delta"] is not None and row["noise_floor"] is not None]
    yield ""
    yield indented(_rule_table(shown))
    if not figures or width < _WIDE:
        yield indented(Text(_legend([], policy), style="dim"))
    looked_at = figures[:_LOOKED_AT]
    if figures and width >= _WIDE:
        yield ""
        yield indented(_beside_table(looked_at))
        yield indented(Text(_legend(looked_at, policy), style="dim"))
        found = [
            f"{words.name(row['suite'])}: {text}"
            for row in looked_at
            for text in _further(row, policy, brief=len(figures) > _FEW)
        ]
        if found:
            yield ""
            yield indented(bullets(found))
    else:
        for row in looked_at:
            yield ""
            yield indented(Text(f"{words.name(row['suite'])}, beside the rule"))
            yield indented(bullets(beside_the_rule(row, policy)), 4)
    if len(figures) > len(looked_at):
        more = words.plural(len(figures) - len(looked_at), "more suite")
        yield indented(Text(f"and {more} beside the rule, which fastgate explain shows", style="dim"))
    hidden = len(candidate.suites) - len(shown)
    if hidden:
        yield ""
        yield indented(
            Text(f"and {words.plural(hidden, 'better suite')}; an output (-o) holds all", style="dim")
        )


def _rule_table(rows: Sequence[dict[str, Any]]) -> Table:
    table = new_table()
    table.add_column("suite", overflow="fold", min_width=8)
    for heading in ("baseline", "candidate", "change", "e"):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("outcome", overflow="fold", min_width=12)
    for row in rows:
        style = STYLES[row["verdict"]] if row["verdict"] != "pass" else ""
        table.add_row(
            Text(words.name(row["suite"])),
            *(_rate(row, side) for side in ("baseline", "candidate")),
            *change_and_floor(row),
            Text(outcome_words(row), style=style),
        )
    return table


def _rate(row: dict[str, Any], side: str) -> str:
    share, n = row[f"rate_{side}"], row[f"n_{side}"]
    return words.MISSING if share is None else f"{words.percent(share)} of {words.count(n)}"


def _legend(rows: Sequence[dict[str, Any]], policy: dict[str, Any]) -> str:
    if not rows:
        return "change and e in percentage points"
    both = any(row["detectable_drop_paired"] is not None for row in rows)
    paired = "".join(sorted({facts.METHODS[row["paired_method"]] for row in rows if row["paired_method"]}))
    return (
        f"all but rates and p in percentage points; {words.percent(rows[0]['confidence_level'])} intervals of the "
        "difference: Newcombe's of independent runs"
        + (f", {paired}'s and the {exact_test(rows[0])} of the same cases" if paired else "")
        + f"; detects a drop with a power of {words.number(policy['power'])}"
        + (": between independent runs / on the same cases" if both else " between independent runs")
    )


def _beside_table(rows: Sequence[dict[str, Any]]) -> Table:
    """What the rule does not read, in percentage points."""
    methods = {row["paired_method"] for row in rows if row["paired_method"]}
    paired = facts.METHODS[methods.pop()] if methods else None
    table = new_table()
    table.add_column("beside the rule", overflow="fold", min_width=8)
    for heading in ("√2·e", "Newcombe", "pooled p"):
        table.add_column(heading, justify="right", overflow="fold")
    if paired:
        for heading in (paired, "sign p" if "sign" in exact_test(rows[0]) else "McNemar p"):
            table.add_column(heading, justify="right", overflow="fold")
    table.add_column("detects", justify="right", overflow="fold")
    for row in rows:
        cells = [
            words.number(100 * row["difference_floor"], 3),
            interval(row["ci_low"], row["ci_high"]),
            words.pvalue(row["pvalue"]),
        ]
        if paired:
            cells += [
                interval(row["paired_ci_low"], row["paired_ci_high"]),
                words.pvalue(row["mcnemar_pvalue"]),
            ]
        drops = [row[key] for key in ("detectable_drop", "detectable_drop_paired") if row[key] is not None]
        cells.append(" / ".join(words.number(100 * drop, 3) for drop in drops) or words.MISSING)
        table.add_row(Text(words.name(row["suite"])), *cells)
    return table


def _further(row: dict[str, Any], policy: dict[str, Any], *, brief: bool) -> list[str]:
    """What of `beside_the_rule` the table does not hold; in brief, only what is not as usual."""
    found = [flipped(row)] if row["regressed"] is not None else []
    found += [text for text in beside_the_rule(row, policy) if text.startswith(("trials:", "executions"))]
    usual = ("no case flipped", "trials: those of")
    return [text for text in found if not (brief and text.startswith(usual))]


# Many candidates


def _summary(result: SafetyResult) -> Iterator[RenderableType]:
    headings = [
        ("candidate", False),
        ("regressed", True),
        ("refused", True),
        ("no signal", True),
        ("improved", True),
        ("because of", False),
    ]
    yield summary(result, facts.ranked(result), headings, _summary_row)
    hardest = list(_hardest(result))
    if hardest:
        yield from ("", *hardest)


def _summary_row(row: dict[str, Any]) -> tuple[str, ...]:
    reasons = words.short_reasons(row["reasons"])
    every = len(row["worst_suites"]) == row["suites"] > 1
    suites = (
        "every suite" if every else words.listing([words.name(suite) for suite in row["worst_suites"]], 2)
    )
    return (
        words.name(row["candidate"]),
        *(words.count(row[key]) for key in ("regressions", "refused", "no_signal", "improvements")),
        f"{suites}: {words.listing(reasons, 3)}" if reasons else "",
    )


def _hardest(result: SafetyResult) -> Iterator[RenderableType]:
    """Which suites regress most, and what keeps runs from being compared, over all candidates."""
    regressed = (pl.col("outcome") == "regression").sum()
    suites = (
        result.suites.group_by("suite", maintain_order=True)
        .agg(regressed.alias("n"), pl.col("delta").median().alias("change"), pl.len().alias("of"))
        .filter(pl.col("n") > 0)
        .sort("n", descending=True, maintain_order=True)
    )
    if not suites.is_empty():
        yield Text("Suites that regressed most often", style="bold")
        yield indented(
            bullets(
                [
                    f"{words.name(name)}: in {words.count(n)} of {words.plural(of, 'candidate')}, "
                    f"median change {words.signed(100 * change)} points"
                    for name, n, change, of in suites.head(3).iter_rows()
                ]
            )
        )
    fields = (
        result.differences.group_by("field", maintain_order=True)
        .agg(pl.col("candidate").n_unique().alias("n"))
        .sort("n", descending=True, maintain_order=True)
    )
    if not fields.is_empty():
        yield Text("Fields that keep runs from being compared", style="bold")
        found = [
            f"{words.name(field)}: {words.plural(n, 'candidate')}" for field, n in fields.head(5).iter_rows()
        ]
        yield indented(bullets(found))
