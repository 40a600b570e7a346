"""The benchmark gate's result as one Markdown comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from fastgate.reports import words
from fastgate.reports.benchmark import facts
from fastgate.reports.benchmark.sentences import (
    confidence_line,
    entry_notes,
    in_order,
    notes,
    verdict_line,
    why,
)
from fastgate.reports.comment import Detail, Layout, bullets, comment
from fastgate.reports.markdown import LIMIT, code, html_code, table

if TYPE_CHECKING:
    from fastgate.gates.benchmark.result import BenchmarkResult

__all__ = ["markdown"]

_CANDIDATE_HEADINGS: Final = ("candidate", "verdict", "enough wins", "fewest wins", "required")
_BASELINE_HEADINGS: Final = ("baseline", "won", "required", "tied", "lost", "undefined", "verdict")
# What needs a person comes first, then what may ship, then the rest: these are the most in a sweep.
_DETAILED_FIRST: Final = ("review", "refused", "pass", "block")


def markdown(result: BenchmarkResult, limit: int = LIMIT) -> str:
    """The result as Markdown.

    Parameters
    ----------
    result : BenchmarkResult
    limit : int, optional
        The most characters.

    Returns
    -------
    str
        Begins with `MARKER`. Over the limit first the suites of single candidates are left out, then their
        baselines, then rows of the table of candidates; the text says what is missing.
    """
    lines = facts.headline(result)
    again = result.evidence.get("replicates")
    layout = Layout(
        noun="candidate",
        rule=f"{lines[1].split(': ')[1].capitalize()}; {lines[2]}.",
        headings=(*_CANDIDATE_HEADINGS, *(["passes in"] if again else []), "reasons"),
        right=[2, 3, 4, *([5] if again else [])],
        row_of=_row,
        without_full="the suites",
        without_brief="the baselines and suites",
    )

    def details(names: Sequence[str]) -> Iterator[Detail]:
        for candidate in facts.candidates(result, names):
            title = f"{html_code(candidate.name)}: <b>{candidate.verdict}</b>, {verdict_line(candidate)}"
            brief = _brief(candidate, result.policy)
            yield Detail(title, brief, f"{brief}\n{_grid(candidate, result.policy)}")

    ranked = facts.ranked(result)
    return comment(result, layout, ranked, details, _DETAILED_FIRST, notes(result, code), limit)


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        code(row["candidate"]),
        f"**{row['verdict']}**",
        f"{row['baselines_beaten']} of {row['baselines']}",
        words.count(row["fewest_wins"]),
        words.count(row["required"]),
        *([] if row["replicates"] is None else [words.share(row["share_pass"])]),
        _reasons(row["reasons"]),
    )


def _reasons(codes: Sequence[str]) -> str:
    return words.listing(list(dict.fromkeys(words.short_reason([one]) for one in in_order(codes))), 3)


def _brief(candidate: facts.Candidate, policy: dict[str, Any]) -> str:
    rows = [
        (
            code(row["baseline"]),
            f"{row['wins']} of {len(candidate.grid)}",
            str(row["required"]),
            *(str(row[name]) for name in ("ties", "losses", "undefined")),
            row["verdict"],
        )
        for row in candidate.baselines
    ]
    again = "" if candidate.replicates is None else f"It {confidence_line(candidate)}.\n\n"
    text = again + table(_BASELINE_HEADINGS, rows, right=[1, 2, 3, 4, 5])
    reasons = bullets(why(candidate, policy, code))
    return f"{text}\n\n{reasons}" if reasons else f"{text}\n"


def _grid(candidate: facts.Candidate, policy: dict[str, Any]) -> str:
    baselines = [row["baseline"] for row in candidate.baselines]
    rows = []
    for suite, row in candidate.grid.items():
        kpis = ", ".join(
            f"{code(cell['kpi'])}{'' if cell['measure'] == 'mean' else ' ' + cell['measure']} "
            f"{'↑' if cell['direction'] == 'higher' else '↓'}"
            for cell in next(iter(row.values())).deciding
        )
        rows.append([code(suite), kpis, *(_entry(row[baseline], policy) for baseline in baselines)])
    return table(["suite", "decided by", *map(code, baselines)], rows) + "\n"


def _entry(entry: facts.Entry, policy: dict[str, Any]) -> str:
    found = entry_notes(entry, policy, code)
    if entry.outcome != "undefined":
        figures = [
            f"{words.signed(cell['delta'])} ({facts.significance(cell, policy)})" for cell in entry.deciding
        ]
        found = [*figures, *found]
    mark = f"**{entry.outcome}**" if entry.outcome != "win" else "win"
    return f"{mark} {'; '.join(found)}".strip()
