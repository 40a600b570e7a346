"""Which of two settings is the stricter: the orders by which tenants and profiles raise and never lower."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from fastgate.errors import PolicyError
from fastgate.gates.schema import Place, show

__all__ = ["HIGHER", "LOWER", "Strictness", "ordered", "raise_only"]


class Strictness(NamedTuple):
    """A partial order of a setting's values by how hard they make it to pass.

    Attributes
    ----------
    holds : callable
        ``holds(new, old)`` is True if and only if whatever passes under `new` would pass under `old`: a value
        is as strict as itself, and of two values neither may be the stricter.
    words : str
        What an override may do, for the message.
    """

    holds: Callable[[Any, Any], bool]
    words: str


HIGHER = Strictness(lambda new, old: bool(new >= old), "may only raise this value")
LOWER = Strictness(lambda new, old: bool(new <= old), "may only lower this value")


def ordered(*chains: tuple[Hashable, ...], words: str | None = None) -> Strictness:
    """The order that chains of values, each from the loosest to the strictest, imply together.

    Parameters
    ----------
    *chains : tuple
        Values that share no path along the chains are incomparable: neither may replace the other.
    words : str, optional
        The order in words, for messages; the chains where it is not given.

    Returns
    -------
    Strictness
        Two values compare if one leads to the other along the chains.

    Examples
    --------
    >>> order = ordered(("none", "bh", "holm"), ("bh", "by"))
    >>> order.holds("by", "none"), order.holds("by", "holm"), order.holds("holm", "by")
    (True, False, False)
    """
    stricter: dict[Hashable, set[Hashable]] = {value: {value} for chain in chains for value in chain}
    for chain in chains:
        for loose, strict in pairwise(chain):
            stricter[loose].add(strict)
    # Following edges once per value is enough: no path is longer than the number of values.
    for _ in stricter:
        for reached in stricter.values():
            reached |= {further for value in reached for further in stricter[value]}
    if words is None:
        words = "; ".join(" < ".join(_words(value) for value in chain) for chain in chains)
    return Strictness(
        lambda new, old: new in stricter.get(old, ()), f"may only move to a stricter value ({words})"
    )


def raise_only(
    base: Mapping[str, Any],
    override: Mapping[str, Any],
    rules: Mapping[str, Strictness],
    place: Place,
    *,
    who: str = "tenants",
) -> dict[str, Any]:
    """`base` with the values of `override`, none of which may be looser.

    Parameters
    ----------
    base, override : mapping
        Setting → value. `override` holds only what it states; base has a value for each of its keys.
    rules : mapping of str to Strictness
        The order of each setting that an override may touch.
    place : Place
        Where `override` stands.
    who : str, optional
        Whose override it is, for the message.

    Returns
    -------
    dict
        The merged settings, in the order of `base`.

    Raises
    ------
    PolicyError
        When a value is looser than the base's or not comparable with it (both values and the direction are
        named), or a setting has no rule and so belongs to the base alone.

    Examples
    --------
    >>> raise_only({"alpha": 0.05, "power": 0.8}, {"alpha": 0.01}, {"alpha": LOWER}, Place("gate.toml"))
    {'alpha': 0.01, 'power': 0.8}
    """
    for name, value in override.items():
        here = str(place.at(name))
        if name not in rules:
            raise PolicyError(f"{who} may not set {name}", expected=f"one of {', '.join(rules)}", where=here)
        rule, old = rules[name], base[name]
        if not rule.holds(value, old):
            relation = "is looser than" if rule.holds(old, value) else "cannot be compared with"
            raise PolicyError(
                f"{name}: {_words(value)} {relation} the policy's {_words(old)}, and {who} "
                "may only raise strictness",
                expected=f"{_words(old)} or stricter: {who} {rule.words}",
                received=_words(value),
                where=here,
                hint=f"state a stricter value, or leave {name} out to keep the policy's",
            )
    return {**base, **override}


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        return " per ".join(_words(part) for part in value)
    return value if isinstance(value, str) else show(value).removeprefix("the boolean ")
