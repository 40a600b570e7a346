"""Parts of the gamma function that keep their relative accuracy where the function itself cancels."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from fastgate.jit import device

__all__ = ["excess", "log_rising", "stirling"]

# stirling(j / 2) for j = 1 … 31, computed with mpmath at 40 digits: the half-integers that counts lead to
# cost a look-up, and below 16 the series has no 16 digits.
_STIRLING_HALVES: Final = np.array(
    [
        math.inf,
        0.15342640972002736,
        0.081061466795327261,
        0.054814121051917651,
        0.041340695955409297,
        0.033162873519936291,
        0.027677925684998338,
        0.023746163656297496,
        0.020790672103765093,
        0.018488450532673187,
        0.016644691189821193,
        0.015134973221917378,
        0.013876128823070748,
        0.012810465242920227,
        0.01189670994589177,
        0.011104559758206917,
        0.010411265261972096,
        0.0097994161261588039,
        0.0092554621827127329,
        0.0087687001341393862,
        0.0083305634333628708,
        0.0079341145643140199,
        0.0075736754879518406,
        0.007244554301320383,
        0.0069428401072095299,
        0.0066652470327076821,
        0.0064089941880042071,
        0.0061717122630394576,
        0.0059513701127588475,
        0.0057462165130101155,
        0.0055547335519628011,
        0.0053755990329268349,
    ]
)


@device
def stirling(a: float) -> float:
    """The remainder of Stirling's formula, ln Γ(a) − [(a − ½) ln a − a + ½ ln 2π].

    For a > 0, within 2e-16; 5e-16 where a < 16 is no multiple of ½.
    """
    if a >= 16.0:
        i = 1.0 / a
        s = i * i
        return i * (
            1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s * (1.0 / 1188.0))))
        )
    half = int(2.0 * a)
    if 2.0 * a == half and half > 0:
        return float(_STIRLING_HALVES[half])
    total = 0.0
    while a < 16.0:
        # stirling(a) − stirling(a + 1) = (a + ½) ln(1 + 1/a) − 1, with r = 1/(2a + 1) equal to atanh(r)/r − 1
        if a < 2.0:
            total += (a + 0.5) * math.log1p(1.0 / a) - 1.0
        else:
            s = 1.0 / (2.0 * a + 1.0)
            s *= s
            power = s
            k = 3.0
            while power > 1e-18 * k:
                total += power / k
                power *= s
                k += 2.0
        a += 1.0
    i = 1.0 / a
    s = i * i
    return total + i * (
        1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s * (1.0 / 1188.0))))
    )


@device
def excess(u: float, ratio: float) -> float:
    """The function u − ln(1 + u), given also ratio = 1 + u with its own digits (they differ as u nears −1)."""
    if u < -0.3 or u > 0.4:
        return u - math.log(ratio)
    # With r = u/(2 + u), ln(1 + u) = 2 atanh(r) and u − 2r = u r: what is left does not cancel.
    r = u / (2.0 + u)
    s = r * r
    series = 1.0 / 3.0 + s * (
        1.0 / 5.0
        + s
        * (
            1.0 / 7.0
            + s
            * (
                1.0 / 9.0
                + s
                * (
                    1.0 / 11.0
                    + s * (1.0 / 13.0 + s * (1.0 / 15.0 + s * (1.0 / 17.0 + s * (1.0 / 19.0 + s / 21.0))))
                )
            )
        )
    )
    return r * (u - 2.0 * s * series)


@device
def log_rising(b: float, s: float) -> float:
    """Growth ln Γ(b + s) − ln Γ(b) for b > 0 and 0 < s ≤ ½, with an error of a few ε·s."""
    total = 0.0
    while b < 16.0:
        total -= math.log1p(s / b)
        b += 1.0
    return total + (b - 0.5) * math.log1p(s / b) + s * (math.log(b + s) - 1.0) + stirling(b + s) - stirling(b)
