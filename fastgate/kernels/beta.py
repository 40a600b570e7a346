"""The regularised incomplete beta function and its quantiles, for shapes from 1e-3 to 1e9.

Everything is expressed in the deviation d = x − a/(a + b) from the mean, in which neither the density nor the
continued fraction cancels, and in x and y = 1 − x together, so that neither end of (0, 1) loses digits.
"""

from __future__ import annotations

import math

from fastgate.jit import device
from fastgate.kernels.gamma import excess, log_rising, stirling

__all__ = ["beta_tails", "exponent", "fraction", "lower_quantile", "moved", "prefactor", "start"]

_TWO_PI = 2.0 * math.pi


@device
def prefactor(a: float, b: float) -> tuple[float, float]:
    """A factor and a first exponent of x^a y^b / B(a, b) = factor · exp(`exponent`)."""
    low = min(a, b)
    if low < 0.5:
        return low, log_rising(max(a, b), low) - log_rising(1.0, low)
    n = a + b
    return math.sqrt(a * b / (_TWO_PI * n)), stirling(n) - stirling(a) - stirling(b)


@device
def exponent(a: float, b: float, x: float, y: float, d: float, first: float) -> float:
    """The exponent of x^a y^b / B(a, b), which is x y times the density, beside `prefactor`."""
    if min(a, b) < 0.5:
        log_x = math.log(x) if x < 0.5 else math.log1p(-y)
        log_y = math.log(y) if y < 0.5 else math.log1p(-x)
        return a * log_x + b * log_y + first
    n = a + b
    per_a = n / a
    per_b = n / b
    return first - a * excess(d * per_a, x * per_a) - b * excess(-d * per_b, y * per_b)


@device
def fraction(a: float, b: float, x: float, y: float, d: float) -> float:
    """I_x(a, b) B(a, b) / (x^a y^b) for x up to about the mean.

    The even part of the continued fraction DLMF 8.17.22, each step of which gains as much as two of the
    fraction's; a + b enters only through λ = a − (a + b) x = −(a + b) d (Didonato and Morris 1992). Two steps a turn,
    with running products in place of sums, take a third off the time.
    """
    n = a + b
    lam = 1.0 - n * d
    w = 1.0 + y
    inverse = 1.0 / (a + 1.0)
    p0, q0 = 0.0, 1.0
    p1, q1 = 1.0, a * inverse * lam
    m = 1.0
    from_a = a
    from_n = n
    to_b = b - 1.0
    denominator = a + 3.0
    while m < 1e6:
        t = m * to_b * (x * inverse)
        alpha = t * (x * inverse) * (from_a * from_n)
        inverse = 1.0 / denominator
        from_a += 1.0
        beta = from_a * inverse * (m * w + lam) + (m + t)
        p0 = beta * p1 + alpha * p0
        q0 = beta * q1 + alpha * q0
        m += 1.0
        from_n += 1.0
        to_b -= 1.0
        denominator += 2.0
        t = m * to_b * (x * inverse)
        alpha = t * (x * inverse) * (from_a * from_n)
        inverse = 1.0 / denominator
        from_a += 1.0
        beta = from_a * inverse * (m * w + lam) + (m + t)
        p1 = beta * p0 + alpha * p1
        q1 = beta * q0 + alpha * q1
        m += 1.0
        from_n += 1.0
        to_b -= 1.0
        denominator += 2.0
        if abs(p1 * q0 - p0 * q1) <= 1e-15 * abs(p1 * q0):  # and the next difference is several times smaller
            break
        if q1 > 1e120:
            p0 *= 1e-120
            q0 *= 1e-120
            p1 *= 1e-120
            q1 *= 1e-120
    return p1 / q1


@device
def beta_tails(a: float, b: float, x: float, y: float) -> tuple[float, float]:
    """I_x(a, b) and 1 − I_x(a, b) for x + y = 1; the smaller of the two has full relative accuracy."""
    if not (a > 0.0 and b > 0.0 and x >= 0.0 and y >= 0.0):
        return math.nan, math.nan
    if x == 0.0:
        return 0.0, 1.0
    if y == 0.0:
        return 1.0, 0.0
    d = (b * x - a * y) / (a + b)
    factor, first = prefactor(a, b)
    scale = factor * math.exp(exponent(a, b, x, y, d, first))
    if d <= 0.0:
        tail = min(scale * fraction(a, b, x, y, d), 1.0)
        return tail, 1.0 - tail
    tail = min(scale * fraction(b, a, y, x, -d), 1.0)
    return 1.0 - tail, tail


