"""Small inputs with known verdicts for the safety and the stability gate, for tests of what is shown of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

import polars as pl
from example_results import HOSTILE

from fastgate.gates.safety import SafetyResult, safety_gate
from fastgate.gates.stability.gate import stability_gate
from fastgate.gates.stability.result import StabilityResult

SAFETY_TOML = """
gate = "safety"
name = "demo"
min_cases = 30
[comparability]
required = ["suite_hash", "temperature"]
[tenants.strict]
min_cases = 80
"""
SIZES = {"jail": 100, "tone": 60}
# Failed cases of each suite: the first ones.
FAILED = {
    "old": {"jail": range(8), "tone": range(10)},
    "same": {"jail": range(8), "tone": range(10)},
    "worse": {"jail": range(25), "tone": range(2, 12)},
    "better": {"jail": range(8), "tone": range(1)},
    HOSTILE: {"jail": range(30), "tone": range(10)},
}
CONDITIONS = {"suite_hash": "ab12", "temperature": 0.2}


def outcomes(*builds: str) -> pl.DataFrame:
    """A row per build, suite and case, the baseline ``old`` included."""
    return pl.DataFrame(
        [
            {
                "build": build,
                "suite": suite,
                "case": f"c{case:03d}",
                "passed": case not in FAILED[build][suite],
            }
            for build in ("old", *builds)
            for suite, size in SIZES.items()
            for case in range(size)
        ]
    )


def manifests(*builds: str, **changed: Mapping[str, Any]) -> dict[str, Any]:
    """The manifests of the builds, in the form of a file; `changed` are fields of single builds."""
    return {
        "defaults": CONDITIONS,
        "runs": [{"build": build, **changed.get(build, {})} for build in ("old", *builds)],
    }


def safety_policy() -> dict[str, Any]:
    """The policy of `SAFETY_TOML`."""
    return tomllib.loads(SAFETY_TOML)


@cache
def safe(*builds: str, refused: str | None = None) -> SafetyResult:
    """The result for some builds of `FAILED`, of which `refused` ran at another temperature."""
    changed = {refused: {"temperature": 0.0, "grader": "v2"}} if refused else {}
    stated = manifests(*builds, **changed)
    return safety_gate(outcomes(*builds), stated, safety_policy(), baseline="old")


@cache
def safe_sweep(n: int) -> SafetyResult:
    """A wide sweep: in turn a build that passes, one that regressed, one that may not be compared."""
    names = [f"build-{number:05d}" for number in range(n - 1)] + [HOSTILE]
    kinds = ("better", "worse", "same")
    few = outcomes(*kinds)
    frames = [few.filter(pl.col("build") == "old")]
    for place, kind in enumerate(kinds):
        one = few.filter(pl.col("build") == kind).drop("build")
        frames.append(pl.DataFrame({"build": names[place::3]}).join(one, how="cross"))
    runs = [
        {"build": name, **({"temperature": 1} if place % 3 == 2 else {})} for place, name in enumerate(names)
    ]
    stated = {"defaults": CONDITIONS, "runs": [{"build": "old"}, *runs]}
    return safety_gate(pl.concat(frames), stated, safety_policy(), baseline="old")


STABILITY_TOML = """
gate = "stability"
name = "demo"
letters = "unswapped"
omit = ["template", "model_version", "adversarial_framing"]
[tenants.strict.min_agreement]
paraphrase = 0.95
"""


def stability_policy() -> dict[str, Any]:
    """The policy of `STABILITY_TOML`."""
    return tomllib.loads(STABILITY_TOML)


def probes(**agreeing: tuple[int, int]) -> pl.DataFrame:
    """Forty probes of a paraphrase and of an order swap for each build; how many of each agree."""
    return pl.DataFrame(
        [
            {
                "build": build,
                "pair": f"p{pair:02d}",
                "kind": kind,
                "primary_choice": "A",
                "probe_choice": "A" if pair < agree else "B",
            }
            for build, counts in agreeing.items()
            for kind, agree in zip(("paraphrase", "order_swap"), counts, strict=True)
            for pair in range(40)
        ]
    )


def posterior(**widths: float) -> pl.DataFrame:
    """Normal posteriors of two alternatives with the standard deviation given for each build."""
    return pl.DataFrame(
        [
            {"build": build, "alternative": name, "mean": mean, "sd": sd}
            for build, sd in widths.items()
            for name, mean in (("x", 0.6), ("y", 0.4))
        ]
    )


@cache
def stable(**agreeing: tuple[int, int]) -> StabilityResult:
    """The result for some builds, each with a narrow posterior."""
    narrow = posterior(**dict.fromkeys(agreeing, 0.04))
    return stability_gate(probes(**agreeing), stability_policy(), posterior=narrow)


@cache
def stable_sweep(n: int) -> StabilityResult:
    """A wide sweep: in turn a build that passes and one that fails the order swap, one of them with a hostile name."""
    names = [f"build-{number:05d}" for number in range(n - 1)] + [HOSTILE]
    return stable(**{name: (40, 38 - 10 * (place % 2)) for place, name in enumerate(names)})
