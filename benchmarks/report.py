"""Writes the README's benchmark tables and ``benchmarks/RESULTS.md`` from pytest-benchmark's JSON.

    python -m pytest benchmarks --benchmark-json=results.json && python -m benchmarks.report results.json

Several files may be named: a workload that was run again counts as it was last. The README has a row for each of the
more telling workloads, with the quickest peer and the limit; ``RESULTS.md`` has every side of every workload.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.readme import duration, memory, significant, write_between
from benchmarks.results import FASTGATE, Side, Workload, read, workloads

RESULTS = Path(__file__).with_name("RESULTS.md")
BEGIN, END = "<!-- benchmarks: written by benchmarks/report.py -->", "<!-- /benchmarks -->"

SECTIONS = {
    "Statistics": (
        "test_moments",
        "test_welch",
        "test_student_t",
        "test_binomial",
        "test_proportions",
        "test_posterior",
        "test_utilities",
        "test_agreement",
    ),
    "Bootstrap intervals": ("test_bootstrap", "test_replicates"),
    "Files to cells": ("test_intake",),
    "Files to verdicts": ("test_sweep", "test_gate", "test_safety", "test_stability_gate"),
    "Commands": ("test_start",),
    "Memory": ("test_memory",),
}
"""The files whose workloads a table shows; what is in none of them comes in a last one."""

LEFT_OUT = (
    "two-sided p, small",
    "two-sided p, large",
    "one-sided p",
    "quantile, any p, small",
    "quantile, any p, large",
    "quantile, any p, far",
    "binomial wald",
    "binomial agresti-coull",
    "binomial clopper-pearson",
    "bootstrap mean percentile, saddlepoint",
    "bootstrap mean percentile, resampled",
    "p-values adjusted by holm",
)
"""How the names begin of workloads that only ``RESULTS.md`` shows: much like one beside them."""


def sections(found: Sequence[Workload]) -> dict[str, list[Workload]]:
    """The workloads by the table they are shown in."""
    where = {file: title for title, files in SECTIONS.items() for file in files}
    tables: dict[str, list[Workload]] = {title: [] for title in [*SECTIONS, "Others"]}
    for workload in found:
        if workload.ours is not None:
            tables[where.get(workload.file, "Others")].append(workload)
    return {title: rows for title, rows in tables.items() if rows}


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([_row(*header), "|" + "---|" * len(header), *(_row(*row) for row in rows)])


def _time(side: Side) -> str:
    return f"{duration(side.median)} ±{side.spread:.0%}"


def _ratio(ours: Side, peer: Side) -> str:
    return f"{significant(peer.median / ours.median)} ×"


def _rivals(workload: Workload) -> tuple[Side | None, Side | None]:
    """The quickest peer that does the work, and the limit, where there are any."""
    peers = [peer for peer in workload.peers if not peer.name.startswith(FASTGATE)]
    rivals = [peer for peer in peers if not peer.is_limit]
    limits = [peer for peer in peers if peer.is_limit]
    return min(rivals, key=lambda peer: peer.median, default=None), next(iter(limits), None)


def telling(rows: Sequence[Workload]) -> str:
    """A table of times with a row for each workload."""
    lines = []
    for workload in rows:
        ours = workload.ours
        if ours is None or workload.name.startswith(LEFT_OUT):
            continue
        rival, limit = _rivals(workload)
        if rival is None and limit is None and workload.file != "test_start":
            continue
        beside = f"{rival.name}: {duration(rival.median)}" if rival else ""
        ratio = f"**{_ratio(ours, rival)}**" if rival else ""
        least = f"{significant(ours.median / limit.median)} × {limit.name}" if limit else ""
        lines.append((workload.name, _time(ours), beside, ratio, least))
    return _table(
        ("workload", FASTGATE, "the quickest peer", "peer / fastgate", "fastgate, in times of the limit"),
        lines,
    )


def peaks(rows: Sequence[Workload]) -> str:
    """A table of memory with a row for each workload, and a column for each side."""
    names = list(dict.fromkeys(side.name for workload in rows for side in workload.sides))
    lines = []
    for workload in rows:
        sides = {side.name: side for side in workload.sides}
        shown = (sides.get(name) for name in names)
        lines.append(
            (
                workload.name,
                *(
                    f"{memory(side.peak_bytes)}, {duration(side.median)}" if side and side.peak_bytes else ""
                    for side in shown
                ),
            )
        )
    return _table(("peak memory and time of", *names), lines)


def _is_memory(rows: Sequence[Workload]) -> bool:
    return any(side.peak_bytes is not None for workload in rows for side in workload.sides)


def everything(rows: Sequence[Workload]) -> str:
    """A table with a row for each peer of each workload."""
    lines = []
    for workload in rows:
        ours = workload.ours
        if ours is None:
            continue
        if not workload.peers:
            lines.append((workload.name, _time(ours), "", "", ""))
        for number, peer in enumerate(workload.peers):
            first = number == 0
            shown = workload.name if first else "", _time(ours) if first else ""
            lines.append((*shown, peer.name, _time(peer), _ratio(ours, peer)))
    return _table(("workload", FASTGATE, "peer or limit", "its time", "its time / fastgate's"), lines)


def machine(results: dict[str, Any]) -> str:
    """Where and with what the figures were measured."""
    found = results["machine_info"]
    commit = (results.get("commit_info") or {}).get("id") or "uncommitted"
    cpu = found["cpu"]
    return (
        f"{cpu.get('brand_raw', found['machine'])}, {cpu.get('count', '?')} cores, "
        f"Python {found['python_version']}, commit {commit[:12]}."
    )


MEANING = "Medians ± interquartile range, per cell where cells are counted."


def main(paths: list[str]) -> None:
    """Write the tables of the results in `paths`."""
    results = read(paths)
    tables = sections(workloads(results))
    short = [
        f"**{title}**\n\n{peaks(rows) if _is_memory(rows) else telling(rows)}"
        for title, rows in tables.items()
    ]
    note = f"{MEANING} Every peer of every workload: [benchmarks/RESULTS.md](benchmarks/RESULTS.md). {machine(results)}"
    write_between(BEGIN, END, "\n\n".join([*short, note]))
    long = [
        f"## {title}\n\n{peaks(rows) if _is_memory(rows) else everything(rows)}"
        for title, rows in tables.items()
    ]
    title = "# Benchmarks, every side of every workload"
    note = f"Written by `benchmarks/report.py`. {MEANING} {machine(results)}"
    RESULTS.write_text("\n\n".join([title, note, *long]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
