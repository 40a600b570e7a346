"""Agreement of probes: choices, swaps, abstentions, counting, kappa, flags and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastgate.errors import ArgumentError
from fastgate.stats.choices import choice_codes, compare_arrays, outcome_codes
from fastgate.stats.probes import (
    agreement,
    agreement_arrays,
    observation_weight,
    stability_flags,
    stability_flags_arrays,
)

WORDS = ["A", "B", "tie", "abstain"]


def test_choices_are_read_as_words_and_as_codes() -> None:
    assert choice_codes(["A", "B", "tie", "abstain", None, float("nan")]).tolist() == [0, 1, 2, 3, -1, -1]
    assert choice_codes(np.array([0, 3, -1], np.int64)).tolist() == [0, 3, -1]
    assert choice_codes(np.array(["B", "tie"])).tolist() == [1, 2]


@pytest.mark.parametrize(
    "wrong", [["A", "C"], ["A", ""], ["A", 0], np.array([0, 4]), np.array([0, -2]), np.array([0, 256])]
)
def test_an_unknown_choice_names_itself_and_its_place(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="element 1"):
        choice_codes(wrong)


def test_outcomes_are_read_as_words_and_as_shares_of_the_win() -> None:
    assert outcome_codes(["left", "right", "tie", "abstain", None]).tolist() == [0, 1, 2, 3, -1]
    assert outcome_codes(np.array([1.0, 0.0, 0.5, np.nan])).tolist() == [0, 1, 2, -1]
    assert outcome_codes([True, False]).tolist() == [0, 1]
    for wrong in (["left", "draw"], [1.0, 0.25], [1, 2]):
        with pytest.raises(ArgumentError, match="element 1"):
            outcome_codes(wrong)


def test_raw_letters_of_swapped_runs_trade_places_and_nothing_else_does() -> None:
    primary = ["A", "B", "tie", "abstain"]
    raw = ["B", "A", "tie", "abstain"]
    reasons = ["policy"] * 4
    options: dict[str, Any] = {"primary_reason": reasons, "probe_reason": reasons}
    assert agreement(primary, raw, probe_swapped=[True] * 4, letters="raw", **options).agree == 4
    assert agreement(primary, raw, probe_swapped=[True] * 4, letters="unswapped", **options).agree == 2
    assert agreement(primary, raw, **options).agree == 2
    assert agreement(raw, primary, primary_swapped=[True] * 4, letters="raw", **options).agree == 4
    both = {"primary_swapped": [True, False] * 2, "probe_swapped": [True, True] * 2}
    assert agreement(["A", "B"] * 2, ["A", "A"] * 2, letters="raw", **both).agree == 4


@pytest.mark.parametrize(
    "options",
    [
        {"probe_swapped": [True]},
        {"primary_swapped": [True]},
        {"letters": "raw"},
        {"letters": "swapped"},
        {"letters": "raw", "probe_swapped": [True, False]},
        {"letters": "raw", "probe_swapped": ["yes"]},
        {"letters": "raw", "probe_swapped": [None]},
        {"primary_reason": ["policy"]},
        {"primary_reason": ["policy"], "probe_reason": []},
        {"confidence_level": 1.0},
        {"cell": [-1]},
        {"cell": [2], "n_cells": 2},
        {"cell": [0, 1]},
        {"cell": [0.5]},
    ],
)
def test_calls_that_leave_something_open_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        agreement(["A"], ["A"], **options)


def test_lengths_have_to_match() -> None:
    with pytest.raises(ArgumentError, match="differ in length"):
        agreement(["A", "B"], ["A"])
    with pytest.raises(ArgumentError, match="one"):
        agreement([["A"]], [["A"]])


def test_an_abstention_agrees_only_within_its_known_reason_class() -> None:
    result = agreement(
        ["abstain"] * 5 + ["A"],
        ["abstain", "abstain", "abstain", "A", "abstain", "abstain"],
        cell=range(6),
        primary_reason=["policy", "policy", None, "policy", "parse", None],
        probe_reason=["policy", "parse", None, None, None, "policy"],
    )
    assert result.agree.tolist() == [1, 0, 0, 0, 0, 0]
    assert result.n.tolist() == [1] * 6
    assert agreement(["abstain"], ["abstain"]).agree == 0


def test_reason_codes_and_reason_words_say_the_same() -> None:
    words = agreement(
        ["abstain", "abstain"], ["abstain", "abstain"], primary_reason=["x", "y"], probe_reason=["x", "z"]
    )
    numbers = agreement(
        ["abstain", "abstain"], ["abstain", "abstain"], primary_reason=[0, 1], probe_reason=[0, 2]
    )
    assert words == numbers


def test_missing_runs_are_left_out_and_counted() -> None:
    result = agreement(["A", None, "B", None], ["A", "A", None, None])
    assert (result.n, result.agree, result.missing, result.agreement) == (1, 1, 3, 1.0)


def test_nothing_to_compare_is_too_few_and_never_a_number() -> None:
    for result in (agreement([], []), agreement([None], ["A"])):
        assert result.status == "too_few"
        assert np.isnan([result.agreement, result.ci_low, result.ci_high, result.kappa]).all()
    result = agreement(["A"], ["A"], cell=[1], n_cells=3)
    assert result.status.tolist() == ["too_few", "ok", "too_few"]
    assert agreement([], [], cell=np.empty(0, np.int64)).n.size == 0


def test_full_agreement_touches_the_border_exactly() -> None:
    result = agreement(["A"] * 50 + ["B"] * 3, ["A"] * 53, cell=[0] * 50 + [1] * 3)
    assert result.ci_high[0] == 1.0
    assert result.ci_low[0] < 1.0
    assert result.ci_low[1] == 0.0
    assert np.isnan(result.kappa[0])
    assert result.kappa[1] == 0.0


def chance_corrected(primary: list[Any], probe: list[Any]) -> float:
    n = len(primary)
    observed = sum(a == b for a, b in zip(primary, probe, strict=True)) / n
    expected = sum(primary.count(word) * probe.count(word) for word in {*primary, *probe}) / n**2
    return (observed - expected) / (1.0 - expected)


def test_kappa_counts_each_reason_class_as_a_category() -> None:
    rng = np.random.default_rng(5)
    categories = [("A", None), ("B", None), ("tie", None), ("abstain", "policy"), ("abstain", "parse")]
    first = [categories[i] for i in rng.integers(0, 5, 300)]
    second = [a if rng.random() < 0.7 else categories[rng.integers(0, 5)] for a in first]
    result = agreement(
        [choice for choice, _ in first],
        [choice for choice, _ in second],
        primary_reason=[reason for _, reason in first],
        probe_reason=[reason for _, reason in second],
    )
    assert result.kappa == pytest.approx(chance_corrected(first, second), rel=1e-14)


def test_an_unknown_code_in_the_arrays_undoes_its_own_cell_only() -> None:
    primary = np.array([0, 0, 1, 9, 0], np.int8)
    probe = np.array([0, 1, 1, 0, -7], np.int8)
    compared = compare_arrays(primary, probe)
    assert compared.match.tolist() == [1, 0, 1, -2, -2]
    share, low, high, kappa, n, _, _, status = agreement_arrays(np.array([0, 0, 1, 2, 3]), 4, compared)
    assert status.tolist() == [0, 0, 8, 8]
    assert np.isnan([share[2:], low[2:], high[2:], kappa[2:]]).all()
    assert share[:2].tolist() == [0.5, 1.0]
    assert n.tolist() == [2, 1, 0, 0]


def many(n: int, n_cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    primary = rng.integers(-1, 4, n).astype(np.int8)
    probe = np.where(rng.random(n) < 0.8, primary, rng.integers(-1, 4, n)).astype(np.int8)
    reasons = rng.integers(-1, 3, (2, n))
    return rng.integers(0, n_cells, n), primary, probe, reasons[0], reasons[1]


def test_counting_in_blocks_gives_the_same_bits_as_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, primary, probe, first, second = many(700_000, 50)
    options: dict[str, Any] = {"primary_reason": first, "probe_reason": second}
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FASTGATE_NUM_THREADS", threads)
        results.append(agreement_arrays(cell, 50, compare_arrays(primary, probe, **options), **options))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    mine = cell == 17
    counted = mine & (primary >= 0) & (probe >= 0)
    same = (primary == probe) & ((primary != 3) | ((first == second) & (first >= 0)))
    assert results[0][4][17] == counted.sum()
    assert results[0][5][17] == (counted & same).sum()
    assert results[0][6][17] == (mine & ~counted).sum()


def test_flags_name_the_kinds_that_flipped_a_pair() -> None:
    flags = stability_flags(
        [0, 0, 0, 2, 2, 2],
        [0, 1, 1, 4, 62, 3],
        ["A", "A", "A", "B", "B", "B"],
        ["A", "A", "B", "A", "tie", None],
        n_pairs=4,
    )
    assert flags.probed.tolist() == [0b11, 0, (1 << 4) | (1 << 62), 0]
    assert flags.flipped.tolist() == [0b10, 0, (1 << 4) | (1 << 62), 0]
    assert flags.observation_weight.tolist() == pytest.approx([2 / 3, 1.0, 1 / 3, 1.0])


def test_flags_heed_swaps_and_reasons() -> None:
    flags = stability_flags(
        [0, 1, 2],
        [0, 0, 0],
        ["A", "A", "abstain"],
        ["B", "A", "abstain"],
        primary_reason=[None, None, "policy"],
        probe_reason=[None, None, "policy"],
        probe_swapped=[True, True, True],
        letters="raw",
    )
    assert flags.flipped.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("pair", "kind"), [([0], [63]), ([0], [-1]), ([-1], [0]), ([0, 1], [0]), ([0], [0, 1]), ([5], [0])]
)
def test_pairs_and_kinds_have_to_be_in_range(pair: list[int], kind: list[int]) -> None:
    with pytest.raises(ArgumentError):
        stability_flags(pair, kind, ["A"], ["A"], n_pairs=3)


def test_weights_are_the_share_of_supporting_looks() -> None:
    probed = np.array([0, 1, 3, 31, 31])
    flipped = np.array([0, 1, 1, 31, 1])
    assert observation_weight(flipped, probed).tolist() == pytest.approx([1.0, 1 / 2, 2 / 3, 1 / 6, 5 / 6])


def test_flag_arrays_leave_out_what_was_not_compared() -> None:
    match = np.array([1, 0, -1, -2], np.int8)
    flipped, probed = stability_flags_arrays(np.zeros(4, np.int64), 1, np.arange(4, dtype=np.int8), match)
    assert (flipped.tolist(), probed.tolist()) == ([0b10], [0b11])
