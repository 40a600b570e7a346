"""Why one build got its verdict from the stability gate, kind by kind, and what would change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Final

from rich.console import RenderableType
from rich.text import Text

from fastgate.gates.stability.reasons import REVIEW
from fastgate.reports import words
from fastgate.reports.console import bullets, indented, rendered
from fastgate.reports.overview import verdict_text
from fastgate.reports.stability import facts
from fastgate.reports.stability.sentences import (
    flip_sentences,
    holds,
    kind_sentence,
    verdict_line,
    why,
    width_sentence,
    width_verdict,
)
from fastgate.reports.stability.terminal import alternatives_table

if TYPE_CHECKING:
    from fastgate.gates.stability.result import StabilityResult

__all__ = ["explain", "explanation_report"]

_ALTERNATIVES: Final = 30


def explain(result: StabilityResult, candidate: str) -> dict[str, Any]:
    """Why one build got its verdict, as plain data: see `StabilityResult.explain`."""
    return result.explain(candidate)


def explanation_report(result: StabilityResult, explanation: Mapping[str, Any], stream: IO[str]) -> str:
    """An explanation as text for `stream`.

    Parameters
    ----------
    result : StabilityResult
        The result it is taken from.
    explanation : mapping
        As `explain` returns it.
    stream : text file
        Where the text will be written: gives width, colours and encoding.
    """
    (build,) = facts.builds(result, [explanation["build"]])
    policy = result.policy
    parts: list[RenderableType] = [
        Text.assemble(
            verdict_text(build.verdict), " ", (words.name(build.name), "bold"), f"  {verdict_line(build)}"
        ),
        Text(facts.headline(result)[0]),
    ]
    reasons = why(build)
    if reasons:
        parts += ["", Text("Why", style="bold"), indented(bullets(reasons))]
    parts += ["", Text("What would change it", style="bold"), indented(bullets(_changes(build)))]
    parts += ["", Text("Kinds of perturbation", style="bold")]
    sentences = [f"{words.name(kind['kind'])} {holds(kind)}: {kind_sentence(kind)}" for kind in build.kinds]
    parts += [indented(bullets(sentences)), "", Text("Posterior", style="bold")]
    parts += [indented(bullets([width_sentence(build, policy)]))]
    if build.alternatives:
        parts += [indented(alternatives_table(build.alternatives, _ALTERNATIVES), 4)]
    parts += ["", Text("Pairs that flipped", style="bold"), indented(bullets(flip_sentences(build)))]
    return rendered(parts, stream)


def _changes(build: facts.Build) -> list[str]:
    """What it takes for another verdict."""
    found = []
    for kind in build.kinds:
        short = (kind["required"] or 0) - kind["agree"]
        name = words.name(kind["kind"])
        if not kind["n"]:
            found.append(f"{name}: probes of this kind")
        elif "low_agreement" in kind["reasons"]:
            found.append(f"{name}: {words.plural(short, 'more probe')} of {words.count(kind['n'])} agreeing")
        if "n_lt_min" in kind["reasons"] and kind["n"]:
            found.append(f"{name}: more probes; {words.count(kind['n'])} are too few")
        if "agreement_drop" in kind["reasons"]:
            found.append(f"{name}: somebody to look at the drop, and --review-ok or another build")
    codes = set(build.row["reasons"])
    if "no_posterior" in codes:
        found.append("a posterior of this build (--posterior), or preferences to fit one to (--preferences)")
    elif "wide_posterior" in codes:
        ratio = (build.row["ci_width"] / build.row["max_ci_width"]) ** 2
        found.append(
            f"a narrower posterior: a width shrinks with the root of the observations, so about "
            f"{words.number(ratio, 2)} times as many"
        )
    elif width_verdict(build) == "block":
        found.append("a posterior that is sound; the reasons above say what is wrong with it")
    if codes & {"no_previous_result", "no_previous_agreement"}:
        found.append(
            "a previous result that holds this build and kind, or naming the released one (--previous-candidate)"
        )
    data = codes & {
        "no_primary",
        "duplicate_probe",
        "unknown_choice",
        "unknown_order",
        "self_comparison",
        "missing_runs",
    }
    if data:
        found.append("whole data: every probe once, with its primary run and a known choice")
    if not found:
        spare = [kind for kind in build.kinds if kind["n"] and not set(kind["reasons"]) - set(REVIEW)]
        if not spare:
            return ["a kind of perturbation to be judged on"]
        least = min(spare, key=lambda kind: (kind["agree"] - kind["required"]) / kind["n"])
        left = least["agree"] - least["required"] + 1
        name = words.name(least["kind"])
        found.append(
            f"{words.plural(left, 'more disagreement')} under {name}, the kind with the least to spare"
        )
    return found
