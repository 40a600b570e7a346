"""The stability gate: choices must survive perturbation, and the posterior must be narrow."""
