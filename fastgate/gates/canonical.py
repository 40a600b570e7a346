"""One text for each piece of plain data: what hashes and comparisons are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastgate.errors import ArgumentError

__all__ = ["canonical_json"]


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no blanks, ASCII only, and one spelling for equal numbers.

    Parameters
    ----------
    value : dict, list, tuple, str, int, float, bool or None
        Nested as you like; keys are texts.

    Raises
    ------
    ArgumentError
        For NaN or infinity, which JSON does not have.

    Examples
    --------
    >>> canonical_json({"b": 6.0, "a": [0.10, True, None]})
    '{"a":[0.1,true,null],"b":6}'
    """
    try:
        return json.dumps(_with_plain_numbers(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise ArgumentError(
            "a value has no JSON form", expected="finite numbers", received=str(error)
        ) from None


def _with_plain_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_plain_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)  # also −0.0; any float is exact as an integer where it is one
    return value
