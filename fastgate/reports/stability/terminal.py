"""The stability gate's result for people: tables per build for few, a ranked summary for many."""

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
from fastgate.reports.stability import facts
from fastgate.reports.stability.sentences import (
    digits_apart,
    flip_sentences,
    holds,
    kind_sentence,
    kind_verdict,
    notes,
    short_reasons,
    verdict_line,
    why,
    width_sentence,
)

if TYPE_CHECKING:
    from fastgate.gates.stability.result import StabilityResult

__all__ = ["alternatives_table", "kinds_table", "report"]

_FEW: Final = 6
_ALTERNATIVES: Final = 8
# Columns from which the figures of a kind fit in a table.
_WIDE: Final = 80


def report(result: StabilityResult, stream: IO[str], *, saved: str | None = None) -> str:
    """The result as text for `stream`.

    Parameters
    ----------
    result : StabilityResult
    stream : text file
        Where the text will be written: gives width, colours and encoding.
    saved : str, optional
        Where the result was saved, for the command that explains it.
    """
    parts: list[RenderableType] = [Text(line) for line in facts.headline(result)]
    if len(result) <= _FEW:
        width = width_of(stream)
        for build in facts.builds(result, list(result)):
            parts += ["", *_build(build, result.policy, width)]
    else:
        parts += ["", *_summary(result)]
    found = notes(result)
    if found:
        parts += ["", Text("Notes", style="bold"), indented(bullets(found))]
    parts += ["", *conclusion(result, facts.ranked(result), saved, "build")]
    return rendered(parts, stream)


# A few builds


def _build(build: facts.Build, policy: dict[str, Any], width: int) -> Iterator[RenderableType]:
    yield Text.assemble(
        verdict_text(build.verdict), " ", (words.name(build.name), "bold"), f"  {verdict_line(build)}"
    )
    reasons = why(build)
    if reasons:
        yield ""
        yield indented(bullets(reasons))
    yield ""
    if width >= _WIDE:
        yield indented(kinds_table(build.kinds))
    else:
        sentences = [
            f"{words.name(kind['kind'])} {holds(kind)}: {kind_sentence(kind)}" for kind in build.kinds
        ]
        yield indented(bullets(sentences))
    yield ""
    yield indented(bullets([width_sentence(build, policy)]))
    if build.alternatives:
        yield indented(alternatives_table(build.alternatives, _ALTERNATIVES), 4)
    yield ""
    yield indented(bullets(flip_sentences(build)))


def kinds_table(kinds: Sequence[dict[str, Any]]) -> Table:
    """A row per kind: n, agreement with its interval, threshold, and what was before."""
    before = any(kind["previous_agreement"] is not None for kind in kinds)
    table = new_table()
    table.add_column("kind", overflow="fold", min_width=8)
    for heading in ("agree", "of", "agreement", "Wilson 95 %", "asked for"):
        table.add_column(heading, justify="right", overflow="fold")
    if before:
        for heading in ("previous", "change"):
            table.add_column(heading, justify="right", overflow="fold")
    table.add_column("", overflow="fold", min_width=8)
    for kind in kinds:
        agreement, threshold = digits_apart(kind["agreement"], kind["threshold"])
        cells = [
            words.count(kind["agree"]),
            words.count(kind["n"]),
            agreement,
            words.MISSING
            if kind["ci_low"] is None
            else f"{words.number(kind['ci_low'], 3)} to {words.number(kind['ci_high'], 3)}",
            f"≥ {threshold}",
        ]
        if before:
            drop = kind["drop"]
            cells += [
                words.number(kind["previous_agreement"], 3),
                words.signed(None if drop is None else -drop),
            ]
        verdict = kind_verdict(kind)
        table.add_row(
            Text(words.name(kind["kind"])),
            *cells,
            Text(holds(kind), STYLES[verdict] if verdict != "pass" else ""),
        )
    return table


def alternatives_table(alternatives: Sequence[dict[str, Any]], most: int) -> Table:
    """The widest alternatives: estimate, interval, width."""
    faulty = any(row["status"] != "ok" for row in alternatives)
    table = new_table()
    table.add_column("alternative" if len(alternatives) <= most else "widest alternatives", overflow="fold")
    for heading in ("estimate", "interval", "width"):
        table.add_column(heading, justify="right", overflow="fold")
    if faulty:
        table.add_column("", overflow="fold")
    for row in alternatives[:most]:
        span = (
            words.MISSING
            if row["ci_low"] is None
            else f"{words.number(row['ci_low'], 3)} to {words.number(row['ci_high'], 3)}"
        )
        status = ["".join(short_reasons([row["status"]])) if row["status"] != "ok" else ""] if faulty else []
        table.add_row(
            Text(words.name(row["alternative"])),
            words.number(row["estimate"], 3),
            span,
            words.number(row["width"], 3),
            *status,
        )
    if len(alternatives) > most:
        table.add_row(Text(f"and {words.count(len(alternatives) - most)} narrower", style="dim"))
    return table


# Many builds


def _summary(result: StabilityResult) -> Iterator[RenderableType]:
    headings = [
        ("build", False),
        ("failed kinds", False),
        ("mean width", True),
        ("flipped pairs", True),
        ("because of", False),
    ]
    yield summary(result, facts.ranked(result), headings, _summary_row)
    yield ""
    yield from _hardest(result)


def _summary_row(row: dict[str, Any]) -> tuple[str, ...]:
    reasons = short_reasons(row["reasons"])
    return (
        words.name(row["build"]),
        words.listing([words.name(kind) for kind in row["failed_kinds"]], 3),
        digits_apart(row["ci_width"], row["max_ci_width"])[0],
        f"{words.count(row['flipped_pairs'])} of {words.count(row['pairs'])}",
        words.listing(reasons, 2),
    )


def _hardest(result: StabilityResult) -> Iterator[RenderableType]:
    """Which kinds hold least often, over all builds."""
    kinds = (
        result.kinds.group_by("kind", maintain_order=True)
        .agg(
            pl.col("holds").sum().alias("n"),
            pl.len().alias("of"),
            pl.col("agreement").median().alias("median"),
        )
        .sort("n", maintain_order=True)
    )
    yield Text("Hardest kinds", style="bold")
    yield indented(
        bullets(
            [
                f"{words.name(kind)}: holds for {words.count(n)} of {words.plural(of, 'build')}, "
                f"median agreement {words.number(median, 3)}"
                for kind, n, of, median in kinds.head(5).iter_rows()
            ]
        )
    )
    wide = result.verdicts.filter(pl.col("reasons").list.contains("wide_posterior")).height
    if wide:
        yield Text(f"Posterior above the cap: {words.plural(wide, 'build')}")