@device
def cornish_fisher(a: float, b: float, z: float) -> float:
    """The quantile of ln(X/Y) − ln(a/b) at the normal quantile z, for X ~ Beta(a, b) and Y = 1 − X.

    ln(X/Y) has the cumulants ψ⁽ʲ⁾(a) ± ψ⁽ʲ⁾(b); the expansion has all terms up to the sixth of them (Fisher and
    Cornish 1960) and so an error of the order of min(a, b)^(−5/2) standard deviations.
    """
    i = 1.0 / a
    j = 1.0 / b
    i2 = i * i
    j2 = j * j
    k1 = j * (0.5 + j * (1.0 / 12.0 - j2 * (1.0 / 120.0 - j2 * (1.0 / 252.0)))) - i * (
        0.5 + i * (1.0 / 12.0 - i2 * (1.0 / 120.0 - i2 * (1.0 / 252.0)))
    )
    k2 = i * (1.0 + i * (0.5 + i * (1.0 / 6.0 - i2 * (1.0 / 30.0 - i2 * (1.0 / 42.0))))) + j * (
        1.0 + j * (0.5 + j * (1.0 / 6.0 - j2 * (1.0 / 30.0 - j2 * (1.0 / 42.0))))
    )
    k3 = j2 * (1.0 + j * (1.0 + j * (0.5 - j2 * (1.0 - j2) * (1.0 / 6.0)))) - i2 * (
        1.0 + i * (1.0 + i * (0.5 - i2 * (1.0 - i2) * (1.0 / 6.0)))
    )
    k4 = i * i2 * (2.0 + i * (3.0 + i * (2.0 - i2))) + j * j2 * (2.0 + j * (3.0 + j * (2.0 - j2)))
    k5 = j2 * j2 * (6.0 + j * (12.0 + j * 10.0)) - i2 * i2 * (6.0 + i * (12.0 + i * 10.0))
    k6 = i * i2 * i2 * (24.0 + i * 60.0) + j * j2 * j2 * (24.0 + j * 60.0)
    sd = math.sqrt(k2)
    r = 1.0 / k2
    g1 = k3 * r / sd
    g2 = k4 * r * r
    g3 = k5 * r * r / sd
    g4 = k6 * r * r * r
    z2 = z * z
    h2 = z2 - 1.0
    h3 = z * (z2 - 3.0)
    h4 = z2 * (z2 - 6.0) + 3.0
    h5 = z * (z2 * (z2 - 10.0) + 15.0)
    # The factors depend on z alone: one multiplication each, where dividing would cost as much as all the rest.
    w = z + g1 * (h2 * (1.0 / 6.0))
    w += g2 * (h3 * (1.0 / 24.0)) - g1 * g1 * ((2.0 * h3 + z) * (1.0 / 36.0))
    w += g3 * (h4 * (1.0 / 120.0)) - g1 * g2 * ((h4 + h2) * (1.0 / 24.0))
    w += g1 * g1 * g1 * ((12.0 * h4 + 19.0 * h2) * (1.0 / 324.0))
    w += g4 * (h5 * (1.0 / 720.0)) - g2 * g2 * ((3.0 * h5 + 6.0 * h3 + 2.0 * z) * (1.0 / 384.0))
    w += g1 * g1 * g2 * ((14.0 * h5 + 37.0 * h3 + 8.0 * z) * (1.0 / 288.0))
    w -= g1 * g3 * ((2.0 * h5 + 3.0 * h3) * (1.0 / 180.0))
    w -= g1 * g1 * g1 * g1 * ((252.0 * h5 + 832.0 * h3 + 227.0 * z) * (1.0 / 7776.0))
    # Where the expansion fails (a shape below about 3 with z beyond 5), w is still negative and of z's size.
    return k1 + sd * min(max(w, 6.0 * z - 2.0), z / 3.0 + 0.5)


@device
def start(a: float, b: float, p: float, z: float) -> tuple[float, float, float]:
    """A first (x, y, d) for the quantile at probability p ≤ ½, whose normal quantile is z."""
    mean_x = a / (a + b)
    mean_y = b / (a + b)
    if 0.4 <= b < 5.0 and b <= a:
        # n' ln(1/x) with n' = a + (b - 1)/2 is about Gamma(b), whose cube root is about normal (Wilson and
        # Hilferty 1931).
        root = 1.0 - 1.0 / (9.0 * b) - z / (3.0 * math.sqrt(b))
        log_x = -b * root * root * root / (a + 0.5 * (b - 1.0))
        x = math.exp(log_x)
        y = -math.expm1(log_x)
        return x, y, (x - mean_x if x < 0.5 else mean_y - y)
    if min(a, b) >= 1.2:
        shift = cornish_fisher(a, b, z)
        if shift < -0.5:
            odds = math.exp(shift)
            change = odds - 1.0
        else:
            change = math.expm1(shift)
            odds = 1.0 + change
        share = 1.0 / (mean_y + mean_x * odds)
        return mean_x * odds * share, mean_y * share, mean_x * mean_y * change * share
    # Small shapes: I_x ≈ x^a/(a B(a, b)) near 0, or 1 − I_x ≈ y^b/(b B(a, b)) near 1.
    x = 0.5
    y = 0.5
    if a < 1.2:
        x = math.exp(min((math.log(p) + log_rising(1.0, a) - log_rising(b, a)) / a, 0.0))
        y = 1.0 - x
    if x >= 0.5 and b < 1.2:
        y = math.exp(min((math.log1p(-p) + log_rising(1.0, b) - log_rising(a, b)) / b, 0.0))
        x = 1.0 - y
        if y >= 0.5 or a * y >= 1.0:
            y = -math.expm1(math.log(p) / a)
            x = 1.0 - y
    return x, y, (x - mean_x if x < 0.5 else mean_y - y)


