"""The stability gate's verdicts as tables, sentences, Markdown and test cases."""
