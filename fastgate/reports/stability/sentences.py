"""What the figures of a kind say, why a build got its verdict, and what holds of the whole result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from fastgate.gates.stability.reasons import MEANINGS, REVIEW
from fastgate.reports import words
from fastgate.reports.stability.facts import Build

if TYPE_CHECKING:
    from fastgate.gates.stability.result import StabilityResult

__all__ = [
    "changed",
    "digits_apart",
    "flip_sentences",
    "holds",
    "kind_sentence",
    "kind_verdict",
    "notes",
    "short_reasons",
    "verdict_line",
    "why",
    "width_sentence",
    "width_verdict",
]

Show: TypeAlias = Callable[[str], str]

_SHOWN_FAULTS: Final = 5
# These reasons are about the posterior, not about a kind.
_OF_WIDTH: Final = (
    "no_posterior",
    "one_alternative",
    "duplicate_alternative",
    "unknown_outcome",
    "bad_weight",
    "too_few",
    "nonfinite",
    "invalid",
    "degenerate",
    "not_converged",
    "disconnected",
    "separation",
    "prior_driven",
    "wide_posterior",
)


def verdict_line(build: Build) -> str:
    """How many kinds hold, how wide the posterior is, what fell."""
    row = build.row
    held = sum(bool(kind["holds"]) for kind in build.kinds)
    text = f"{held} of {words.plural(len(build.kinds), 'kind')} {'hold' if held != 1 else 'holds'}"
    width, _ = digits_apart(row["ci_width"], row["max_ci_width"])
    text += f", mean width {width}" if row["ci_width"] is not None else ", no posterior width"
    if row["dropped_kinds"]:
        text += f", {words.plural(len(row['dropped_kinds']), 'kind')} fell since the previous release"
    return text


def digits_apart(value: float | None, limit: float | None, digits: int = 3) -> tuple[str, str]:
    """Two figures with as many digits as tell them apart.

    Examples
    --------
    >>> digits_apart(0.19999, 0.2), digits_apart(0.2, 0.2), digits_apart(None, 0.2)
    (('0.19999', '0.2'), ('0.2', '0.2'), ('n/a', '0.2'))
    """
    if value is not None and limit is not None:
        while value != limit and digits < 17 and words.number(value, digits) == words.number(limit, digits):
            digits += 1
    return words.number(value, digits), words.number(limit, digits)


def short_reasons(codes: Sequence[str]) -> list[str]:
    """Each reason in a few characters, equal ones once."""
    return words.short_reasons(codes, {"n_lt_min": "too few probes", "too_few": "too few draws"})


def holds(kind: Mapping[str, Any]) -> str:
    """Whether a kind holds, in words: ``holds``, ``fails: too few probes``, ``holds, but agreement fell``."""
    codes = short_reasons(kind["reasons"])
    if not kind["holds"]:
        return f"fails: {', '.join(codes)}" if codes else "fails"
    return f"holds, but {', '.join(codes)}" if codes else "holds"


def kind_verdict(kind: Mapping[str, Any]) -> str:
    """``pass``, ``review`` or ``block``: what a kind by itself makes of the build."""
    if not kind["holds"] or any(code not in REVIEW for code in kind["reasons"]):
        return "block"
    return "review" if kind["reasons"] else "pass"


def width_verdict(build: Build) -> str:
    """``pass`` or ``block``: what the posterior by itself makes of the build."""
    return "block" if any(code in _OF_WIDTH for code in build.row["reasons"]) else "pass"


def kind_sentence(kind: Mapping[str, Any]) -> str:
    """Count, agreement, interval, threshold, and what was before."""
    agreement, threshold = digits_apart(kind["agreement"], kind["threshold"])
    text = (
        f"{words.count(kind['agree'])} of {words.plural(kind['n'], 'probe')} agree ({agreement}, Wilson 95 % "
        f"{_span(kind['ci_low'], kind['ci_high'])}); {threshold} asked for"
    )
    if kind["required"]:
        text += f", {words.count(kind['required'])} probes"
    if kind["kappa"] is not None:
        text += f"; kappa {words.number(kind['kappa'], 3)}"
    if kind["missing"]:
        text += f"; a run is missing of {words.plural(kind['missing'], 'probe')}"
    before = changed(kind)
    return f"{text}; {before}" if before else text


def _span(low: float | None, high: float | None) -> str:
    return (
        words.MISSING if low is None or high is None else f"{words.number(low, 3)} to {words.number(high, 3)}"
    )


def changed(kind: Mapping[str, Any]) -> str:
    """Agreement at the previous release, and the drop since."""
    if kind["previous_agreement"] is None:
        return ""
    drop = kind["drop"]
    moved = "unchanged" if drop == 0 else f"{'fell' if drop > 0 else 'rose'} by {words.number(abs(drop), 3)}"
    return (
        f"previously {words.number(kind['previous_agreement'], 3)} ({words.count(kind['previous_agree'])} of "
        f"{words.count(kind['previous_n'])}), {moved}"
    )


def width_sentence(build: Build, policy: Mapping[str, Any]) -> str:
    """The mean width against its cap."""
    row = build.row
    if row["ci_width"] is None:
        codes = [MEANINGS[code] for code in row["reasons"] if code in _OF_WIDTH]
        return f"no width of the posterior: {'; '.join(codes) or 'none was given'}"
    wide = "wide_posterior" in row["reasons"]
    # A width that is above the cap by rounding alone is at the cap.
    shown = row["ci_width"] if wide else min(row["ci_width"], row["max_ci_width"])
    width, cap = digits_apart(shown, row["max_ci_width"])
    within = "above" if wide or row["ci_width"] > row["max_ci_width"] * (1 + 1e-9) else "within"
    return (
        f"mean width {width} of the central {words.percent(policy['mass'])} intervals of "
        f"{words.plural(row['alternatives'], 'alternative')}, {within} the cap of {cap}"
    )


def flip_sentences(build: Build, show: Show = words.name) -> list[str]:
    """How many pairs flipped, and the first few; those indented by two blanks."""
    flipped, pairs = build.row["flipped_pairs"], build.row["pairs"]
    if not flipped:
        return [f"none of {words.plural(pairs, 'pair')} flipped"] if pairs else []
    such = ", those of most kinds and probes first:" if flipped > 1 else ":"
    return [
        f"{words.count(flipped)} of {words.plural(pairs, 'pair')} flipped under some probe{such}",
        *(f"  {_flip(flip, show)}" for flip in build.flips),
        *([f"  and {words.count(flipped - len(build.flips))} more"] if flipped > len(build.flips) else []),
    ]


def _flip(flip: Mapping[str, Any], show: Show) -> str:
    suite = f"suite {show(flip['suite'])}, " if flip["suite"] is not None else ""
    kinds = flip["stability_flags"] or [flip["kind"]]
    probes = f" ({words.plural(flip['probes'], 'probe')})" if flip["probes"] > 1 else ""
    return (
        f"{suite}pair {show(flip['pair'])}: {show(flip['primary_choice'] or 'nothing')} became "
        f"{show(flip['probe_choice'] or 'nothing')} under {words.listing([show(kind) for kind in kinds])}{probes}; "
        f"weight {words.number(flip['observation_weight'], 3)}"
    )


def why(build: Build, show: Show = words.name) -> list[str]:
    """The reasons of a verdict, one sentence each, with the kinds or alternatives they are about."""
    return [f"{MEANINGS[code]}{_about(code, build, show)}" for code in build.row["reasons"]]


def _about(code: str, build: Build, show: Show) -> str:
    kinds = [kind for kind in build.kinds if code in kind["reasons"]]
    if code == "low_agreement":
        found = []
        for kind in kinds:
            agreement, threshold = digits_apart(kind["agreement"], kind["threshold"])
            found.append(f"{show(kind['kind'])} ({agreement}, {threshold} asked for)")
        return f": {words.listing(found, 10)}"
    if code == "agreement_drop":
        return ": " + words.listing(
            [f"{show(kind['kind'])} ({words.number(kind['drop'], 3)})" for kind in kinds], 10
        )
    if code == "wide_posterior":
        width, cap = digits_apart(build.row["ci_width"], build.row["max_ci_width"])
        return f" ({width}, {cap} allowed)"
    alternatives = [row for row in build.alternatives if row["status"] == code]
    if code in _OF_WIDTH and alternatives and len(alternatives) < len(build.alternatives):
        return f": {words.listing([show(row['alternative']) for row in alternatives])}"
    return f": {words.listing([show(kind['kind']) for kind in kinds], 10)}" if kinds else ""


def notes(result: StabilityResult, show: Show = words.name) -> list[str]:
    """What a reader should know about the figures: letters, weights of the fit, the previous result, faults."""
    return [
        note
        for note in (_on_letters(result), _on_chance(result), _on_fit(result), _on_previous(result, show))
        if note
    ] + [*_on_faults(result, show), *_on_ignored(result, show)]


def _on_letters(result: StabilityResult) -> str:
    if "order_swap" not in result.policy["min_agreement"]:
        return ""
    letters = result.evidence["input"].get("letters")
    if letters == "raw":
        return (
            "Choices of swapped runs are the letters as shown: a stable ranker answers with the other letter."
        )
    return "Choices of swapped runs were un-swapped before: a stable ranker answers with the same letter."


def _on_chance(result: StabilityResult) -> str:
    """Failures and passes that a few probes more or less would turn."""
    edge = result.kinds.filter(
        (pl.col("ci_low") < pl.col("threshold")) & (pl.col("ci_high") > pl.col("threshold"))
    ).height
    if not edge:
        return ""
    return (
        f"The rule compares the agreement itself with its threshold; in {words.count(edge)} of "
        f"{words.plural(result.kinds.height, 'comparison')} the threshold lies within Wilson's interval, so that other "
        "probes of the same kind might have decided otherwise."
    )


def _on_fit(result: StabilityResult) -> str:
    posterior = result.evidence.get("posterior") or {}
    if posterior.get("shape") != "preferences":
        return ""
    probed = posterior.get("probed", 0)
    return (
        f"Utilities were fitted to {words.plural(posterior['used'], 'preference')} of "
        f"{words.count(posterior['rows'])}; {words.count(probed)} of pairs that were probed, which count less where "
        "they flipped."
        if probed
        else f"Utilities were fitted to {words.plural(posterior['used'], 'preference')} of "
        f"{words.count(posterior['rows'])}; none is of a pair that was probed, so all count in full."
    )


def _on_previous(result: StabilityResult, show: Show) -> str:
    previous = result.evidence.get("previous")
    if previous is None:
        return ""
    who = f"its build {show(previous['build'])}" if previous.get("build") else "the builds of the same names"
    text = f"Compared with a previous result: {who}."
    if previous.get("policy_hash") != result.evidence["policy_hash"]:
        text += " It was judged by another policy, which does not change what counts as agreement."
    return text


def _on_faults(result: StabilityResult, show: Show) -> list[str]:
    faults = result.faults
    if faults.is_empty():
        return []
    lines = [f"Rows at fault: {words.count(faults.height)} listed, such as"]
    for row in (
        faults.group_by("build", "fault", maintain_order=True)
        .head(1)
        .head(_SHOWN_FAULTS)
        .iter_rows(named=True)
    ):
        where = ", ".join(
            f"{what} {show(row[what])}"
            for what in ("kind", "suite", "pair", "variant", "alternative")
            if row[what] is not None
        )
        lines.append(f"  {show(row['build'])}, {where}: {MEANINGS.get(row['fault'], row['fault'])}")
    return lines


def _on_ignored(result: StabilityResult, show: Show) -> list[str]:
    ignored = result.evidence.get("ignored") or {}
    return [
        f"Not judged, since the policy does not name them: {kind} {words.listing([show(name) for name in names])}."
        for kind, names in ignored.items()
    ]
