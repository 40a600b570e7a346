"""The safety gate: a candidate's pass rate must not fall by more than the noise floor, between comparable runs."""
