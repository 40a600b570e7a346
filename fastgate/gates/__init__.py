"""The release gates: policies, rules and verdicts."""
