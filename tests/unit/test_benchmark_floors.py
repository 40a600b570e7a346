"""The check that fastgate has not become slower beside its peers: what it lets pass and what it does not."""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
GUARDED = """
ratios = [
  { workload = "moments", peer = "a parallel sum", floor = 0.33, measured = 0.6 },
  { workload = "moments", peer = "numpy", floor = 9.9, measured = 18.0, aim = 10.0 },
  { workload = "gate", peer = "Polars reading the file alone", floor = 0.22, measured = 0.4 },
]
"""
USUAL = {
    "moments": {"fastgate": 1.0, "a parallel sum": 0.6, "numpy": 18.0},
    "gate": {"fastgate": 1.0, "Polars reading the file alone": 0.4},
}


@pytest.fixture(scope="module")
def floors() -> ModuleType:
    """The checker, which is no part of the package."""
    sys.path.insert(0, str(ROOT))
    try:
        return importlib.import_module("benchmarks.floors")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture
def guarded(tmp_path: Path) -> Path:
    path = tmp_path / "floors.toml"
    path.write_text(GUARDED)
    return path


def saved(folder: Path, times: Mapping[str, Mapping[str, float]], *, slow_rounds: float = 1.0) -> str:
    """A run in pytest-benchmark's format: quickest rounds of so many seconds, the others slower by a factor."""
    benchmarks = [
        {
            "group": group,
            "name": f"test_side[{side}]",
            "fullname": f"benchmarks/test_{group}.py::test_side[{side}]",
            "extra_info": {"side": side, "cells": cells},
            "stats": {"min": cells * time, "median": cells * time * slow_rounds, "iqr": 0.1 * time},
        }
        for group, sides in times.items()
        for cells, (side, time) in zip((100, 7, 1), sides.items(), strict=False)
    ]
    path = folder / "results.json"
    path.write_text(json.dumps({"benchmarks": benchmarks, "machine_info": {}}))
    return str(path)


def changed(group: str, side: str, factor: float) -> dict[str, dict[str, float]]:
    return {**USUAL, group: {**USUAL[group], side: factor * USUAL[group][side]}}


def without(group: str, side: str) -> dict[str, dict[str, float]]:
    return {**USUAL, group: {name: time for name, time in USUAL[group].items() if name != side}}


def verdicts(capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], str]:
    """What the printed table says of each guarded ratio."""
    found = {}
    for line in capsys.readouterr().out.splitlines():
        for guard in tomllib.loads(GUARDED)["ratios"]:
            if line.startswith(guard["workload"]) and guard["peer"] in line:
                found[guard["workload"], guard["peer"]] = line.split("  ")[-1]
    return found


def test_the_usual_ratios_pass(
    floors: ModuleType, guarded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert floors.main([saved(tmp_path, USUAL)], guarded) == 0
    assert set(verdicts(capsys).values()) == {"ok"}


@pytest.mark.parametrize("group", USUAL)
def test_half_as_fast_fails(
    floors: ModuleType, guarded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], group: str
) -> None:
    assert floors.main([saved(tmp_path, changed(group, "fastgate", 2.0))], guarded) == 1
    found = verdicts(capsys)
    assert {key[0] for key, verdict in found.items() if verdict == "BELOW ITS FLOOR"} == {group}
    assert {verdict for key, verdict in found.items() if key[0] != group} == {"ok"}


