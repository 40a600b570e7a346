"""The stability gate as it is called: probes, a posterior and a policy in, a result with its evidence out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from fastgate.errors import ArgumentError, DataError
from fastgate.gates.evidence import evidence
from fastgate.gates.names import chosen_candidates, some
from fastgate.gates.policy import PolicySource, effective, to_dict
from fastgate.gates.schema import nearest
from fastgate.gates.stability.agreement import measure, settled_letters
from fastgate.gates.stability.judgement import judge
from fastgate.gates.stability.previous import Previous, previous_agreement
from fastgate.gates.stability.result import StabilityResult
from fastgate.gates.stability.widths import Widths, fitted, given

if TYPE_CHECKING:
    from fastgate.frames.probes import Probes
    from fastgate.gates.stability.agreement import Agreements
    from fastgate.gates.stability.policy import StabilityRules

__all__ = ["stability_gate"]


def stability_gate(
    probes: Any,
    policy: PolicySource,
    *,
    posterior: Any = None,
    preferences: Any = None,
    profile: str | None = None,
    previous: StabilityResult | str | PathLike[str] | None = None,
    previous_candidate: str | None = None,
    tenant: str | None = None,
    candidates: Sequence[str] | None = None,
    letters: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> StabilityResult:
    """Judge preference rankers: their choices must survive every kind of perturbation, their posterior be narrow.

    Parameters
    ----------
    probes : frame, path, glob, list of paths, or Probes
        A row per probe: build, pair, kind, primary_choice, probe_choice (A, B, tie, abstain; null for a run that is
        missing); perhaps suite, variant, trial, primary_reason and probe_reason (classes of abstentions),
        primary_swapped and probe_swapped.
    policy : path, preset name, dict or StabilityPolicy
        The thresholds.
    posterior : frame, path, glob, list of paths or Posteriors, optional
        A row per build and alternative: draws (a list), or mean and sd, or alpha and beta; or a row per draw.
    preferences : frame, path, glob, list of paths or Preferences, optional
        Instead of a posterior, what utilities are fitted to: build, left, right, outcome (left, right, tie, abstain);
        perhaps weight, suite and pair. A preference of a pair that was probed counts as its weight times the pair's
        observation weight (`fastgate.stats.observation_weight`).
    profile : str, optional
        A use-case profile, such as ``legal_claim``, which may only raise the policy's strictness.
    previous : StabilityResult or path, optional
        A result saved earlier, under whatever policy. A kind whose agreement fell by more than the policy's
        ``max_drop`` sends the build to review; so does a kind or build that the result does not hold.
    previous_candidate : str, optional
        The released build in `previous`. Without it: its only build, or the one of the same name.
    tenant : str, optional
        One of the policy's tenants, which may only raise its strictness.
    candidates : sequence of str, optional
        The builds to judge; all that were probed unless given.
    letters : {"raw", "unswapped"}, optional
        What the choices of swapped runs are: the letters as shown (a stable ranker answers an order swap with the
        other letter), or un-swapped already. Has to be said here, in the policy or by the column's name, where an
        order was swapped: by the kind ``order_swap``, or by the columns primary_swapped and probe_swapped.
    columns : mapping of str to str, optional
        From fastgate's column names to those of `probes`, and of the other tables where they have them.

    Returns
    -------
    StabilityResult
        Verdicts and every figure behind them. A fault in a build's data blocks that build, with its reason, and
        leaves the others alone.

    Raises
    ------
    DataError
        When a table cannot be read, or the probes hold a kind that the policy does not name while it says
        ``unlisted = "error"``.
    PolicyError
        When the policy is not valid, or tenant or profile unknown.
    ArgumentError
        When a candidate is unknown, posterior and preferences are both given, or it is not clear what the letters are.

    Notes
    -----
    Shares are compared with thresholds as fractions of integers, so that 4 of 5 is 0.8 and a drop from 90 to 85 of
    100 is no more than 0.05.

    A drop alone gives the verdict ``review`` (exit code 3, so that a pipeline stops), since the floors hold and a
    person may find the drop harmless; whatever else is wrong gives ``block``.

    Examples
    --------
    >>> import polars as pl
    >>> probes = pl.DataFrame({
    ...     "build": "judge", "pair": range(40), "kind": "paraphrase",
    ...     "primary_choice": ["A"] * 20 + ["B"] * 20, "probe_choice": ["A"] * 20 + ["B"] * 16 + ["A"] * 4})
    >>> posterior = pl.DataFrame({"build": "judge", "alternative": ["x", "y"], "mean": [0.6, 0.4], "sd": [0.04, 0.04]})
    >>> policy = {"gate": "stability", "name": "demo",
    ...           "omit": ["template", "model_version", "order_swap", "adversarial_framing"]}
    >>> result = stability_gate(probes, policy, posterior=posterior)
    >>> result["judge"], result.kinds["agreement"].to_list(), result.verdicts["ci_width"].round(4).to_list()
    ('pass', [0.9], [0.1568])
    """
    from fastgate.frames.probes import Probes, read_probes

    rules = effective(policy, tenant, gate="stability", profile=profile)
    if posterior is not None and preferences is not None:
        raise ArgumentError(
            "both a posterior and preferences are given",
            expected="one of the two: the posterior that counts, or the preferences to fit it to",
            received="posterior=… and preferences=…",
        )
    if not isinstance(probes, Probes):
        probes = read_probes(probes, columns)
    settled = settled_letters(probes, letters, rules.letters)
    ignored = _check_kinds(probes, rules)
    builds = chosen_candidates(probes.names("build"), (), candidates, "build")
    before: Previous | None = None
    if previous is not None:
        before = previous_agreement(previous, builds, previous_candidate)
    elif previous_candidate is not None:
        raise ArgumentError(
            "previous_candidate is given without a previous result",
            expected="previous=, a result saved earlier",
            received=f"previous_candidate={previous_candidate!r}",
        )
    measured = measure(probes, list(rules.min_agreement), settled)
    widths = _widths(posterior, preferences, rules, probes, measured, columns)
    tables = judge(
        probes,
        rules,
        builds,
        settled,
        widths,
        measured=measured,
        before=None if before is None else before.counts,
        unmatched=() if before is None else before.unmatched,
    )
    counts = {
        "builds": len(builds),
        "kinds": len(rules.min_agreement),
        "probes": probes.n_rows,
        "flips": tables["flips"].height,
    }
    record = {
        "shape": "probes",
        "rows": probes.n_rows,
        "fingerprint": probes.fingerprint,
        "letters": settled,
    }
    return StabilityResult(
        **tables,
        policy=to_dict(rules),
        evidence=evidence(
            rules,
            record,
            counts,
            profile=profile,
            posterior=None if widths is None else widths.record,
            ignored=ignored or None,
            previous=None if before is None else before.record,
        ),
    )


def _widths(
    posterior: Any,
    preferences: Any,
    rules: StabilityRules,
    probes: Probes,
    measured: Agreements,
    columns: Mapping[str, str] | None,
) -> Widths | None:
    from fastgate.frames.posteriors import Posteriors, read_posteriors
    from fastgate.frames.preferences import Preferences, read_preferences

    if posterior is not None:
        if not isinstance(posterior, Posteriors):
            posterior = read_posteriors(posterior, columns)
        return given(posterior, rules)
    if preferences is not None:
        if not isinstance(preferences, Preferences):
            preferences = read_preferences(preferences, columns)
        return fitted(preferences, rules, probes, measured)
    return None


def _check_kinds(probes: Probes, rules: StabilityRules) -> dict[str, list[str]]:
    """Kinds that only the probes have: an error, or what is ignored because the policy says so."""
    unlisted = [name for name in probes.names("kind") if name not in rules.min_agreement]
    if unlisted and rules.unlisted == "error":
        similar = nearest(unlisted[0], rules.min_agreement)
        raise DataError(
            "the probes hold kinds that the policy does not name, so nobody would judge them",
            expected=some(list(rules.min_agreement)),
            received=some(unlisted),
            where="column 'kind'",
            hint=f"did you mean {similar!r}?"
            if similar
            else 'give them a floor under [min_agreement] in the policy, or state unlisted = "ignore" there',
        )
    return {"kinds": unlisted} if unlisted else {}
