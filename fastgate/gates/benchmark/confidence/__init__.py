"""How sure a verdict is, and how often the rule errs: cases drawn anew, and labels swapped."""
