"""Writes a sweep of random scores and its policy, for trying fastgate at size.

    python -m benchmarks.sweep_files FOLDER [CANDIDATES]

FOLDER/sweep.parquet has a row for each of 100 cases of 6 KPIs of 8 suites of each candidate (10 000 unless
given: 48 million rows) and of four baselines; FOLDER/policy.toml asks for six suites against each of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.workloads import write_sweep, write_sweep_policy


def main(arguments: list[str]) -> None:
    """Write both files."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    write_sweep_policy(folder / "policy.toml")
    write_sweep(folder / "sweep.parquet", int(arguments[1]) if len(arguments) > 1 else 10_000)


if __name__ == "__main__":
    main(sys.argv[1:])
