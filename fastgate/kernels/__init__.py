"""Compiled loops over cells: arithmetic on arrays, a status per cell, nothing raised.

Importing a module of this package compiles or loads its kernels, so callers import inside functions.
"""
