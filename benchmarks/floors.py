"""Fails when fastgate has become slower, beside its peers or the memory, than the floors in ``floors.toml``.

    export FASTGATE_NUM_THREADS=1 POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1
    python -m pytest benchmarks --benchmark-json=results.json && python -m benchmarks.floors results.json --again 2

A ratio is the peer's time over fastgate's, both from one short run, so a slow or busy machine slows both sides; and
both on one thread, so that it does not matter how many cores have nothing else to do. The quickest round of each side
counts: whatever else runs on the machine can only add to a round. A floor is 0.55 of what such runs usually measure:
a real halving lies below it. Noise may reach it now and then, so with ``--again N`` a ratio below its floor is
measured again, up to N times: it holds if it ever does, which a halved one never does. A ratio that was not measured
is a failure too.

    python -m benchmarks.floors --suggest busy1.json busy2.json …

prints lines for ``floors.toml`` from several runs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

from benchmarks.results import Workload, read, workloads

FLOORS = Path(__file__).with_name("floors.toml")
SHARE = 0.55  # of the usual ratio: a halved one is below it
LEAST = 0.4  # of the usual ratio: where one of the runs was lower, the ratio is too noisy to be guarded


def usual(values: Sequence[float]) -> float:
    """The lower quartile of several runs: other work slows some kernels more than others, so ratios go up as well."""
    return quantiles(values, n=4, method="inclusive")[0] if len(values) > 1 else values[0]


class Floor(NamedTuple):
    """One guarded ratio."""

    workload: str
    peer: str
    floor: float
    """The least that passes."""
    measured: float
    """The lower quartile of the short runs that the floor was chosen from."""
    aim: float | None = None
    """What the ratio should be at full size."""


class Check(NamedTuple):
    """A floor and the ratio found."""

    guarded: Floor
    ratio: float | None
    """None where the workload, fastgate's side or the peer's was not measured."""

    @property
    def holds(self) -> bool:
        """Whether the ratio was measured and is not below its floor."""
        return self.ratio is not None and self.ratio >= self.guarded.floor

    @property
    def verdict(self) -> str:
        """In words."""
        if self.ratio is None:
            return "NOT MEASURED"
        return "ok" if self.holds else "BELOW ITS FLOOR"


def read_floors(path: Path = FLOORS) -> list[Floor]:
    """The committed floors."""
    floors = [Floor(**line) for line in tomllib.loads(path.read_text())["ratios"]]
    twice = {(floor.workload, floor.peer) for floor in floors}
    if len(twice) < len(floors) or not all(floor.floor > 0.0 for floor in floors):
        raise ValueError(f"{path}: each ratio once, each floor above 0")
    return floors


def ratios(measured: Sequence[Workload]) -> dict[tuple[str, str], float]:
    """The peers' quickest time over fastgate's, by workload and peer."""
    return {
        (workload.name, peer.name): peer.quickest / workload.ours.quickest
        for workload in measured
        if workload.ours is not None
        for peer in workload.peers
    }


def check(floors: Sequence[Floor], measured: Sequence[Workload]) -> list[Check]:
    """Every floor beside what was measured."""
    found = ratios(measured)
    return [Check(floor, found.get((floor.workload, floor.peer))) for floor in floors]


def table(checks: Sequence[Check]) -> str:
    """A line for each floor, those that fail at the end where they are seen."""
    rows = [("workload", "peer", "ratio", "floor", "usual", "verdict")]
    for one in sorted(checks, key=lambda one: not one.holds):
        floor = one.guarded
        ratio = "-" if one.ratio is None else f"{one.ratio:.3g}"
        rows.append(
            (floor.workload, floor.peer, ratio, f"{floor.floor:.3g}", f"{floor.measured:.3g}", one.verdict)
        )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = []
    for row in rows:
        words = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        numbers = [row[column].rjust(widths[column]) for column in (2, 3, 4)]
        lines.append("  ".join([*words, *numbers, row[5]]))
    return "\n".join(lines)


def suggested(runs: Sequence[Sequence[Workload]], floors: Sequence[Floor]) -> str:
    """Lines of ``floors.toml``: those of `floors` with the runs' figures, then what they do not guard yet."""
    found = [ratios(run) for run in runs]
    guarded = {(floor.workload, floor.peer): floor for floor in floors}
    lines = []
    for key in dict.fromkeys([*guarded, *(key for run in found for key in run)]):
        values = [run[key] for run in found if key in run]
        if not values:
            continue
        measured = usual(values)
        aim = f", aim = {guarded[key].aim:g}" if key in guarded and guarded[key].aim else ""
        figures = f"floor = {SHARE * measured:.2g}, measured = {measured:.3g}{aim}"
        remarks = [f"{min(values):.3g} … {max(values):.3g} in {len(values)} runs"]
        if key not in guarded:
            remarks.append("not guarded")
        if min(values) < LEAST * measured:
            remarks.append("TOO NOISY")
        line = f'  {{ workload = "{key[0]}", peer = "{key[1]}", {figures} }},'
        lines.append(f"{line} # {', '.join(remarks)}")
    return "\n".join(lines)


Measure = Callable[[Sequence[str]], list[Workload]]


def measured_again(files: Sequence[str]) -> list[Workload]:
    """The workloads of some files of benchmarks, run now."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        paths = [str(FLOORS.with_name(f"{name}.py")) for name in files]
        command = [sys.executable, "-m", "pytest", *paths, "--quiet", f"--benchmark-json={results}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=FLOORS.parent.parent)
        return workloads(read([results]))


def better(checks: Sequence[Check], others: Sequence[Check]) -> list[Check]:
    """Of two checks of the same floors: each time the one that holds, else the first."""
    return [two if not one.holds and two.holds else one for one, two in zip(checks, others, strict=True)]


def main(arguments: Sequence[str], path: Path = FLOORS, measure: Measure = measured_again) -> int:
    """0 when every floor holds, 1 when one does not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floors", description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="+", help="pytest-benchmark's JSON of a short run")
    parser.add_argument(
        "--again", type=int, default=0, metavar="N", help="measure again what is below its floor"
    )
    parser.add_argument(
        "--suggest", action="store_true", help="print lines for floors.toml from several runs"
    )
    chosen = parser.parse_args(arguments)
    floors = read_floors(path)
    if chosen.suggest:
        print(suggested([workloads(read([name])) for name in chosen.results], floors))
        return 0
    found = workloads(read(chosen.results))
    files = {workload.name: workload.file for workload in found}
    checks = check(floors, found)
    for _ in range(chosen.again):
        low = [one for one in checks if not one.holds and one.ratio is not None]
        if not low:
            break
        for one in low:
            print(f"again: {one.guarded.workload}, {one.ratio:.3g} × {one.guarded.peer}", flush=True)
        again = dict.fromkeys(files[one.guarded.workload] for one in low)
        checks = better(checks, check(floors, measure(list(again))))
    failed = [one for one in checks if not one.holds]
    print(table(checks))
    if failed:
        print(
            f"\n{len(failed)} of {len(checks)} guarded ratios fail: fastgate is slower beside these peers than it was,"
        )
        print(f"or they were not measured. Where the change is meant, change {path} with it.")
    else:
        print(f"\nall {len(checks)} guarded ratios hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
