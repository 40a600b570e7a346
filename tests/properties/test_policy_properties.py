from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fastgate.errors import PolicyError
from fastgate.gates.benchmark.policy import BenchmarkPolicy, BenchmarkRules
from fastgate.gates.benchmark.rules import _CORRECTIONS, _STRICTNESS
from fastgate.gates.policy import canonical_json, check_policy, effective, load_policy, policy_hash, to_dict
from fastgate.gates.schema import Place
from fastgate.gates.strictness import Strictness, ordered, raise_only

METHODS = ("none", "bonferroni", "holm", "hochberg", "bh", "by")
FAMILIES = ("candidate", "sweep")
KPIS = ("acc", "cost", "duration_s", "numerai28.6")

quick = settings(max_examples=40)
names = st.text(
    st.characters(blacklist_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=8
).filter(lambda text: text not in ("all", "any"))
directions = st.sampled_from(("higher", "lower"))
alphas = st.floats(1e-9, 0.49)
shares = st.floats(0, 0.99)
cases = st.integers(2, 1000)
margins = st.floats(1e-6, 1e6)
guards = st.one_of(st.just({}), st.fixed_dictionaries({"margin": margins}))
corrections = st.fixed_dictionaries(
    {}, optional={"method": st.sampled_from(METHODS), "family": st.sampled_from(FAMILIES)}
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=5),
    st.sampled_from(["all", "any", "acc", "holm", 10**400, object(), b"x", -1, 0, 0.5, 1, 2]),
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.sampled_from(["acc", "min_cases", "margin", "guards"]), scalars),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


@st.composite
def suites(draw: st.DrawFn) -> dict[str, Any]:
    kpis = draw(st.lists(st.sampled_from(KPIS), min_size=1, unique=True))
    guarded = draw(st.lists(st.sampled_from(KPIS), unique=True, max_size=2))
    deciding = [kpi for kpi in kpis if kpi not in guarded]
    assume(deciding)
    suite: dict[str, Any] = {"kpis": kpis}
    suite["decided_by"] = draw(st.sampled_from([*deciding, "all", "any"]))
    suite["guards"] = {kpi: draw(guards) for kpi in guarded}
    suite["directions"] = draw(st.dictionaries(st.sampled_from(kpis), directions, max_size=2))
    return suite | draw(st.fixed_dictionaries({}, optional={"min_cases": cases}))


