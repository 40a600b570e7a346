"""The status codes and their words."""

from __future__ import annotations

from fastgate.kernels import status


def test_each_code_is_the_place_of_its_word() -> None:
    codes = {name: value for name, value in vars(status).items() if name.isupper() and isinstance(value, int)}
    assert {name.lower(): value for name, value in codes.items()} == {
        word: place for place, word in enumerate(status.NAMES)
    }
