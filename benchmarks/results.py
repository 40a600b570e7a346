"""What a run of the benchmarks measured, read from pytest-benchmark's JSON.

A group is one workload; each test in it is one side: fastgate, a peer, or a limit that no side can beat (reading the
same bytes, importing the same libraries). ``extra_info`` may say ``side``, the side's name where the test's own does
not; ``cells``, how many cells this side did, as some peers take minutes for what others do in a second: times are
compared per cell; and ``peak_bytes``, the most memory that the process doing it held.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

FASTGATE = "fastgate"
LIMITS = ("reading the file alone", "same bytes", "a sum of", "import ")
"""What the names of limits have in common."""


class Side(NamedTuple):
    """One timed side of a workload; times in seconds, of one cell where cells are counted."""

    name: str
    median: float
    quickest: float
    spread: float
    """Interquartile range over median."""
    peak_bytes: int | None = None

    @property
    def is_limit(self) -> bool:
        """Whether it does only a part of the work, which no side could do without."""
        return any(words in self.name for words in LIMITS)


class Workload(NamedTuple):
    """One group of sides."""

    name: str
    file: str
    """The stem of the file that timed it."""
    sides: tuple[Side, ...]

    @property
    def ours(self) -> Side | None:
        """Fastgate's own side."""
        return next((side for side in self.sides if side.name == FASTGATE), None)

    @property
    def peers(self) -> tuple[Side, ...]:
        """The other sides, in the order they ran."""
        return tuple(side for side in self.sides if side.name != FASTGATE)


def _side(run: dict[str, Any]) -> Side:
    extra, stats = run["extra_info"], run["stats"]
    name = extra.get("side") or run["name"].split("[")[0].removeprefix("test_").replace("_", " ")
    if name.startswith(f"{FASTGATE} ") or name.endswith(f" {FASTGATE}"):
        name = FASTGATE  # as in test_central_fastgate, one of several workloads in a file
    cells = extra.get("cells", 1)
    return Side(
        name,
        stats["median"] / cells,
        stats["min"] / cells,
        stats["iqr"] / stats["median"],
        extra.get("peak_bytes"),
    )


def workloads(results: dict[str, Any]) -> list[Workload]:
    """The workloads of a run in the order they ran."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for run in results["benchmarks"]:
        groups[run["group"] or run["name"]].append(run)
    return [
        Workload(name, Path(runs[0]["fullname"].split("::")[0]).stem, tuple(map(_side, runs)))
        for name, runs in groups.items()
    ]


def read(paths: Sequence[str | Path]) -> dict[str, Any]:
    """The results of one or several runs; a workload that was run again counts as it was last."""
    runs = [json.loads(Path(path).read_text()) for path in paths]
    last = {one["group"]: run for run in runs for one in run["benchmarks"]}
    found = [one for run in runs for one in run["benchmarks"] if last[one["group"]] is run]
    return {**runs[-1], "benchmarks": found}
