from __future__ import annotations

import pytest
from example_results import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from fastgate.gates.reasons import CODES
from fastgate.reports import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (0.000123456, "0.0001235"),
        (0.0000123456, "1.235e-5"),
        (9999.4, "9999"),
        (-123456.7, "-123,457"),
        (1.5e9, "1.5e9"),
        (-2e-300, "-2e-300"),
        (None, "n/a"),
        (float("nan"), "n/a"),
        (float("-inf"), "n/a"),
    ],
)
def test_numbers_have_four_digits_and_short_exponents(value, text):
    assert words.number(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.5, "+0.5"), (-0.5, "-0.5"), (0.0, "0"), (None, "n/a")])
def test_a_difference_has_its_sign(value, text):
    assert words.signed(value) == text


@given(st.floats(min_value=1e-300, max_value=1.0), st.sampled_from([0.05, 0.01, 0.001]))
def test_a_pvalue_is_shown_on_its_own_side_of_alpha(value, alpha):
    text = words.pvalue(value, alpha)
    assert (float(text) < alpha) == (value < alpha)
    assert float(text) == pytest.approx(value, rel=0.06)


def test_a_pvalue_that_underflowed_is_not_called_zero():
    assert words.pvalue(0.0, 0.05) == "<1e-307"
    assert words.pvalue(None) == "n/a"


@given(st.text())
def test_no_name_commands_the_terminal(text):
    shown = words.name(text)
    assert shown.isprintable()
    assert 0 < len(shown) <= 80
    if text.isprintable() and 0 < len(text) <= 80:
        assert shown == text


def test_a_long_name_keeps_both_ends():
    shown = words.name("begin" + "x" * 500 + "end")
    assert shown.startswith("begin")
    assert shown.endswith("end")
    assert "..." in shown


def test_messages_keep_their_lines():
    assert words.printable("one\ntwo\x1b[2J") == "one\ntwo\\x1b[2J"


@pytest.mark.parametrize(
    ("delta", "direction", "which"),
    [(1.0, "higher", "better"), (1.0, "lower", "worse"), (-1.0, "lower", "better"), (0.0, "lower", "equal")],
)
def test_better_is_what_the_kpi_says(delta, direction, which):
    assert words.better_or_worse(delta, direction) == which


def test_without_a_difference_nothing_is_better():
    assert words.better_or_worse(None, "higher") == "unknown"
    assert words.better_or_worse(float("nan"), "higher") == "unknown"


def test_every_reason_has_words_for_a_table():
    for code in CODES:
        short = words.short_reason([code])
        assert short in words._SHORT.values()
        assert len(short) <= 16
    assert words.short_reason([]) == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "no-such-encoding"])
def test_any_encoding_can_show_a_report(encoding):
    text = f"cost ↓ {words.name(HOSTILE)} 日本 ±0.5\n────"
    shown = words.transliterated(text, encoding)
    assert len(shown.splitlines()[1]) == 4
    shown.encode("ascii" if encoding == "no-such-encoding" else encoding)
