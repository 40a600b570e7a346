"""Policies of every gate: read, validated, raised by tenants, hashed, reviewed."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import msgspec

from fastgate.errors import PolicyError
from fastgate.gates import presets
from fastgate.gates.benchmark import review as benchmark_review
from fastgate.gates.benchmark import rules as benchmark_rules
from fastgate.gates.benchmark.policy import BenchmarkPolicy, BenchmarkRules
from fastgate.gates.canonical import canonical_json
from fastgate.gates.safety import review as safety_review
from fastgate.gates.safety import rules as safety_rules
from fastgate.gates.safety.policy import SafetyPolicy, SafetyRules
from fastgate.gates.schema import nearest, show
from fastgate.gates.stability import review as stability_review
from fastgate.gates.stability import rules as stability_rules
from fastgate.gates.stability.policy import StabilityPolicy, StabilityRules

__all__ = [
    "Policy",
    "PolicySource",
    "Rules",
    "canonical_json",
    "check_policy",
    "effective",
    "load_policy",
    "policy_hash",
    "to_dict",
]

Policy: TypeAlias = BenchmarkPolicy | SafetyPolicy | StabilityPolicy
Rules: TypeAlias = BenchmarkRules | SafetyRules | StabilityRules
PolicySource: TypeAlias = "str | Path | Mapping[str, Any] | Policy"


class _Gate(NamedTuple):
    """What one gate brings to the machinery."""

    policy: type[Policy]
    rules: type[Rules]
    parse: Callable[[Mapping[str, Any], str], Policy]
    # These take the gate's own policy or rules.
    effective: Callable[[Any, str | None, str], Rules]
    decisive: Callable[[Any], dict[str, Any]]
    remarks: Callable[[Any, str], list[str]]


_GATES = {
    "benchmark": _Gate(
        BenchmarkPolicy,
        BenchmarkRules,
        benchmark_rules.parse,
        benchmark_rules.effective,
        benchmark_rules.decisive,
        benchmark_review.remarks,
    ),
    "safety": _Gate(
        SafetyPolicy,
        SafetyRules,
        safety_rules.parse,
        safety_rules.effective,
        safety_rules.decisive,
        safety_review.remarks,
    ),
    "stability": _Gate(
        StabilityPolicy,
        StabilityRules,
        stability_rules.parse,
        stability_rules.effective,
        stability_rules.decisive,
        stability_review.remarks,
    ),
}


@overload
def load_policy(source: PolicySource, *, gate: Literal["benchmark"]) -> BenchmarkPolicy: ...
@overload
def load_policy(source: PolicySource, *, gate: Literal["safety"]) -> SafetyPolicy: ...
@overload
def load_policy(source: PolicySource, *, gate: Literal["stability"]) -> StabilityPolicy: ...
@overload
def load_policy(source: PolicySource, *, gate: str | None = None) -> Policy: ...
def load_policy(source: PolicySource, *, gate: str | None = None) -> Policy:
    """The policy in a file, preset, mapping or struct, strictly validated.

    Parameters
    ----------
    source : str, path, mapping or policy struct
        A text that is a preset's name is that preset; any other text or path is a TOML file. A struct is
        validated like a file, since its constructor checks nothing.
    gate : str, optional
        The gate that will apply the policy; one of another gate is then refused.

    Returns
    -------
    BenchmarkPolicy, SafetyPolicy or StabilityPolicy
        As stated, with defaults filled in; `effective` resolves it.

    Raises
    ------
    PolicyError
        When nothing is found, the TOML does not parse, a key is unknown or missing, a value has the wrong
        type or is out of range, the policy contradicts itself, or any of its tenants lowers anything.

    Examples
    --------
    >>> policy = load_policy("concordia")
    >>> len(policy.suites), policy.min_suite_wins, policy.alpha
    (8, 6, 0.05)
    >>> load_policy({"gate": "benchmark", "name": "mine", "alhpa": 0.01})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    fastgate.errors.PolicyError: the key 'alhpa' is unknown
      expected: one of gate, name, description, baselines, alpha, ...
      where:    policy given as a dict: alhpa
      hint:     did you mean 'alpha'?
    """
    data, label = _read(source)
    return _gate(data, label, gate).parse(data, label)


@overload
def effective(
    policy: PolicySource, tenant: str | None = None, *, gate: Literal["benchmark"]
) -> BenchmarkRules: ...
@overload
def effective(policy: PolicySource, tenant: str | None = None, *, gate: Literal["safety"]) -> SafetyRules: ...
@overload
def effective(
    policy: PolicySource, tenant: str | None = None, *, gate: Literal["stability"], profile: str | None = None
) -> StabilityRules: ...
@overload
def effective(policy: BenchmarkPolicy, tenant: str | None = None) -> BenchmarkRules: ...
@overload
def effective(policy: SafetyPolicy, tenant: str | None = None) -> SafetyRules: ...
@overload
def effective(
    policy: StabilityPolicy, tenant: str | None = None, *, profile: str | None = None
) -> StabilityRules: ...
@overload
def effective(policy: PolicySource, tenant: str | None = None, *, profile: str | None = None) -> Rules: ...
def effective(
    policy: PolicySource, tenant: str | None = None, *, gate: str | None = None, profile: str | None = None
) -> Rules:
    """The rules that a policy makes for one tenant, or for none: every default explicit.

    Parameters
    ----------
    policy : PolicySource
        Anything that `load_policy` takes; it is validated, a struct again.
    tenant : str, optional
        One of the policy's tenants.
    gate : str, optional
        The gate that will apply the rules; a policy of another gate is then refused.
    profile : str, optional
        A use-case profile, which policies of the stability gate have.

    Returns
    -------
    BenchmarkRules, SafetyRules or StabilityRules
        Plain values for the gate to read.

    Raises
    ------
    PolicyError
        As `load_policy`, and when the policy has no such tenant or profile.

    Examples
    --------
    >>> effective("concordia").min_suite_wins, effective("concordia", "strict-7").min_suite_wins
    (6, 7)
    """
    data, label = _read(policy)
    kind = _gate(data, label, gate)
    parsed = kind.parse(data, label)
    if profile is None:
        return kind.effective(parsed, tenant, label)
    if not isinstance(parsed, StabilityPolicy):
        raise PolicyError(
            f"policies of the {parsed.gate} gate have no profiles",
            expected="no profile",
            received=show(profile),
            where=label,
        )
    return stability_rules.effective(parsed, tenant, label, profile)


def check_policy(source: PolicySource) -> list[str]:
    """What a careful reviewer would question in a policy that is valid.

    Parameters
    ----------
    source : PolicySource
        Anything that `load_policy` takes.

    Returns
    -------
    list of str
        One remark each, beginning with the key it is about; empty when there is nothing to question.

    Raises
    ------
    PolicyError
        As `load_policy`: an error is no remark.
    """
    data, label = _read(source)
    kind = _gate(data, label, None)
    return kind.remarks(kind.parse(data, label), label)


def policy_hash(policy: PolicySource | Rules) -> str:
    """SHA-256, in hexadecimal, of what can change a verdict.

    Parameters
    ----------
    policy : PolicySource or rules of a gate
        Rules are hashed as they are, tenant's overrides included; a policy as `effective` without a tenant.

    Returns
    -------
    str
        The same for any order of keys, suites, KPIs and baselines, any spelling of a number (6, 6.0), and
        whether a default is stated or not. Names of the policy and tenant, descriptions, and
        `confidence_level` and `power`, which only concern what is shown, are not in it.

    Raises
    ------
    PolicyError
        As `load_policy`.
    """
    rules = policy if isinstance(policy, Rules) else effective(policy)
    return hashlib.sha256(canonical_json(_GATES[rules.gate].decisive(rules)).encode()).hexdigest()


def to_dict(policy: Policy | Rules) -> dict[str, Any]:
    """The policy or rules as plain data: dicts, lists, texts, numbers and booleans.

    Returns
    -------
    dict
        For a policy, what a file would state, without the keys that are not set:
        ``load_policy(to_dict(policy)) == policy``. For rules every field, None where there is no tenant or
        margin: ``msgspec.convert(to_dict(rules), BenchmarkRules) == rules``.
    """
    plain: dict[str, Any] = _with_lists(msgspec.to_builtins(policy))
    return plain if isinstance(policy, Rules) else _without_none(plain)


def _with_lists(value: Any) -> Any:
    """Lists for tuples, as JSON reads them back."""
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return [_with_lists(item) for item in value] if isinstance(value, list | tuple) else value


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_none(item) if isinstance(item, dict) else item
        for key, item in table.items()
        if item is not None
    }


def _gate(data: Mapping[str, Any], label: str, wanted: str | None) -> _Gate:
    known = " or ".join(f'"{name}"' for name in _GATES)
    if "gate" not in data:
        raise PolicyError(
            "the policy does not say which gate it is for",
            expected=f"gate = {known}",
            where=label,
            hint="state it at the top of the policy",
        )
    stated = data["gate"]
    if not isinstance(stated, str) or stated not in _GATES:
        similar = nearest(stated, _GATES) if isinstance(stated, str) else None
        raise PolicyError(
            "there is no such gate",
            expected=f"gate = {known}",
            received=show(stated),
            where=f"{label}: gate",
            hint=None if similar is None else f"did you mean {similar!r}?",
        )
    if wanted is not None and stated != wanted:
        raise PolicyError(
            f"this is a policy of the {stated} gate",
            expected=f"a policy of the {wanted} gate",
            received=f"gate = {show(stated).removeprefix('the text ')}",
            where=f"{label}: gate",
        )
    return _GATES[stated]


def _read(source: Any) -> tuple[Mapping[str, Any], str]:
    """Plain data, and what to call them in a message."""
    for kind in _GATES.values():
        if isinstance(source, kind.policy):
            try:
                return to_dict(source), "policy given as a struct"
            except (TypeError, ValueError, RecursionError) as error:
                raise PolicyError("the policy holds values no file could", received=str(error)) from None
    if isinstance(source, Mapping):
        return source, "policy given as a dict"
    if isinstance(source, str) and source in presets.names():
        return _toml(presets.text(source), f"preset {source}"), f"preset {source}"
    if isinstance(source, str | Path):
        return _toml(_file_text(source), str(source)), str(source)
    raise PolicyError(
        "a policy cannot be read from this",
        expected="a path of a TOML file, the name of a preset, a dict, or a policy struct",
        received=show(source),
    )


def _file_text(source: str | Path) -> str:
    there_are = f"a TOML file, or one of the presets: {', '.join(presets.names())}"
    try:
        return Path(source).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        similar = nearest(str(source), presets.names())
        raise PolicyError(
            "there is no such policy",
            expected=there_are,
            received=show(str(source)),
            hint=None if similar is None else f"did you mean the preset {similar!r}?",
        ) from None
    except UnicodeDecodeError as error:
        raise PolicyError(
            "the policy is not a text file", expected="TOML in UTF-8", received=str(error), where=str(source)
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise PolicyError(
            "the policy cannot be read", expected=there_are, received=reason, where=show(str(source))
        ) from None


def _toml(text: str, label: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise PolicyError("the policy is nested too deeply", expected="TOML", where=label) from None
    except ValueError as error:  # TOMLDecodeError, and Python's own for a number of thousands of digits
        place = re.search(r"\s*\(at line (\d+), column (\d+)\)", str(error))
        line = int(place[1]) if place else None
        lines = text.splitlines()
        raise PolicyError(
            f"the policy is not valid TOML: {str(error).removesuffix(place[0]) if place else error}",
            received=lines[line - 1].strip()[:100] if line and line <= len(lines) else None,
            where=f"{label}, line {line}, column {place[2]}" if place else label,
            hint='texts need quotes, lists brackets: baselines = ["a", "b"]',
        ) from None