@device
def moved(x: float, y: float, d: float, step: float) -> tuple[float, float, float]:
    """The point (x, y, d) after a step of ln(x/y)."""
    if abs(step) < 0.02:
        tail = 1.0 / 6.0 + step * (1.0 / 24.0 + step * (1.0 / 120.0 + step * (1.0 / 720.0)))
        e = step + step * step * (0.5 + step * tail)
    else:
        e = math.expm1(min(max(step, -600.0), 600.0))
    share = 1.0 / (1.0 + x * e)
    d += x * y * e * share
    if x < 0.5:
        x *= (1.0 + e) * share
        y = 1.0 - x
    else:
        y *= share
        x = 1.0 - y
    return x, y, d


@device
def series_step(
    gap: float, mills: float, spread: float, slope: float, difference: float, product: float
) -> float:
    """The step s of θ = ln(x/y) that multiplies the tail by exp(gap), to the fifth order in the gap.

    With m = tail/(dtail/dθ), s solves s' = m exp(gap − H(s)), where H is the growth of the log density; its
    derivatives at the start are λ = slope/m, −n x y = −spread/m² and so on, with difference = y − x and
    product = x y. Stirling numbers turn the series in exp(gap) − 1 into one in the gap.
    """
    mu = slope
    eta = -spread
    kappa = eta * mills * difference
    tau = eta * mills * mills * (1.0 - 6.0 * product)
    d3 = 2.0 * mu * mu - eta
    d4 = -6.0 * mu * mu * mu + 7.0 * mu * eta - kappa
    d5 = (24.0 * mu * mu - 46.0 * eta) * mu * mu + 7.0 * eta * eta + 11.0 * mu * kappa - tau
    c3 = (1.0 - 3.0 * mu + d3) * (1.0 / 6.0)
    c4 = (1.0 - 7.0 * mu + 6.0 * d3 + d4) * (1.0 / 24.0)
    c5 = (1.0 - 15.0 * mu + 25.0 * d3 + 10.0 * d4 + d5) * (1.0 / 120.0)
    return mills * gap * (1.0 + gap * (0.5 * (1.0 - mu) + gap * (c3 + gap * (c4 + gap * c5))))


@device
def lower_quantile(a: float, b: float, p: float, z: float) -> tuple[float, float, float]:
    """The x with I_x(a, b) = p, as (x, 1 − x, x − a/(a + b)), for 0 < p ≤ ½ with normal quantile z.

    The upper quantile of Beta(a, b) is the lower one of Beta(b, a), mirrored. In θ = ln(x/y) both ln I and
    ln(1 − I) are concave, so that Newton's method on the one that is far from 0 converges from anywhere; near
    the root the inverse series takes its place, and one evaluation mostly suffices.
    """
    n = a + b
    if a == 1.0:
        log_y = math.log1p(-p) / b
        x = -math.expm1(log_y)
        return x, math.exp(log_y), x - 1.0 / n
    if b == 1.0:
        log_x = math.log(p) / a
        y = -math.expm1(log_x)
        return math.exp(log_x), y, 1.0 / n - y
    x, y, d = start(a, b, p, z)
    low = min(a, b)
    if low >= 1e5 and z > -6.0:
        return x, y, d
    factor, first = prefactor(a, b)
    for _ in range(100):
        if x <= 0.0 or y <= 0.0:  # below the smallest float64
            break
        power = exponent(a, b, x, y, d, first)
        rest = -1.0
        if d <= 0.0:
            mills = fraction(a, b, x, y, d)
            gap = math.log(p / (mills * factor)) - power
            if low < 0.5 and abs(gap) < 1.0:
                gap = math.log(p / (math.exp(power) * factor * mills))
            tail = p * math.exp(-gap) if gap < -0.3 else p
        else:
            density = factor * math.exp(power)
            rest = min(density * fraction(b, a, y, x, -d), 1.0)
            tail = 1.0 - rest
            mills = tail / density
            gap = math.log(p / tail)
        if abs(gap) < 0.3:
            product = x * y
            spread = n * product * mills * mills
            step = series_step(gap, mills, spread, -n * d * mills, y - x, product)
            x, y, d = moved(x, y, d, step)
            if gap * gap * (0.2 + spread) < 4e-5:  # the next term of the series is below 1e-14
                break
            continue
        if tail <= 0.5:
            step = mills * gap
        else:
            rest = 1.0 - tail if rest < 0.0 else rest
            step = -(rest * mills / tail) * math.log((1.0 - p) / rest)
        x, y, d = moved(x, y, d, step)
        d = x - a / n if x < 0.5 else b / n - y  # many large steps would leave their rounding behind
    return x, y, d
