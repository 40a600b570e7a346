"""How many cases the rule needs."""
