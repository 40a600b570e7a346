"""Kernels that total pass, fail and error outcomes of cases and their trials, run by run.

A run has a list of sorted keys ``(case << trial_bits) | trial``, which runs of the same cases share, and a bit per
key in two planes of 64-bit words: passed, and execution failed (then the first is 0). Two runs of 500 cases that
share a list are compared in 8 words.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.fingerprint import OU, U, mix
from fastgate.kernels.types import I

__all__ = [
    "RUNS",
    "TABLE",
    "case_end",
    "case_outcome",
    "case_tally",
    "code_at",
    "digest_lists",
    "digest_runs",
    "list_facts",
    "ones",
    "total_runs",
]

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

TABLE: Final = types.Array(types.int64, 2, "C")

FAILED: Final = 0
PASSED: Final = 1
ERROR: Final = 2

# When a case with several trials has passed: in all of them, in more than half, in the first; or it counts by its
# share of passed trials; or each trial counts by itself.
ALL: Final = 0
MAJORITY: Final = 1
FIRST: Final = 2
SHARE: Final = 3
EACH: Final = 4

# Columns of the facts about a list.
LIST_CASES: Final = 0
LIST_REPEATS: Final = 1  # keys that stand twice
LIST_MOST_TRIALS: Final = 2
N_FACTS: Final = 3

# Columns of the totals of a run.
PASSES: Final = 0  # trials
FAILS: Final = 1
ERRORS: Final = 2
PASSED_CASES: Final = 3
FAILED_CASES: Final = 4
UNDECIDED_CASES: Final = 5
FLAKY_CASES: Final = 6
N_TOTALS: Final = 7

_EVERY_SECOND: Final = np.uint64(0x5555555555555555)
_PAIRS: Final = np.uint64(0x3333333333333333)
_NIBBLES: Final = np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES: Final = np.uint64(0x0101010101010101)

# The arguments that every kernel begins with: start, stop, then the runs as `Outcomes` has them.
RUNS: Final = (types.int64, types.int64, I, I, I, I, I, I, types.int64)


@device
def ones(word: int) -> int:
    """The number of bits that are set."""
    x = np.uint64(word)
    x = x - ((x >> np.uint64(1)) & _EVERY_SECOND)
    x = (x & _PAIRS) + ((x >> np.uint64(2)) & _PAIRS)
    x = (x + (x >> np.uint64(4))) & _NIBBLES
    return int((x * _BYTES) >> np.uint64(56))


@device
def code_at(passed: Integers, errors: Integers, at: int) -> int:
    """FAILED, PASSED or ERROR."""
    word, bit = at >> 6, at & 63
    return int(((passed[word] >> bit) & 1) + 2 * ((errors[word] >> bit) & 1))


@device
def case_outcome(rule: int, passes: int, fails: int, errors: int, first: int) -> int:
    """What all completions of a case's failed executions agree on; ERROR where they do not."""
    if rule == ALL:
        if fails > 0:
            return FAILED
        return ERROR if errors > 0 else PASSED
    if rule == MAJORITY:
        trials = passes + fails + errors
        if 2 * passes > trials:
            return PASSED
        return FAILED if 2 * (passes + errors) <= trials else ERROR
    if rule == FIRST:
        return first
    if errors > 0:
        return ERROR
    return PASSED if fails == 0 else FAILED


@device
def case_tally(
    keys: Integers, passed: Integers, errors: Integers, at: int, trial_bits: int
) -> tuple[int, int, int, int]:
    """Where the case that begins at `at` ends, and its passes, fails and errors."""
    case = keys[at] >> trial_bits
    passes = fails = failed = 0
    while at < keys.size and keys[at] >> trial_bits == case:
        code = code_at(passed, errors, at)
        passes += code == PASSED
        fails += code == FAILED
        failed += code == ERROR
        at += 1
    return at, passes, fails, failed


@device
def case_end(keys: Integers, at: int, trial_bits: int) -> int:
    """Where the case that begins at `at` ends."""
    case = keys[at] >> trial_bits
    while at < keys.size and keys[at] >> trial_bits == case:
        at += 1
    return at


