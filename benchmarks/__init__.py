"""Workloads, peers and timings; what is read from them: the README's tables, cost curves, guarded ratios."""
