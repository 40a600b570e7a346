"""The benchmark gate's result for people: a table per candidate for few, a ranked summary for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import polars as pl
from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

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
from fastgate.reports.console import STYLES, bullets, indented, new_table, rendered, width_of
from fastgate.reports.overview import conclusion, summary, verdict_lines, verdict_text

if TYPE_CHECKING:
    from fastgate.reports.benchmark.facts import Anywhere

__all__ = ["report", "verdict_lines"]

_FEW: Final = 6
# Suites shown in full, of all candidates together; with more, those that were not won come first.
_GRID_ROWS: Final = 48
_FEWEST_GRID_ROWS: Final = 8
_WIDEST_LABEL: Final = 28
# Columns from which the table of baselines has all counts, and reasons too.
_NARROW: Final = 60
_WIDE: Final = 90


def report(result: Anywhere, stream: IO[str], *, saved: str | None = None) -> str:
    """The result as text for `stream`.

    Parameters
    ----------
    result : BenchmarkResult or BenchmarkSweep
    stream : text file
        Where the text will be written: gives width, colours and encoding.
    saved : str, optional
        Where the result was saved, for the command that explains it.
    """
    parts: list[RenderableType] = [Text(line) for line in facts.headline(result)]
    if len(result) <= _FEW:
        width = width_of(stream)
        rows = max(_GRID_ROWS // max(len(result), 1), _FEWEST_GRID_ROWS)
        for candidate in facts.candidates(result.load(), list(result)):
            parts += ["", *_candidate(candidate, result.policy, rows, width)]
    else:
        parts += ["", *_summary(result)]
    found = notes(result)
    if found:
        parts += ["", Text("Notes", style="bold"), indented(bullets(found))]
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
    if candidate.replicates is not None:
        yield indented(Text(confidence_line(candidate)))
    yield ""
    yield indented(_baselines(candidate, width))
    reasons = why(candidate, policy)
    if reasons:
        yield ""
        yield indented(bullets(reasons))
    yield ""
    yield from map(indented, _grid(candidate, policy, rows, width - 2))


def _baselines(candidate: facts.Candidate, width: int) -> Table:
    table = new_table()
    table.add_column("baseline", overflow="fold")
    for heading in ("won", "required"):
        table.add_column(heading, justify="right", no_wrap=True)
    others = ("ties", "losses", "undefined") if width >= _NARROW else ()
    for name in others:
        table.add_column({"ties": "tied", "losses": "lost"}.get(name, name), justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    with_reasons = width >= _WIDE and any(row["reasons"] for row in candidate.baselines)
    if with_reasons:
        table.add_column("reasons", overflow="fold")
    for row in candidate.baselines:
        table.add_row(
            Text(words.name(row["baseline"])),
            f"{words.count(row['wins'])} of {words.count(len(candidate.grid))}",
            words.count(row["required"]),
            *(words.count(row[name]) for name in others),
            Text(row["verdict"], style=STYLES[row["verdict"]]),
            *([_reasons(row["reasons"])] if with_reasons else []),
        )
    return table


def _reasons(codes: Sequence[str]) -> str:
    return words.listing(list(dict.fromkeys(words.short_reason([code]) for code in in_order(codes))), 2)


def _grid(
    candidate: facts.Candidate, policy: dict[str, Any], rows: int, width: int
) -> Iterator[RenderableType]:
    """Suites × baselines: outcome, delta and p or interval; on one line each where the width allows it."""
    shown = _suites_shown(candidate, rows)
    labels = [label for suite in shown for label in _labels(suite, policy, candidate)]
    label_width = min(
        max((Text(label).cell_len for label in ["suite", *labels]), default=5),
        _WIDEST_LABEL,
        max(width * 2 // 5, 12),
    )
    baselines = [row["baseline"] for row in candidate.baselines]
    cells = {
        baseline: [cell for suite in shown for cell in _cells(candidate.grid[suite], baseline, policy)]
        for baseline in baselines
    }
    room = width - label_width
    # From the widest layout to the narrowest, which is cut into several tables where even that does not fit.
    for joint, header in ((" ", 40), (" ", 12), ("\n", 40), ("\n", 20), ("\n", 10)):
        widths = [_column_width(baseline, cells[baseline], joint, header) for baseline in baselines]
        if sum(widths) + 2 * len(widths) <= room:
            break
    for group in _groups(widths, room):
        table = new_table()
        table.add_column("suite", width=label_width, overflow="fold")
        for position in group:
            table.add_column(Text(words.name(baselines[position])), width=widths[position], overflow="fold")
        for row, label in enumerate(labels):
            table.add_row(
                Text(label), *(_joined(cells[baselines[position]][row], joint) for position in group)
            )
        yield table
    hidden = len(candidate.grid) - len(shown)
    if hidden:
        all_won = all(
            entry.outcome == "win"
            for suite, row in candidate.grid.items()
            if suite not in shown
            for entry in row.values()
        )
        yield Text(
            f"and {words.plural(hidden, 'more suite')}"
            + (", won against every baseline" if all_won else "; an output (-o) holds all"),
            style="dim",
        )
    corrected = policy["correction"]["method"] != "none"
    figure = "interval" if policy["test"] == "bootstrap" else f"{'adjusted ' if corrected else ''}p"
    yield Text(
        f"difference to the baseline and {figure}; ↑ higher is better, ↓ lower is better",
        style="dim",
    )


def _suites_shown(candidate: facts.Candidate, rows: int) -> list[str]:
    """All suites where they fit; else those furthest from being won, in the policy's order."""
    suites = list(candidate.grid)
    if len(suites) <= rows:
        return suites
    badness = {
        suite: sum(
            (entry.outcome != "win") + (entry.outcome in ("loss", "undefined")) + 2 * entry.lost
            for entry in row.values()
        )
        for suite, row in candidate.grid.items()
    }
    worst = {
        suite for suite in sorted(suites, key=badness.__getitem__, reverse=True)[:rows] if badness[suite]
    }
    return [suite for suite in suites if suite in worst]


