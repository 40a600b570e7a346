"""One Markdown comment for any result; where it is too long, detail is shed first, and the text says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import polars as pl

from fastgate.reports import words
from fastgate.reports.markdown import MARKER, code, table
from fastgate.reports.overview import Judged, tally

__all__ = ["Detail", "Layout", "bullets", "comment"]

# Rows of the table of candidates, of each verdict: the most that leave room for details are taken.
_ROWS: Final = (10_000, 1_000, 200, 100, 50, 20, 10)
_ROWS_SHARE: Final = 0.5
# Room kept for the sentence about what was left out.
_RESERVE: Final = 500
# No more candidates can have details in `LIMIT` characters.
_MOST_DETAILS: Final = 300


class Detail(NamedTuple):
    """What there is to say of one candidate: HTML for the title, Markdown below it, in brief or in full."""

    title: str
    brief: str
    full: str


class Layout(NamedTuple):
    """How a gate fills the comment.

    Attributes
    ----------
    noun : str
        What is judged: ``candidate``.
    rule : str
        The rule in a sentence.
    headings : sequence of str
        Of the table of candidates, the verdict's included.
    right : sequence of int
        Its columns of numbers.
    row_of : callable
        From a row of the verdicts to the table's cells.
    without_full, without_brief : str
        What is missing where a candidate's detail is brief, or not there: ``the suites``.
    """

    noun: str
    rule: str
    headings: Sequence[str]
    right: Sequence[int]
    row_of: Callable[[dict[str, Any]], Sequence[str]]
    without_full: str
    without_brief: str


def comment(
    result: Judged,
    layout: Layout,
    ranked: pl.DataFrame,
    details: Callable[[Sequence[str]], Iterable[Detail]],
    first: Sequence[str],
    notes: Sequence[str],
    limit: int,
) -> str:
    """The comment.

    Parameters
    ----------
    result : Judged
    layout : Layout
    ranked : DataFrame
        The result's verdicts, the best first.
    details : callable
        From names to their details, in the same order.
    first : sequence of str
        The verdicts, those first whose candidates' details should be kept.
    notes : sequence of str
        Markdown.
    limit : int
        The most characters.
    """
    head, tail = _head(result, layout), _tail(result, notes)
    room = limit - len(head) - len(tail) - _RESERVE
    overview, unlisted = _overview(ranked, layout, int(room * _ROWS_SHARE))
    text, short, bare = _details(ranked, details, first, room - len(overview))
    left_out = [
        f"{what}{words.plural(number, layout.noun)}{where}"
        for number, what, where in (
            (unlisted, "", " in the table"),
            (bare, f"{layout.without_brief} of ", ""),
            (short, f"{layout.without_full} of ", ""),
        )
        if number
    ]
    cut = (
        f"\nLeft out to stay under {words.count(limit)} characters: {'; '.join(left_out)}. "
        "A `.json` or `.parquet` output holds everything.\n"
        if left_out
        else ""
    )
    return "".join([head, overview, text, cut, tail])


def bullets(sentences: Iterable[str]) -> str:
    """Sentences as a list; one that begins with two blanks belongs to the one above it."""
    return "".join(
        f"{'  ' if sentence.startswith('  ') else ''}- {sentence.strip()}\n" for sentence in sentences
    )


def _head(result: Judged, layout: Layout) -> str:
    return (
        f"{MARKER}\n### fastgate: {result.verdict}\n\n"
        f"{words.plural(len(result), layout.noun)}: {tally(result)}. {layout.rule}\n\n"
    )


def _tail(result: Judged, notes: Sequence[str]) -> str:
    found = bullets(notes)
    evidence, policy = result.evidence, result.policy
    further = "".join(f", {what} {code(policy[what])}" for what in ("tenant", "profile") if policy.get(what))
    data = evidence["input"]
    return (
        (f"\n<details><summary>Notes</summary>\n\n{found}\n</details>\n" if found else "")
        + f"\n<sub>fastgate {evidence['fastgate']}, policy {code(policy['name'])}{further} "
        f"<code>{evidence['policy_hash'][:16]}</code>, {words.plural(data['rows'], 'row')} "
        f"<code>{str(data['fingerprint'])[:16]}</code></sub>\n"
    )


def _overview(ranked: pl.DataFrame, layout: Layout, room: int) -> tuple[str, int]:
    """The table of candidates, the best first, and how many it leaves out."""
    for most in _ROWS:
        shown = ranked.group_by("verdict", maintain_order=True).head(most)
        rows = [layout.row_of(row) for row in shown.iter_rows(named=True)]
        text = table(layout.headings, rows, right=layout.right)
        if len(text) <= room:
            break
    return text + "\n", ranked.height - shown.height


def _details(
    ranked: pl.DataFrame,
    details: Callable[[Sequence[str]], Iterable[Detail]],
    first: Sequence[str],
    room: int,
) -> tuple[str, int, int]:
    """The details that fit; how many lack their full length, and how many everything."""
    order = (
        pl.col("verdict")
        .cast(pl.String)
        .replace_strict({verdict: place for place, verdict in enumerate(first)}, return_dtype=pl.Int8)
    )
    names = ranked.sort(order, maintain_order=True)[:, 0].cast(pl.String).to_list()
    parts: list[str] = []
    short = 0
    for detail in islice(details(names[:_MOST_DETAILS]), _MOST_DETAILS):
        text = _wrapped(detail.title, detail.full)
        if len(text) > room:
            text = _wrapped(detail.title, detail.brief)
            if len(text) > room:
                break
            short += 1
        parts.append(text)
        room -= len(text)
    return "".join(parts), short, len(names) - len(parts)


def _wrapped(title: str, text: str) -> str:
    return f"\n<details><summary>{title}</summary>\n\n{text}\n</details>\n"