@kernel(types.void(types.int64, types.int64, I, I, types.int64, TABLE))
def list_facts(
    start: int, stop: int, list_offsets: Integers, list_keys: Integers, trial_bits: int, facts: Integers
) -> None:
    """Cases, repeated keys and the most trials of a case, for each list: int64, shape (n_lists, N_FACTS)."""
    for number in range(start, stop):
        keys = list_keys[list_offsets[number] : list_offsets[number + 1]]
        row = facts[number]
        row[:] = 0
        for i in range(1, keys.size):
            row[LIST_REPEATS] += keys[i] == keys[i - 1]
        at = 0
        while at < keys.size:
            end = case_end(keys, at, trial_bits)
            row[LIST_CASES] += 1
            row[LIST_MOST_TRIALS] = max(row[LIST_MOST_TRIALS], end - at)
            at = end


@kernel(types.void(*RUNS, types.int64, TABLE))
def total_runs(
    start: int,
    stop: int,
    run_lists: Integers,
    list_offsets: Integers,
    list_keys: Integers,
    plane_offsets: Integers,
    passed: Integers,
    errors: Integers,
    trial_bits: int,
    rule: int,
    totals: Integers,
) -> None:
    """The totals of each run.

    Parameters
    ----------
    run_lists : int64, shape (n_runs,)
        The list of each run.
    list_offsets : int64, shape (n_lists + 1,)
    list_keys : int64, sorted within each list
    plane_offsets : int64, shape (n_runs + 1,)
        Where the words of each run begin, in both planes.
    passed, errors : int64
        The planes; bits beyond a run's keys are 0.
    trial_bits : int64
    rule : int64
        ALL, MAJORITY, FIRST, SHARE or EACH.
    totals : int64, shape (N_TOTALS, n_runs), written
    """
    for run in range(start, stop):
        number = run_lists[run]
        keys = list_keys[list_offsets[number] : list_offsets[number + 1]]
        good = passed[plane_offsets[run] : plane_offsets[run + 1]]
        bad = errors[plane_offsets[run] : plane_offsets[run + 1]]
        row = totals[:, run]
        row[:] = 0
        for i in range(good.size):
            row[PASSES] += ones(good[i])
            row[ERRORS] += ones(bad[i])
        row[FAILS] = keys.size - row[PASSES] - row[ERRORS]
        if trial_bits == 0:
            row[PASSED_CASES] = row[PASSES]
            row[FAILED_CASES] = row[FAILS]
            row[UNDECIDED_CASES] = row[ERRORS]
            continue
        at = 0
        while at < keys.size:
            first = code_at(good, bad, at)
            at, passes, fails, failed = case_tally(keys, good, bad, at, trial_bits)
            outcome = case_outcome(rule, passes, fails, failed, first)
            row[PASSED_CASES] += outcome == PASSED
            row[FAILED_CASES] += outcome == FAILED
            row[UNDECIDED_CASES] += outcome == ERROR
            row[FLAKY_CASES] += passes > 0 and fails > 0


@kernel(types.void(types.int64, types.int64, I, I, types.int64, U, U, OU))
def digest_lists(
    start: int,
    stop: int,
    list_offsets: Integers,
    list_keys: Integers,
    trial_bits: int,
    case_hashes: Words,
    trial_hashes: Words,
    digests: Words,
) -> None:
    """A hash of the names of each list's keys, in their order.

    Parameters
    ----------
    case_hashes, trial_hashes : uint64
        The hash of each case's and each trial's name.
    digests : uint64, shape (n_lists,), written
    """
    mask = (np.int64(1) << trial_bits) - 1
    for number in range(start, stop):
        keys = list_keys[list_offsets[number] : list_offsets[number + 1]]
        digest = np.uint64(keys.size)
        for i in range(keys.size):
            digest = mix(digest + case_hashes[keys[i] >> trial_bits]) + trial_hashes[keys[i] & mask]
        digests[number] = digest


@kernel(types.void(types.int64, types.int64, I, U, I, I, I, OU))
def digest_runs(
    start: int,
    stop: int,
    run_lists: Integers,
    list_digests: Words,
    plane_offsets: Integers,
    passed: Integers,
    errors: Integers,
    digests: Words,
) -> None:
    """A hash of each run's outcomes, which no order of rows and no other run's cases change.

    Parameters
    ----------
    list_digests : uint64, shape (n_lists,)
        As `digest_lists` writes them.
    digests : uint64, shape (n_runs,), written
    """
    for run in range(start, stop):
        digest = list_digests[run_lists[run]]
        for word in range(plane_offsets[run], plane_offsets[run + 1]):
            digest = mix(mix(digest + np.uint64(passed[word])) + np.uint64(errors[word]))
        digests[run] = digest
