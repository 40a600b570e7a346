"""The safety gate's verdicts as tables, sentences, Markdown and test cases; and the comparability of two runs."""
