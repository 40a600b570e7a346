"""Verdicts as tables, JSON, Markdown and JUnit XML."""
