"""The kernels of grouping against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from fastgate.kernels import fingerprint, grouping


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("distinct", [1, 3, 250, 260, 5000, 70_000])
@pytest.mark.parametrize("ordered", [True, False])
def test_encode_numbers_rows_by_first_appearance(width: int, distinct: int, ordered: bool) -> None:
    rng = np.random.default_rng(distinct)
    rows = np.arange(80_000) % distinct if ordered else rng.integers(0, distinct, 80_000)
    pool = rng.integers(-(2**63), 2**63 - 1, (distinct, width))
    pool[: distinct // 2, 0] = 7  # rows that differ in their second word only, where there is one
    words = np.ascontiguousarray(pool[rows]).reshape(-1)
    codes = np.empty(rows.size, np.int32)
    firsts = np.empty(rows.size, np.int64)
    n = grouping.encode(words, width, codes, firsts)
    known: dict[tuple[int, ...], int] = {}
    expected = [known.setdefault(tuple(row), len(known)) for row in pool[rows].tolist()]
    assert n == len(known)
    assert codes.tolist() == expected
    assert [expected.index(code) for code in range(min(n, 50))] == firsts[: min(n, 50)].tolist()


@pytest.mark.parametrize("size", [0, 1, 2, 24, 25, 300, 5000])
@pytest.mark.parametrize("span", [1, 10, 10_000, 2**40, 2**62])
def test_sort_cells_orders_by_key_then_value(size: int, span: int) -> None:
    rng = np.random.default_rng(size)
    keys = rng.integers(0, span, 2 * size)
    values = rng.normal(size=(2, 2 * size))
    values[:, ::7] = -0.0
    values[:, 1::7] = 0.0
    values[:, 2::11] = np.nan
    offsets = np.array([0, size, 2 * size])
    sorted_keys, sorted_values = keys.copy(), values.copy()
    grouping.sort_cells(0, 2, offsets, sorted_keys, sorted_values)
    for cell in range(2):
        part = slice(offsets[cell], offsets[cell + 1])
        assert sorted_keys[part].tolist() == sorted(keys[part].tolist())
        for column in range(2):
            # -0.0 before 0.0, NaN last; repr tells the two zeros apart.
            rows = sorted(
                zip(keys[part].tolist(), values[column, part].tolist(), strict=True),
                key=lambda row: (row[0], np.isnan(row[1]), row[1], repr(row[1]) != "-0.0"),
            )
            assert [repr(row[1]) for row in rows] == [
                repr(value) for value in sorted_values[column, part].tolist()
            ]


def test_an_ordered_cell_is_left_alone_and_others_untouched() -> None:
    keys = np.array([5, 1, 1, 2, 3, 9, 8])
    values = np.arange(7.0)[np.newaxis].copy()
    grouping.sort_cells(1, 2, np.array([0, 2, 5, 7]), keys, values)
    assert keys.tolist() == [5, 1, 1, 2, 3, 9, 8]
    assert values[0].tolist() == list(range(7))


def test_find_unsorted_counts_equal_keys_as_unsorted() -> None:
    marks = np.full(4, 9, np.int8)
    grouping.find_unsorted(0, 4, np.array([0, 0, 2, 4, 6]), np.array([1, 2, 2, 2, 3, 1]), marks)
    assert marks.tolist() == [0, 0, 1, 1]


def slow_mix(word: int) -> int:
    """SplitMix64's finaliser in integers of any size."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


@pytest.mark.parametrize("with_cases", [True, False])
def test_digests_follow_their_formula(with_cases: bool) -> None:
    values = np.array([1.5, -0.0, np.nan, np.inf, np.frombuffer(b"\x01\0\0\0\0\0\xf8\xff")[0], 2.0])
    offsets = np.array([0, 2, 2, 6])
    codes = np.array([0, 1, 0, 1, 2, 3]) if with_cases else np.empty(0, np.int64)
    hashes = np.array([11, 2**64 - 3, 5, 2**63], np.uint64)
    digests = np.empty(3, np.uint64)
    starts = offsets[:-1] if with_cases else np.empty(0, np.int64)
    fingerprint.digest_cells(0, 3, offsets, values, starts, codes, hashes, digests)
    for cell in range(3):
        rows = range(offsets[cell], offsets[cell + 1])
        expected = len(rows)
        for position, row in enumerate(rows):
            bits = 0x7FF8 << 48 if np.isnan(values[row]) else int(values[row].view(np.uint64))
            place = int(hashes[codes[row]]) if with_cases else (position + 1) * 0x9E3779B185EBCA87
            expected += slow_mix((slow_mix(bits) + place) % 2**64)
        assert int(digests[cell]) == expected % 2**64