@st.composite
def tenants(draw: st.DrawFn, suite_names: list[str]) -> dict[str, Any]:
    """Overrides with right types, raising or lowering as it falls."""
    own = st.fixed_dictionaries(
        {},
        optional={"min_cases": cases, "guards": st.dictionaries(st.sampled_from(KPIS), guards, max_size=2)},
    )
    return draw(
        st.fixed_dictionaries(
            {},
            optional={
                "alpha": alphas,
                "alternative": st.sampled_from(("one-sided", "two-sided")),
                "min_suite_wins": st.integers(1, len(suite_names)),
                "min_cases": cases,
                "max_missing_share": shares,
                "zero_variance": st.sampled_from(("undefined", "decide")),
                "require_same_cases": st.booleans(),
                "correction": corrections,
                "suites": st.dictionaries(st.sampled_from(suite_names), own, max_size=2),
            },
        )
    )


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    """Valid policies without tenants."""
    suite_names = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    required = {
        "gate": "benchmark",
        "name": draw(names),
        "baselines": draw(st.lists(names, min_size=1, max_size=3, unique=True)),
        "min_suite_wins": draw(st.integers(1, len(suite_names))),
        "kpis": {kpi: {"direction": draw(directions)} for kpi in KPIS},
        "suites": {name: draw(suites()) for name in suite_names},
    }
    return required | draw(
        st.fixed_dictionaries(
            {},
            optional={
                "alpha": alphas,
                "test": st.sampled_from(("welch", "paired")),
                "alternative": st.sampled_from(("one-sided", "two-sided")),
                "confidence_level": st.floats(0.01, 0.999),
                "power": st.floats(0.01, 0.999),
                "min_cases": cases,
                "max_missing_share": shares,
                "zero_variance": st.sampled_from(("undefined", "decide")),
                "require_same_cases": st.booleans(),
                "trials": st.sampled_from(("mean", "refuse")),
                "correction": corrections,
            },
        )
    )


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in nested data."""
    found = []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += [(data, key), *places(value)]
    return found


def loaded_or_refused(source: Any) -> BenchmarkPolicy | PolicyError:
    try:
        return load_policy(source)
    except PolicyError as error:
        return error


def reordered(data: Any, dice: random.Random) -> Any:
    """The same data, its keys in another order and whole floats as integers where a float is meant."""
    if isinstance(data, dict):
        items = list(data.items())
        dice.shuffle(items)
        return {key: reordered(value, dice) for key, value in items}
    return int(data) if isinstance(data, float) and data.is_integer() else data


@quick
@given(policies())
def test_valid_policy_loads_and_returns_from_a_dict(data: dict[str, Any]) -> None:
    policy = load_policy(data)
    assert isinstance(policy, BenchmarkPolicy)
    assert load_policy(to_dict(policy)) == policy
    assert load_policy(policy) == policy
    rules = effective(policy)
    for suite in rules.suites.values():
        assert set(suite.directions) == set(suite.kpis)
        assert suite.deciding_kpis
        assert not set(suite.deciding_kpis) & set(suite.guards)
        assert set(suite.deciding_kpis) | set(suite.guards) <= set(suite.kpis)
    assert all(isinstance(remark, str) for remark in check_policy(policy))


@quick
@given(policies(), st.randoms(use_true_random=False))
def test_hash_ignores_order_and_number_format(data: dict[str, Any], dice: random.Random) -> None:
    expected = policy_hash(data)
    assert policy_hash(reordered(data, dice)) == expected
    assert policy_hash(effective(data)) == expected
    assert policy_hash(to_dict(load_policy(data))) == expected


@quick
@given(policies(), policies())
def test_different_rules_have_different_hashes(one: dict[str, Any], two: dict[str, Any]) -> None:
    shared = {key: two[key] for key in ("name", "confidence_level", "power") if key in two}
    one = {key: value for key, value in one.items() if key not in ("confidence_level", "power")} | shared
    two = {
        key: value for key, value in two.items() if key in shared or key not in ("confidence_level", "power")
    }
    same = canonical_json(_unordered(effective(one))) == canonical_json(_unordered(effective(two)))
    assert (policy_hash(one) == policy_hash(two)) == same


def _unordered(rules: BenchmarkRules) -> Any:
    plain = to_dict(rules)
    plain["baselines"] = sorted(plain["baselines"])
    for suite in plain["suites"].values():
        for key in ("kpis", "deciding_kpis", "not_worse"):
            suite[key] = sorted(suite[key])
    return plain


@settings(max_examples=200)
@given(st.data())
def test_any_change_of_a_policy_is_a_policy_or_a_policy_error(choose: st.DataObject) -> None:
    data = choose.draw(policies())
    suite_names = list(data["suites"])
    data["tenants"] = {"bank": choose.draw(tenants(suite_names))}
    container, key = choose.draw(st.sampled_from(places(data)))
    change = choose.draw(st.sampled_from(("replace", "remove", "add", "none")))
    if change == "replace":
        container[key] = choose.draw(anything)
    elif change == "remove":
        del container[key]
    elif change == "add" and isinstance(container, dict):
        container[choose.draw(scalars)] = choose.draw(anything)
    policy = loaded_or_refused(data)
    if isinstance(policy, PolicyError):
        assert policy.where is not None
    else:
        assert load_policy(to_dict(policy)) == policy
        effective(policy, "bank" if "bank" in policy.tenants else None)


@given(anything)
def test_anything_is_a_policy_error(data: Any) -> None:
    for source in (data, {"gate": "benchmark", "name": data}, {"gate": data}):
        with pytest.raises(PolicyError) as caught:
            load_policy(source)
        assert str(caught.value)


TOML_LINES = st.sampled_from(
    [
        'gate = "benchmark"',
        'name = "x"',
        'baselines = ["a"]',
        "[kpis.acc]",
        'direction = "higher"',
        "[suites.s]",
        "[tenants.t]",
        "alpha = nan",
        "alpha = 1e400",
        "alpha = 1979-05-27",
        "min_suite_wins = 1",
        "guards = { acc = { margin = 1 } }",
        'suites = ["a", "b"]',
        "kpis.cost.direction = 'lower'",
        "[[suites]]",
        '"" = 1',
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.one_of(
        st.text(), st.lists(st.one_of(TOML_LINES, st.text(max_size=10)), max_size=12).map("\n".join)
    )
)
def test_any_text_file_is_a_policy_or_a_policy_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    policy = loaded_or_refused(path)
    assert isinstance(policy, BenchmarkPolicy) or str(path) in str(policy)


@quick
@given(st.data())
def test_tenant_raises_everything_or_is_refused(choose: st.DataObject) -> None:
    data = choose.draw(policies())
    data["tenants"] = {"t": choose.draw(tenants(list(data["suites"])))}
    assume(isinstance(loaded_or_refused(data), BenchmarkPolicy))
    base, raised = effective(data), effective(data, "t")
    for name in (
        "alpha",
        "alternative",
        "min_suite_wins",
        "max_missing_share",
        "zero_variance",
        "require_same_cases",
    ):
        assert _STRICTNESS[name].holds(getattr(raised, name), getattr(base, name))
    assert _CORRECTIONS.holds(
        (raised.correction.method, raised.correction.family), (base.correction.method, base.correction.family)
    )
    assert raised.guard_alpha == base.alpha
    for name, suite in base.suites.items():
        stricter = raised.suites[name]
        assert stricter.min_cases >= suite.min_cases
        assert stricter.deciding_kpis == suite.deciding_kpis
        assert stricter.decided_by == suite.decided_by
        assert stricter.kpis[: len(suite.kpis)] == suite.kpis
        assert suite.directions.items() <= stricter.directions.items()
        assert set(suite.not_worse) <= set(stricter.not_worse)
        for kpi, margin in suite.guards.items():
            assert margin is None or (stricter.guards[kpi] or np.inf) <= margin
        for kpi, margin in stricter.guards.items():
            assert margin is not None or kpi in stricter.not_worse
            assert kpi in stricter.directions


@quick
@given(policies())
def test_tenant_that_states_the_policys_own_values_changes_nothing(data: dict[str, Any]) -> None:
    rules = effective(data)
    keys = (
        "alpha",
        "alternative",
        "min_suite_wins",
        "max_missing_share",
        "zero_variance",
        "require_same_cases",
    )
    data["tenants"] = {
        "same": {key: getattr(rules, key) for key in keys} | {"correction": data.get("correction", {})}
    }
    assert policy_hash(effective(data, "same")) == policy_hash(rules)


@pytest.mark.parametrize("name", sorted(_STRICTNESS))
def test_strictness_is_a_partial_order(name: str) -> None:
    order = _STRICTNESS[name]
    values: list[Any] = {
        "alternative": ["one-sided", "two-sided"],
        "zero_variance": ["decide", "undefined"],
        "require_same_cases": [False, True],
        "unlisted": ["ignore", "error"],
        "correction": [("none", "candidate"), *itertools.product(METHODS[1:], FAMILIES)],
    }.get(name, [0, 1, 2, 2.0, 0.5])
    assert_partial_order(order, values)


@given(
    st.lists(
        st.lists(st.integers(0, 8), min_size=1, max_size=4, unique=True).map(sorted).map(tuple), min_size=1
    )
)
def test_chains_that_only_climb_make_a_partial_order(chains: list[tuple[int, ...]]) -> None:
    order = ordered(*chains)
    assert_partial_order(order, sorted({value for chain in chains for value in chain}))
    for chain in chains:
        assert all(order.holds(b, a) for a, b in itertools.combinations(chain, 2))


def assert_partial_order(order: Strictness, values: list[Any]) -> None:
    for a in values:
        assert order.holds(a, a)
    for a, b in itertools.product(values, repeat=2):
        assert a == b or not (order.holds(a, b) and order.holds(b, a))
    for a, b, c in itertools.product(values, repeat=3):
        assert not (order.holds(a, b) and order.holds(b, c)) or order.holds(a, c)


@given(st.lists(st.sampled_from([(n, m) for n in range(3) for m in range(3)]), min_size=1, max_size=5))
def test_raising_in_steps_is_raising_at_once(steps: list[tuple[int, int]]) -> None:
    from fastgate.gates.strictness import HIGHER, LOWER

    rules, place = {"floor": HIGHER, "cap": LOWER}, Place("p")
    settings_ = {"floor": 0, "cap": 2}
    for floor, cap in steps:
        may = floor >= settings_["floor"] and cap <= settings_["cap"]
        if may:
            settings_ = raise_only(settings_, {"floor": floor, "cap": cap}, rules, place)
            assert settings_ == {"floor": floor, "cap": cap}
        else:
            with pytest.raises(PolicyError):
                raise_only(settings_, {"floor": floor, "cap": cap}, rules, place)


def adjusted(pvalues: np.ndarray[Any, Any], method: str) -> np.ndarray[Any, Any]:
    """Adjusted p-values by their definitions."""
    m = len(pvalues)
    order = np.argsort(pvalues, kind="stable")
    p, k = pvalues[order], np.arange(1, m + 1)
    if method == "holm":
        values = np.maximum.accumulate((m - k + 1) * p)
    elif method == "hochberg":
        values = np.minimum.accumulate(((m - k + 1) * p)[::-1])[::-1]
    elif method in ("bh", "by"):
        factor = np.sum(1 / k) if method == "by" else 1.0
        values = np.minimum.accumulate((m * factor / k * p)[::-1])[::-1]
    else:
        values = p * (m if method == "bonferroni" else 1)
    result = np.empty(m)
    result[order] = np.minimum(values, 1.0)
    return result


def decided(
    own: np.ndarray[Any, Any], others: np.ndarray[Any, Any], correction: tuple[str, str]
) -> np.ndarray[Any, Any]:
    method, family = correction
    return adjusted(np.concatenate([own, others]) if family == "sweep" else own, method)[: len(own)]


pvalue_lists = st.lists(st.one_of(st.floats(0, 1), st.floats(0, 0.05)), min_size=1, max_size=6).map(np.array)


@settings(max_examples=200)
@given(pvalue_lists, pvalue_lists)
def test_stricter_correction_never_lowers_an_adjusted_pvalue(own: Any, others: Any) -> None:
    nodes = [("none", "candidate"), *itertools.product(METHODS[1:], FAMILIES)]
    values = {node: decided(own, others, node) for node in nodes}
    for old, new in itertools.permutations(nodes, 2):
        if _CORRECTIONS.holds(new, old):
            assert np.all(values[new] >= values[old] * (1 - 1e-12))


def test_pairs_without_an_order_go_either_way() -> None:
    dice = np.random.default_rng(20260425)
    nodes = [("none", "candidate"), *itertools.product(METHODS[1:], FAMILIES)]
    lower = dict.fromkeys(itertools.permutations(nodes, 2), False)
    for _ in range(400):
        own, others = (
            np.where(
                dice.uniform(size=size) < dice.uniform(), 1.0, dice.uniform(size=size) ** dice.integers(1, 9)
            )
            for size in dice.integers(1, 40, size=2)
        )
        values = {node: decided(own, others, node) for node in nodes}
        for new, old in lower:
            lower[new, old] |= bool(np.any(values[new] < values[old] * (1 - 1e-9)))
    for (new, old), seen in lower.items():
        assert seen != _CORRECTIONS.holds(new, old), (new, old)
