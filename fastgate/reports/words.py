"""Numbers, names and reasons as people read them; shared by every report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = [
    "better_or_worse",
    "count",
    "directed",
    "interval",
    "listing",
    "method_in_words",
    "name",
    "number",
    "percent",
    "plural",
    "printable",
    "pvalue",
    "share",
    "short_reason",
    "short_reasons",
    "signed",
    "transliterated",
]

MISSING: Final = "n/a"
_LONGEST_NAME: Final = 80

# Reason codes in the few characters that a table has; the sentences are `fastgate.gates.reasons.MEANINGS`.
_SHORT: Final = {
    "missing_cell": "no data",
    "duplicate_case": "case twice",
    "unpaired_cases": "other cases",
    "missing_values": "values missing",
    "nonfinite": "infinite value",
    "too_few": "under 2 cases",
    "n_lt_min": "too few cases",
    "invalid_values": "not 0 or 1",
    "zero_var_equal": "no variance",
    "zero_var_diff": "no variance",
    "precision_loss": "precision lost",
    "no_interval": "no interval",
    "guard_worse": "guard worse",
    "guard_not_shown": "guard not shown",
    "guard_undefined": "guard undefined",
    "too_few_wins": "too few wins",
    "lost_suite": "suite lost",
    "no_previous_result": "not in previous",
    "missing_manifest": "no manifest",
    "mixed_manifest": "mixed conditions",
    "missing_field": "field not stated",
    "differing_field": "conditions differ",
    "unpaired_trials": "other trials",
    "too_many_errors": "too many errors",
    "no_noise_floor": "no noise floor",
    "no_primary": "no primary run",
    "duplicate_probe": "probe twice",
    "self_comparison": "compared with itself",
    "agreement_drop": "agreement fell",
    "no_previous_agreement": "kind not in previous",
}

# One character for one, so that tables keep their shape on a terminal without Unicode.
_ASCII: Final = str.maketrans(
    {"↑": "^", "↓": "v", "±": "~", "─": "-", "√": "r", "·": "*", "≥": ">", "≤": "<"}
)


def number(value: float | None, digits: int = 4) -> str:
    """A figure with about `digits` significant digits; `MISSING` where there is none.

    Examples
    --------
    >>> number(0.012345678), number(123456.7), number(1.2e-15), number(-0.5), number(None)
    ('0.01235', '123,457', '1.2e-15', '-0.5', 'n/a')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    if 1e4 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return _short_exponent(f"{value + 0.0:.{digits}g}")