def _labels(suite: str, policy: dict[str, Any], candidate: facts.Candidate) -> list[str]:
    entry = next(iter(candidate.grid[suite].values()))
    kpis = [words.directed(cell["kpi"], cell["direction"], cell["measure"]) for cell in entry.deciding]
    if len(kpis) == 1:
        return [f"{words.name(suite)} {kpis[0]}"]
    rule = policy["suites"][suite]["decided_by"]
    return [f"{words.name(suite)} ({rule} of {len(kpis)})", *(f"  {kpi}" for kpi in kpis)]


_Parts = list[tuple[str, str]]


def _cells(row: dict[str, facts.Entry], baseline: str, policy: dict[str, Any]) -> list[list[_Parts]]:
    """The grid's rows of one suite: each a list of lines, each line a list of texts with their styles."""
    entry = row[baseline]
    deciding = entry.deciding
    found = [(note, "dim") for note in entry_notes(entry, policy)]
    outcome = (entry.outcome, STYLES[entry.outcome])
    if entry.outcome == "undefined":
        return [[[outcome], *([note] for note in found)], *([] for _ in deciding[1:] and deciding)]
    if len(deciding) == 1:
        return [
            [
                [outcome, (_delta(deciding[0]), "")],
                [(_p(deciding[0], policy), "")],
                *([note] for note in found),
            ]
        ]
    return [
        [[outcome], *([note] for note in found)],
        *(
            [
                [(cell["outcome"], STYLES[cell["outcome"]]), (_delta(cell), "")],
                [(_p(cell, policy), "")],
            ]
            for cell in deciding
        ),
    ]


def _delta(cell: dict[str, Any]) -> str:
    return "" if cell["delta"] is None else words.signed(cell["delta"])


def _p(cell: dict[str, Any], policy: dict[str, Any]) -> str:
    text = facts.significance(cell, policy)
    return "" if words.MISSING in text else text


def _joined(lines: Sequence[_Parts], joint: str) -> Text:
    """Outcome, delta and p (interval) on one line or two; notes always below."""
    joined = Text()
    for number, line in enumerate(lines):
        filled = [part for part in line if part[0]]
        if number > 1:
            joined.append("\n")
        elif filled and joined:
            joined.append(joint)
        for position, (text, style) in enumerate(filled):
            if position:
                joined.append(" ")
            joined.append(text, style)
    return joined


def _column_width(baseline: str, cells: Sequence[Sequence[_Parts]], joint: str, header: int) -> int:
    longest = max((cell_len(line) for cell in cells for line in _plain(cell, joint).split("\n")), default=0)
    return max(longest, min(cell_len(words.name(baseline)), header))


def _plain(lines: Sequence[_Parts], joint: str) -> str:
    """What `_joined` shows, without its styles: rich takes ten times as long."""
    texts = [" ".join(text for text, _ in line if text) for line in lines]
    return "\n".join([joint.join(filter(None, texts[:2])), *texts[2:]])


def _groups(widths: Sequence[int], room: int) -> list[list[int]]:
    """Neighbouring columns that fit beside each other, one at least."""
    groups: list[list[int]] = []
    used = 0
    for position, width in enumerate(widths):
        if groups and used + width + 2 <= room:
            groups[-1].append(position)
            used += width + 2
        else:
            groups.append([position])
            used = width + 2
    return groups


# Many candidates


def _summary(result: Anywhere) -> Iterator[RenderableType]:
    headings = [
        ("candidate", False),
        ("enough wins", True),
        ("fewest wins", True),
        ("required", True),
        *([("passes in", True)] if result.evidence.get("replicates") else []),
        ("reasons", False),
    ]
    yield summary(result, facts.ranked(result), headings, _summary_row)
    yield ""
    yield from _hardest(result)


def _summary_row(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        words.name(row["candidate"]),
        f"{row['baselines_beaten']} of {row['baselines']}",
        words.count(row["fewest_wins"]),
        words.count(row["required"]),
        *([] if row["replicates"] is None else [words.share(row["share_pass"])]),
        _reasons(row["reasons"]),
    )


def _hardest(result: Anywhere) -> Iterator[RenderableType]:
    """Which baselines and suites stand in the way, over all candidates."""
    total = len(result)
    baselines = (
        result.scan("baselines")
        .group_by("baseline", maintain_order=True)
        .agg((pl.col("wins") >= pl.col("required")).sum().alias("beaten"))
        .sort("beaten", maintain_order=True)
        .collect()
    )
    yield Text("Hardest baselines", style="bold")
    yield indented(
        bullets(
            [
                f"{words.name(name)}: beaten by {words.count(beaten)} of {words.plural(total, 'candidate')}"
                for name, beaten in baselines.head(3).iter_rows()
            ]
        )
    )
    suites = (
        result.scan("suites")
        .group_by("suite", maintain_order=True)
        .agg((pl.col("outcome") == "win").mean().alias("share"))
        .sort("share", maintain_order=True)
        .collect()
    )
    yield Text("Hardest suites", style="bold")
    yield indented(
        bullets(
            [
                f"{words.name(name)}: {100 * share:.3g} % of its comparisons won"
                for name, share in suites.head(3).iter_rows()
            ]
        )
    )
