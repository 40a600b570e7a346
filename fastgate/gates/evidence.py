"""What a verdict rests on: versions, the policy's hash, the input's fingerprint, counts."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import fastgate
from fastgate.gates.policy import policy_hash

if TYPE_CHECKING:
    from fastgate.gates.policy import Rules

__all__ = ["evidence"]


def evidence(
    rules: Rules, input_record: dict[str, Any], counts: dict[str, int], **more: Any
) -> dict[str, Any]:
    """The record that goes with a result.

    Parameters
    ----------
    rules : Rules
        The policy as applied.
    input_record : dict
        What is known of the input: shape, rows, fingerprint.
    counts : dict of str to int
        How much was judged.
    **more
        Further entries; those that are None are left out.

    Returns
    -------
    dict
        Plain data; nothing in it depends on when or where the gate ran, so equal inputs give equal records.
    """
    return {
        "fastgate": fastgate.__version__,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("numpy", "numba", "polars", "pyarrow")},
        "policy_name": rules.name,
        "policy_hash": policy_hash(rules),
        "tenant": rules.tenant,
        "input": input_record,
        "counts": counts,
        **{name: value for name, value in more.items() if value is not None},
    }
