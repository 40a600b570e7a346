"""Laplacians of small dense graphs with positive conductances: factoring, solving and inverting.

Only the upper triangle of the row-major matrix `mesh` (m · m,) is used. Eliminating a node connects
its neighbours (a star-mesh transform): conductances are added, multiplied and divided, never
subtracted, and so is the inverse computed. So every element keeps its relative accuracy, however
far the conductances are apart (Grassmann, Taksar and Heyman 1985; O'Cinneide 1993).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastgate.jit import device

__all__ = ["centred_inverse", "eliminate", "invert", "solve"]

Floats = npt.NDArray[np.float64]


@device
def eliminate(m: int, mesh: Floats, degree: Floats) -> None:
    """Eliminate the nodes 0 … m − 2; row k becomes its conductances to later nodes / degree[k]."""
    for k in range(m - 1):
        row = mesh[k * m + k + 1 : k * m + m]
        total = 0.0
        for j in range(row.size):
            total += row[j]
        degree[k] = total
        scale = 1.0 / total
        for i in range(row.size - 1):
            factor = row[i] * scale
            rest = row[i + 1 :]
            target = mesh[(k + 1 + i) * m + k + 2 + i : (k + 1 + i) * m + m]
            for j in range(rest.size):
                target[j] += factor * rest[j]
        for j in range(row.size):
            row[j] *= scale


@device
def solve(m: int, mesh: Floats, degree: Floats, right: Floats, x: Floats) -> None:
    """The x with Laplacian · x = right, its last element 0; `right` sums to 0."""
    x[:] = right
    for k in range(m - 1):
        row = mesh[k * m + k + 1 : k * m + m]
        later = x[k + 1 :]
        value = x[k]
        for j in range(row.size):
            later[j] += value * row[j]
    x[m - 1] = 0.0
    for k in range(m - 2, -1, -1):
        row = mesh[k * m + k + 1 : k * m + m]
        later = x[k + 1 :]
        value = x[k] / degree[k]
        for j in range(row.size):
            value += row[j] * later[j]
        x[k] = value


@device
def invert(m: int, mesh: Floats, degree: Floats, inverse: Floats) -> None:
    """Invert the factored Laplacian with its last node at 0, by Takahashi's equations (1973)."""
    inverse[:] = 0.0
    for i in range(m - 2, -1, -1):
        factors = mesh[i * m + i + 1 : i * m + m - 1]
        row = inverse[i * m + i + 1 : i * m + m - 1]
        for k in range(factors.size):
            factor = factors[k]
            later = inverse[(i + 1 + k) * m + i + 1 : (i + 1 + k) * m + m - 1]
            for j in range(row.size):
                row[j] += factor * later[j]
        own = 1.0 / degree[i]
        for j in range(row.size):
            inverse[(i + 1 + j) * m + i] = row[j]
            own += factors[j] * row[j]
        inverse[i * m + i] = own


@device
def centred_inverse(m: int, inverse: Floats, rows: Floats) -> None:
    """Turn the inverse with one node at 0 into the pseudo-inverse, in place; rows (m,) is scratch."""
    total = 0.0
    for i in range(m):
        rows[i] = 0.0
        for j in range(m):
            rows[i] += inverse[i * m + j]
        rows[i] /= m
        total += rows[i]
    total /= m
    for i in range(m):
        for j in range(m):
            inverse[i * m + j] += (total - rows[i]) - rows[j]