def test_noise_passes(floors: ModuleType, guarded: Path, tmp_path: Path) -> None:
    """A fifth more or less on every side, and rounds that something else made three times as slow."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        times = {
            group: {side: time * rng.uniform(0.8, 1.2) for side, time in sides.items()}
            for group, sides in USUAL.items()
        }
        assert floors.main([saved(tmp_path, times, slow_rounds=rng.uniform(1.0, 3.0))], guarded) == 0


def test_a_slower_machine_passes(floors: ModuleType, guarded: Path, tmp_path: Path) -> None:
    slow = {group: {side: 9.0 * time for side, time in sides.items()} for group, sides in USUAL.items()}
    assert floors.main([saved(tmp_path, slow)], guarded) == 0


@pytest.mark.parametrize(
    ("times", "missing"),
    [
        ({"moments": USUAL["moments"]}, {("gate", "Polars reading the file alone")}),
        (without("gate", "fastgate"), {("gate", "Polars reading the file alone")}),
        (without("moments", "numpy"), {("moments", "numpy")}),
        (
            {},
            {("moments", "a parallel sum"), ("moments", "numpy"), ("gate", "Polars reading the file alone")},
        ),
    ],
)
def test_what_was_not_measured_fails(
    floors: ModuleType,
    guarded: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    times: dict[str, dict[str, float]],
    missing: set[tuple[str, str]],
) -> None:
    assert floors.main([saved(tmp_path, times)], guarded) == 1
    assert {key for key, verdict in verdicts(capsys).items() if verdict == "NOT MEASURED"} == missing


class Machine:
    """Measures again as it is told, and remembers what it was asked for."""

    def __init__(self, floors: ModuleType, folder: Path, *runs: dict[str, dict[str, float]]) -> None:
        self.floors, self.folder, self.runs = floors, folder, list(runs)
        self.asked: list[list[str]] = []

    def __call__(self, files: list[str]) -> Any:
        self.asked.append(files)
        return self.floors.workloads(self.floors.read([saved(self.folder, self.runs.pop(0))]))


def test_what_was_low_for_a_moment_is_measured_again(
    floors: ModuleType, guarded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = changed("gate", "fastgate", 2.0)
    machine = Machine(floors, tmp_path, slow, {"gate": USUAL["gate"]})
    assert floors.main([saved(tmp_path, slow), "--again", "3"], guarded, machine) == 0
    assert machine.asked == [["test_gate"], ["test_gate"]]
    assert set(verdicts(capsys).values()) == {"ok"}


def test_what_is_always_low_fails(
    floors: ModuleType, guarded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = changed("moments", "fastgate", 2.0)
    machine = Machine(floors, tmp_path, slow, slow)
    assert floors.main([saved(tmp_path, slow), "--again", "2"], guarded, machine) == 1
    assert machine.asked == [["test_moments"], ["test_moments"]]
    found = verdicts(capsys)
    assert found["moments", "numpy"] == "BELOW ITS FLOOR"
    assert found["gate", "Polars reading the file alone"] == "ok"


def test_what_was_not_measured_is_not_measured_again(
    floors: ModuleType, guarded: Path, tmp_path: Path
) -> None:
    machine = Machine(floors, tmp_path)
    assert floors.main([saved(tmp_path, without("moments", "numpy")), "--again", "2"], guarded, machine) == 1
    assert machine.asked == []


def test_a_broken_time_fails(floors: ModuleType, guarded: Path, tmp_path: Path) -> None:
    assert floors.main([saved(tmp_path, changed("moments", "numpy", float("nan")))], guarded) == 1


@pytest.mark.parametrize(
    "line",
    [
        '{ workload = "gate", peer = "Polars reading the file alone", floor = 0.1, measured = 0.4 }',
        '{ workload = "new", peer = "numpy", floor = 0.0, measured = 1.0 }',
    ],
)
def test_floors_that_guard_nothing_are_errors(floors: ModuleType, guarded: Path, line: str) -> None:
    guarded.write_text(GUARDED.replace("ratios = [", f"ratios = [\n  {line},"))
    with pytest.raises(ValueError, match="each ratio once"):
        floors.read_floors(guarded)


def test_the_committed_floors_are_below_what_is_usual_and_above_its_half(floors: ModuleType) -> None:
    committed = floors.read_floors()
    assert len(committed) > 20
    for one in committed:
        assert 0.5 * one.measured < one.floor < 0.65 * one.measured, one


def test_suggested_lines_are_floors(
    floors: ModuleType, guarded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for number, factor in enumerate((0.9, 1.0, 1.3)):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths.append(saved(folder, changed("gate", "fastgate", factor)))
    assert floors.main(["--suggest", *paths], guarded) == 0
    lines = tomllib.loads(f"ratios = [\n{capsys.readouterr().out}\n]")["ratios"]
    found: dict[str, Any] = {line["peer"]: line for line in lines}
    assert found["numpy"] == {
        "workload": "moments",
        "peer": "numpy",
        "floor": 9.9,
        "measured": 18.0,
        "aim": 10.0,
    }
    assert found["Polars reading the file alone"]["measured"] == pytest.approx(
        (0.4 / 1.3 + 0.4) / 2, rel=0.01
    )
