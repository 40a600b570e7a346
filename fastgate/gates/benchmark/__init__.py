"""The benchmark gate: a candidate must beat every baseline on at least k of the suites."""
