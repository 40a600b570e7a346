"""Writes the README's benchmark table from pytest-benchmark's JSON.

    python -m pytest benchmarks --benchmark-json=results.json && python benchmarks/report.py results.json

A group is one workload; each test in it is one side: fastgate, or a peer. Sides may do different numbers of cells
(``extra_info["cells"]``), since some peers take minutes for what others do in a second: medians are compared per
cell. ``extra_info["side"]`` names the side where the test's own name does not.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- benchmarks: written by benchmarks/report.py -->", "<!-- /benchmarks -->"
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class Side(NamedTuple):
    """One timed side of a workload."""

    name: str
    seconds: float
    """Median of the rounds, of one cell where cells are counted."""
    spread: float
    """Interquartile range over median."""


def significant(number: float) -> str:
    """Three digits, without an exponent."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it, to three digits."""
    for size, unit in UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def sides(results: dict[str, Any]) -> dict[str, list[Side]]:
    """The sides of each workload, in the order they ran."""
    groups: dict[str, list[Side]] = defaultdict(list)
    for run in results["benchmarks"]:
        extra, stats = run["extra_info"], run["stats"]
        name = extra.get("side") or run["name"].split("[")[0].removeprefix("test_").replace("_", " ")
        name = "fastgate" if "fastgate" in name else name
        median = stats["median"]
        groups[run["group"] or run["name"]].append(
            Side(name, median / extra.get("cells", 1), stats["iqr"] / median)
        )
    return groups


def table(results: dict[str, Any]) -> str:
    """The table in Markdown: a row for each peer of each workload."""
    lines = [
        "| workload | fastgate | peer | | ratio |",
        "|---|---|---|---|---|",
    ]
    for group, all_sides in sides(results).items():
        ours = next((side for side in all_sides if side.name == "fastgate"), None)
        if ours is None:
            continue
        peers = [side for side in all_sides if side.name != ours.name]
        for row, peer in enumerate(peers):
            mine = f"{duration(ours.seconds)} ±{ours.spread:.0%}" if row == 0 else ""
            theirs = f"{duration(peer.seconds)} ±{peer.spread:.0%}"
            ratio = f"**{significant(peer.seconds / ours.seconds)} ×**"
            lines.append(f"| {group if row == 0 else ''} | {mine} | {peer.name} | {theirs} | {ratio} |")
    machine = results["machine_info"]
    versions = results.get("commit_info", {}).get("id") or "uncommitted"
    lines += [
        "",
        f"Medians ± interquartile range, per cell where sides did different numbers of cells; ratio = peer / fastgate. "
        f"{machine['cpu'].get('brand_raw', machine['machine'])}, {machine['cpu'].get('count', '?')} cores, "
        f"Python {machine['python_version']}, commit {versions[:12]}.",
    ]
    return "\n".join(lines)


def merged(paths: list[str]) -> dict[str, Any]:
    """The results of several runs; a workload that was run again counts as it was last."""
    runs = [json.loads(Path(path).read_text()) for path in paths]
    last = {one["group"]: run for run in runs for one in run["benchmarks"]}
    found = [one for run in runs for one in run["benchmarks"] if last[one["group"]] is run]
    return {**runs[-1], "benchmarks": found}


def main(paths: list[str]) -> None:
    """Put the table of the results in `paths` between the README's markers."""
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    results = merged(paths)
    README.write_text(f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{after}")


if __name__ == "__main__":
    main(sys.argv[1:])