def _short_exponent(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def percent(share: float | None, digits: int = 4) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> percent(0.91666), percent(1.0), percent(None)
    ('91.67 %', '100 %', 'n/a')
    """
    return MISSING if share is None or not math.isfinite(share) else f"{number(100 * share, digits)} %"


def share(value: float) -> str:
    """A share of many trials as a percentage, in as few digits as tell it from none and all.

    Examples
    --------
    >>> share(0.6063), share(0.996), share(0.0004), share(1.0), share(0.0)
    ('61 %', '99.6 %', '0.04 %', '100 %', '0 %')
    """
    for digits in range(8):
        text = f"{100 * value:.{digits}f}"
        if (float(text) in (0.0, 100.0)) == (value in (0.0, 1.0)):
            break
    return f"{text} %"


def signed(value: float | None, digits: int = 3) -> str:
    """A difference, with its sign.

    Examples
    --------
    >>> signed(0.01234), signed(-2.0), signed(0.0), signed(None)
    ('+0.0123', '-2', '0', 'n/a')
    """
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text != MISSING else text


def pvalue(value: float | None, alpha: float | None = None) -> str:
    """A p-value with three significant digits, two below 0.001, or as many as show its side of `alpha`.

    Examples
    --------
    >>> pvalue(0.3141), pvalue(1.234e-15), pvalue(1.0), pvalue(0.0), pvalue(0.0499999, 0.05)
    ('0.314', '1.2e-15', '1', '<1e-307', '0.0499999')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "<1e-307"  # below the smallest normal number
    for digits in range(3 if value >= 1e-3 else 2, 18):
        text = f"{value:.{digits}g}"
        if alpha is None or (float(text) < alpha) == (value < alpha):
            break
    return _short_exponent(text)


def count(value: int) -> str:
    """A whole number with separators: ``12,345``."""
    return f"{value:,}"


def plural(value: int, one: str, many: str | None = None) -> str:
    """``1 suite``, ``2 suites``, ``1,200 suites``."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def listing(items: Sequence[str], most: int = 5) -> str:
    """The first items, and how many more there are.

    Examples
    --------
    >>> listing(["a", "b"]), listing(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {count(len(items) - most)} more"


def name(text: str) -> str:
    r"""A name from the data, safe to show: control characters visible, the middle of a long name left out.

    A build's name could otherwise move the cursor of the terminal, or reverse the writing direction of a verdict.

    Examples
    --------
    >>> name("a\x1b[2Jb"), name("two\nlines"), name("")
    ('a\\x1b[2Jb', 'two\\nlines', "''")
    """
    shown = printable(text, keep="")
    if len(shown) > _LONGEST_NAME:
        half = (_LONGEST_NAME - 3) // 2
        shown = f"{shown[:half]}...{shown[-half:]}"
    return shown or "''"


def printable(text: str, keep: str = "\n") -> str:
    r"""A text without characters that command a terminal: those of Unicode's categories C and Z but the blank.

    Examples
    --------
    >>> printable("a\x1b[2Jb\nc"), printable("\u202eevil"), printable("naïve 日本")
    ('a\\x1b[2Jb\nc', '\\u202eevil', 'naïve 日本')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in keep else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def short_reason(codes: Sequence[str]) -> str:
    """The first reason in a few characters; empty where there is none."""
    return _SHORT.get(codes[0], codes[0].replace("_", " ")) if codes else ""


def short_reasons(codes: Sequence[str], own: Mapping[str, str] | None = None) -> list[str]:
    """Each reason in a few characters, equal ones once; `own` are a gate's own words for some of them.

    Examples
    --------
    >>> short_reasons(["zero_var_equal", "zero_var_diff", "too_few_wins"])
    ['no variance', 'too few wins']
    """
    return list(dict.fromkeys((own or {}).get(code) or short_reason([code]) for code in codes))


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """An interval, or `MISSING`.

    Examples
    --------
    >>> interval(-0.01234, 2.0), interval(None, 1.0)
    ('[-0.0123, 2]', 'n/a')
    """
    ends = number(low, digits), number(high, digits)
    return MISSING if MISSING in ends else f"[{ends[0]}, {ends[1]}]"


def better_or_worse(delta: float | None, direction: str) -> str:
    """``better`` or ``worse`` as the KPI counts it; ``equal`` at 0, and ``unknown`` where there is no difference."""
    if delta is None or not math.isfinite(delta):
        return "unknown"
    if delta == 0:
        return "equal"
    return "better" if (delta > 0) == (direction == "higher") else "worse"


def directed(kpi: str, direction: str, measure: str = "mean") -> str:
    """A KPI's name, what of it is compared unless it is the mean, and an arrow for the direction that is better."""
    which = "" if measure == "mean" else f" {measure}"
    return f"{name(kpi)}{which} {'↑' if direction == 'higher' else '↓'}"


def method_in_words(policy: Mapping[str, Any]) -> str:
    """The test of a benchmark policy.

    Examples
    --------
    >>> method_in_words({"test": "welch", "alternative": "two-sided", "alpha": 0.05,
    ...                "correction": {"method": "holm", "family": "sweep"}})
    "Welch's t test, two-sided, alpha 0.05, Holm correction over the sweep"
    """
    which = {"welch": "Welch's t test", "paired": "paired t test"}.get(policy["test"]) or _bootstrap(policy)
    text = f"{which}, {policy['alternative']}, alpha {number(policy['alpha'])}"
    method = policy["correction"]["method"]
    if method == "none":
        return text
    family = "the sweep" if policy["correction"]["family"] == "sweep" else "each candidate"
    return f"{text}, {CORRECTIONS[method]} correction over {family}"


def _bootstrap(policy: Mapping[str, Any]) -> str:
    how = policy["bootstrap"]
    pairs = "paired " if how["paired"] else ""
    return f"{pairs}bootstrap intervals ({INTERVALS[how['method']]}, engine {how['engine']})"


INTERVALS: Final = {
    "bca": "BCa",
    "percentile": "percentile",
    "basic": "basic",
    "normal": "normal",
    "studentised": "studentised",
}

CORRECTIONS: Final = {
    "bonferroni": "Bonferroni",
    "holm": "Holm",
    "hochberg": "Hochberg",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
}


def transliterated(text: str, encoding: str) -> str:
    r"""The text as the encoding can show it: ASCII signs for our own, escapes for what names hold.

    Examples
    --------
    >>> transliterated("auc ↑", "ascii"), transliterated("auc ↑", "utf-8"), transliterated("naïve", "ascii")
    ('auc ^', 'auc ↑', 'na\\xefve')
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return transliterated(text, "ascii")
    return text
